// A batch of decode jobs. Internal to operations/.
#ifndef BASEBAND_SERVER_OPERATIONS_DECODE_DECODE_BATCH_H_
#define BASEBAND_SERVER_OPERATIONS_DECODE_DECODE_BATCH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "server/jobs/layout.h"
#include "server/operations/decode/decode.h"

namespace baseband::server {

// On the CPU every block is decoded straight into its reply. On a GPU, blocks of the same code and
// parameters share a launch, whichever job they come from; control memory holds the descriptors,
// launch after launch. Output memory holds each job's bits and soft values, then all results, which
// kernels write to its image on the host where they are few.
class DecodeBatch final : public Batch {
 public:
  explicit DecodeBatch(std::vector<JobPtr> jobs);

  int num_pieces() const override { return static_cast<int>(blocks_.size()); }
  void RunPiece(int piece) override;

  absl::Status CudaCopyIn(const CudaLaneView& lane) override;
  absl::Status CudaRun(const CudaLaneView& lane) override;
  absl::Status CudaCopyOut(const CudaLaneView& lane) override;
  bool is_in_place() const override { return in_place_; }
  absl::Status Finish() override;

 private:
  struct Block {
    const DecodeGroup* group = nullptr;
    uint32_t job = 0;
    int64_t llr_offset = 0;  // in its job's payload
    uint8_t* bits = nullptr;
    int8_t* soft = nullptr;  // null: not wanted
    ldpc::DecodeResult* result = nullptr;
  };
  // Consecutive descriptors of one launch.
  struct Launch {
    const DecodeGroup* group = nullptr;  // its code, parameters and soft output are the launch's
    size_t begin = 0;
    size_t count = 0;
  };
  // A block whose bits and soft values staged and have yet to be packed into the reply.
  struct Staged {
    const Block* block = nullptr;
    int64_t bits_offset = 0;  // in output staging memory
    int64_t soft_offset = 0;
  };

  DecodeJob& job(size_t i) const { return static_cast<DecodeJob&>(*jobs_[i]); }
  // The blocks' indices in the order of their launches, and the launches.
  std::vector<uint32_t> GroupByShape();

  std::vector<Block> blocks_;  // of all jobs, in order

  // GPU only.
  const bool in_place_ = FitsInPlace(jobs_);
  std::vector<Launch> launches_;
  InputLayout input_;
  OutputLayout output_;
  int64_t results_offset_ = 0;
  bool copies_results_ = false;
  std::vector<Staged> staged_;
  const uint8_t* output_staging_ = nullptr;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_DECODE_DECODE_BATCH_H_
