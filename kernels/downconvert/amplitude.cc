// Responses of symmetric taps, and of cascades of them against a mask.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "kernels/downconvert/design.h"

namespace baseband::downconvert {
namespace {

constexpr double kTurn = 6.283185307179586476925286766559;
constexpr int kTablePointsPerLobe = 32;
constexpr int kPointsPerLobe = 32;  // at which masks are looked at, with parabolas between

// What a peak may be above the points about it, next to an edge where peaks are crowded.
constexpr double kUnseenDb = 0.05;

// In place, length a power of two, exp(-j ..).
void Transform(std::vector<std::complex<double>>* values) {
  std::vector<std::complex<double>>& x = *values;
  const size_t n = x.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1) {
      j ^= bit;
    }
    j ^= bit;
    if (i < j) {
      std::swap(x[i], x[j]);
    }
  }
  std::vector<std::complex<double>> turns(n / 2);
  for (size_t k = 0; k < n / 2; ++k) {
    turns[k] = std::polar(1.0, -kTurn * static_cast<double>(k) / static_cast<double>(n));
  }
  for (size_t half = 1; half < n; half *= 2) {
    const size_t stride = n / (2 * half);
    for (size_t begin = 0; begin < n; begin += 2 * half) {
      for (size_t k = 0; k < half; ++k) {
        const std::complex<double> a = x[begin + k];
        const std::complex<double> t = turns[k * stride];
        const std::complex<double> c = x[begin + half + k];
        // Written out: std's product looks for infinities.
        const std::complex<double> b(c.real() * t.real() - c.imag() * t.imag(),
                                     c.real() * t.imag() + c.imag() * t.real());
        x[begin + k] = a + b;
        x[begin + half + k] = a - b;
      }
    }
  }
}

// Calls visit(f, last) at points of [from, to], both ends included, `per_unit` a unit or more.
template <typename Visit>
void Sweep(double from, double to, double per_unit, const Visit& visit) {
  if (to < from) {
    return;
  }
  const auto steps = std::max<int64_t>(static_cast<int64_t>(std::ceil((to - from) * per_unit)), 2);
  for (int64_t k = 0; k <= steps; ++k) {
    visit(from + (to - from) * static_cast<double>(k) / static_cast<double>(steps));
  }
}

// Greatest and least value of a function that is seen at equal steps, peaks between the points
// included: those of the parabola through three of them.
class Extremes {
 public:
  void Add(double value) {
    greatest_ = std::max(greatest_, value);
    least_ = std::min(least_, value);
    if (seen_ >= 2) {
      const double bend = before_ - 2.0 * last_ + value;
      const double slope = (value - before_) / 2.0;
      if (std::abs(slope) < 0.5 * std::abs(bend)) {  // the middle one is beyond both others
        const double vertex = last_ - slope * slope / (2.0 * bend);
        greatest_ = std::max(greatest_, bend < 0.0 ? vertex : greatest_);
        least_ = std::min(least_, bend > 0.0 ? vertex : least_);
      }
    }
    before_ = last_;
    last_ = value;
    ++seen_;
  }
  double greatest() const { return greatest_; }
  double least() const { return least_; }

 private:
  double greatest_ = -std::numeric_limits<double>::infinity();
  double least_ = std::numeric_limits<double>::infinity();
  double before_ = 0.0;
  double last_ = 0.0;
  int64_t seen_ = 0;
};

}  // namespace

Amplitude::Amplitude(absl::Span<const double> taps) {
  int64_t points = 64;
  while (points < kTablePointsPerLobe * static_cast<int64_t>(taps.size())) {
    points *= 2;
  }
  half_ = points / 2;
  std::vector<std::complex<double>> values(static_cast<size_t>(points));
  const auto centre = static_cast<int64_t>(taps.size() / 2);
  for (size_t k = 0; k < taps.size(); ++k) {
    values[static_cast<size_t>((static_cast<int64_t>(k) - centre + points) % points)] = taps[k];
  }
  Transform(&values);
  table_.resize(static_cast<size_t>(half_) + 1);
  std::vector<double> level(table_.size());
  for (size_t k = 0; k < table_.size(); ++k) {
    table_[k] = values[k].real();
    level[k] = std::abs(table_[k]);
  }
  while (level.size() > 1) {
    std::vector<double> above((level.size() + 1) / 2);
    for (size_t k = 0; k < level.size(); ++k) {
      above[k / 2] = std::max(above[k / 2], level[k]);
    }
    largest_.push_back(std::move(level));
    level = std::move(above);
  }
  largest_.push_back(std::move(level));
}

double Amplitude::At(double v) const {
  const double position = std::abs(v - std::rint(v)) * 2.0 * static_cast<double>(half_);
  const auto k = static_cast<int64_t>(position);
  const double t = position - static_cast<double>(k);
  const auto value = [this](int64_t i) {  // even about 0 and about half_
    i = std::abs(i);
    return table_[static_cast<size_t>(i > half_ ? 2 * half_ - i : i)];
  };
  // Lagrange's polynomial through the six points about it, by Neville's scheme.
  double p[6];
  for (int i = 0; i < 6; ++i) {
    p[i] = value(k - 2 + i);
  }
  for (int span = 1; span < 6; ++span) {
    for (int i = 0; i + span < 6; ++i) {
      const double from_left = t + 2.0 - i;
      p[i] += (p[i + 1] - p[i]) * from_left / span;
    }
  }
  return p[0];
}

