// Downconvert requests for the real server.
#ifndef BASEBAND_TESTS_SUPPORT_DOWNCONVERT_TRAFFIC_H_
#define BASEBAND_TESTS_SUPPORT_DOWNCONVERT_TRAFFIC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "baseband/v1/baseband.grpc.pb.h"

namespace baseband::testing {

// Complex int16 samples: a few tones and noise; the same for the same seed.
std::string WidebandSignal(int64_t num_samples, unsigned seed);

// `count` channels at frequencies that no power of two divides, each decimating by `down` with
// `taps` taps of its own, float32 out; the sample rate is 64 MHz.
v1::DownconvertSetup ChannelsOf(int count, int taps, int down);

// What a signal became, by channel.
struct Converted {
  std::vector<std::string> channels;
  int64_t responses = 0;
  int64_t gap = 0;
};

// The signal in pieces of these sizes (the last one as often as needed), one after the other, each
// with the history that the filters need: Downconvert at `stubs` in turn.
Converted ConvertInPieces(const std::vector<v1::Baseband::Stub*>& stubs,
                          const v1::DownconvertRequest& like, const std::string& signal,
                          const std::vector<int64_t>& sizes);
// The same through one stream. Retunes are sent with the message that holds their sample.
Converted ConvertAsStream(v1::Baseband::Stub& stub, const v1::DownconvertRequest& like,
                          const std::string& signal, const std::vector<int64_t>& sizes);

// Calls and waits.
grpc::Status Call(v1::Baseband::Stub& stub, const v1::DownconvertRequest& request,
                  v1::DownconvertResponse* response, absl::Duration timeout = absl::Seconds(60));

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_DOWNCONVERT_TRAFFIC_H_
