// Frames of a model and all that RecoverOnCpu makes of one, for the tests of what comes of it.
#ifndef BASEBAND_TESTS_UNIT_KERNELS_CARRIER_RECOVERED_H_
#define BASEBAND_TESTS_UNIT_KERNELS_CARRIER_RECOVERED_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "kernels/carrier/recover.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/matchers.h"
#include "tests/unit/kernels/carrier/models.h"

namespace baseband::carrier {

// Frames by their bare names, for the tests too.
using testing::CarrierFrame;
using testing::FrameSpec;
using testing::MakeFrame;

inline FrameSpec SpecOf(const Model& model, int num_symbols, double snr_db, uint64_t seed = 1) {
  FrameSpec spec;
  spec.constellation = *Constellation::FromName(model.constellation().name());
  spec.num_symbols = num_symbols;
  spec.snr_db = snr_db;
  spec.seed = seed;
  spec.gain = 1.7;
  return WithRandomOffset(spec, 0.8 * model.max_frequency());
}

// What came of one frame, in all formats that there are.
struct Recovered {
  Result result;
  std::vector<uint8_t> corrected;
  std::vector<float> curve;
};
inline Recovered Recover(const Model& model, Parameters parameters, absl::Span<const Iq> symbols,
                         absl::Span<const Iq> known = {}) {
  parameters.want_corrected = true;
  parameters.want_curve = true;
  const auto num_symbols = static_cast<int>(symbols.size());
  EXPECT_THAT(CheckParameters(model, parameters, num_symbols, known), IsOk());
  const std::vector<uint8_t> samples =
      testing::ToSamples(symbols, parameters.format, static_cast<double>(parameters.scale));
  Recovered recovered;
  recovered.corrected.resize(samples.size());
  const Curve curve = CurveOf(model, parameters, num_symbols);
  recovered.curve.resize(static_cast<size_t>(curve.num_points));
  recovered.result =
      RecoverOnCpu(model, parameters, samples, known, absl::MakeSpan(recovered.corrected),
                   absl::MakeSpan(recovered.curve));
  return recovered;
}

inline std::vector<Iq> CorrectedSymbols(const Parameters& parameters, const Recovered& recovered) {
  std::vector<Iq> symbols;
  const auto bytes = static_cast<size_t>(BytesPerSymbol(parameters.format));
  for (size_t n = 0; n < recovered.corrected.size() / bytes; ++n) {
    symbols.push_back(ReadSymbol(parameters, recovered.corrected.data(), static_cast<int64_t>(n)));
  }
  return symbols;
}

inline double PhaseAtCentre(const FrameSpec& spec) {
  return spec.phase + M_PI * spec.frequency * (spec.num_symbols - 1);
}

}  // namespace baseband::carrier

#endif  // BASEBAND_TESTS_UNIT_KERNELS_CARRIER_RECOVERED_H_
