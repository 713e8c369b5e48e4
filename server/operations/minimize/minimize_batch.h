// A batch of pieces of searches. Internal to operations/.
#ifndef BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_BATCH_H_
#define BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_BATCH_H_

#include <cstdint>
#include <vector>

#include "server/jobs/layout.h"
#include "server/operations/minimize/minimize.h"

namespace baseband::server {

// On the CPU every piece is evaluated straight into its reply. On a GPU the image of each search is
// where its tables are kept, or is copied to input memory once a batch; output memory holds each
// piece's output, which goes straight into its reply, and behind all of them the pieces' scratch.
// Outputs of a small batch are written into the replies by the kernels; if its images are small and
// its pieces short, too, the kernels read the images where they lie, and the batch is in place.
class MinimizeBatch final : public Batch {
 public:
  explicit MinimizeBatch(std::vector<JobPtr> jobs) : Batch(std::move(jobs)) {
    for (const JobPtr& piece : jobs_) piece->pieces = 1;
  }

  int num_pieces() const override { return static_cast<int>(jobs_.size()); }
  void RunPiece(int piece) override;

  absl::Status CudaCopyIn(const CudaLaneView& lane) override;
  absl::Status CudaRun(const CudaLaneView& lane) override;
  absl::Status CudaCopyOut(const CudaLaneView& lane) override;
  bool is_in_place() const override { return in_place_; }
  absl::Status Finish() override {
    tables_.Publish();
    return absl::OkStatus();
  }

 private:
  struct Place {
    const uint8_t* image = nullptr;
    uint8_t* output = nullptr;  // where the kernel writes it
    int64_t scratch_offset = 0;
  };

  MinimizeJob& job(size_t i) const { return static_cast<MinimizeJob&>(*jobs_[i]); }

  bool WritesInPlace() const;
  bool IsInPlace() const;

  // GPU only. Sets the places of images and brings there what is not there.
  absl::Status CopyImages(const CudaLaneView& lane);
  const bool writes_in_place_ = WritesInPlace();
  const bool in_place_ = writes_in_place_ && IsInPlace();
  BatchTables tables_;
  std::vector<Place> places_;
  OutputLayout output_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_BATCH_H_
