// RecoverCarrier requests for the real server, and what their answers must be.
#ifndef BASEBAND_TESTS_SUPPORT_CARRIER_TRAFFIC_H_
#define BASEBAND_TESTS_SUPPORT_CARRIER_TRAFFIC_H_

#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "baseband/v1/baseband.grpc.pb.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/timing_frames.h"

namespace baseband::testing {

// A request with what was sent in each of its frames, and more of those that are samples.
struct CarrierRequest {
  v1::RecoverCarrierRequest message;
  std::vector<FrameSpec> frames;
  std::vector<TimingSpec> timings;
};

// Of a constellation's name, 6 dB above its operating point.
FrameSpec FramesOf(const std::string& name, int num_symbols, uint64_t seed);

// Adds a group of `count` frames like `spec`, each with a seed of its own, and returns it.
v1::CarrierGroup& AddFrames(const FrameSpec& spec, int count, v1::SampleFormat format,
                            CarrierRequest* request);

// The same of frames of samples; `spec` need not say how many, which follows from `num_symbols`.
v1::CarrierGroup& AddSampledFrames(TimingSpec spec, int num_symbols, int count,
                                   v1::SampleFormat format, CarrierRequest* request,
                                   const timing::Parameters& parameters = {});

// 1 .. 3 groups of random constellations, lengths, formats and offsets, 1 .. 3 frames each, 6 dB
// above their operating SNR; one of three comes as samples.
CarrierRequest RandomCarriers(std::mt19937* random);

// Empty if every frame is locked and within six predicted standard deviations of what was sent, the
// phase modulo its ambiguity, and its timing too if it has one; else what is not.
std::string CheckCarriers(const CarrierRequest& request,
                          const v1::RecoverCarrierResponse& response);

// Calls and waits.
grpc::Status Call(v1::Baseband::Stub& stub, const v1::RecoverCarrierRequest& request,
                  v1::RecoverCarrierResponse* response, absl::Duration timeout = absl::Seconds(60));

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_CARRIER_TRAFFIC_H_
