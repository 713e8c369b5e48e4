#include "tests/unit/kernels/carrier/simulation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::FrameSpec;

constexpr int kCodedBits = 64800;

int FrameSymbols(const Constellation& constellation) {
  return kCodedBits / static_cast<int>(std::lround(std::log2(constellation.size())));
}

// Two frames of a hundred seem to stray by chance alone and get wider deviations, see stray_math.h:
// what the others are told is in the middle.
double Median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

FrameSpec SpecOf(const std::string& name, double snr_db) {
  FrameSpec spec;
  spec.constellation = *Constellation::FromName(name);
  spec.num_symbols = FrameSymbols(*spec.constellation);
  spec.snr_db = snr_db;
  spec.gain = 1.3;
  return spec;
}

Outcome Simulate(const Model& model, Parameters parameters, const FrameSpec& spec,
                 double max_frequency, int frames) {
  parameters.reference = Reference::kCentre;
  parameters.want_corrected = true;
  Outcome outcome;
  outcome.frames = frames;
  std::vector<double> predicted_frequencies;
  std::vector<double> predicted_phases;
  std::vector<uint8_t> corrected;
  for (int k = 0; k < frames; ++k) {
    FrameSpec seeded = spec;
    seeded.seed = static_cast<uint64_t>(1000 + k);
    const double frequency = seeded.frequency;
    seeded = WithRandomOffset(seeded, max_frequency);
    seeded.frequency += frequency;
    const testing::CarrierFrame frame = testing::MakeFrame(seeded);
    const std::vector<uint8_t> samples = testing::ToSamples(frame.symbols, SampleFormat::kFloat32);
    corrected.resize(samples.size());
    const Result result =
        RecoverOnCpu(model, parameters, samples, frame.known, absl::MakeSpan(corrected), {});
    const double frequency_error = result.frequency - seeded.frequency;
    const bool right = std::fabs(frequency_error) < 0.3 / spec.num_symbols;
    const bool locked = result.lock == Lock::kLocked;
    outcome.locked += locked ? 1 : 0;
    outcome.wrong_lock += locked && !right ? 1 : 0;
    if (!right) continue;
    ++outcome.right;
    const double phase = seeded.phase + M_PI * seeded.frequency * (spec.num_symbols - 1);
    const double phase_error =
        testing::WrappedDifference(result.phase, phase, 2.0 * M_PI / result.ambiguity);
    outcome.frequency_rms += frequency_error * frequency_error;
    outcome.phase_rms += phase_error * phase_error;
    predicted_frequencies.push_back(double{result.frequency_stddev});
    predicted_phases.push_back(double{result.phase_stddev});
    // A symmetry by which the corrected symbols are turned back too far is no error.
    const double period = 2.0 * M_PI / model.constellation().symmetry();
    const double turns = std::rint((result.phase - phase) / period) * period;
    const double c = std::cos(turns);
    const double s = std::sin(turns);
    double error = 0.0;
    for (size_t n = 0; n < frame.sent.size(); ++n) {
      const Iq z = ReadSymbol(parameters, corrected.data(), static_cast<int64_t>(n));
      const double i = (z.i * c - z.q * s) / spec.gain - double{frame.sent[n].i};
      const double q = (z.q * c + z.i * s) / spec.gain - double{frame.sent[n].q};
      error += i * i + q * q;
    }
    outcome.nmse_times_snr += error / spec.num_symbols * std::pow(10.0, 0.1 * spec.snr_db);
  }
  const double count = std::max(outcome.right, 1);
  outcome.frequency_rms = std::sqrt(outcome.frequency_rms / count);
  outcome.phase_rms = std::sqrt(outcome.phase_rms / count);
  outcome.predicted_frequency = Median(predicted_frequencies);
  outcome.predicted_phase = Median(predicted_phases);
  outcome.nmse_times_snr /= count;
  return outcome;
}

}  // namespace baseband::carrier
