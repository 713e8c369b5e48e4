// Any number of equal blocks through Encode or Decode, or of equal frames through RecoverCarrier,
// as several requests in flight.
#ifndef BASEBAND_CLIENT_CTL_LDPC_TRANSFER_H_
#define BASEBAND_CLIENT_CTL_LDPC_TRANSFER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/ctl/common/session.h"

namespace baseband::ctl {

// How long it took, and the server's own view of it: means over the requests.
struct TransferTimes {
  absl::Duration wall;
  int64_t requests = 0;
  double receive_us = 0;
  double queue_us = 0;
  double copy_in_us = 0;
  double h2d_us = 0;
  double kernel_us = 0;
  double d2h_us = 0;
  double batch_blocks = 0;
  double batch_requests = 0;

  // Those of what was done after this.
  void Append(const TransferTimes& next);
};

struct Encoded {
  std::string payload;
  TransferTimes times;
};

struct Decoded {
  std::string payload;
  std::string soft;
  std::vector<uint32_t> iterations;
  std::vector<uint8_t> parity_ok;
  TransferTimes times;
};

struct Recovered {
  std::vector<v1::CarrierResult> frames;
  std::vector<v1::TimingEstimate> timings;  // one a frame, if the group has timing
  std::string corrected;                    // if the group asks for it
  std::vector<v1::CarrierCurve> curves;     // one a frame, likewise
  std::vector<float> curve_points;          // of all curves in order
  v1::CarrierReach reach;
  TransferTimes times;
};

// Called now and then with the blocks done so far; from any thread, one call at a time.
using OnProgress = std::function<void(int64_t blocks_done)>;

// Encodes all of `payload`, whose blocks are as `group` says (its count is ignored). `payload`
// holds a whole number of blocks, one or more. Statuses: those of the calls, the first that fails.
absl::StatusOr<Encoded> EncodeBlocks(const Session& session, const v1::EncodeGroup& group,
                                     absl::string_view payload, const OnProgress& progress = {});

// Decodes all of `llr` likewise.
absl::StatusOr<Decoded> DecodeBlocks(const Session& session, const v1::DecodeGroup& group,
                                     absl::string_view llr, const OnProgress& progress = {});

// What a frame of the group takes as it is received: of its symbols, or with timing its samples.
int64_t FrameBytes(const v1::CarrierGroup& group);

// Recovers all of `received`: frames of group.frame_symbols() symbols, or with timing of its
// frame_samples() samples, in the group's format (its count is ignored). Statuses: those of the
// calls, the first that fails.
absl::StatusOr<Recovered> RecoverFrames(const Session& session, const v1::CarrierGroup& group,
                                        absl::string_view received,
                                        const OnProgress& progress = {});

// Splits `total` items into chunks of at most `chunk`, starts `start(first, count, done)` for each
// with at most `in_flight` unfinished, and waits for all. After an error no chunk is started any
// more; returns the first error.
absl::Status ForEachChunk(int64_t total, int64_t chunk, int in_flight,
                          const std::function<void(int64_t first, int64_t count,
                                                   std::function<void(absl::Status)> done)>& start,
                          const OnProgress& progress = {});

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LDPC_TRANSFER_H_
