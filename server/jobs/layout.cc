#include "server/jobs/layout.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace baseband::server {
namespace {

// The memory that a job's payload lies first in; null: it has none.
const uint8_t* FirstByte(const JobPtr& job) {
  const auto pieces = job->input.pieces();
  return pieces.empty() ? nullptr : pieces.front().data;
}

}  // namespace

int64_t CountBlocks(absl::Span<const JobPtr> jobs) {
  return std::accumulate(jobs.begin(), jobs.end(), int64_t{0}, [](int64_t sum, const JobPtr& job) {
    return sum + job->footprint.blocks;
  });
}

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
    return std::less<>()(FirstByte(jobs[a]), FirstByte(jobs[b]));
  });
  int64_t spare = capacity;
  for (const JobPtr& job : jobs) {
    spare -= AlignUp(job->resident_bytes + job->input.bytes());
  }
  int64_t end = 0;                       // of the device memory taken so far, aligned
  const MemoryRegion* region = nullptr;  // of the last run
  for (const size_t i : order) {
    const Payload& input = jobs[i]->input;
    const int64_t resident = jobs[i]->resident_bytes;
    device_offsets_[i] = end;
    if (!runs_.empty() && resident == 0 && input.pieces().size() == 1 &&
        input.pieces()[0].region == region && region != nullptr) {
      CopyRun& last = runs_.back();
      const int64_t joined = last.device_offset + (input.data() - last.host);
      const int64_t gap = joined - end;
      if (gap >= 0 && gap <= std::min(kMaxGap, spare) && joined % kLaneAlignment == 0) {
        spare -= gap;
        device_offsets_[i] = joined;
        last.bytes = input.data() + input.bytes() - last.host;
        end = joined + AlignUp(input.bytes());
        continue;
      }
    }
    int64_t offset = end + resident;
    for (const PayloadPiece& piece : input.pieces()) {
      // The copy only reads it; a run has one type of pointer for both ways.
      runs_.push_back({const_cast<uint8_t*>(piece.data), offset, piece.bytes});
      offset += piece.bytes;
      region = piece.region;
    }
    end += AlignUp(resident + input.bytes());
  }
}

bool FitsInPlace(absl::Span<const JobPtr> jobs) {
  int64_t bytes = 0;
  for (const JobPtr& job : jobs) {
    bytes += job->footprint.input_bytes + job->footprint.output_bytes;
    const auto pieces = job->input.pieces();
    if (pieces.size() != 1 || !job->input.is_aligned() || pieces[0].region == nullptr ||
        !pieces[0].region->is_page_locked) {
      return false;
    }
  }
  return bytes <= kMaxInPlaceBytes;
}

int64_t OutputLayout::Add(int64_t bytes, const HostLease* direct) {
  const int64_t offset = size_;
  if (direct == nullptr) {
    pieces_.push_back({offset, AlignUp(bytes), nullptr});
  } else {
    const MemoryRegion* const region = direct->region();
    const bool is_seen = region != nullptr && region->is_shared;
    pieces_.push_back(
        {offset, is_seen ? std::min(bytes, direct->size()) : AlignUp(bytes), direct->data()});
  }
  size_ += AlignUp(bytes);
  return offset;
}

int64_t OutputLayout::Reserve(int64_t bytes) {
  const int64_t offset = size_;
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
