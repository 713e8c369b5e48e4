// Pulses, root-raised-cosine ones and others, and the taps of the filters matched to them.
//
// Time is counted in symbols, frequency in cycles per symbol. The root-raised-cosine pulse g of
// roll-off a has the spectrum G >= 0, G^2 the raised cosine RC:
//   RC(f) = 1 for |f| <= (1 - a) / 2,
//           (1 - sin(pi (|f| - 1/2) / a)) / 2 for ||f| - 1/2| <= a / 2,  0 beyond;
// so unit energy, and g convolved with itself is 1 at 0 and 0 at every other symbol.
// Any other one that is real and symmetric comes as samples of it (PulseTaps).
// Samples of a signal lie Q / P symbols apart: P samples for every Q symbols.
#ifndef BASEBAND_KERNELS_TIMING_PULSE_H_
#define BASEBAND_KERNELS_TIMING_PULSE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/base/continue_check.h"

namespace baseband::timing {

inline constexpr double kMinRolloff = 0.05;
inline constexpr double kMaxRolloff = 1.0;
inline constexpr int kMinSamplesPerSymbol = 2;
inline constexpr int kMaxSamplesPerSymbol = 16;
inline constexpr int kMaxRateTerm = 4096;  // of P and of Q, in lowest terms

inline constexpr int kMinTapsPerSymbol = 2;
inline constexpr int kMaxTapsPerSymbol = 16;
inline constexpr int kMaxTapsReach = 64;           // symbols to either side of the pulse's centre
inline constexpr double kMaxTapsAsymmetry = 1e-3;  // of the largest tap
// What Pulse::Create asks of taps, see there.
inline constexpr double kMaxEnergyBeyond = 0.01;
inline constexpr double kMaxInterference = 0.01;
inline constexpr double kMinLineStrength = 0.25;

// A pulse as it is sent, T = `per_symbol` samples to a symbol: an odd number h_-L .. h_L of them,
// h_0 at its centre. It is symmetric, and so the filter that is matched to it, too: h_-n and h_n
// differ by no more than kMaxTapsAsymmetry of the largest; their mean is taken. The scale does not
// matter. The pulse is what these samples have within one cycle per symbol, all that two samples a
// symbol can show:
//   g(t) = sum over n of h_n sinc(2 (t - n / T)), times what makes its energy 1.
struct PulseTaps {
  int per_symbol = 0;         // [kMinTapsPerSymbol, kMaxTapsPerSymbol]
  std::vector<float> values;  // L <= kMaxTapsReach T; finite, not all 0
};

// What a pulse and its samples are. Two of them are the same pulse only if they are equal to the
// bit.
struct PulseShape {
  // [kMinRolloff, kMaxRolloff]. With `taps`: the pulse's band ends at (1 + rolloff) / 2, and the
  // timing is looked for in what it has within rolloff / 2 of 1 / 2.
  double rolloff = 0.35;
  // P / Q samples per symbol, in [kMinSamplesPerSymbol, kMaxSamplesPerSymbol]; each in [1, 2^31),
  // and at most kMaxRateTerm in lowest terms.
  int samples = 2;                                  // P
  int symbols = 1;                                  // Q
  std::shared_ptr<const PulseTaps> taps = nullptr;  // null: a root-raised-cosine pulse

  double samples_per_symbol() const { return static_cast<double>(samples) / symbols; }
  // P / Q in lowest terms; the rate is a checked one.
  PulseShape Reduced() const;
  // Tells apart what is not equal, for caches: the bits of all numbers.
  std::string Key() const;