double Amplitude::LargestOver(double from, double to) const {
  if (to - from >= 0.5) {
    return largest_.back()[0];
  }
  const double first = std::floor(from);
  from -= first;
  to -= first;  // from in [0, 1), to < 3/2
  double largest = std::max(std::abs(At(from)), std::abs(At(to)));
  const double scale = 2.0 * static_cast<double>(half_);
  // The parts of [0, 3/2) on which the table runs up, down and up again.
  for (int part = 0; part < 3; ++part) {
    const double low = std::max(from, part / 2.0) - part / 2.0;
    const double high = std::min(to, (part + 1) / 2.0) - part / 2.0;
    if (low > high) {
      continue;
    }
    auto begin = static_cast<int64_t>(std::ceil(low * scale));
    auto end = static_cast<int64_t>(std::floor(high * scale)) + 1;
    if (part == 1) {
      const int64_t reversed = half_ - begin + 1;
      begin = half_ - end + 1;
      end = reversed;
    }
    for (size_t level = 0; begin < end; ++level) {
      if (begin % 2 != 0) {
        largest = std::max(largest, largest_[level][static_cast<size_t>(begin++)]);
      }
      if (end % 2 != 0) {
        largest = std::max(largest, largest_[level][static_cast<size_t>(--end)]);
      }
      begin /= 2;
      end /= 2;
    }
  }
  return largest;
}

LowPassErrors ErrorsOfLowPass(absl::Span<const double> taps, const LowPass& low_pass) {
  const Amplitude amplitude(taps);
  const double per_unit = kPointsPerLobe * static_cast<double>(taps.size());
  Extremes pass;
  Sweep(0.0, low_pass.pass, per_unit, [&](double v) { pass.Add(amplitude.At(v)); });
  Extremes stop;
  Sweep(low_pass.stop, 0.5, per_unit, [&](double v) { stop.Add(amplitude.At(v)); });
  LowPassErrors errors;
  errors.pass = std::max(pass.greatest() - 1.0, 1.0 - pass.least());
  errors.stop = std::max(stop.greatest(), -stop.least());
  return errors;
}

void MeasureMask(absl::Span<const Stage> stages, int sharp, double pass_edge, double stop_edge,
                 FilterReport* report) {
  std::vector<Amplitude> amplitudes;
  std::vector<double> scales;  // v of the stage's taps = f * scale
  double scale = 1.0;
  double up = 1.0;
  double length = 0.0;        // of the whole impulse response, in input samples
  double other_length = 0.0;  // without the sharp stage
  for (const Stage& stage : stages) {
    std::vector<double> taps(stage.taps.begin(), stage.taps.end());
    for (double& tap : taps) {
      tap /= stage.up;
    }
    scale /= stage.up;
    up *= stage.up;
    amplitudes.emplace_back(taps);
    scales.push_back(scale);
    length += static_cast<double>(taps.size()) * scale;
    if (static_cast<int>(scales.size()) - 1 != sharp) {
      other_length += static_cast<double>(taps.size()) * scale;
    }
    scale *= stage.down;
  }
  const auto gain = [&](double f) {
    double product = 1.0;
    for (size_t s = 0; s < scales.size(); ++s) {
      product *= amplitudes[s].At(f * scales[s]);
    }
    return product;
  };
  const double per_unit = kPointsPerLobe * length;
  Extremes pass;
  Sweep(0.0, pass_edge, per_unit, [&](double f) { pass.Add(gain(f)); });
  report->ripple_db = 20.0 * std::log10(pass.greatest() / pass.least());

  // Point by point as far as the sharp stage's response is new. Beyond, where it repeats itself and
  // the others do the stopping, over cells in which the others hardly change. No cell has a
  // stop edge inside: on one side the sharp stage stops, on the other one of the others.
  const double last = up / 2.0;
  const double period = 1.0 / scales[static_cast<size_t>(sharp)];
  Extremes stop;
  Sweep(stop_edge, std::min(last, period / 2.0), per_unit, [&](double f) { stop.Add(gain(f)); });
  double most = std::max(stop.greatest(), -stop.least());
  const auto cell = [&](double from, double to) {
    double product = 1.0;
    for (size_t s = 0; s < scales.size(); ++s) {
      product *= amplitudes[s].LargestOver(from * scales[s], to * scales[s]);
    }
    most = std::max(most, product);
  };
  double from = period / 2.0;
  for (int64_t edge = 0; from < last; ++edge) {
    const int64_t repeat = edge / 2 + 1;
    const double centre = period * static_cast<double>(repeat);
    const double to = std::min(last, edge % 2 == 0 ? centre - stop_edge : centre + stop_edge);
    double begin = from;
    Sweep(from, to, 2 * kPointsPerLobe * other_length, [&](double f) {
      if (f > begin) {
        cell(begin, f);
        begin = f;
      }
    });
    from = std::max(from, to);
  }
  report->attenuation_db = -20.0 * std::log10(std::max(most, 1e-30)) - kUnseenDb;
}

}  // namespace baseband::downconvert
