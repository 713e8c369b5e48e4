// One point of a block error rate curve of 5G NR with HARQ, measured through the server.
#ifndef BASEBAND_CLIENT_CTL_STUDIES_BLER_CURVE_H_
#define BASEBAND_CLIENT_CTL_STUDIES_BLER_CURVE_H_

#include <array>
#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "client/cpp/client.h"
#include "client/ctl/common/session.h"
#include "client/ctl/ldpc/error_rate.h"
#include "client/ctl/shared_channel/harq_link.h"

namespace baseband::ctl {

// Transport blocks that were sent until they were right, or as often as they may. Transmissions are
// numbered from 0 on.
class BlerCounts {
 public:
  void AddBlock() { ++blocks_; }
  // Of a block whose earlier transmissions, if any, have left it wrong.
  void AddTransmission(int transmission, const HarqBlock& block);
  void Add(const BlerCounts& other);

  int64_t blocks() const { return blocks_; }
  // Blocks that are not right after transmission 0 .. `transmission`.
  int64_t failed(int transmission) const;
  // Their CRC holds, and they are wrong all the same.
  int64_t undetected() const { return undetected_; }
  double bler(int transmission) const;
  Interval BlerInterval(int transmission) const;  // 95 % confidence
  // Information bits that came through per symbol sent, with at most so many transmissions.
  double BitsPerSymbol(int transmission, const TransportFormat& format) const;
  double MeanIterations(int transmission, const TransportFormat& format) const;

 private:
  int64_t blocks_ = 0;
  int64_t undetected_ = 0;
  std::array<int64_t, kMaxTransmissions> sent_{};
  std::array<int64_t, kMaxTransmissions> right_{};       // with this one
  std::array<int64_t, kMaxTransmissions> iterations_{};  // of all code blocks
};

struct BlerSpec {
  uint64_t seed = 1;
  int64_t blocks_per_request = 16;
  // Ends after the first request that reaches one of them: errors after the last transmission.
  int64_t min_block_errors = 50;
  int64_t max_blocks = 1000;
};

// Random transport blocks over the link, with flags.in_flight requests at a time. A block's bits
// and noise depend on the seed, the SNR and its number alone: the result depends on no timing, and
// curves of different decoders see the same noise. `progress` gets the counts so far, from any
// thread, one call at a time. Statuses: those of the calls.
absl::StatusOr<BlerCounts> MeasureBler(client::Client* client, const GlobalFlags& flags,
                                       const HarqLink& link, const BlerSpec& spec,
                                       const std::function<void(const BlerCounts&)>& progress);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_STUDIES_BLER_CURVE_H_
