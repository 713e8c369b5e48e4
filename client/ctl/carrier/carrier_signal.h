// Frames as a receiver gets them: random symbols of a constellation, turned by a carrier, in white
// Gaussian noise.
#ifndef BASEBAND_CLIENT_CTL_CARRIER_CARRIER_SIGNAL_H_
#define BASEBAND_CLIENT_CTL_CARRIER_CARRIER_SIGNAL_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "client/ctl/common/random.h"
#include "client/ctl/common/symbols.h"

namespace baseband::ctl {

struct SignalSpec {
  absl::Span<const Complex> points;  // mean energy 1
  int num_symbols = 0;
  double snr_db = 0;     // Es/N0
  double frequency = 0;  // cycles per symbol
  double phase = 0;      // radians, of symbol 0
};

// Appends one frame: symbols drawn uniformly from the points to `sent` (may be null), and
//   sent[n] exp(j (2 pi frequency n + phase)) + noise
// to `received`. `known` holds what is sent at `known_positions` (ascending) instead.
// The same random sequence gives the same symbols and the same noise but for its size, whatever
// the SNR and the carrier.
void AppendFrame(const SignalSpec& spec, absl::Span<const uint32_t> known_positions,
                 absl::Span<const Complex> known, Random* random, std::vector<Complex>* sent,
                 std::vector<Complex>* received);

// Two independent normal numbers of variance 1.
Complex Normal(Random* random);
// Uniform in [0, 1) and in [low, high).
double Uniform(Random* random);
double Uniform(Random* random, double low, double high);

// QPSK symbols, as pilots are: one of (+-1 +-1j) / sqrt(2) each.
std::vector<Complex> RandomPilots(int64_t count, Random* random);

// Phase in [-pi, pi) / ambiguity.
double WrapPhase(double phase, int ambiguity = 1);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_CARRIER_CARRIER_SIGNAL_H_
