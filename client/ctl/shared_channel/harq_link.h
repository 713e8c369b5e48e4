// Transport blocks on their way: what is asked of EncodeSharedChannel, what a noisy channel makes
// of the symbols, what DecodeSharedChannel is given, and what the receiver keeps of each
// transmission for the next one.
#ifndef BASEBAND_CLIENT_CTL_SHARED_CHANNEL_HARQ_LINK_H_
#define BASEBAND_CLIENT_CTL_SHARED_CHANNEL_HARQ_LINK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/ctl/shared_channel/early_stop.h"
#include "client/ctl/shared_channel/shared_transfer.h"
#include "client/ctl/shared_channel/symbol_channel.h"
#include "client/ctl/shared_channel/transport_format.h"

namespace baseband::ctl {

// Of the decoder. Zero: the server's choice.
struct SharedDecodeFlags {
  int iterations = 10;
  float scale_factor = 0;
  float llr_scale = 0;
  bool log_sum = false;
  std::string early_stop = kParityStop;
};

// InvalidArgument: `decode` says how symbols are demapped, and `type` has LLRs.
absl::Status CheckDemapping(ReceivedType type, const SharedDecodeFlags& decode);

// One transport block.
struct HarqBlock {
  std::string tb;          // as it is sent
  uint64_t noise = 0;      // which noise it meets
  bool crc_ok = false;     // after its last transmission
  bool equal = false;      // and the payload is what was sent
  int64_t iterations = 0;  // of all its code blocks, then
  std::string decoded;     // the payload that was decided
  std::string soft;        // what the receiver has of it; empty: nothing
};
using HarqBlocks = std::vector<HarqBlock*>;

// How all of them are sent. Transmissions are numbered from 0 on, to `transmissions` - 1.
// Thread-safe.
class HarqLink {
 public:
  HarqLink(TransportFormat format, const SharedDecodeFlags& decode, ReceivedType type,
           double snr_db, int transmissions, uint64_t seed);

  const TransportFormat& format() const { return format_; }
  ReceivedType type() const { return type_; }
  double snr_db() const { return snr_db_; }
  int transmissions() const { return transmissions_; }

  v1::EncodeSharedChannelGroup EncodeGroup(int transmission) const;
  v1::DecodeSharedChannelGroup DecodeGroup(int transmission) const;
  // Of a block in the two.
  BlockSizes EncodeSizes() const;
  BlockSizes DecodeSizes(int transmission) const;

  static std::string EncodePayload(const HarqBlocks& blocks);
  // What DecodeSharedChannel is given of blocks whose symbols are `sent`. The noise depends on the
  // block's `noise`, the transmission and the seed, on nothing else.
  std::string DecodePayload(const HarqBlocks& blocks, int transmission,
                            absl::string_view sent) const;
  // What it answered, into the blocks.
  void Take(const SharedDecoded& decoded, int transmission, const HarqBlocks& blocks) const;

  // Those that need another transmission.
  static HarqBlocks Failed(const HarqBlocks& blocks);

 private:
  const TransportFormat format_;
  const SharedDecodeFlags decode_;
  const ReceivedType type_;
  const double snr_db_;
  const SymbolChannel channel_;
  const int transmissions_;
  const uint64_t seed_;
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_SHARED_CHANNEL_HARQ_LINK_H_
