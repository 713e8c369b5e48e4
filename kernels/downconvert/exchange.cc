// Low passes of least length: the exchange of T. W. Parks and J. H. McClellan, "Chebyshev
// approximation for nonrecursive digital filters with linear phase" (1972).
//
// With x = cos(2 pi v) the amplitude of 2 L + 1 symmetric taps is a polynomial P of degree L in x.
// The best one alternates: there are L + 2 points in the bands where (P - wanted) / allowed has the
// same size and changing signs. From a guess of these points, the P that alternates on them is
// known; the peaks of its error are the next guess.
//
// What makes it hold for thousands of taps and 140 dB in double precision: P is only ever
// evaluated, by the barycentric formula, whose weights are products kept with an exponent of their
// own; the errors are looked at between the points of the last guess, not on a fixed grid; and the
// first guess is the answer for half as many taps, spread out.
#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/downconvert/design.h"
#include "kernels/downconvert/turn.h"

namespace baseband::downconvert {
namespace {

constexpr int kMaxExchanges = 40;
constexpr int kProbes = 5;    // points at which the error is looked at, from guess to guess
constexpr size_t kLanes = 4;  // sums that do not wait for each other

// Rows of a product of all points with all, which a slice may end between.
int64_t CostOfRow(int64_t points) { return points + 20; }

}  // namespace

void Exchange::Start(const LowPass& low_pass, AlternationPoints* points, SlicedWork* work) {
  low_pass_ = low_pass;
  points_ = points;
  work_ = work;
  iterations_ = 0;
  converged_ = false;
  Iterate();
}

void Exchange::Iterate() {
  v_ = points_->pass;
  v_.insert(v_.end(), points_->stop.begin(), points_->stop.end());
  x_.resize(v_.size());
  weights_.resize(v_.size());
  values_.resize(v_.size());
  exponents_.resize(v_.size());
  for (size_t k = 0; k < v_.size(); ++k) x_[k] = std::cos(kTurn * v_[k]);
  work_->Do({SlicedWork::Each(num_points(), CostOfRow(2 * num_points()),
                              [this](int64_t begin, int64_t end) {
                                for (int64_t k = begin; k < end; ++k) {
                                  SetWeight(static_cast<size_t>(k));
                                }
                              }),
             SlicedWork::Once([this] {
               SetLevel();
               if (!std::isfinite(level_)) return;
               peaks_.clear();
               work_->Do(
                   {SlicedWork::Once([this] { LookAtBand(0.0, low_pass_.pass, points_->pass); }),
                    SlicedWork::Once([this] { LookAtBand(low_pass_.stop, 0.5, points_->stop); }),
                    SlicedWork::Once([this] { Judge(); })});
             })});
}

// Of the polynomial that alternates on the points: barycentric.
void Exchange::SetWeight(size_t k) {
  double product = 1.0;
  int exponent = 0;
  for (size_t j = 0; j < x_.size(); ++j) {
    if (j != k) {
      product *= x_[k] - x_[j];
    }
    if (j % 16 == 15) {
      int more = 0;
      product = std::frexp(product, &more);
      exponent += more;
    }
  }
  weights_[k] = 1.0 / product;
  exponents_[k] = -exponent;
}

void Exchange::SetLevel() {
  const int greatest = *std::max_element(exponents_.begin(), exponents_.end());
  double wanted = 0.0;
  double allowed = 0.0;
  for (size_t k = 0; k < v_.size(); ++k) {
    weights_[k] = std::ldexp(weights_[k], std::max(exponents_[k] - greatest, -1000));
    wanted += weights_[k] * Wanted(v_[k]);
    allowed += (k % 2 == 0 ? weights_[k] : -weights_[k]) * Allowed(v_[k]);
  }
  level_ = wanted / allowed;
  for (size_t k = 0; k < v_.size(); ++k) {
    values_[k] = Wanted(v_[k]) - (k % 2 == 0 ? level_ : -level_) * Allowed(v_[k]);
  }
}

double Exchange::ErrorAt(double v) const {
  return (Evaluate(std::cos(kTurn * v)) - Wanted(v)) / Allowed(v);
}

double Exchange::Evaluate(double x) const {
  double above[kLanes] = {};
  double below[kLanes] = {};
  const size_t n = x_.size();
  size_t k = 0;
  for (; k + kLanes <= n; k += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const double term = weights_[k + lane] / (x - x_[k + lane]);
      above[lane] += term * values_[k + lane];
      below[lane] += term;
    }
  }
  for (; k < n; ++k) {
    const double term = weights_[k] / (x - x_[k]);
    above[0] += term * values_[k];
    below[0] += term;
  }
  const double value =
      (above[0] + above[1] + above[2] + above[3]) / (below[0] + below[1] + below[2] + below[3]);
  if (std::isfinite(value)) {
    return value;
  }
  const auto same = std::find(x_.begin(), x_.end(), x);
  return same == x_.end() ? value : values_[static_cast<size_t>(same - x_.begin())];
}

// Adds the local extremes of the error over the band [from, to] to the peaks.
void Exchange::LookAtBand(double from, double to, const std::vector<double>& guess) {
  probes_ = {from};
  const auto probe = [this](double end) {
    const double begin = probes_.back();
    for (int i = 1; i <= kProbes && end > begin; ++i) {
      probes_.push_back(i == kProbes ? end : begin + (end - begin) * i / kProbes);
    }
  };
  for (const double point : guess) {
    probe(point);
  }
  probe(to);
  errors_.resize(probes_.size());
  const auto probes = static_cast<int64_t>(probes_.size());
  work_->Do({SlicedWork::Each(probes, CostOfRow(num_points()),
                              [this](int64_t begin, int64_t end) {
                                for (auto i = static_cast<size_t>(begin);
                                     i < static_cast<size_t>(end); ++i) {
                                  errors_[i] = ErrorAt(probes_[i]);
                                }
                              }),
             SlicedWork::Each(probes, CostOfRow(num_points()), [this](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i) LookForPeak(static_cast<size_t>(i));
             })});
}

