// A batch of RecoverCarrier jobs. Internal to operations/.
#ifndef BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_RECOVER_CARRIER_BATCH_H_
#define BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_RECOVER_CARRIER_BATCH_H_

#include <cstdint>
#include <vector>

#include "server/jobs/layout.h"
#include "server/operations/recover_carrier/recover_carrier.h"

namespace baseband::server {

// What a descriptor of a frame takes on a GPU: carrier::RecoverFrame, timing::TimingFrame.
inline constexpr int64_t kFrameDescriptorBytes = 32;

// On the CPU every frame is recovered straight into its reply. On a GPU, frames of the same model,
// pulse and parameters share a launch, whichever job they come from and whatever their length.
// Control memory holds the frames' descriptors, launch after launch, then the groups' known
// symbols. Output memory holds each job's reply as it is sent, then all results, then the timings.
class RecoverCarrierBatch final : public Batch {
 public:
  explicit RecoverCarrierBatch(std::vector<JobPtr> jobs);

  int num_pieces() const override { return static_cast<int>(frames_.size()); }
  void RunPiece(int piece) override;

  absl::Status CudaCopyIn(const CudaLaneView& lane) override;
  absl::Status CudaRun(const CudaLaneView& lane) override;
  absl::Status CudaCopyOut(const CudaLaneView& lane) override;
  absl::Status Finish() override;

 private:
  struct Frame {
    const RecoverCarrierGroup* group = nullptr;
    uint32_t job = 0;
    uint32_t group_index = 0;  // among those of all jobs
    const uint8_t* received = nullptr;
    uint8_t* corrected = nullptr;
    uint8_t* curve = nullptr;
    carrier::Result* result = nullptr;
    timing::Result* timing = nullptr;  // null: it has none
    uint32_t slot = 0;                 // GPU only: among the results; those with a timing are first
  };
  // Consecutive descriptors of one launch.
  struct Launch {
    const RecoverCarrierGroup* group = nullptr;  // its model, pulse and parameters: the launch's
    size_t begin = 0;
    size_t count = 0;
  };

  RecoverCarrierJob& job(size_t i) const { return static_cast<RecoverCarrierJob&>(*jobs_[i]); }
  // The frames' indices in the order of their launches, shortest first in each, and the launches.
  std::vector<uint32_t> GroupByLaunch();
  // Gives all frames their slots, and returns how many have a timing.
  uint32_t AssignSlots();
  absl::Status RunCarrier(const Launch& launch, const CudaLaneView& lane) const;
  absl::Status RunTiming(const Launch& launch, const CudaLaneView& lane) const;
  // Puts the known symbols of all groups into control memory from `offset` on, and moves it to
  // their end. Returns where each group's begin.
  std::vector<uint32_t> PlaceKnown(uint8_t* control, int64_t* offset) const;

  std::vector<Frame> frames_;  // of all jobs, in order
  size_t num_groups_ = 0;

  // GPU only.
  std::vector<Launch> launches_;
  std::vector<uint32_t> lengths_;  // of the frames, in the order of their descriptors
  InputLayout input_;
  OutputLayout output_;
  int64_t results_offset_ = 0;
  int64_t timings_offset_ = 0;
  const uint8_t* output_staging_ = nullptr;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_RECOVER_CARRIER_BATCH_H_
