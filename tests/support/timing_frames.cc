#include "tests/support/timing_frames.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "kernels/timing/math/pulse_math.h"
#include "kernels/timing/reference/reference.h"
#include "tests/support/channel.h"

namespace baseband::testing {
namespace {

using carrier::Iq;
using Complex = std::complex<double>;

constexpr double kPi = timing::kPi;
constexpr int kNodesPerSymbol = 2048;  // between which the pulse is straight to within 3e-7

// g, as far as it is above 1e-5 of its centre's, or its taps reach and some symbols more.
class SampledPulse {
 public:
  explicit SampledPulse(const timing::PulseShape& shape) : reach_(ReachOf(shape)) {
    const timing::ReferencePulse pulse(shape);
    for (int n = 0; n <= reach_ * kNodesPerSymbol + 1; ++n) {
      nodes_.push_back(pulse.At(static_cast<double>(n) / kNodesPerSymbol));
    }
  }
  int reach() const { return reach_; }
  double At(double t) const {
    const double place = std::fabs(t) * kNodesPerSymbol;
    const auto node = static_cast<size_t>(place);
    if (node + 1 >= nodes_.size()) return 0.0;
    return nodes_[node] + (place - static_cast<double>(node)) * (nodes_[node + 1] - nodes_[node]);
  }

 private:
  static int ReachOf(const timing::PulseShape& shape) {
    if (shape.taps == nullptr) return static_cast<int>(std::ceil(9.0 / shape.rolloff)) + 4;
    return static_cast<int>(shape.taps->values.size()) / (2 * shape.taps->per_symbol) + 5;
  }

  int reach_;
  std::vector<double> nodes_;
};

// Most frames are of the pulse of the one before.
std::shared_ptr<const SampledPulse> PulseOf(const timing::PulseShape& shape) {
  static thread_local timing::PulseShape last;
  static thread_local std::shared_ptr<const SampledPulse> pulse;
  if (pulse == nullptr || !(shape == last)) {
    pulse = std::make_shared<const SampledPulse>(shape);
    last = shape;
  }
  return pulse;
}

}  // namespace

TimingSamples MakeSamples(const TimingSpec& spec) {
  const std::shared_ptr<const SampledPulse> of_shape = PulseOf(spec.shape);
  const SampledPulse& pulse = *of_shape;
  const double spacing = 1.0 / spec.shape.samples_per_symbol();
  const double length = 1.0 + spec.clock_error;  // of a symbol
  const double last_time = static_cast<double>(spec.num_samples - 1) * spacing;
  const auto inside = static_cast<int64_t>(std::floor((last_time - spec.offset) / length)) + 1;
  const int before = pulse.reach() + 2;
  Random symbols(spec.seed);
  Random noise(~spec.seed);
  std::vector<Complex> sent;
  TimingSamples made;
  for (int64_t k = -before; k < inside + before; ++k) {
    const int label = symbols.Below(spec.constellation->size());
    const Iq point = spec.constellation->points()[static_cast<size_t>(label)];
    sent.emplace_back(point.i, point.q);
    if (k >= 0 && k < inside) made.sent.push_back(point);
  }
  const double deviation =
      spec.snr_db == kNoNoise
          ? 0.0
          : spec.gain * std::sqrt(0.5 * std::pow(10.0, -0.1 * spec.snr_db) / spacing);
  for (int64_t m = 0; m < spec.num_samples; ++m) {
    const double place = (static_cast<double>(m) * spacing - spec.offset) / length;  // in symbols
    const auto first = static_cast<int64_t>(std::ceil(place - pulse.reach()));
    Complex sum = 0.0;
    for (int64_t k = first; k <= first + 2 * pulse.reach(); ++k) {
      const int64_t index = k + before;
      if (index < 0 || index >= static_cast<int64_t>(sent.size())) continue;
      sum += sent[static_cast<size_t>(index)] * pulse.At((place - static_cast<double>(k)) * length);
    }
    const double turns = spec.frequency * place;
    sum *= std::polar(spec.gain, 2.0 * kPi * (turns - std::floor(turns)) + spec.phase);
    const double noise_i = deviation * noise.Normal();
    const double noise_q = deviation * noise.Normal();
    made.samples.push_back(
        {static_cast<float>(sum.real() + noise_i), static_cast<float>(sum.imag() + noise_q)});
  }
  return made;
}

std::shared_ptr<const timing::PulseTaps> TapsOf(const std::function<double(double)>& pulse,
                                                int per_symbol, int reach) {
  const auto taps = std::make_shared<timing::PulseTaps>();
  taps->per_symbol = per_symbol;
  for (int n = -reach * per_symbol; n <= reach * per_symbol; ++n) {
    taps->values.push_back(static_cast<float>(pulse(static_cast<double>(n) / per_symbol)));
  }
  return taps;
}

std::shared_ptr<const timing::PulseTaps> WindowedTaps(double rolloff, int per_symbol, int reach) {
  return TapsOf(
      [&](double t) {
        return timing::RootRaisedCosine(rolloff, t) * std::pow(std::cos(0.5 * kPi * t / reach), 2);
      },
      per_symbol, reach);
}

std::shared_ptr<const timing::PulseTaps> StraightEdgeTaps(double rolloff, int per_symbol,
                                                          int reach) {
  constexpr int kSteps = 4000;
  return TapsOf(
      [&](double t) {
        const double band = 0.5 * (1.0 + rolloff);
        double sum = 0.0;
        for (int k = 0; k < kSteps; ++k) {
          const double f = (k + 0.5) * band / kSteps;
          const double power = std::min(1.0, (band - f) / rolloff);
          sum += std::sqrt(power) * std::cos(2.0 * kPi * f * t);
        }
        return sum / kSteps;
      },
      per_symbol, reach);
}

TimingSpec WithRandomTiming(TimingSpec spec, double max_clock_error, double max_frequency) {
  Random random(spec.seed * 0x9e3779b97f4a7c15 + 2);
  spec.offset = random.Uniform();
  spec.clock_error = (2.0 * random.Uniform() - 1.0) * max_clock_error;
  spec.frequency = (2.0 * random.Uniform() - 1.0) * max_frequency;
  spec.phase = (2.0 * random.Uniform() - 1.0) * kPi;
  return spec;
}

}  // namespace baseband::testing
