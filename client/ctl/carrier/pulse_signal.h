// Frames as a receiver gets them before its matched filter: root-raised-cosine pulses, or others,
// of random symbols, at a number of samples to a symbol that need not be whole, with a timing and a
// carrier that the receiver does not know, in white Gaussian noise.
#ifndef BASEBAND_CLIENT_CTL_CARRIER_PULSE_SIGNAL_H_
#define BASEBAND_CLIENT_CTL_CARRIER_PULSE_SIGNAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/ctl/carrier/carrier_signal.h"
#include "client/ctl/common/random.h"
#include "client/ctl/common/symbols.h"

namespace baseband::ctl {

// Samples to a symbol, a fraction.
struct SamplesPerSymbol {
  int64_t numerator = 0;
  int64_t denominator = 1;

  double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
};

// CarrierGroup: how many symbols are taken out of so many samples, and the fewest samples of which
// so many are.
int64_t SymbolsOf(const SamplesPerSymbol& rate, double max_clock_error, int64_t num_samples);
int64_t SamplesFor(const SamplesPerSymbol& rate, double max_clock_error, int64_t num_symbols);
inline constexpr double kDefaultMaxClockError = 1e-4;  // of SymbolTiming

// "4", "5/2", "2.5": reduced. InvalidArgument: it is no number, not in [2, 16], or its numerator or
// denominator is above 4096.
absl::StatusOr<SamplesPerSymbol> ParseSamplesPerSymbol(absl::string_view text);
// "4", "5/2".
std::string ToText(const SamplesPerSymbol& samples_per_symbol);

struct PulseSpec {
  SamplesPerSymbol samples_per_symbol;
  double roll_off = 0;
  // The centre of symbol k is offset + k (1 + clock_error) symbols after the first sample.
  double offset = 0;
  double clock_error = 0;
  // Another pulse, as SymbolTiming has it: an odd number of taps, not all 0. Empty: none.
  std::vector<float> taps = {};
  int taps_per_symbol = 0;
};

// sqrt(T) times the root-raised-cosine pulse of unit energy and symbol period T, `t` periods from
// its centre. 0 < roll_off <= 1.
double RootRaisedCosine(double t, double roll_off);

// One half of the pulse of a PulseSpec, so fine that between its nodes it is a straight line. Of
// many taps it takes seconds to make.
class PulseTable {
 public:
  explicit PulseTable(const PulseSpec& spec);

  int span() const { return span_; }  // symbols on either side
  double At(double t) const;          // `t` symbols from the centre

 private:
  int span_;
  std::vector<double> nodes_;
};

// Appends SamplesFor(spec.num_symbols), with kDefaultMaxClockError, to `received`: spec's symbols
// as pulses, carrier and noise, of an Es/N0 as spec says behind a matched filter. More random
// symbols were sent before and after them. spec.phase is that at the centre of symbol 0,
// spec.frequency in cycles per symbol as it is sent. `pulse` is that of `pulses`. Symbols, known
// ones and `sent` as AppendFrame has them.
void AppendSamples(const SignalSpec& spec, const PulseSpec& pulses, const PulseTable& pulse,
                   absl::Span<const uint32_t> known_positions, absl::Span<const Complex> known,
                   Random* random, std::vector<Complex>* sent, std::vector<Complex>* received);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_CARRIER_PULSE_SIGNAL_H_
