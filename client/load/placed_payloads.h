// Payloads that lie in shared memory before a load begins, as those of a demapper that writes its
// LLRs there: calls name them and copy nothing.
#ifndef BASEBAND_CLIENT_LOAD_PLACED_PAYLOADS_H_
#define BASEBAND_CLIENT_LOAD_PLACED_PAYLOADS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/load/workload.h"

namespace baseband::load {

class PlacedPayloads {
 public:
  // Where those of `workloads`, which must outlive this and are split, will lie: each as often as
  // keeps `in_flight` calls apart, as far as `most_bytes` suffice. InvalidArgument: not once.
  static absl::StatusOr<PlacedPayloads> Create(const std::vector<Workload>* workloads,
                                               int in_flight, int64_t most_bytes);
  int64_t bytes() const { return rounds_ * round_bytes_; }

  // Puts them into `memory`, bytes() from a multiple of shm::kRegionAlignment on, which must
  // outlive this.
  void Fill(uint8_t* memory);
  // After Fill(): the payload of the `turn`-th call of a workload, whose requests take turns.
  absl::string_view At(size_t workload, size_t turn) const;

 private:
  explicit PlacedPayloads(const std::vector<Workload>* workloads);

  const std::vector<Workload>* workloads_;
  std::vector<std::vector<int64_t>> offsets_;  // in a round, of each workload's requests
  int64_t round_bytes_ = 0;
  int64_t rounds_ = 1;
  const char* memory_ = nullptr;
};

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_PLACED_PAYLOADS_H_
