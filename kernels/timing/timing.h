// Symbol timing, and the carrier behind it: samples in, symbols out. What is computed, whatever the
// device.
//
// A frame is M samples, Q / P symbols apart (pulse.h), of a linearly modulated signal:
//   x_m = A exp(j 2 pi f ..) sum over k of s_k g(m Q / P - t_k) + noise,  m = 0 .. M - 1,
//   t_k = offset + k (1 + clock_error),
// g the pulse, s_k drawn from a constellation of unit mean energy. Time is in
// nominal symbols after the frame's first sample. Wanted: offset and clock_error, how sure they
// are, and the symbols y_k, what the filter matched to g gives at t_k, k = 0 .. N - 1, N =
// SymbolsOf. These are frames of carrier/recover.h, with its gain A, its f in cycles per symbol and
// its n = k.
//
// 1. Line. Where the spectrum's two edges overlap if moved by the symbol rate, they carry the same
//    symbols; their product accumulates a line at that rate (Oerder and Meyr 1988, with no more of
//    the band than carries it, as D'Andrea and Luise 1996 filter: so the symbols themselves make no
//    noise). By pieces of the frame its phase gives offset and clock error; where the spectrum lies
//    gives the carrier's coarse frequency, around which
// 2. the matched filter is laid: y_k, and their slope y'_k with the time of the filter.
// 3. Carrier: RecoverOnCpu or LaunchRecover of y, with all that its parameters ask for.
// 4. Refinement: the slopes along the soft decisions of the corrected symbols give, by weighted
//    least squares, what is left of offset and clock error, down to the Cramer-Rao bound of a blind
//    receiver (math/refine_math.h); y_k becomes y_k + d_k y'_k.
// The bound with all symbols known, each of the energy E_s, w^2 = PulseFacts::bandwidth:
//   var(time at the centre) >= 1 / (2 N E_s/N_0 w^2),  var(clock_error) >= 12 / N^2 times that,
//   var(offset) = four times it, if the clock error is unknown.
//
// The symbols nearest to the frame's ends lack a part of their pulse, span() symbols of them a
// little, the last two or three much: frames cut out of a recording may overlap by so much.
#ifndef BASEBAND_KERNELS_TIMING_TIMING_H_
#define BASEBAND_KERNELS_TIMING_TIMING_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/carrier/constellation.h"
#include "kernels/carrier/model.h"
#include "kernels/carrier/recover.h"
#include "kernels/timing/pulse.h"

namespace baseband::timing {

inline constexpr double kMaxClockError = 1e-3;  // 1000 ppm

struct Parameters {
  // Clock errors within +- this are looked for; [0, kMaxClockError]. 0: there is none, the offset
  // alone is estimated. Positive: the symbols are longer than nominal.
  double max_clock_error = 1e-4;

  friend bool operator==(const Parameters& a, const Parameters& b) {
    return a.max_clock_error == b.max_clock_error;
  }
  friend bool operator<(const Parameters& a, const Parameters& b) {
    return a.max_clock_error < b.max_clock_error;
  }
};

// What came of a frame's timing.
enum class Lock : uint8_t {
  kLocked,
  kNoSignal,  // no energy
  kNoLine,    // the line at the symbol rate does not stand out of the noise, or there is none: a
              // tone, a carrier without modulation, another symbol rate; or it is one of a few
              // impulses alone, or of a clock error beyond max_clock_error, by more than 0.1 symbol
              // at the frame's ends
  kTooShort,  // even without noise a frame so short would not show the line of such a roll-off
};

// With lock other than kLocked the numbers are the best guess, and symbols and carrier are what
// follows from it. The carrier is told by the symbols as they are at offset and clock_error, and
// its deviations hold those of both: of the frequencies that cannot be told from the one given
// (carrier::Reach::modulo) the nearest to spectrum_centre is the one that turned. It has a lock of
// its own, which is no kLocked but carrier::Lock::kBadFit where symbols at the carrier's SNR would
// show a line several times as strong as what is there.
struct Result {
  // When the first symbol's centre is, nominal symbols after the first sample: within [0, 1), but
  // for what the refinement adds.
  double offset = 0.0;
  double clock_error = 0.0;  // length of a symbol over the nominal one, less 1
  // Predicted standard deviations: of noise, of symbols beyond the frame's ends, of rounding and
  // the filter's length; never above those of anything within [0, 1) and +-max_clock_error, which
  // they are if there is no signal. 0 only that of the clock error, if max_clock_error is 0, or too
  // small for a float. If the samples show the clock error to be beyond +-max_clock_error, by more
  // than five deviations, by how much is in those of clock error and offset. They may be too
  // small of samples that are clipped or full of impulses, of a signal that is there, or modulated,
  // for a part of the frame only, and of symbols that depend on their neighbours.
  float offset_stddev = 0.0F;  // of `offset`, the time of the first symbol
  float clock_error_stddev = 0.0F;
  float centre_stddev = 0.0F;  // of the time of the frame's middle symbol
  // Power of the line over what noise and symbols of the same spectrum would have there without
  // one, on average, or over what the scatter of its pieces makes that, if it is more. exp(-line)
  // is the chance of as much at one clock error; this is the greatest of all that were compared,
  // which is as much about 1 + 2 N max_clock_error times as often.
  float line = 0.0F;
  // Where the spectrum's middle lies, cycles per symbol: the matched filter was laid around it.
  float spectrum_centre = 0.0F;
  Lock lock = Lock::kNoSignal;
  uint8_t refined = 0;      // 1: by decisions; 0: the line's own, as the carrier was not locked
  uint8_t bad_samples = 0;  // 1: NaN, infinite or above carrier::kMaxMagnitude; nothing else is
                            // valid, the carrier's bad_symbols is 1. That alone: good samples
                            // make a symbol above it
  uint8_t reserved[17] = {};
};
static_assert(sizeof(Result) == 56, "copied from the device as it is");

// N of a frame of M = `num_samples`: as many symbols as have their centre between the first and the
// last sample whatever offset in [0, 1) and clock error are, so one or two less than M Q / P, and
// max_clock_error of that. 0 or less if there are none. `shape` has passed CheckPulse.
int64_t SymbolsOf(const PulseShape& shape, const Parameters& parameters, int64_t num_samples);
// The least M of which N symbols can be taken.
int64_t SamplesFor(const PulseShape& shape, const Parameters& parameters, int64_t num_symbols);

// OK if a frame of `num_samples` can be recovered so: SymbolsOf it is within carrier::kMinSymbols
// and kMaxSymbols, `shape` passes CheckPulse, and the carrier's parameters its own CheckParameters
// for so many symbols. `known` as RecoverOnCpu takes it, [SymbolsOf()] or empty; its symbol 0 is
// the first whose centre is not before the first sample, so frames with known symbols best begin
// half a symbol before it. InvalidArgument names the parameter, its value and its range.
absl::Status CheckParameters(const carrier::Model& model, const carrier::Parameters& carrier,
                             const PulseShape& shape, const Parameters& parameters,
                             int64_t num_samples, absl::Span<const carrier::Iq> known);
// The parts of that which need no model, as carrier::CheckParameters.
absl::Status CheckParameters(const carrier::Parameters& carrier, const PulseShape& shape,
                             const Parameters& parameters, int64_t num_samples,
                             absl::Span<const carrier::Iq> known);

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_TIMING_H_
