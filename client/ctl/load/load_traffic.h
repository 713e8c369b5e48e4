// Requests of each operation whose right answers are known, for `load`.
#ifndef BASEBAND_CLIENT_CTL_LOAD_LOAD_TRAFFIC_H_
#define BASEBAND_CLIENT_CTL_LOAD_LOAD_TRAFFIC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "client/cpp/client.h"
#include "client/ctl/common/session.h"
#include "client/ctl/ldpc/code_flags.h"
#include "client/ctl/shared_channel/early_stop.h"
#include "client/ctl/shared_channel/transport_format.h"
#include "client/load/confirm.h"
#include "client/load/workload.h"

namespace baseband::ctl {

enum class Operation {
  kEncode,
  kDecode,
  kEncodeSharedChannel,
  kDecodeSharedChannel,
  kRecover,
  kDownconvert,
  kMinimize
};

// "encode", "decode", "encode-shared-channel", "decode-shared-channel", "recover", "downconvert",
// "minimize".
absl::StatusOr<Operation> ParseOperation(absl::string_view name);
std::string NameOfOperation(Operation operation);
// Whether second transmissions are anything to it.
bool TakesHarq(Operation operation);

inline FormatFlags EighthOfACarrier() {
  FormatFlags flags;
  flags.prbs = 34;  // of 273
  return flags;
}

// One kind of call in a mix.
struct TrafficSpec {
  Operation operation = Operation::kDecode;
  std::string name;  // empty: described by what it is
  double weight = 1;
  absl::Duration deadline = absl::InfiniteDuration();
  std::string priority;  // "high", "normal", "low"; empty: not said, normal
  int variants = 4;      // different requests, taken in turn: 1 .. 64

  // Encode, Decode. Without a code: 5G NR BG1 Zc=384 at rate 1/2.
  CodeFlags code;
  DecodeFlags decode;
  int blocks = 8;                  // code blocks, transport blocks or frames in a request
  absl::optional<double> ebn0_db;  // of the LLRs; empty: where all blocks decode
  // Decode of NR codes: the share of calls, 0 .. 1, that are second transmissions. The server gets
  // what a receiver has then: redundancy versions 0 and 2 (38.212, table 5.4.2.1-2), combined into
  // one soft buffer, so that more parity rows count.
  double harq = 0;

  // EncodeSharedChannel, DecodeSharedChannel: a request is a slot with `blocks` users, each with
  // the PRBs of the format. `harq` as above: soft bits of version 0 come with version 2.
  FormatFlags format = EighthOfACarrier();
  absl::optional<int> mcs;
  absl::optional<double> snr_db;  // Es/N0 of the symbols; empty: where all blocks decode
  std::string input = "int16";    // what is decoded: see ReceivedType
  std::string early_stop = kParityStop;

  std::string constellation = "QPSK";  // RecoverCarrier
  int frame_symbols = 0;               // 0: of 64800 bits
  // "4", "5/2": frames come as so many samples of each symbol. Empty: as symbols.
  std::string samples_per_symbol;
  absl::optional<double> roll_off;  // of their pulses; empty: 0.2

  int samples = 65536;  // Downconvert: complex int16 samples in a request
  int channels = 4;     // 64 taps each, decimation by 8

  int points = 1000000;  // Minimize: of the grid, about
};

// InvalidArgument names the field, its value and its range.
absl::Status Check(const TrafficSpec& spec);

struct Traffic {
  std::vector<load::Workload> workloads;  // of the specs in order; one with a HARQ share makes two
  load::WrongAnswers wrong;               // of those that its making took
};

// What is right is known without the server. Code words and transport blocks are made here;
// carriers, tones and the lowest points of paraboloids are told as they were sent. Of the server
// are only the points of RecoverCarrier's constellations: asked for three times, they are what two
// answers agree on, and what a constellation is. What the rest of an answer has to be, several of
// them must agree on, see load::Confirm(); a server with devices of several kinds has as many right
// answers. Statuses: Check(), those of calls, InvalidArgument for a code that cannot be encoded,
// DataLoss when no two answers agree.
absl::StatusOr<Traffic> MakeTraffic(client::Client* client, const GlobalFlags& flags,
                                    const std::vector<TrafficSpec>& specs, int kinds_of_devices,
                                    uint64_t seed);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_LOAD_LOAD_TRAFFIC_H_
