#include "client/load/placed_payloads.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/shm/region_messages.h"

namespace baseband::load {

PlacedPayloads::PlacedPayloads(const std::vector<Workload>* workloads) : workloads_(workloads) {
  for (const Workload& workload : *workloads) {
    std::vector<int64_t>& offsets = offsets_.emplace_back();
    for (const Request& request : workload.requests) {
      offsets.push_back(round_bytes_);
      round_bytes_ +=
          shm::RoundUp(static_cast<int64_t>(request.payload.size()), shm::kRegionAlignment);
    }
  }
}

absl::StatusOr<PlacedPayloads> PlacedPayloads::Create(const std::vector<Workload>* workloads,
                                                      int in_flight, int64_t most_bytes) {
  PlacedPayloads placed(workloads);
  if (placed.round_bytes_ > most_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("payloads in place: one of each request takes ", placed.round_bytes_,
                     " bytes, and ", most_bytes,
                     " of each sending thread's shared memory are for them: fewer or smaller"
                     " requests, fewer threads, or a server that shares more (--client-shm-mib)"));
  }
  size_t fewest = SIZE_MAX;  // requests of a workload
  for (const Workload& workload : *workloads) fewest = std::min(fewest, workload.requests.size());
  const auto requests = static_cast<int64_t>(fewest);
  placed.rounds_ = std::clamp<int64_t>((in_flight + requests - 1) / requests, 1,
                                       most_bytes / std::max<int64_t>(placed.round_bytes_, 1));
  return placed;
}

void PlacedPayloads::Fill(uint8_t* memory) {
  memory_ = reinterpret_cast<const char*>(memory);
  for (int64_t round = 0; round < rounds_; ++round, memory += round_bytes_) {
    for (size_t i = 0; i < offsets_.size(); ++i) {
      for (size_t k = 0; k < offsets_[i].size(); ++k) {
        const std::string& payload = (*workloads_)[i].requests[k].payload;
        std::copy(payload.begin(), payload.end(), memory + offsets_[i][k]);
      }
    }
  }
}

absl::string_view PlacedPayloads::At(size_t workload, size_t turn) const {
  const std::vector<int64_t>& offsets = offsets_[workload];
  const size_t request = turn % offsets.size();
  const auto round = static_cast<int64_t>(turn / offsets.size() % static_cast<size_t>(rounds_));
  return {memory_ + round * round_bytes_ + offsets[request],
          (*workloads_)[workload].requests[request].payload.size()};
}

}  // namespace baseband::load
