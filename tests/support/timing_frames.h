// Samples of signals as symbol timing meets them, the same on every machine.
#ifndef BASEBAND_TESTS_SUPPORT_TIMING_FRAMES_H_
#define BASEBAND_TESTS_SUPPORT_TIMING_FRAMES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/carrier/constellation.h"
#include "kernels/timing/timing.h"
#include "tests/support/carrier_frames.h"

namespace baseband::testing {

// x_m = gain exp(j (2 pi frequency (u_m - t_0) / (1 + clock_error) + phase))
//           sum over k of s_k g(u_m - t_k) + noise,
// u_m = m Q / P, t_k = offset + k (1 + clock_error); symbols go on before and behind the frame as
// far as their pulses reach. What the matched filter gives at t_k is the FrameSpec of
// carrier_frames.h, snr_db its E_s / N_0.
struct TimingSpec {
  carrier::ConstellationPtr constellation;
  timing::PulseShape shape;
  int64_t num_samples = 0;
  double offset = 0.0;
  double clock_error = 0.0;
  double frequency = 0.0;  // cycles per symbol
  double phase = 0.0;      // radians, at symbol 0
  double gain = 1.0;
  double snr_db = kNoNoise;
  uint64_t seed = 1;
};

struct TimingSamples {
  std::vector<carrier::Iq> samples;
  std::vector<carrier::Iq>
      sent;  // s_k, from symbol 0 on, as many as have their centre in the frame
};

// The seed alone decides what is sent and the noise's shape.
TimingSamples MakeSamples(const TimingSpec& spec);

// Taps of pulses that are sent, `reach` symbols to either side of their centre.
std::shared_ptr<const timing::PulseTaps> TapsOf(const std::function<double(double)>& pulse,
                                                int per_symbol, int reach);
// The root-raised-cosine pulse times a Hann window of that length: symbols interfere.
std::shared_ptr<const timing::PulseTaps> WindowedTaps(double rolloff, int per_symbol, int reach);
// Of the power spectrum that falls in a straight line from 1 at (1 - rolloff) / 2 to 0 at
// (1 + rolloff) / 2: symbols do not interfere, but for what the taps cut off.
std::shared_ptr<const timing::PulseTaps> StraightEdgeTaps(double rolloff, int per_symbol,
                                                          int reach);

// `spec` with offset, clock error within +-max_clock_error, frequency and phase drawn.
TimingSpec WithRandomTiming(TimingSpec spec, double max_clock_error, double max_frequency);

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_TIMING_FRAMES_H_
