// A batch with nothing to do, a piece a job.
#ifndef BASEBAND_TESTS_SUPPORT_NO_BATCH_H_
#define BASEBAND_TESTS_SUPPORT_NO_BATCH_H_

#include "server/jobs/job.h"

namespace baseband::server {

class NoBatch final : public Batch {
 public:
  using Batch::Batch;
  int num_pieces() const override { return static_cast<int>(jobs().size()); }
  void RunPiece(int) override {}
  absl::Status CudaCopyIn(const CudaLaneView&) override { return absl::OkStatus(); }
  absl::Status CudaRun(const CudaLaneView&) override { return absl::OkStatus(); }
  absl::Status CudaCopyOut(const CudaLaneView&) override { return absl::OkStatus(); }
  absl::Status Finish() override { return absl::OkStatus(); }
};

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_SUPPORT_NO_BATCH_H_
