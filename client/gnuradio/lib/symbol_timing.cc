#include "client/gnuradio/lib/symbol_timing.h"

#include <cmath>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>

#include "client/gnuradio/lib/connect.h"

namespace gr::baseband_offload {
namespace {

namespace v1 = ::baseband::v1;

constexpr int kMostOfFraction = 4096;
constexpr int kLeastSymbols = 16;
constexpr int kMostSymbols = 1048576;

// The fraction that is `value` but for rounding: two of such terms lie 2^-24 apart at least.
void SetRate(double value, v1::SymbolTiming* timing) {
  CheckRange("samples_per_symbol", value, 2, 16);
  for (int denominator = 1; denominator * value < kMostOfFraction + 0.5; ++denominator) {
    const double numerator = std::round(denominator * value);
    if (std::abs(numerator / denominator - value) > 1e-12 * value) continue;
    timing->set_samples_per_symbol_numerator(static_cast<uint32_t>(numerator));
    timing->set_samples_per_symbol_denominator(static_cast<uint32_t>(denominator));
    return;
  }
  std::ostringstream text;
  text.precision(17);
  text << "samples_per_symbol " << value << " is no fraction of terms up to " << kMostOfFraction;
  throw std::invalid_argument(text.str());
}

}  // namespace

v1::SymbolTiming TimingOf(const carrier_options& options) {
  v1::SymbolTiming timing;
  SetRate(options.samples_per_symbol, &timing);
  CheckRange("roll_off", options.roll_off, 0.05, 1);
  CheckRange("max_clock_error", options.max_clock_error, 0, 0.001);
  timing.set_roll_off(options.roll_off);
  timing.set_max_clock_error(options.max_clock_error);
  return timing;
}

int SymbolsOf(const carrier_options& options) {
  if (options.samples_per_symbol == 0) {
    CheckRange("frame_symbols", options.frame_symbols, kLeastSymbols, kMostSymbols);
    return options.frame_symbols;
  }
  const v1::SymbolTiming timing = TimingOf(options);
  const int64_t numerator = timing.samples_per_symbol_numerator();
  // After offset 1, in 1 / numerator of a symbol. Rounded as the server does.
  const int64_t room =
      (options.frame_samples - int64_t{1}) * timing.samples_per_symbol_denominator() - numerator;
  const double symbols = std::floor(static_cast<double>(room) / (static_cast<double>(numerator) *
                                                                 (1.0 + options.max_clock_error))) +
                         1.0;
  CheckRange("frame_samples " + std::to_string(options.frame_samples) + ": number of symbols",
             symbols, kLeastSymbols, kMostSymbols);
  return static_cast<int>(symbols);
}

int carrier_recovery::symbols_of(int frame_samples, double samples_per_symbol,
                                 double max_clock_error) {
  carrier_options options;
  options.samples_per_symbol = samples_per_symbol;
  options.frame_samples = frame_samples;
  options.max_clock_error = max_clock_error;
  TimingOf(options);
  return SymbolsOf(options);
}

}  // namespace gr::baseband_offload
