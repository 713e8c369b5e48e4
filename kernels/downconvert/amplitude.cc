// Responses of symmetric taps, and of cascades of them against a mask.
#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>

#include "kernels/downconvert/design.h"
#include "kernels/downconvert/turn.h"

namespace baseband::downconvert {
namespace {

constexpr int kTablePointsPerLobe = 32;
constexpr int kPointsPerLobe = 32;  // at which masks are looked at, with parabolas between

// What a peak may be above the points about it, next to an edge where peaks are crowded.
constexpr double kUnseenDb = 0.05;

// What a round of these loops costs: operations.
constexpr int64_t kValueCost = 12;  // memory that is new is slow
constexpr int64_t kSwapCost = 40;   // as are places all over it
constexpr int64_t kTurnCost = 80;
constexpr int64_t kButterflyCost = 16;
constexpr int64_t kAtCost = 60;
constexpr int64_t kLargestCost = 250;

using Complex = std::complex<double>;

// Butterflies [begin, end) of the transform's step that joins halves of `half` values.
void Join(size_t half, const std::vector<Complex>& turns, size_t begin, size_t end,
          std::vector<Complex>* values) {
  std::vector<Complex>& x = *values;
  const size_t stride = x.size() / (2 * half);
  while (begin < end) {
    const size_t first = begin & (half - 1);  // `half` is a power of two
    const size_t group = 2 * (begin - first);
    const size_t last = std::min(half, first + (end - begin));
    for (size_t k = first; k < last; ++k) {
      const Complex a = x[group + k];
      const Complex t = turns[k * stride];
      const Complex c = x[group + half + k];
      // Written out: std's product looks for infinities.
      const Complex b(c.real() * t.real() - c.imag() * t.imag(),
                      c.real() * t.imag() + c.imag() * t.real());
      x[group + k] = a + b;
      x[group + half + k] = a - b;
    }
    begin += last - first;
  }
}

// Calls visit(f) at points of [from, to], both ends included, `per_unit` a unit or more.
template <typename Visit>
SlicedWork::Part Sweep(double from, double to, double per_unit, int64_t cost, Visit visit) {
  if (to < from) return SlicedWork::Each(0, 1, [](int64_t, int64_t) {});
  const auto steps = std::max<int64_t>(static_cast<int64_t>(std::ceil((to - from) * per_unit)), 2);
  return SlicedWork::Each(steps + 1, cost, [=](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) {
      visit(from + (to - from) * static_cast<double>(k) / static_cast<double>(steps));
    }
  });
}

int64_t PointsFor(int64_t num_taps) {
  int64_t points = 64;
  while (points < kTablePointsPerLobe * num_taps) points *= 2;
  return points;
}

}  // namespace

void Extremes::Add(double value) {
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

int64_t Amplitude::BytesOf(int64_t num_taps) {
  return PointsFor(num_taps) / 2 * static_cast<int64_t>(3 * sizeof(double));
}

int64_t Amplitude::BytesToMake(int64_t num_taps) {
  return BytesOf(num_taps) + PointsFor(num_taps) * static_cast<int64_t>(3 * sizeof(Complex) / 2);
}

void Amplitude::Tabulate(absl::Span<const double> taps, SlicedWork* work) {
  const int64_t points = PointsFor(static_cast<int64_t>(taps.size()));
  half_ = points / 2;
  table_.clear();
  largest_.clear();
  values_.clear();
  turns_.clear();
  reversed_ = 0;
  std::vector<SlicedWork::Part> parts;
  parts.push_back(SlicedWork::Each(points, kValueCost, [this, points](int64_t, int64_t end) {
    values_.reserve(static_cast<size_t>(points));
    values_.resize(static_cast<size_t>(end));
  }));
  parts.push_back(SlicedWork::Once([this, taps, points] {
    const auto centre = static_cast<int64_t>(taps.size() / 2);
    for (size_t k = 0; k < taps.size(); ++k) {
      values_[static_cast<size_t>((static_cast<int64_t>(k) - centre + points) % points)] = taps[k];
    }
  }));
  // A Fourier transform in place, exp(-j ..): values into the order of their reversed bits, ..
  parts.push_back(SlicedWork::Each(points - 1, kSwapCost, [this](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin) + 1; i <= static_cast<size_t>(end); ++i) {
      size_t bit = values_.size() >> 1;
      for (; (reversed_ & bit) != 0; bit >>= 1) reversed_ ^= bit;
      reversed_ ^= bit;
      if (i < reversed_) std::swap(values_[i], values_[reversed_]);
    }
  }));
  parts.push_back(SlicedWork::Each(half_, kTurnCost, [this, points](int64_t begin, int64_t end) {
    turns_.reserve(static_cast<size_t>(points / 2));
    for (int64_t k = begin; k < end; ++k) {
      turns_.push_back(
          std::polar(1.0, -kTurn * static_cast<double>(k) / static_cast<double>(points)));
    }
  }));
  for (int64_t half = 1; half < points; half *= 2) {  // .. and joined
    parts.push_back(
        SlicedWork::Each(half_, kButterflyCost, [this, half](int64_t begin, int64_t end) {
          Join(static_cast<size_t>(half), turns_, static_cast<size_t>(begin),
               static_cast<size_t>(end), &values_);
        }));
  }
  parts.push_back(SlicedWork::Each(half_ + 1, 2 * kValueCost, [this](int64_t begin, int64_t end) {
    if (begin == 0) {
      table_.reserve(static_cast<size_t>(half_) + 1);
      largest_.emplace_back();
      largest_[0].reserve(static_cast<size_t>(half_) + 1);
    }
    for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end); ++k) {
      table_.push_back(values_[k].real());
      largest_[0].push_back(std::abs(table_[k]));
    }
  }));
  parts.push_back(SlicedWork::Once([this] {
    values_ = std::vector<Complex>();
    turns_ = std::vector<Complex>();
  }));
  for (int64_t size = half_ + 1; size > 1; size = (size + 1) / 2) {
    parts.push_back(
        SlicedWork::Each((size + 1) / 2, kValueCost, [this](int64_t begin, int64_t end) {
          if (begin == 0) {
            const size_t groups = (largest_.back().size() + 1) / 2;
            largest_.emplace_back();
            largest_.back().reserve(groups);
          }
          const std::vector<double>& level = largest_[largest_.size() - 2];
          for (auto k = static_cast<size_t>(2 * begin); k < static_cast<size_t>(2 * end); k += 2) {
            const double other = k + 1 < level.size() ? level[k + 1] : 0.0;
            largest_.back().push_back(std::max(level[k], other));
          }
        }));
  }
  work->Do(std::move(parts));
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

