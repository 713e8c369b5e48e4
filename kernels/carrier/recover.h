// Carrier recovery of a frame of symbols: what is computed, whatever the device.
//
// A frame is N received symbols, one sample each:
//   r_n = A s_n exp(j (2 pi f n + phi)) + noise,   n = 0 .. N-1,
// s_n drawn from a constellation of unit mean energy, f in cycles per symbol. Wanted: f, phi, the
// gain A, how sure that is, and z_n = r_n exp(-j (2 pi f n + phi)), the corrected symbols.
//
// Coarse stage: the modulation is taken off (raised to a power p, or multiplied by the conjugate of
// known symbols), the line that remains is looked for in an FFT of L points, L the least power of
// two >= N, its half bins included. Fine stage: see Fine. Source of both and of the sweep: Gao,
// Yang, Fu, "GPU-accelerated design and implementation of a high-speed carrier recovery algorithm"
// (equations 3 to 15); the rest is ours, see model.h.
//
// Last, for every method, the frame is judged: corrected with the estimate, compared with the
// constellation, and called locked only if it fits (Result::lock).
#ifndef BASEBAND_KERNELS_CARRIER_RECOVER_H_
#define BASEBAND_KERNELS_CARRIER_RECOVER_H_

#include <cstdint>
#include <tuple>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/carrier/constellation.h"
#include "kernels/carrier/model.h"

namespace baseband::carrier {

inline constexpr int kMinSymbols = 16;       // in a frame
inline constexpr int kMaxSymbols = 1 << 20;  // in a frame
inline constexpr int kMaxSweepBins = 8192;   // candidates of a sweep, guard bins included
inline constexpr int kMaxGuardBins = 16;
inline constexpr int kMaxCurvePoints =
    1024;  // of a spectrum; a sweep's curve has all its candidates
// |symbol| after scaling. Larger ones, NaN and infinity make a frame `bad_symbols`.
inline constexpr float kMaxMagnitude = 1e15F;

// Of Parameters::scale: by its reciprocal, which has to be finite, symbols go back to samples.
inline constexpr float kLeastScale = 1e-37F;
// Magnitudes of known symbols, in the scale of the constellation, whose rms is 1.
inline constexpr float kMinKnownMagnitude = 0.001F;
inline constexpr float kMaxKnownMagnitude = 1000.0F;
inline bool IsKnownMagnitude(const Iq& symbol) {
  const float energy = symbol.i * symbol.i + symbol.q * symbol.q;
  return energy >= kMinKnownMagnitude * kMinKnownMagnitude &&
         energy <= kMaxKnownMagnitude * kMaxKnownMagnitude;
}

// Element type of a symbol's I and Q, I first, little endian.
enum class SampleFormat : uint8_t { kFloat32, kFloat16, kInt16 };
constexpr int BytesPerSymbol(SampleFormat format) {
  return format == SampleFormat::kFloat32 ? 8 : 4;
}

enum class Coarse : uint8_t {
  kNone,   // f = 0 is the coarse estimate
  kPower,  // FFT of the symbols raised to Model::power()
  kKnown,  // FFT of the symbols times the conjugate of the known ones
};

enum class Fine : uint8_t {
  kNone,         // the best FFT bin
  kInterpolate,  // the peak between the bins
  kSweep,        // the paper's: the candidate with the least EVM
  // Soft decisions from the interpolated peak on: Newton steps to the maximum of the likelihood of
  // the symbols given f, phi, A and the noise, the sent points unknown but for the known ones.
  // Reaches the Cramer-Rao bound of a blind estimator.
  kRemodulate,
  kPll,  // second-order decision-directed loop from the best FFT bin on, serial along the frame
};

// Where in the frame the reported phase is.
enum class Reference : uint8_t { kFirst, kCentre, kLast };  // n = 0, (N - 1) / 2, N - 1

struct Parameters {
  SampleFormat format = SampleFormat::kFloat32;
  float scale = 1.0F;  // a sample's value is what was received times this; kLeastScale ..
  Coarse coarse = Coarse::kPower;
  Fine fine = Fine::kRemodulate;
  Reference reference = Reference::kFirst;
  // Only |f| up to this is looked for, cycles per symbol. 0 stands for the most that there may be,
  // up to which f is told from its aliases. With g the greatest common divisor of the distances
  // between known symbols, of which one alone has none, and q the constellation's symmetry:
  //   kPower   1 / (2 q); with two known symbols or more 1 / (2 gcd(q, g))
  //   kKnown   1 / (2 g); with one known symbol 1 / 2
  //   kNone    1 / 2; only what is near 0 is found
  double max_frequency = 0.0;
  // What is known of the SNR A^2 / noise, dB, if has_expected_snr: where the search for it starts.
  float expected_snr_db = 0.0F;
  bool has_expected_snr = false;

