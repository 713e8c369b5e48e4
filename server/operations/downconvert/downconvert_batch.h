// A batch of Downconvert jobs. Internal to operations/.
#ifndef BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_BATCH_H_
#define BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_BATCH_H_

#include <cstdint>
#include <vector>

#include "server/jobs/layout.h"
#include "server/operations/downconvert/downconvert.h"

namespace baseband::server {

// On the CPU a piece is a part of one channel's outputs. On a GPU each job is a launch of all its
// channels; output memory holds each job's channels, every one on a boundary of 16 bytes, then its
// results; and scratch, if that is little.
class DownconvertBatch final : public Batch {
 public:
  explicit DownconvertBatch(std::vector<JobPtr> jobs);

  // Every job has one piece at least, whether it has outputs or not.
  int num_pieces() const override { return static_cast<int>(pieces_.size()); }
  void RunPiece(int piece) override;

  absl::Status CudaCopyIn(const CudaLaneView& lane) override;
  absl::Status CudaRun(const CudaLaneView& lane) override;
  absl::Status CudaCopyOut(const CudaLaneView& lane) override;
  absl::Status Finish() override;

 private:
  struct Piece {
    uint32_t job = 0;
    uint32_t channel = 0;
    downconvert::SampleCheck check = downconvert::SampleCheck::kNo;
    downconvert::OutputRange part;
    downconvert::ChannelResult result;
  };
  // Where a job lies on a lane of a GPU.
  struct Place {
    int64_t output_offset = 0;
    int64_t results_offset = 0;
    int64_t workspace_offset = 0;  // if it has its own
    int64_t plan_offset = 0;
    bool direct = false;  // outputs are copied into the reply as they are
  };

  // Leaves the end of job `i`'s block on the device, if it wants that and there is room.
  absl::Status CudaKeep(size_t i, const CudaLaneView& lane);

  DownconvertJob& job(size_t i) const { return static_cast<DownconvertJob&>(*jobs_[i]); }

  std::vector<Piece> pieces_;

  // GPU only.
  std::vector<Place> places_;  // by job
  InputLayout input_;
  OutputLayout output_;
  const uint8_t* output_staging_ = nullptr;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_BATCH_H_
