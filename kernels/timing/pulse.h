// Root-raised-cosine pulses, and the taps of the filters matched to them.
//
// Time is counted in symbols, frequency in cycles per symbol. The pulse g of roll-off a has the
// spectrum G >= 0, G^2 the raised cosine RC:
//   RC(f) = 1 for |f| <= (1 - a) / 2,  (1 - sin(pi (|f| - 1/2) / a)) / 2 for | |f| - 1/2 | <= a /
//   2, 0 beyond; so unit energy, and g convolved with itself is 1 at 0 and 0 at every other symbol.
// Samples lie Q / P symbols apart: P samples for every Q symbols.
#ifndef BASEBAND_KERNELS_TIMING_PULSE_H_
#define BASEBAND_KERNELS_TIMING_PULSE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/base/continue_check.h"

namespace baseband::timing {

inline constexpr double kMinRolloff = 0.05;
inline constexpr double kMaxRolloff = 1.0;
inline constexpr int kMinSamplesPerSymbol = 2;
inline constexpr int kMaxSamplesPerSymbol = 16;
inline constexpr int kMaxRateTerm = 4096;  // of P and of Q, in lowest terms

// What a pulse and its samples are. Two of them are the same pulse only if they are equal to the
// bit.
struct PulseShape {
  double rolloff = 0.35;  // [kMinRolloff, kMaxRolloff]
  // P / Q samples per symbol, in [kMinSamplesPerSymbol, kMaxSamplesPerSymbol]; each in [1, 2^31),
  // and at most kMaxRateTerm in lowest terms.
  int samples = 2;  // P
  int symbols = 1;  // Q

  double samples_per_symbol() const { return static_cast<double>(samples) / symbols; }
  // P / Q in lowest terms; the rate is a checked one.
  PulseShape Reduced() const;
  // Tells apart what is not equal, for caches: the bits of the three numbers.
  std::string Key() const;

  friend bool operator==(const PulseShape& a, const PulseShape& b) { return a.Tie() == b.Tie(); }
  friend bool operator<(const PulseShape& a, const PulseShape& b) { return a.Tie() < b.Tie(); }

 private:
  std::tuple<double, int, int> Tie() const { return {rolloff, samples, symbols}; }
};

// InvalidArgument names roll_off or samples_per_symbol, the value and its range.
absl::Status CheckPulse(const PulseShape& shape);

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

class Pulse;
using PulsePtr = std::shared_ptr<const Pulse>;

// Immutable: shared by all threads.
class Pulse {
 public:
  // `shape` need not be in lowest terms. Refusals: CheckPulse. Takes up to ten
  // milliseconds; what `may_continue`, asked every few milliseconds, says other than OK ends it.
  static absl::StatusOr<PulsePtr> Create(const PulseShape& shape,
                                         const ContinueCheck& may_continue = nullptr);

  const PulseShape& shape() const { return shape_; }  // in lowest terms
  // How far the taps reach from the filter's centre, symbols: as far as makes the interference of
  // symbols with each other less than -60 dB of their power.
  int span() const { return span_; }
  // Mean square of f over the pulse's energy times (2 pi)^2, rad^2 per symbol^2:
  //   (2 pi)^2 (1 / 12 + a^2 (1 / 4 - 2 / pi^2)).
  double bandwidth() const { return bandwidth_; }
  // Which part of it the slopes of the raised cosine at the other symbols hold:
  //   2 sum over d >= 1 of RC'(d)^2 / bandwidth(). Near 1 for small roll-offs, where all that moves
  // with the timing of one symbol is its neighbours. See BlindShare in math/refine_math.h.
  double neighbour_share() const { return neighbour_share_; }
  // Differs from that of every other pulse of this process.
  uint64_t id() const { return id_; }
  PulseView view() const;
  // Of the taps, which are nearly all of it: up to 200 KB.
  int64_t bytes() const;

 private:
  Pulse() = default;

  PulseShape shape_;
  int span_ = 0;
  double bandwidth_ = 0.0;
  double neighbour_share_ = 0.0;
  uint64_t id_ = 0;
  PulseView layout_;  // without its pointer
  std::vector<Tap> taps_;
};

}  // namespace baseband::timing

#endif  // BASEBAND_KERNELS_TIMING_PULSE_H_
