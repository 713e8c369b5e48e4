// Low passes as windowed sincs. J. F. Kaiser, "Nonrecursive digital filter design using the I0-sinh
// window function" (1974): the window's shape from the attenuation, the length from the transition.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/downconvert/design.h"

namespace baseband::downconvert {
namespace {

constexpr double kPi = 3.14159265358979323846264338328;

// How much more length may let the error fall by no more than a share: beyond the window's main
// lobe it is inverse to the length, but stands still for a while where the edge lies on a side
// lobe. Where twice the length does nothing, it is double precision that keeps the error up.
constexpr double kFutileLength = 2.0;
constexpr int64_t kFutileTaps = 16;
constexpr double kFall = 0.99;

double Decibels(double error) { return -20.0 * std::log10(error); }

// The modified Bessel function of order zero, by its power series: all terms are positive.
double BesselI0(double x) {
  const double quarter = x * x / 4.0;
  double sum = 1.0;
  double term = 1.0;
  for (int k = 1; term > 1e-18 * sum; ++k) {
    term *= quarter / (static_cast<double>(k) * k);
    sum += term;
  }
  return sum;
}

double WindowShape(double attenuation_db) {
  if (attenuation_db > 50.0) {
    return 0.1102 * (attenuation_db - 8.7);
  }
  if (attenuation_db > 21.0) {
    return 0.5842 * std::pow(attenuation_db - 21.0, 0.4) + 0.07886 * (attenuation_db - 21.0);
  }
  return 0.0;
}

// Taps k of the windowed sinc from its centre outwards, k in [begin, end).
void SetTaps(double cutoff, double shape, int64_t begin, int64_t end, std::vector<double>* taps) {
  const auto centre = static_cast<int64_t>(taps->size() / 2);
  const double scale = 1.0 / BesselI0(shape);
  for (int64_t k = begin; k < end; ++k) {
    const double x = static_cast<double>(k) / static_cast<double>(std::max<int64_t>(centre, 1));
    const double window = BesselI0(shape * std::sqrt(1.0 - x * x)) * scale;
    const double angle = kPi * static_cast<double>(k);
    const double sinc = k == 0 ? 2.0 * cutoff : std::sin(2.0 * cutoff * angle) / angle;
    (*taps)[static_cast<size_t>(centre + k)] = sinc * window;
    (*taps)[static_cast<size_t>(centre - k)] = sinc * window;
  }
}

}  // namespace

int64_t EstimateTaps(const LowPass& low_pass, Design design) {
  const double width = low_pass.stop - low_pass.pass;
  double taps = 0.0;
  if (design == Design::kKaiser) {
    const double db = Decibels(std::min(low_pass.pass_error, low_pass.stop_error));
    taps = std::max(db - 7.95, 13.3) / (14.36 * width) + 1.0;
  } else {
    const double db = Decibels(std::sqrt(low_pass.pass_error * low_pass.stop_error));
    taps = std::max(db - 13.0, 3.0) / (14.6 * width) + 1.0;
  }
  return 2 * static_cast<int64_t>(std::ceil(std::min(taps, 1e12) / 2.0 - 0.5)) + 1;
}

void KaiserDesign::Start(const LowPass& low_pass, SlicedWork* work) {
  low_pass_ = low_pass;
  work_ = work;
  status_ = absl::OkStatus();
  shape_ = WindowShape(Decibels(std::min(low_pass.pass_error, low_pass.stop_error)) + 0.1);
  num_taps_ = EstimateTaps(low_pass, Design::kKaiser);
  least_error_ = std::numeric_limits<double>::infinity();
  least_taps_ = num_taps_;
  TryLength();
}

void KaiserDesign::TryLength() {
  if (num_taps_ > kMaxTaps) {
    status_ = absl::ResourceExhaustedError(
        absl::StrCat("it would take ", num_taps_, " taps, the most is ", kMaxTaps));
    return;
  }
  constexpr int64_t kTapCost = 500;
  taps_.resize(static_cast<size_t>(num_taps_));
  const double cutoff = (low_pass_.pass + low_pass_.stop) / 2.0;
  work_->Do({SlicedWork::Each(num_taps_ / 2 + 1, kTapCost,
                              [this, cutoff](int64_t begin, int64_t end) {
                                SetTaps(cutoff, shape_, begin, end, &taps_);
                              }),
             SlicedWork::Once([this] { errors_.Measure(taps_, low_pass_, work_); }),
             SlicedWork::Once([this] {
               const double error = std::max(errors_.pass() / low_pass_.pass_error,
                                             errors_.stop() / low_pass_.stop_error);
               if (error <= 1.0) return;
               if (error < kFall * least_error_) {
                 least_error_ = error;
                 least_taps_ = num_taps_;
               } else if (static_cast<double>(num_taps_ - kFutileTaps) >
                          kFutileLength * static_cast<double>(least_taps_)) {
                 status_ = absl::FailedPreconditionError(
                     absl::StrCat("no number of Kaiser's taps comes nearer than ", least_error_,
                                  " times the errors that are allowed"));
                 return;
               }
               num_taps_ += 2 * std::max<int64_t>(num_taps_ / 200, 1);
               TryLength();
             })});
}

}  // namespace baseband::downconvert
