// Frames of received symbols as carrier recovery meets them, the same on every machine.
#ifndef BASEBAND_TESTS_SUPPORT_CARRIER_FRAMES_H_
#define BASEBAND_TESTS_SUPPORT_CARRIER_FRAMES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "kernels/carrier/constellation.h"
#include "kernels/carrier/recover.h"

namespace baseband::testing {

inline constexpr double kNoNoise = 1e9;  // FrameSpec::snr_db

// Which symbols of a frame the receiver knows.
enum class Pilots : uint8_t {
  kNone,
  // As in DVB-S2: 90 symbols of a header (here random, pi/2-BPSK), then 36 pilots (here random,
  // QPSK; in DVB-S2 scrambling makes them so) after every 1440 symbols of data.
  kDvbS2,
  kAll,
};

// r_n = gain * s_n * exp(j (2 pi frequency n + phase)) + noise, n = 0 .. num_symbols - 1.
struct FrameSpec {
  carrier::ConstellationPtr constellation;
  int num_symbols = 0;     // known ones included
  double frequency = 0.0;  // cycles per symbol
  double phase = 0.0;      // radians, at symbol 0
  double gain = 1.0;
  double snr_db = kNoNoise;  // gain^2 / E |noise|^2
  uint64_t seed = 1;
  Pilots pilots = Pilots::kNone;
};

struct CarrierFrame {
  std::vector<carrier::Iq> symbols;  // received
  std::vector<carrier::Iq> sent;     // s_n
  std::vector<carrier::Iq> known;    // s_n where known, else (0, 0); empty for Pilots::kNone
};

// The seed alone decides what is sent and the noise's shape: two specs that differ in frequency,
// phase, gain or SNR only have the same s_n, and noise that differs only by a factor.
CarrierFrame MakeFrame(const FrameSpec& spec);

// `spec` with an offset drawn uniformly within +-max_frequency, and a phase within half a turn.
FrameSpec WithRandomOffset(FrameSpec spec, double max_frequency);

// `symbols` divided by `scale`, as samples of `format`: float16 and int16 rounded to nearest, even
// if tied, int16 saturated.
std::vector<uint8_t> ToSamples(absl::Span<const carrier::Iq> symbols, carrier::SampleFormat format,
                               double scale = 1.0);

// a - b, in [-period / 2, period / 2): how far an estimate that is known modulo `period` is off.
double WrappedDifference(double a, double b, double period);

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_CARRIER_FRAMES_H_
