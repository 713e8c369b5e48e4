#include "client/ctl/shared_channel/harq_link.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/ctl/common/random.h"

namespace baseband::ctl {
namespace {

// Every block of a request begins on a multiple of this.
constexpr int64_t kAlignment = 4;

int64_t AlignUp(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

absl::Status CheckDemapping(ReceivedType type, const SharedDecodeFlags& decode) {
  if (!IsLlr(type) || (decode.llr_scale == 0 && !decode.log_sum)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      decode.log_sum ? "--log-sum" : "--llr-scale",
      " says how symbols are demapped: ", "--input=", NameOfReceivedType(type), " has none"));
}

HarqLink::HarqLink(TransportFormat format, const SharedDecodeFlags& decode, ReceivedType type,
                   double snr_db, int transmissions, uint64_t seed)
    : format_(std::move(format)),
      decode_(decode),
      type_(type),
      snr_db_(snr_db),
      channel_(type, format_.mcs.qm, snr_db),
      transmissions_(transmissions),
      seed_(seed) {}

v1::EncodeSharedChannelGroup HarqLink::EncodeGroup(int transmission) const {
  v1::EncodeSharedChannelGroup group;
  *group.mutable_block() = format_.block;
  group.mutable_block()->set_rv(static_cast<uint32_t>(kRedundancyVersions[transmission]));
  channel_.Ask(&group);
  return group;
}

v1::DecodeSharedChannelGroup HarqLink::DecodeGroup(int transmission) const {
  v1::DecodeSharedChannelGroup group;
  *group.mutable_block() = format_.block;
  group.mutable_block()->set_rv(static_cast<uint32_t>(kRedundancyVersions[transmission]));
  channel_.Tell(&group);
  group.set_max_iterations(static_cast<uint32_t>(decode_.iterations));
  group.set_scale_factor(decode_.scale_factor);
  group.set_early_stop(ParseEarlyStop(decode_.early_stop));
  if (!IsLlr(type_)) {
    group.set_llr_scale(decode_.llr_scale);
    group.set_log_sum(decode_.log_sum);
  }
  group.mutable_harq()->set_soft_in(transmission > 0);
  group.mutable_harq()->set_soft_out(transmission + 1 < transmissions_);
  return group;
}

BlockSizes HarqLink::EncodeSizes() const {
  return {format_.tb_bytes(), channel_.SentBytes(format_.num_symbols()), 0,
          format_.plan.num_blocks};
}

BlockSizes HarqLink::DecodeSizes(int transmission) const {
  const int64_t soft = format_.soft_bytes();
  const int64_t received = channel_.ReceivedBytes(format_.num_symbols());
  return {AlignUp((transmission > 0 ? soft : 0) + received), format_.tb_bytes(),
          transmission + 1 < transmissions_ ? soft : 0, format_.plan.num_blocks};
}

std::string HarqLink::EncodePayload(const HarqBlocks& blocks) {
  std::string payload;
  for (const HarqBlock* block : blocks) payload += block->tb;
  return payload;
}

std::string HarqLink::DecodePayload(const HarqBlocks& blocks, int transmission,
                                    absl::string_view sent) const {
  const int64_t sent_bytes = channel_.SentBytes(format_.num_symbols());
  const int64_t block_bytes = DecodeSizes(transmission).in_bytes;
  std::string payload;
  payload.reserve(block_bytes * blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    Random random(seed_, blocks[i]->noise * kMaxTransmissions + transmission);
    if (transmission > 0) payload += blocks[i]->soft;
    channel_.Transmit(sent.substr(i * sent_bytes, sent_bytes), &random, &payload);
    payload.resize((i + 1) * block_bytes, '\0');
  }
  return payload;
}

void HarqLink::Take(const SharedDecoded& decoded, int transmission,
                    const HarqBlocks& blocks) const {
  const BlockSizes sizes = DecodeSizes(transmission);
  for (size_t i = 0; i < blocks.size(); ++i) {
    HarqBlock& block = *blocks[i];
    block.crc_ok = decoded.crc_ok[i] != 0;
    block.decoded = decoded.payload.substr(i * sizes.out_bytes, sizes.out_bytes);
    block.equal = block.decoded == block.tb;
    block.iterations = decoded.iterations[i];
    if (block.crc_ok) {
      block.soft.clear();
    } else {
      block.soft = decoded.soft.substr(i * sizes.soft_bytes, sizes.soft_bytes);
    }
  }
}

HarqBlocks HarqLink::Failed(const HarqBlocks& blocks) {
  HarqBlocks failed;
  for (HarqBlock* block : blocks) {
    if (!block->crc_ok) failed.push_back(block);
  }
  return failed;
}

}  // namespace baseband::ctl
