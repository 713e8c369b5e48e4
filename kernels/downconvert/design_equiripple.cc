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

#include "absl/strings/str_cat.h"
#include "kernels/downconvert/alternation.h"
#include "kernels/downconvert/design.h"

namespace baseband::downconvert {
namespace {

constexpr double kTurn = 6.283185307179586476925286766559;
constexpr int kMaxExchanges = 40;
constexpr int kProbes = 5;            // points at which the error is looked at, from guess to guess
constexpr double kConverged = 0.002;  // greatest error over the alternating one, less 1
constexpr size_t kLanes = 4;          // sums that do not wait for each other
constexpr int kSmallGuess = 40;       // up to which an even spread is a good first guess

class Exchange {
 public:
  Exchange(const LowPass& low_pass, int degree) : low_pass_(low_pass), degree_(degree) {}

  // False if it does not converge. `points` in: a guess of degree + 2 points; out: the answer.
  bool Run(AlternationPoints* points) {
    for (int i = 0; i < kMaxExchanges; ++i) {
      Alternate(*points);
      if (!std::isfinite(level_)) {
        return false;
      }
      peaks_.clear();
      FindPeaks(0.0, low_pass_.pass, points->pass);
      FindPeaks(low_pass_.stop, 0.5, points->stop);
      double greatest = 0.0;
      for (const Peak& peak : peaks_) {
        greatest = std::max(greatest, std::abs(peak.error));
      }
      if (!(greatest > 0.0) || !std::isfinite(greatest)) {
        return false;
      }
      if (greatest <= (1.0 + kConverged) * std::abs(level_)) {
        return true;
      }
      if (!KeepAlternating()) {
        return false;
      }
      points->pass.clear();
      points->stop.clear();
      for (const Peak& peak : peaks_) {
        (peak.v <= low_pass_.pass ? points->pass : points->stop).push_back(peak.v);
      }
      if (points->pass.empty() || points->stop.empty()) {
        return false;
      }
    }
    return false;
  }

  // The alternating error over the allowed one.
  double level() const { return std::abs(level_); }

  std::vector<double> Taps() const {
    const int num_taps = 2 * degree_ + 1;
    std::vector<double> cosines(static_cast<size_t>(num_taps));
    std::vector<double> values(static_cast<size_t>(degree_ + 1));
    for (int j = 0; j < num_taps; ++j) {
      cosines[static_cast<size_t>(j)] = std::cos(kTurn * j / num_taps);
    }
    for (int j = 0; j <= degree_; ++j) {
      values[static_cast<size_t>(j)] = Evaluate(cosines[static_cast<size_t>(j)]);
    }
    std::vector<double> taps(static_cast<size_t>(num_taps));
    const size_t centre = taps.size() / 2;
    for (int k = 0; k <= degree_; ++k) {
      double sum = values[0];
      for (int j = 1; j <= degree_; ++j) {
        const auto turn = static_cast<size_t>(static_cast<int64_t>(j) * k % num_taps);
        sum += 2.0 * values[static_cast<size_t>(j)] * cosines[turn];
      }
      const auto place = static_cast<size_t>(k);
      taps[centre + place] = sum / num_taps;
      taps[centre - place] = sum / num_taps;
    }
    return taps;
  }

 private:
  struct Peak {
    double v = 0.0;
    double error = 0.0;
  };

  double Wanted(double v) const { return v <= low_pass_.pass ? 1.0 : 0.0; }
  double Allowed(double v) const {
    return v <= low_pass_.pass ? low_pass_.pass_error : low_pass_.stop_error;
  }
  double ErrorAt(double v) const {
    return (Evaluate(std::cos(kTurn * v)) - Wanted(v)) / Allowed(v);
  }

