// A batch of EncodeSharedChannel jobs. Internal to operations/.
#ifndef BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_ENCODE_SHARED_CHANNEL_BATCH_H_
#define BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_ENCODE_SHARED_CHANNEL_BATCH_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/nr/bit_run.h"
#include "server/jobs/layout.h"
#include "server/operations/ldpc/encode_tables.h"
#include "server/operations/shared_channel/encode_shared_channel.h"

namespace baseband::server {

// On the CPU a piece is a code block; the last one of a block that is done scrambles it and maps it
// to symbols. On a GPU, control memory holds the descriptors of all blocks and code blocks, then
// tables that do not stay on the lane.
class EncodeSharedChannelBatch final : public Batch {
 public:
  explicit EncodeSharedChannelBatch(std::vector<JobPtr> jobs);

  int num_pieces() const override { return static_cast<int>(pieces_.size()); }
  void RunPiece(int piece) override;

  absl::Status CudaCopyIn(const CudaLaneView& lane) override;
  absl::Status CudaRun(const CudaLaneView& lane) override;
  absl::Status CudaCopyOut(const CudaLaneView& lane) override;
  absl::Status Finish() override;

 private:
  struct Block {
    const EncodeSharedChannelGroup* group = nullptr;
    uint32_t job = 0;
    int64_t payload_offset = 0;  // in its job's payload
    uint8_t* reply = nullptr;

    // CPU only.
    std::once_flag makes_coded;
    std::vector<uint8_t> coded;  // of what becomes symbols; else the reply has it
    std::vector<nr::EdgeBits> edges;
    std::atomic<int> left{0};  // code blocks that are not done
  };
  struct Piece {
    uint32_t block = 0;
    int r = 0;
  };
  struct Staged {
    const Block* block = nullptr;
    int64_t offset = 0;  // in output staging memory
  };

  EncodeSharedChannelJob& job(size_t i) const {
    return static_cast<EncodeSharedChannelJob&>(*jobs_[i]);
  }
  absl::Span<uint8_t> CodedBits(Block& block) const;
  void FinishBlock(Block& block);

  std::vector<std::unique_ptr<Block>> blocks_;  // of all jobs, in order
  std::vector<Piece> pieces_;                   // of all blocks, in order

  // GPU only.
  InputLayout input_;
  OutputLayout output_;
  int64_t blocks_offset_ = 0;  // in control memory
  EncodeTables tables_;
  int64_t workspace_offset_ = 0;  // in output memory
  int num_launched_ = 0;          // thread blocks
  int shared_bytes_ = 0;
  std::vector<Staged> staged_;
  const uint8_t* output_staging_ = nullptr;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_ENCODE_SHARED_CHANNEL_BATCH_H_
