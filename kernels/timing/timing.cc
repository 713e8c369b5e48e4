#include "kernels/timing/timing.h"

#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/timing/math/place_math.h"

namespace baseband::timing {
namespace {

// Everything but what the carrier's parameters say of so many symbols.
absl::Status CheckFrame(const PulseShape& shape, const Parameters& parameters,
                        int64_t num_samples) {
  BASEBAND_RETURN_IF_ERROR(CheckPulse(shape));
  if (!(parameters.max_clock_error >= 0.0 && parameters.max_clock_error <= kMaxClockError)) {
    return absl::InvalidArgumentError(absl::StrCat("max_clock_error ", parameters.max_clock_error,
                                                   " is not in [0, ", kMaxClockError, "]"));
  }
  const int64_t least = SamplesFor(shape, parameters, carrier::kMinSymbols);
  const int64_t most = SamplesFor(shape, parameters, carrier::kMaxSymbols + 1) - 1;
  if (num_samples < least || num_samples > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("frame_samples ", num_samples, " is not in [", least, ", ", most,
                     "], samples of ", carrier::kMinSymbols, " to ", carrier::kMaxSymbols,
                     " symbols at ", shape.samples, "/", shape.symbols, " a symbol"));
  }
  return absl::OkStatus();
}

}  // namespace

int64_t SymbolsOf(const PulseShape& shape, const Parameters& parameters, int64_t num_samples) {
  const int divisor = std::gcd(shape.samples, shape.symbols);
  return NumSymbols(shape.samples / divisor, shape.symbols / divisor, parameters.max_clock_error,
                    num_samples);
}

int64_t SamplesFor(const PulseShape& shape, const Parameters& parameters, int64_t num_symbols) {
  const double symbols =
      static_cast<double>(num_symbols - 1) * (1.0 + parameters.max_clock_error) + 1.0;
  auto num_samples = static_cast<int64_t>(std::floor(symbols * shape.samples_per_symbol())) - 1;
  while (SymbolsOf(shape, parameters, num_samples) < num_symbols) ++num_samples;
  return num_samples;
}

absl::Status CheckParameters(const carrier::Parameters& carrier, const PulseShape& shape,
                             const Parameters& parameters, int64_t num_samples,
                             absl::Span<const carrier::Iq> known) {
  BASEBAND_RETURN_IF_ERROR(CheckFrame(shape, parameters, num_samples));
  return carrier::CheckParameters(
      carrier, static_cast<int>(SymbolsOf(shape, parameters, num_samples)), known);
}

absl::Status CheckParameters(const carrier::Model& model, const carrier::Parameters& carrier,
                             const PulseShape& shape, const Parameters& parameters,
                             int64_t num_samples, absl::Span<const carrier::Iq> known) {
  BASEBAND_RETURN_IF_ERROR(CheckFrame(shape, parameters, num_samples));
  return carrier::CheckParameters(
      model, carrier, static_cast<int>(SymbolsOf(shape, parameters, num_samples)), known);
}

}  // namespace baseband::timing
