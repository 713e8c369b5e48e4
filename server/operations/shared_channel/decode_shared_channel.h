// DecodeSharedChannel: what a job is, and how jobs lie in a batch.
#ifndef BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_DECODE_SHARED_CHANNEL_H_
#define BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_DECODE_SHARED_CHANNEL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "kernels/ldpc/code.h"
#include "kernels/ldpc/decode.h"
#include "kernels/nr/demap.h"
#include "kernels/nr/llr_format.h"
#include "kernels/nr/soft_pack.h"
#include "server/jobs/layout.h"
#include "server/operations/shared_channel/held_soft_bits.h"
#include "server/operations/shared_channel/shared_channel_block.h"

namespace baseband::server {

// `count` blocks decoded alike. The payload has them one after the other, each from a multiple of
// 4 bytes on: soft bits, what was received, and from the next such multiple on the noise of each
// symbol.
struct DecodeSharedChannelGroup {
  SharedChannelBlock block;
  ldpc::CodePtr code;
  ldpc::DecodeParameters parameters;
  int64_t count = 0;
  bool is_symbols = false;
  nr::LlrFormat llr_format = nr::LlrFormat::kInt8;
  float llr_scale = 1.0F;     // 0, of kInt16 only: chosen from each code block
  float mean_llr = 0.0F;      // what that makes of the mean magnitude
  nr::DemapParameters demap;  // of symbols
  bool soft_in = false;
  bool soft_out = false;
  std::string harq_key;  // empty: the server holds nothing
  uint32_t harq_block = 0;
  int transmission = 0;
  int held_llr_size = 8;  // bits of a soft bit that the server holds: 8, 6 or 4

  // What is received needs no work before it goes to its places.
  bool is_int8_as_it_is() const {
    return !is_symbols && llr_format == nr::LlrFormat::kInt8 && !block.c_init.has_value();
  }
  int64_t received_offset() const { return soft_in ? block.soft_bytes() : 0; }
  int64_t received_bytes() const {
    return is_symbols ? block.num_symbols() * nr::BytesPerSymbol(demap.layout.format)
                      : nr::LlrBytes(llr_format, block.plan.g());
  }
  int64_t noise_offset() const { return (received_offset() + received_bytes() + 3) / 4 * 4; }
  int64_t noise_bytes() const {
    return is_symbols ? block.num_symbols() * nr::BytesPerVariance(demap.noise_format) : 0;
  }
  int64_t payload_bytes() const { return noise_offset() + noise_bytes(); }
  // Whether a receiver may have more than this transmission.
  bool may_combine() const { return soft_in || transmission > 0; }
  int64_t soft_out_bytes() const { return soft_out ? block.soft_bytes() : 0; }
  // Whether the server holds them in fewer bits than they are decoded from.
  bool is_packed() const { return !harq_key.empty() && held_llr_size != 8; }
  // What a code block's soft bits take where the server holds them; on a GPU, where they are
  // decoded; and its decided bits there.
  int64_t held_stride() const { return nr::HeldSoftBytes(held_llr_size, block.n_cb()); }
  int64_t soft_stride() const { return AlignUp(block.n_cb(), 16); }
  int64_t decided_bytes() const { return AlignUp((block.plan.k_prime + 7) / 8, sizeof(uint32_t)); }
};

// What became of a code block.
struct CodeBlockResult {
  ldpc::DecodeResult decode;
  bool crc_ok = false;  // see v1::DecodeSharedChannelResponse
};
// Of one of `block`'s, whose CRC holds or not, if it has one.
CodeBlockResult ResultOf(const SharedChannelBlock& block, const ldpc::DecodeResult& decode,
                         bool crc_holds);
// Of all of them: whether the block is right. `tb_crc_holds`: the transport block's, if it has one.
bool IsRight(absl::Span<const CodeBlockResult> code_blocks, bool tb_crc_holds);

class DecodeSharedChannelJob final : public Job {
 public:
  // Computes footprint, payload_bytes and reply_bytes. At least one group, each with count >= 1.
  // Soft bits of `free_keys` go when the job is bound.
  DecodeSharedChannelJob(const Operation& operation, std::vector<DecodeSharedChannelGroup> groups,
                         std::vector<std::string> free_keys = {});

  // To the device that holds its client's soft bits, if it has to do with such; and what it holds
  // of them, until LetGo.
  absl::Status Bind(absl::Span<Device* const> devices) override;
  absl::Status Hold(absl::Span<Device* const> devices) override;
  void LetGo() override;

  JobPtr Copy() const override {
    return std::make_unique<DecodeSharedChannelJob>(operation(), groups_, free_keys_);
  }
  // Null of those that have to do with soft bits that the server holds.
  JobPtr CopyJoined(int64_t copies) const override;

  absl::Span<const DecodeSharedChannelGroup> groups() const { return groups_; }
  // Of group i.
  const HeldSoftBits& held(size_t i) const { return held_[i]; }

  // `reply` holds the payloads of all blocks, then from soft_offset() on their soft bits.
  int64_t bits_bytes() const { return bits_bytes_; }
  int64_t soft_offset() const;
  int64_t soft_bytes() const { return soft_bytes_; }

  std::vector<CodeBlockResult> code_blocks;  // of all blocks, in order
  std::vector<uint8_t> crc_ok;               // by block: 1 or 0
  std::vector<uint32_t> unusable;            // by block: see v1::SharedChannelResult

 private:
  bool HoldsSoftBits() const;

  const std::vector<DecodeSharedChannelGroup> groups_;
  const std::vector<std::string> free_keys_;
  std::vector<HeldSoftBits> held_;  // by group
  int64_t bits_bytes_ = 0;
  int64_t soft_bytes_ = 0;
};

std::unique_ptr<Batch> MakeDecodeSharedChannelBatch(std::vector<JobPtr> jobs);

// On a GPU: loads the kernels on the one that is current.
absl::Status PrepareDecodeSharedChannelCuda();

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_DECODE_SHARED_CHANNEL_H_