  // Sweep: candidates f_coarse + k * step for |k| <= floor(range / step) + guard_bins; each with
  // its own initial phase. Ties go to the lowest candidate.
  double sweep_range = 0.0;        // > 0, cycles per symbol; 0: 1 / (2 N)
  double sweep_step = 5e-7;        // 0 < step <= range
  int sweep_guard_bins = 0;        // 0 .. kMaxGuardBins
  bool sweep_interpolate = false;  // parabola through the least EVM and its neighbours

  // PLL: noise bandwidth times symbol period, and damping.
  float pll_bandwidth = 0.005F;  // (0, 0.5)
  float pll_damping = 0.707F;    // [0.1, 10]

  bool want_corrected = false;
  bool want_curve = false;

  friend bool operator==(const Parameters& a, const Parameters& b) { return a.Tie() == b.Tie(); }
  friend bool operator<(const Parameters& a, const Parameters& b) { return a.Tie() < b.Tie(); }

 private:
  std::tuple<SampleFormat, float, Coarse, Fine, Reference, double, float, bool, double, double, int,
             bool, float, float, bool, bool>
  Tie() const {
    return {format,        scale,         coarse,           fine,
            reference,     max_frequency, expected_snr_db,  has_expected_snr,
            sweep_range,   sweep_step,    sweep_guard_bins, sweep_interpolate,
            pll_bandwidth, pll_damping,   want_corrected,   want_curve};
  }
};

// What the lock decision came to.
enum class Lock : uint8_t {
  kLocked,
  kNoSignal,  // no energy
  kNoPeak,    // the line does not stand out of the noise
  // A second peak fits nearly as well; or another of the carriers that a line leaves open does, by
  // far less behind than so many symbols put it: the phase may have jumped to where some of the
  // constellation's rings are themselves again (told without known symbols only). Or known symbols'
  // own line was asked for, and leaves the choice to data that say too little.
  kAmbiguous,
  // The corrected symbols do not lie at the constellation's points, or all on one ring of several,
  // where they fit in more than one way: some 60 symbols of QAM show that, some hundred of APSK,
  // see kurtosis_math.h. Which QAM it is shows from the operating SNR on: a lock with a lower
  // snr_db may be another's, of which frequency and phase are right as a rule, gain and SNR are
  // not. So may one far above it if each of the other's points is one of the constellation's
  // (16QAM's among 256QAM's).
  // Or, Fine::kPll apart, the known symbols are not what was received: right ones in white noise
  // are refused in one frame of a million, see known_math.h. Some 16 wrong ones (36 of BPSK) show
  // it from 5 dB above the operating SNR on; few, of which one of the carriers that the data leave
  // open may happen to turn every one into place, cannot. Or the known symbols fit and the others
  // do not.
  kBadFit,
};

// How 2 pi / symmetry was resolved.
enum class Resolved : uint8_t {
  kNot,           // it was not: phase is modulo 2 pi / ambiguity
  kKnownSymbols,  // ambiguity is 1. Too few of them in too much noise leave it as it was
};

// What became of one frame. With lock other than kLocked the numbers are the best guess.
struct Result {
  double frequency = 0.0;         // f, cycles per symbol
  double coarse_frequency = 0.0;  // before the fine stage
  // Radians at Parameters::reference, in [-pi, pi) / ambiguity.
  double phase = 0.0;
  float frequency_stddev = 0.0F;  // predicted standard deviations, above 0 but of kNoSignal
  float phase_stddev = 0.0F;
  float gain = 0.0F;  // A
  // Estimate of A^2 / E|noise|^2, at most kMaxSnrDb; what is left of the carrier counts as noise.
  // From 1.5 dB above the operating SNR on its mean is within 0.1 dB; of 256APSK, whose closest
  // points drown later than all others, within 0.3 dB from 12 dB above it on. Chance is 4.3 /
  // sqrt(N) dB, near the operating SNR up to twice that. There and below, where most decisions of a
  // dense constellation are wrong, it is too low: by up to 0.6 dB in long frames of 128QAM and
  // more, by 12 dB in some of 1000 symbols. Of dense constellations that holds for frames of 16
  // symbols a point; with fewer some settle on another scale, or turned by less than the symmetry:
  // at one symbol a point 2 to 4 % of 1024QAM's locks are off by more than 3 dB, at a third of one
  // 15 to 22 %.
  float snr_db = 0.0F;
  float evm = 0.0F;  // rms distance of z_n / A to the nearest point (known symbols: to that), rms
                     // of the points being 1
  // Power of the coarse peak over that of the largest one elsewhere, both between the bins.
  float peak_ratio = 0.0F;
  // ln of the likelihood of the frame as corrected over that with a random phase for every symbol.
  float fit = 0.0F;
  Lock lock = Lock::kNoSignal;
  Resolved resolved = Resolved::kNot;
  // The phase is sure modulo 2 pi / ambiguity: the constellation's symmetry, or 1 with known
  // symbols; or the power, a multiple of both, where noise hides the rings that tell the power's
  // branches apart, or known symbols are too few to.
  uint16_t ambiguity = 1;
  uint8_t bad_symbols = 0;  // 1: NaN, infinite or above kMaxMagnitude; nothing else is valid
};
static_assert(sizeof(Result) == 64, "copied from the device as it is");
inline constexpr float kMaxSnrDb = 60.0F;

// OK if a frame of `num_symbols` can be recovered so. InvalidArgument names the parameter, its
// value and its range. `known` as in RecoverOnCpu.
absl::Status CheckParameters(const Model& model, const Parameters& parameters, int num_symbols,
                             absl::Span<const Iq> known);
// The parts of that which need no model, for one may take seconds to make: what depends on no
// constellation, and whether `constellation` lets max_frequency be told.
absl::Status CheckParameters(const Parameters& parameters, int num_symbols,
                             absl::Span<const Iq> known);
absl::Status CheckMaxFrequency(const Constellation& constellation, const Parameters& parameters,
                               absl::Span<const Iq> known);

// What a frame can tell of its frequency, cycles per symbol.
struct Reach {
  double frequency = 0.0;  // |f| up to this is looked for; 0: only what is near zero
  // f and f + modulo are the same frame: known symbols are as far apart and other symbols look as
  // they do. Nothing less is, though a method may look at known symbols alone.
  double modulo = 1.0;
};
// The coarse stage that finds the carrier more often: kKnown where known symbols lie all over the
// frame, singly or in long blocks, 0.6 of it apart at most if these are alike; or are so many side
// by side that the phase which their line predicts at its ends is nearly the right one. Of others
// the line is too wide, or one of too many alike, and it is kPower, after which they choose between
// its aliases; so it is where max_frequency is more than known symbols can tell. kKnown of a
// constellation without a line.
// Parameters::coarse does not matter; `known` as in RecoverOnCpu, not empty.
Coarse CoarseFor(const Model& model, const Parameters& parameters, absl::Span<const Iq> known);
// The parameters have passed CheckParameters. `known` as in RecoverOnCpu.
Reach ReachOf(const Model& model, const Parameters& parameters, absl::Span<const Iq> known);

// A frame's curve: metric against frequency, at begin + i * step. Sweep: EVM by equation 8, divided
// by N. Otherwise: power of the coarse spectrum over its mean, the largest in each interval.
struct Curve {
  int num_points = 0;
  double begin = 0.0;  // cycles per symbol; relative to Result::coarse_frequency for a sweep
  double step = 0.0;
};
Curve CurveOf(const Model& model, const Parameters& parameters, int num_symbols);

// Symbol `n` of a frame as it lies in `symbols`, scaled.
Iq ReadSymbol(const Parameters& parameters, const uint8_t* symbols, int64_t n);

// Recovers one frame on the calling thread.
//   symbols    [num_symbols * BytesPerSymbol], any alignment
//   known      empty, or [num_symbols]: the known symbols, in the constellation's scale; (0, 0)
//   where
//              nothing is known. Not empty for Coarse::kKnown.
//   corrected  empty, or as long as `symbols`: z_n in the format and scale of the input, int16
//              saturated
//   curve      empty, or [CurveOf().num_points]
// The parameters have passed CheckParameters. SIMD, chosen for this processor at run time.
// Allocates nothing once a thread has done a frame of this size. Thread-safe. Deterministic.
Result RecoverOnCpu(const Model& model, const Parameters& parameters,
                    absl::Span<const uint8_t> symbols, absl::Span<const Iq> known,
                    absl::Span<uint8_t> corrected, absl::Span<float> curve);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_RECOVER_H_