  // The polynomial that alternates on `points`.
  void Alternate(const AlternationPoints& points) {
    std::vector<double> v = points.pass;
    v.insert(v.end(), points.stop.begin(), points.stop.end());
    const size_t n = v.size();
    x_.resize(n);
    weights_.resize(n);
    values_.resize(n);
    std::vector<int> exponents(n);
    for (size_t k = 0; k < n; ++k) {
      x_[k] = std::cos(kTurn * v[k]);
    }
    for (size_t k = 0; k < n; ++k) {
      double product = 1.0;
      int exponent = 0;
      for (size_t j = 0; j < n; ++j) {
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
      exponents[k] = -exponent;
    }
    const int greatest = *std::max_element(exponents.begin(), exponents.end());
    double wanted = 0.0;
    double allowed = 0.0;
    for (size_t k = 0; k < n; ++k) {
      weights_[k] = std::ldexp(weights_[k], std::max(exponents[k] - greatest, -1000));
      wanted += weights_[k] * Wanted(v[k]);
      allowed += (k % 2 == 0 ? weights_[k] : -weights_[k]) * Allowed(v[k]);
    }
    level_ = wanted / allowed;
    for (size_t k = 0; k < n; ++k) {
      values_[k] = Wanted(v[k]) - (k % 2 == 0 ? level_ : -level_) * Allowed(v[k]);
    }
  }

  double Evaluate(double x) const {
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

  // Appends the local extremes of the error over the band [from, to].
  void FindPeaks(double from, double to, const std::vector<double>& guess) {
    std::vector<double> v = {from};
    const auto probe = [&v](double end) {
      const double begin = v.back();
      for (int i = 1; i <= kProbes && end > begin; ++i) {
        v.push_back(i == kProbes ? end : begin + (end - begin) * i / kProbes);
      }
    };
    for (const double point : guess) {
      probe(point);
    }
    probe(to);
    std::vector<double> errors(v.size());
    std::transform(v.begin(), v.end(), errors.begin(), [this](double p) { return ErrorAt(p); });
    for (size_t i = 0; i < v.size(); ++i) {
      const double here = std::abs(errors[i]);
      const double before = i == 0 ? 0.0 : errors[i - 1] * std::copysign(1.0, errors[i]);
      const double after = i + 1 == v.size() ? 0.0 : errors[i + 1] * std::copysign(1.0, errors[i]);
      if (here < before || here <= after) {
        continue;
      }
      Peak peak{v[i], errors[i]};
      if (i > 0 && i + 1 < v.size()) {  // the vertex of the parabola through the three
        const double a = v[i] - v[i - 1];
        const double b = v[i + 1] - v[i];
        const double rise = (here - before) / a;
        const double fall = (here - after) / b;
        const double vertex = v[i] + 0.5 * (rise * b - fall * a) / (rise + fall);
        if (vertex > v[i - 1] && vertex < v[i + 1]) {
          const double error = ErrorAt(vertex);
          if (std::abs(error) > here && (error > 0.0) == (errors[i] > 0.0)) {
            peak = Peak{vertex, error};
          }
        }
      }
      peaks_.push_back(peak);
    }
  }

  // Of neighbours with the same sign the greater one stays, and of what is too many the greatest.
  // False if too few are left.
  bool KeepAlternating() {
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
    const auto wanted = static_cast<size_t>(degree_) + 2;
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

  LowPass low_pass_;
  int degree_;
  double level_ = 0.0;
  std::vector<double> x_;
  std::vector<double> weights_;
  std::vector<double> values_;  // of the polynomial at x_
  std::vector<Peak> peaks_;
};

// A guess of `count` points: the answer for half as many, spread.
AlternationPoints Guess(const LowPass& low_pass, int count) {
  if (count <= kSmallGuess) {
    AlternationPoints bands;
    bands.pass = {0.0, low_pass.pass};
    bands.stop = {low_pass.stop, 0.5};
    const double share = low_pass.pass / (low_pass.pass + 0.5 - low_pass.stop);
    return Spread(bands, low_pass, share, count);
  }
  const int half = count / 2;
  AlternationPoints points = Guess(low_pass, half);
  const AlternationPoints spread = points;
  Exchange exchange(low_pass, half - 2);
  return Spread(exchange.Run(&points) ? points : spread, low_pass, count);
}

}  // namespace

absl::StatusOr<std::vector<double>> DesignEquiripple(const LowPass& low_pass) {
  const double db_per_tap = 14.6 * (low_pass.stop - low_pass.pass);
  int64_t num_taps = EstimateTaps(low_pass, Design::kEquiripple);
  int64_t too_few = 1;
  int64_t enough = 0;
  std::vector<double> best;
  AlternationPoints points;
  while (enough == 0 || enough - too_few > 2 + enough / 100) {
    if (num_taps > kMaxEquirippleTaps) {
      return absl::ResourceExhaustedError(
          absl::StrCat("equiripple taps are designed up to ", kMaxEquirippleTaps));
    }
    const auto degree = static_cast<int>(num_taps / 2);
    points =
        points.size() == 0 ? Guess(low_pass, degree + 2) : Spread(points, low_pass, degree + 2);
    Exchange exchange(low_pass, degree);
    if (!exchange.Run(&points)) {
      points = Guess(low_pass, degree + 2);
      if (!exchange.Run(&points)) {
        return absl::FailedPreconditionError(
            absl::StrCat("the exchange for ", num_taps, " equiripple taps did not converge"));
      }
    }
    bool is_enough = exchange.level() <= 1.0;
    if (is_enough) {
      std::vector<double> taps = exchange.Taps();
      const LowPassErrors errors = ErrorsOfLowPass(taps, low_pass);
      // The exchange ends within kConverged of the best.
      is_enough = errors.pass <= low_pass.pass_error * (1.0 + 2.0 * kConverged) &&
                  errors.stop <= low_pass.stop_error * (1.0 + 2.0 * kConverged);
      if (is_enough) {
        best = std::move(taps);
      }
    }
    (is_enough ? enough : too_few) = num_taps;
    const double db = 20.0 * std::log10(std::max(exchange.level(), 1e-9));
    const int64_t more = 2 * static_cast<int64_t>(std::ceil(db / db_per_tap / 2.0));
    const int64_t next = num_taps + std::clamp<int64_t>(more, -num_taps / 2, num_taps);
    if (enough == 0) {
      num_taps = std::max(next, too_few + 2);
    } else if (next > too_few && next < enough) {
      num_taps = next;
    } else {
      num_taps = (too_few + enough) / 2;
    }
    num_taps = std::max<int64_t>(num_taps | 1, 3);
    if (num_taps <= too_few || num_taps == enough) {
      num_taps = too_few + 2;
    }
  }
  return best;
}

}  // namespace baseband::downconvert