void Exchange::LookForPeak(size_t i) {
  const std::vector<double>& v = probes_;
  const double here = std::abs(errors_[i]);
  const double before = i == 0 ? 0.0 : errors_[i - 1] * std::copysign(1.0, errors_[i]);
  const double after = i + 1 == v.size() ? 0.0 : errors_[i + 1] * std::copysign(1.0, errors_[i]);
  if (here < before || here <= after) {
    return;
  }
  Peak peak{v[i], errors_[i]};
  if (i > 0 && i + 1 < v.size()) {  // the vertex of the parabola through the three
    const double a = v[i] - v[i - 1];
    const double b = v[i + 1] - v[i];
    const double rise = (here - before) / a;
    const double fall = (here - after) / b;
    const double vertex = v[i] + 0.5 * (rise * b - fall * a) / (rise + fall);
    if (vertex > v[i - 1] && vertex < v[i + 1]) {
      const double error = ErrorAt(vertex);
      if (std::abs(error) > here && (error > 0.0) == (errors_[i] > 0.0)) {
        peak = Peak{vertex, error};
      }
    }
  }
  peaks_.push_back(peak);
}

// Whether this is it; if not, goes on from the peaks, if they can be a guess.
void Exchange::Judge() {
  double greatest = 0.0;
  for (const Peak& peak : peaks_) {
    greatest = std::max(greatest, std::abs(peak.error));
  }
  if (!(greatest > 0.0) || !std::isfinite(greatest)) {
    return;
  }
  converged_ = greatest <= (1.0 + kConverged) * level();
  if (converged_ || !KeepAlternating()) {
    return;
  }
  points_->pass.clear();
  points_->stop.clear();
  for (const Peak& peak : peaks_) {
    (peak.v <= low_pass_.pass ? points_->pass : points_->stop).push_back(peak.v);
  }
  if (!points_->pass.empty() && !points_->stop.empty() && ++iterations_ < kMaxExchanges) Iterate();
}

// Of neighbours with the same sign the greater one stays, and of what is too many the greatest.
// False if too few are left.
bool Exchange::KeepAlternating() {
  std::vector<Peak> kept;
  for (const Peak& peak : peaks_) {
    if (!kept.empty() && (kept.back().error > 0.0) == (peak.error > 0.0)) {
      if (std::abs(peak.error) > std::abs(kept.back().error)) {
        kept.back() = peak;
      }
    } else {
      kept.push_back(peak);
    }
  }
  const auto wanted = static_cast<size_t>(num_points());
  const auto size = [&kept](size_t i) { return std::abs(kept[i].error); };
  while (kept.size() > wanted) {
    size_t least = 0;
    for (size_t i = 1; i < kept.size(); ++i) {
      least = size(i) < size(least) ? i : least;
    }
    const size_t last = kept.size() - 1;
    if (kept.size() == wanted + 1 || least == 0 || least == last) {
      kept.erase(size(0) < size(last) ? kept.begin() : kept.end() - 1);
    } else {  // with its lesser neighbour, so that the signs go on changing
      const size_t first = size(least - 1) < size(least + 1) ? least - 1 : least;
      kept.erase(kept.begin() + static_cast<int64_t>(first),
                 kept.begin() + static_cast<int64_t>(first) + 2);
    }
  }
  peaks_ = std::move(kept);
  return peaks_.size() == wanted;
}

// The values at as many points as there are taps, and their Fourier transform.
void Exchange::MakeTaps(std::vector<double>* taps) {
  const int64_t num_taps = 2 * degree() + 1;
  cosines_.resize(static_cast<size_t>(num_taps));
  samples_.resize(static_cast<size_t>(degree()) + 1);
  taps->resize(static_cast<size_t>(num_taps));
  for (int64_t j = 0; j < num_taps; ++j) {
    cosines_[static_cast<size_t>(j)] =
        std::cos(kTurn * static_cast<double>(j) / static_cast<double>(num_taps));
  }
  const auto sum_up = [this, taps, num_taps](int64_t k) {
    double sum = samples_[0];
    int64_t turn = 0;  // j k mod num_taps
    for (int64_t j = 1; j <= degree(); ++j) {
      turn += k;
      if (turn >= num_taps) turn -= num_taps;
      sum += 2.0 * samples_[static_cast<size_t>(j)] * cosines_[static_cast<size_t>(turn)];
    }
    (*taps)[static_cast<size_t>(degree() + k)] = sum / static_cast<double>(num_taps);
    (*taps)[static_cast<size_t>(degree() - k)] = sum / static_cast<double>(num_taps);
  };
  work_->Do({SlicedWork::Each(degree() + 1, CostOfRow(num_points()),
                              [this](int64_t begin, int64_t end) {
                                for (auto j = static_cast<size_t>(begin);
                                     j < static_cast<size_t>(end); ++j) {
                                  samples_[j] = Evaluate(cosines_[j]);
                                }
                              }),
             SlicedWork::Each(degree() + 1, CostOfRow(2 * num_points()),
                              [sum_up](int64_t begin, int64_t end) {
                                for (int64_t k = begin; k < end; ++k) sum_up(k);
                              })});
}

}  // namespace baseband::downconvert