void LowPassErrors::Measure(absl::Span<const double> taps, const LowPass& low_pass,
                            SlicedWork* work) {
  pass_ = Extremes();
  stop_ = Extremes();
  const double per_unit = kPointsPerLobe * static_cast<double>(taps.size());
  work->Do({SlicedWork::Once([this, taps, work] { amplitude_.Tabulate(taps, work); }),
            Sweep(0.0, low_pass.pass, per_unit, kAtCost,
                  [this](double v) { pass_.Add(amplitude_.At(v)); }),
            Sweep(low_pass.stop, 0.5, per_unit, kAtCost,
                  [this](double v) { stop_.Add(amplitude_.At(v)); })});
}

double LowPassErrors::pass() const { return std::max(pass_.greatest() - 1.0, 1.0 - pass_.least()); }

double LowPassErrors::stop() const { return std::max(stop_.greatest(), -stop_.least()); }

void MaskMeasurement::Start(absl::Span<const Stage> stages, size_t sharp, double pass_edge,
                            double stop_edge, SlicedWork* work) {
  *this = MaskMeasurement();
  work_ = work;
  stop_edge_ = stop_edge;
  double scale = 1.0;
  double up = 1.0;
  double length = 0.0;  // of the whole impulse response, in input samples
  for (const Stage& stage : stages) {
    taps_.emplace_back(stage.taps.begin(), stage.taps.end());
    for (double& tap : taps_.back()) tap /= stage.up;
    scale /= stage.up;
    up *= stage.up;
    scales_.push_back(scale);
    length += static_cast<double>(stage.taps.size()) * scale;
    if (scales_.size() - 1 != sharp) {
      other_length_ += static_cast<double>(stage.taps.size()) * scale;
    }
    scale *= stage.down;
  }
  amplitudes_.resize(stages.size());
  std::vector<SlicedWork::Part> parts;
  for (size_t s = 0; s < stages.size(); ++s) {
    parts.push_back(SlicedWork::Once([this, s] { amplitudes_[s].Tabulate(taps_[s], work_); }));
  }
  const auto cost = static_cast<int64_t>(stages.size());
  const double per_unit = kPointsPerLobe * length;
  parts.push_back(
      Sweep(0.0, pass_edge, per_unit, cost * kAtCost, [this](double f) { pass_.Add(Gain(f)); }));

  // Point by point as far as the sharp stage's response is new. Beyond, where it repeats itself and
  // the others do the stopping, over cells in which the others hardly change. No cell has a
  // stop edge inside: on one side the sharp stage stops, on the other one of the others.
  last_ = up / 2.0;
  period_ = 1.0 / scales_[sharp];
  parts.push_back(Sweep(stop_edge, std::min(last_, period_ / 2.0), per_unit, cost * kAtCost,
                        [this](double f) { stop_.Add(Gain(f)); }));
  parts.push_back(SlicedWork::Once([this] {
    most_ = std::max(stop_.greatest(), -stop_.least());
    from_ = period_ / 2.0;
    LookAtRepeats();
  }));
  work_->Do(std::move(parts));
}

void MaskMeasurement::LookAtRepeats() {
  if (from_ >= last_) return;
  const int64_t repeat = edge_ / 2 + 1;
  const double centre = period_ * static_cast<double>(repeat);
  const double to = std::min(last_, edge_ % 2 == 0 ? centre - stop_edge_ : centre + stop_edge_);
  begin_ = from_;
  work_->Do({Sweep(from_, to, 2 * kPointsPerLobe * other_length_,
                   static_cast<int64_t>(scales_.size()) * kLargestCost,
                   [this](double f) {
                     if (f <= begin_) return;
                     double product = 1.0;
                     for (size_t s = 0; s < scales_.size(); ++s) {
                       product *= amplitudes_[s].LargestOver(begin_ * scales_[s], f * scales_[s]);
                     }
                     most_ = std::max(most_, product);
                     begin_ = f;
                   }),
             SlicedWork::Once([this, to] {
               from_ = std::max(from_, to);
               ++edge_;
               LookAtRepeats();
             })});
}

double MaskMeasurement::Gain(double f) const {
  double product = 1.0;
  for (size_t s = 0; s < scales_.size(); ++s) product *= amplitudes_[s].At(f * scales_[s]);
  return product;
}

double MaskMeasurement::ripple_db() const {
  return 20.0 * std::log10(pass_.greatest() / pass_.least());
}

double MaskMeasurement::attenuation_db() const {
  return -20.0 * std::log10(std::max(most_, 1e-30)) - kUnseenDb;
}

}  // namespace baseband::downconvert
