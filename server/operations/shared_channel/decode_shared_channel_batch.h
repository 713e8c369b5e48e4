// A batch of DecodeSharedChannel jobs. Internal to operations/.
#ifndef BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_DECODE_SHARED_CHANNEL_BATCH_H_
#define BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_DECODE_SHARED_CHANNEL_BATCH_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/nr/block_chain.h"
#include "server/jobs/layout.h"
#include "server/operations/shared_channel/decode_shared_channel.h"

namespace baseband::server {

// On the CPU a piece is a code block; the last one of a block that is done puts its payload
// together. On a GPU one launch makes soft bits of what was received, code blocks of the same code
// and parameters share a launch of the decoder, whichever job they come from, and one launch checks
// CRCs and puts payloads together. Control memory holds the descriptors of the three; output memory
// the payloads and soft bits of each job, then results, then what stays there.
class DecodeSharedChannelBatch final : public Batch {
 public:
  explicit DecodeSharedChannelBatch(std::vector<JobPtr> jobs);

  int num_pieces() const override { return static_cast<int>(pieces_.size()); }
  void RunPiece(int piece) override;

  absl::Status CudaCopyIn(const CudaLaneView& lane) override;
  absl::Status CudaRun(const CudaLaneView& lane) override;
  absl::Status CudaCopyOut(const CudaLaneView& lane) override;
  absl::Status Finish() override;

 private:
  struct Block {
    const DecodeSharedChannelGroup* group = nullptr;
    uint32_t job = 0;
    int64_t payload_offset = 0;  // in its job's payload
    uint8_t* bits = nullptr;
    int8_t* soft = nullptr;              // null: not wanted
    const HeldSoftBits* held = nullptr;  // null: the server holds none
    CodeBlockResult* results = nullptr;
    uint8_t* crc_ok = nullptr;
    uint32_t* unusable = nullptr;
    size_t first_piece = 0;

    // CPU only.
    std::vector<nr::BlockResult> code_blocks;
    std::vector<int64_t> code_blocks_unusable;
    std::atomic<int> left{0};  // code blocks that are not done

    // GPU only: where things are in output memory.
    int64_t bits_offset = 0;
    int64_t soft_offset = 0;  // of code block 0; soft_stride() apart
    bool is_staged = false;
    size_t first_dematch = 0;  // of its descriptors for the dematcher, if it has some

    bool repeats() const { return held != nullptr && held->repeats(); }
    bool combines() const { return held != nullptr && held->combines(); }
    bool is_packed() const { return held != nullptr && group->is_packed(); }
    // Where its soft bits are held, of code block r.
    uint8_t* held_soft(int r) const { return held->object->data() + r * group->held_stride(); }
  };
  struct Piece {
    uint32_t block = 0;
    int r = 0;
  };
  // Consecutive descriptors of one launch of the decoder.
  struct Launch {
    const DecodeSharedChannelGroup* group = nullptr;  // its code and parameters are the launch's
    size_t begin = 0;
    size_t count = 0;
  };

  DecodeSharedChannelJob& job(size_t i) const {
    return static_cast<DecodeSharedChannelJob&>(*jobs_[i]);
  }
  // The LLRs of code block r, descrambled, in memory of the thread or where they came; and how many
  // could not be used.
  absl::Span<const int8_t> ReceivedLlrs(const Block& block, int r, int64_t* unusable) const;
  // Where its soft bits go, with those of earlier transmissions in place; memory of the thread
  // where nobody wants them afterwards.
  absl::Span<int8_t> SoftBits(const Block& block, int r) const;
  // Holds them, decoded, if they are held otherwise than they are decoded from.
  static void HoldPacked(const Block& block, int r, absl::Span<const int8_t> soft);
  void FinishBlock(Block& block);

  // GPU: brings results to where replies want them.
  void CudaFinish();
  // What CudaCopyIn is made of.
  void PlaceOutputs();
  void Describe(const CudaLaneView& lane);
  void DescribePacked(const CudaLaneView& lane);
  std::vector<uint32_t> GroupByShape();

  std::vector<std::unique_ptr<Block>> blocks_;  // of all jobs, in order
  std::vector<Piece> pieces_;                   // of all blocks, in order

  // GPU only.
  InputLayout input_;
  OutputLayout output_;
  std::vector<Launch> launches_;
  int shared_bytes_ = 0;
  int num_dematch_ = 0;
  // Of those that are held in fewer bits: first those that are only unpacked, for their
  // transmission is in them already, then those that are added to, then those that begin.
  int num_repeated_ = 0;
  int num_combined_ = 0;
  int num_begun_ = 0;
  struct Offsets {
    int64_t dematch_blocks = 0;  // in control memory, after the ReceiveTbs
    int64_t decode_blocks = 0;
    int64_t check_tbs = 0;
    int64_t check_blocks = 0;
    int64_t pack_blocks = 0;
    int64_t control_end = 0;
    int64_t decode_results = 0;  // in output memory
    int64_t check_results = 0;
    int64_t unusable = 0;
    int64_t decided_bits = 0;
  } offsets_;
  const uint8_t* output_staging_ = nullptr;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_DECODE_SHARED_CHANNEL_BATCH_H_
