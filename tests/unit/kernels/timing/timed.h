// One frame of samples and what became of it, for the tests of this folder.
#ifndef BASEBAND_TESTS_UNIT_KERNELS_TIMING_TIMED_H_
#define BASEBAND_TESTS_UNIT_KERNELS_TIMING_TIMED_H_

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/timing/timing_cpu.h"
#include "tests/support/matchers.h"
#include "tests/support/timing_frames.h"

namespace baseband::timing {

using carrier::Iq;
using testing::TimingSamples;
using testing::TimingSpec;

struct Timed {
  Recovered recovered;
  std::vector<Iq> corrected;
};

// What a frame is recovered with.
struct Receiver {
  carrier::ModelPtr model;
  PulsePtr pulse;
  carrier::Parameters carrier;
  Parameters parameters;
};

inline Receiver ReceiverOf(const std::string& name, const PulseShape& shape) {
  Receiver receiver;
  const auto constellation = carrier::Constellation::FromName(name);
  EXPECT_THAT(constellation, testing::IsOk());
  receiver.model = *carrier::Model::Create(*constellation, carrier::Amplitude::kWeighted, 0);
  receiver.pulse = *Pulse::Create(shape);
  return receiver;
}

// A frame of just so many symbols, its clock and carrier drawn.
inline TimingSpec SpecOf(const Receiver& receiver, int num_symbols, double snr_db, uint64_t seed) {
  TimingSpec spec;
  spec.constellation = *carrier::Constellation::FromName(receiver.model->constellation().name());
  spec.shape = receiver.pulse->shape();
  spec.num_samples = SamplesFor(spec.shape, receiver.parameters, num_symbols);
  spec.snr_db = snr_db;
  spec.gain = 1.3;
  spec.seed = seed;
  return testing::WithRandomTiming(spec, 0.5 * receiver.parameters.max_clock_error,
                                   0.8 * receiver.model->max_frequency());
}

inline Timed Recover(const Receiver& receiver, const std::vector<Iq>& samples,
                     absl::Span<const Iq> known = {}) {
  const auto num_samples = static_cast<int64_t>(samples.size());
  EXPECT_THAT(CheckParameters(*receiver.model, receiver.carrier, receiver.pulse->shape(),
                              receiver.parameters, num_samples, known),
              testing::IsOk());
  const carrier::Parameters& carrier = receiver.carrier;
  const std::vector<uint8_t> bytes =
      testing::ToSamples(samples, carrier.format, static_cast<double>(carrier.scale));
  const int64_t num_symbols = SymbolsOf(receiver.pulse->shape(), receiver.parameters, num_samples);
  std::vector<uint8_t> corrected(
      static_cast<size_t>(num_symbols * carrier::BytesPerSymbol(carrier.format)));
  Timed timed;
  timed.recovered = RecoverOnCpu(*receiver.model, carrier, *receiver.pulse, receiver.parameters,
                                 bytes, known, absl::MakeSpan(corrected), {});
  for (int64_t k = 0; k < num_symbols; ++k) {
    timed.corrected.push_back(carrier::ReadSymbol(carrier, corrected.data(), k));
  }
  return timed;
}

// How far the times of first symbol and middle symbol, and the clock, are off. A frame whose first
// symbol is next to its first sample may begin with it or with the one behind.
struct Off {
  double first = 0.0;
  double centre = 0.0;
  double clock = 0.0;
};
inline Off OffOf(const Timed& timed, const TimingSpec& spec) {
  const Result& result = timed.recovered.timing;
  Off off;
  off.clock = result.clock_error - spec.clock_error;
  off.first = result.offset - spec.offset;
  off.first -= std::rint(off.first);
  off.centre = off.first + off.clock * 0.5 * (static_cast<double>(timed.corrected.size()) - 1.0);
  return off;
}

}  // namespace baseband::timing

#endif  // BASEBAND_TESTS_UNIT_KERNELS_TIMING_TIMED_H_