  friend bool operator==(const PulseShape& a, const PulseShape& b) { return a.Key() == b.Key(); }
};

// InvalidArgument names roll_off, samples_per_symbol, taps_per_symbol or taps, the value and its
// range.
absl::Status CheckPulse(const PulseShape& shape);
// The part of that which is of the taps.
absl::Status CheckTaps(int64_t per_symbol, absl::Span<const float> values);

// A tap of the matched filter and of its derivative.
struct Tap {
  float value = 0.0F;
  float slope = 0.0F;  // what `value` becomes, per symbol, as the filter moves to a later time
};

// The taps as the devices read them; plain arrays. A filter centred at sample place b + r / rows
// (0 <= r < rows) has its taps at samples b - before + j, 0 <= j < taps:
//   value = (Q / P) g((j - before - r / rows) Q / P), and slope its derivative, times -1.
// Row r begins at taps_of[r * row_taps]; row_taps is `taps` rounded up to a whole vector with zeros
// behind.
struct PulseView {
  int rows = 1;
  int taps = 0;
  int row_taps = 0;
  int before = 0;
  const Tap* taps_of = nullptr;  // [rows][row_taps]
};

// What the estimates need to know of a pulse.
struct PulseFacts {
  double rolloff = 0.35;
  // Mean square of f over the pulse's energy times (2 pi)^2, rad^2 per symbol^2:
  //   (2 pi)^2 (1 / 12 + a^2 (1 / 4 - 2 / pi^2)) of the root-raised-cosine one.
  double bandwidth = 0.0;
  // Which part of it the slopes of r, the pulse convolved with itself, at the other symbols hold:
  //   2 sum over d >= 1 of r'(d)^2 / bandwidth. Near 1 for small roll-offs, where all that moves
  // with the timing of one symbol is its neighbours. See BlindShare in math/refine_math.h.
  double neighbour_share = 0.0;
  // How far those slopes reach: sum over d >= 1 of d^2 r'(d)^2.
  double neighbour_reach = 0.0;
  // The line at the symbol rate over that of a root-raised-cosine pulse of this roll-off.
  double line_strength = 1.0;
};

struct PulseHalf;  // pulse_taps.h
class TapsPulse;   // likewise
class Pulse;
using PulsePtr = std::shared_ptr<const Pulse>;

// Immutable: shared by all threads.
class Pulse {
 public:
  // All steps of a PulsePlan. Takes up to ten milliseconds.
  static absl::StatusOr<PulsePtr> Create(const PulseShape& shape,
                                         const ContinueCheck& may_continue = nullptr);

  const PulseShape& shape() const { return shape_; }  // in lowest terms
  // How far the filter reaches from its centre, symbols: as far as makes the interference of
  // symbols with each other less than -60 dB of their power, beside what the pulse's own taps bring
  // along.
  int span() const { return span_; }
  const PulseFacts& facts() const { return facts_; }
  // Differs from that of every other pulse of this process.
  uint64_t id() const { return id_; }
  PulseView view() const;
  // Of the filters' taps and the pulse's own, which are nearly all of it: up to 300 KB.
  int64_t bytes() const;

 private:
  friend class PulsePlan;
  Pulse() = default;

  // How many points of the pulse's half the filters need, RowStep() symbols apart.
  size_t HalfPoints() const;
  double RowStep() const;
  void SetFilters(const PulseHalf& half);

  PulseShape shape_;
  int span_ = 0;
  PulseFacts facts_;
  uint64_t id_ = 0;
  PulseView layout_;  // without its pointer
  std::vector<Tap> taps_;
};

// A pulse that is made in three steps, so that many can be checked, and what they take be known,
// before the first of them takes long:
//   BASEBAND_ASSIGN_OR_RETURN(PulsePlan plan, PulsePlan::Create(shape));  // all refusals
//   BASEBAND_RETURN_IF_ERROR(plan.LayOut());                              // plan.bytes()
//   BASEBAND_ASSIGN_OR_RETURN(PulsePtr pulse, plan.Make());
class PulsePlan {
 public:
  // `shape` need not be in lowest terms. Refusals: CheckPulse, and InvalidArgument of taps
  //   - of whose energy more than kMaxEnergyBeyond is beyond the band of the roll-off,
  //   - whose symbols, behind the matched filter, interfere with each other by more than
  //     kMaxInterference of their power; less than that is noise to all that follows,
  //   - whose line at the symbol rate is weaker than kMinLineStrength of a root-raised-cosine
  //     pulse's of that roll-off: there would be no timing to be found.
  // Takes some ten microseconds, a few for each hundred taps, and up to three hundred. What
  // `may_continue`, asked every few milliseconds, says other than OK ends each step.
  static absl::StatusOr<PulsePlan> Create(const PulseShape& shape,
                                          const ContinueCheck& may_continue = nullptr);

  PulsePlan(PulsePlan&&) = default;
  PulsePlan& operator=(PulsePlan&&) = default;

  // Finds out how far the filters reach: up to a millisecond.
  absl::Status LayOut(const ContinueCheck& may_continue = nullptr);
  // Of the pulse, once it is made; before LayOut a part of that.
  int64_t bytes() const;
  // What bytes() says before LayOut, at once. `shape` has passed CheckPulse.
  static int64_t LeastBytes(const PulseShape& shape);

  // Designs the filters, once LayOut was OK. Called once.
  absl::StatusOr<PulsePtr> Make(const ContinueCheck& may_continue = nullptr);

 private:
  PulsePlan() = default;

  std::shared_ptr<Pulse> pulse_;
  std::shared_ptr<TapsPulse> taps_;  // null: a root-raised-cosine pulse
};

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_PULSE_H_
