#include "client/ctl/studies/bler_curve.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "client/ctl/common/random.h"
#include "client/ctl/studies/in_order.h"

namespace baseband::ctl {
namespace {

double Ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// One request's blocks through all their transmissions.
class BlockSimulator {
 public:
  BlockSimulator(client::Client* client, const GlobalFlags& flags, const HarqLink& link,
                 const BlerSpec& spec)
      : client_(client), flags_(flags), link_(link), spec_(spec) {}

  absl::StatusOr<BlerCounts> Run(int64_t number) const {
    const int64_t first = number * spec_.blocks_per_request;
    const int64_t count = std::min(spec_.blocks_per_request, spec_.max_blocks - first);
    BlerCounts counts;
    std::vector<HarqBlock> blocks;
    for (int64_t i = 0; i < count; ++i) {
      blocks.push_back(RandomBlock(first + i));
      counts.AddBlock();
    }
    HarqBlocks left;
    for (HarqBlock& block : blocks) left.push_back(&block);
    for (int t = 0; t < link_.transmissions() && !left.empty(); ++t) {
      if (absl::Status status = Send(t, left); !status.ok()) {
        return status;
      }
      for (const HarqBlock* block : left) counts.AddTransmission(t, *block);
      left = HarqLink::Failed(left);
    }
    return counts;
  }

 private:
  HarqBlock RandomBlock(int64_t number) const {
    HarqBlock block;
    block.noise = static_cast<uint64_t>(number) * 1000003u +
                  static_cast<uint64_t>(std::llround(link_.snr_db() * 1000));
    block.tb = Random(spec_.seed, ~block.noise).Bytes(link_.format().tb_bytes());
    return block;
  }

  absl::Status Send(int transmission, const HarqBlocks& blocks) const {
    const auto count = static_cast<int64_t>(blocks.size());
    v1::EncodeSharedChannelRequest encode;
    *encode.add_groups() = link_.EncodeGroup(transmission);
    encode.mutable_groups(0)->set_count(static_cast<uint32_t>(count));
    encode.set_payload(HarqLink::EncodePayload(blocks));
    const auto encoded = client_->EncodeSharedChannel(std::move(encode), flags_.call());
    absl::Status status = encoded.status();
    if (status.ok()) {
      status = CheckEncoded(*encoded, count, link_.EncodeSizes());
    }
    if (!status.ok()) {
      return status;
    }
    v1::DecodeSharedChannelRequest decode;
    *decode.add_groups() = link_.DecodeGroup(transmission);
    decode.mutable_groups(0)->set_count(static_cast<uint32_t>(count));
    decode.set_payload(link_.DecodePayload(blocks, transmission, encoded->payload()));
    const auto decoded = client_->DecodeSharedChannel(std::move(decode), flags_.call());
    const BlockSizes sizes = link_.DecodeSizes(transmission);
    status = decoded.status();
    if (status.ok()) {
      status = CheckDecoded(*decoded, count, sizes);
    }
    if (status.ok()) {
      SharedDecoded all = MakeRoom(count, sizes);
      TakeDecoded(*decoded, 0, sizes, &all);
      link_.Take(all, transmission, blocks);
    }
    return status;
  }

  client::Client* const client_;
  const GlobalFlags& flags_;
  const HarqLink& link_;
  const BlerSpec& spec_;
};

}  // namespace

void BlerCounts::AddTransmission(int transmission, const HarqBlock& block) {
  ++sent_[transmission];
  right_[transmission] += block.crc_ok && block.equal;
  undetected_ += block.crc_ok && !block.equal;
  iterations_[transmission] += block.iterations;
}

void BlerCounts::Add(const BlerCounts& other) {
  blocks_ += other.blocks_;
  undetected_ += other.undetected_;
  for (int t = 0; t < kMaxTransmissions; ++t) {
    sent_[t] += other.sent_[t];
    right_[t] += other.right_[t];
    iterations_[t] += other.iterations_[t];
  }
}

int64_t BlerCounts::failed(int transmission) const {
  int64_t failed = blocks_;
  for (int t = 0; t <= transmission; ++t) failed -= right_[t];
  return failed;
}

double BlerCounts::bler(int transmission) const { return Ratio(failed(transmission), blocks_); }

Interval BlerCounts::BlerInterval(int transmission) const {
  return WilsonInterval(failed(transmission), blocks_);
}

double BlerCounts::BitsPerSymbol(int transmission, const TransportFormat& format) const {
  int64_t sent = 0;
  for (int t = 0; t <= transmission; ++t) sent += sent_[t];
  return Ratio((blocks_ - failed(transmission)) * format.plan.tb_bits, sent * format.num_symbols());
}

double BlerCounts::MeanIterations(int transmission, const TransportFormat& format) const {
  return Ratio(iterations_[transmission], sent_[transmission] * format.plan.num_blocks);
}

absl::StatusOr<BlerCounts> MeasureBler(client::Client* client, const GlobalFlags& flags,
                                       const HarqLink& link, const BlerSpec& spec,
                                       const std::function<void(const BlerCounts&)>& progress) {
  const BlockSimulator simulator(client, flags, link, spec);
  BlerCounts total;
  const auto count = [&](const BlerCounts& batch) {
    total.Add(batch);
    if (progress) {
      progress(total);
    }
    return total.failed(link.transmissions() - 1) >= spec.min_block_errors ||
           total.blocks() >= spec.max_blocks;
  };
  const absl::Status status = InOrder<BlerCounts>(count).Run(
      flags.in_flight, [&](int64_t number) { return simulator.Run(number); });
  return status.ok() ? absl::StatusOr<BlerCounts>(total) : status;
}

}  // namespace baseband::ctl
