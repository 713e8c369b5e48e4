#include "server/operations/layout.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace baseband::server {
namespace {

// The payload that lies first in the host pool.
uint8_t* Lowest(absl::Span<const JobPtr> jobs) {
  uint8_t* lowest = jobs.front()->input.data();
  for (const JobPtr& job : jobs) {
    lowest = std::min(lowest, job->input.data(), std::less<>());
  }
  return lowest;
}

}  // namespace

std::vector<CopyRun> JoinAdjacent(std::vector<CopyRun> runs) {
  std::vector<CopyRun> joined;
  for (const CopyRun& run : runs) {
    if (!joined.empty() && joined.back().host + joined.back().bytes == run.host &&
        joined.back().device_offset + joined.back().bytes == run.device_offset) {
      joined.back().bytes += run.bytes;
    } else {
      joined.push_back(run);
    }
  }
  return joined;
}

InputLayout::InputLayout(absl::Span<const JobPtr> jobs, int64_t capacity)
    : device_offsets_(jobs.size()) {
  constexpr int64_t kMaxGap = 4096;
  std::vector<size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::less<>()(jobs[a]->input.data(), jobs[b]->input.data());
  });
  int64_t spare = capacity;
  for (const JobPtr& job : jobs) {
    spare -= AlignUp(job->input.size());
  }
  int64_t end = 0;  // of the device memory taken so far
  for (const size_t i : order) {
    const HostLease& input = jobs[i]->input;
    const int64_t bytes = AlignUp(input.size());
    if (!runs_.empty()) {
      CopyRun& last = runs_.back();
      const int64_t gap = input.data() - (last.host + last.bytes);
      if (gap >= 0 && gap <= std::min(kMaxGap, spare)) {
        spare -= gap;
        device_offsets_[i] = end + gap;
        last.bytes += gap + bytes;
        end += gap + bytes;
        continue;
      }
    }
    device_offsets_[i] = end;
    runs_.push_back({input.data(), end, bytes});
    end += bytes;
  }
}

InputLayout InputLayout::InPlace(absl::Span<const JobPtr> jobs) {
  InputLayout layout;
  layout.base_ = Lowest(jobs);
  for (const JobPtr& job : jobs) {
    layout.device_offsets_.push_back(job->input.data() - layout.base_);
  }
  return layout;
}

bool FitsInPlace(absl::Span<const JobPtr> jobs) {
  const uint8_t* const lowest = Lowest(jobs);
  int64_t bytes = 0;
  for (const JobPtr& job : jobs) {
    bytes += job->footprint.input_bytes + job->footprint.output_bytes;
    if (job->input.data() + job->input.size() - lowest > UINT32_MAX) {
      return false;  // kernels count from the lowest with 32 bits
    }
  }
  return bytes <= kMaxInPlaceBytes;
}

int64_t OutputLayout::Add(int64_t bytes, uint8_t* direct_target) {
  const int64_t offset = size_;
  pieces_.push_back({offset, AlignUp(bytes), direct_target});
  size_ += AlignUp(bytes);
  return offset;
}

std::vector<CopyRun> OutputLayout::Runs(uint8_t* output_staging) const {
  std::vector<CopyRun> runs;
  runs.reserve(pieces_.size());
  for (const Piece& piece : pieces_) {
    uint8_t* target =
        piece.direct_target != nullptr ? piece.direct_target : output_staging + piece.offset;
    runs.push_back({target, piece.offset, piece.bytes});
  }
  return JoinAdjacent(std::move(runs));
}

}  // namespace baseband::server
