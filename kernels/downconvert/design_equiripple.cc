// Low passes of least length: the exchange for one number of taps after another, until the fewest
// that meet the low pass are known. Its first guess is the answer for half as many taps, spread
// out.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/downconvert/design.h"

namespace baseband::downconvert {
namespace {

constexpr int kSmallGuess = 40;  // up to which an even spread is a good first guess

}  // namespace

void EquirippleDesign::Start(const LowPass& low_pass, SlicedWork* work) {
  low_pass_ = low_pass;
  work_ = work;
  num_taps_ = EstimateTaps(low_pass, Design::kEquiripple);
  too_few_ = 1;
  enough_ = 0;
  points_ = AlternationPoints();
  best_.clear();
  status_ = absl::OkStatus();
  TryLength();
}

void EquirippleDesign::TryLength() {
  if (num_taps_ > kMaxEquirippleTaps) {
    status_ = absl::ResourceExhaustedError(
        absl::StrCat("equiripple taps are designed up to ", kMaxEquirippleTaps));
    return;
  }
  const auto count = static_cast<int>(num_taps_ / 2) + 2;
  const auto exchange = [this] { exchange_.Start(low_pass_, &points_, work_); };
  const auto judge = [this] {
    if (!exchange_.converged()) {
      status_ = absl::FailedPreconditionError(
          absl::StrCat("the exchange for ", num_taps_, " equiripple taps did not converge"));
      return;
    }
    if (exchange_.level() > 1.0) return Judge(/*is_enough=*/false);
    work_->Do({SlicedWork::Once([this] { exchange_.MakeTaps(&taps_); }),
               SlicedWork::Once([this] { errors_.Measure(taps_, low_pass_, work_); }),
               SlicedWork::Once([this] {
                 // The exchange ends within Exchange::kConverged of the best.
                 Judge(errors_.pass() <=
                           low_pass_.pass_error * (1.0 + 2.0 * Exchange::kConverged) &&
                       errors_.stop() <= low_pass_.stop_error * (1.0 + 2.0 * Exchange::kConverged));
               })});
  };
  work_->Do(
      {SlicedWork::Once([this, count] {
         if (points_.size() == 0) return Guess(count);
         points_ = Spread(points_, low_pass_, count);
       }),
       SlicedWork::Once(exchange), SlicedWork::Once([this, count, exchange] {
         if (exchange_.converged()) return;
         work_->Do({SlicedWork::Once([this, count] { Guess(count); }), SlicedWork::Once(exchange)});
       }),
       SlicedWork::Once(judge)});
}

// Goes on to another length, unless this one is the answer.
void EquirippleDesign::Judge(bool is_enough) {
  const double db_per_tap = 14.6 * (low_pass_.stop - low_pass_.pass);
  if (is_enough) best_ = taps_;
  (is_enough ? enough_ : too_few_) = num_taps_;
  const double db = 20.0 * std::log10(std::max(exchange_.level(), 1e-9));
  const int64_t more = 2 * static_cast<int64_t>(std::ceil(db / db_per_tap / 2.0));
  const int64_t next = num_taps_ + std::clamp<int64_t>(more, -num_taps_ / 2, num_taps_);
  if (enough_ == 0) {
    num_taps_ = std::max(next, too_few_ + 2);
  } else if (next > too_few_ && next < enough_) {
    num_taps_ = next;
  } else {
    num_taps_ = (too_few_ + enough_) / 2;
  }
  num_taps_ = std::max<int64_t>(num_taps_ | 1, 3);
  if (num_taps_ <= too_few_ || num_taps_ == enough_) {
    num_taps_ = too_few_ + 2;
  }
  if (enough_ == 0 || enough_ - too_few_ > 2 + enough_ / 100) TryLength();
}

// Makes the points a guess of `count`: the answer for half as many, spread.
void EquirippleDesign::Guess(int count) {
  guess_sizes_.clear();
  for (; count > kSmallGuess; count /= 2) guess_sizes_.push_back(count);
  AlternationPoints bands;
  bands.pass = {0.0, low_pass_.pass};
  bands.stop = {low_pass_.stop, 0.5};
  const double share = low_pass_.pass / (low_pass_.pass + 0.5 - low_pass_.stop);
  points_ = Spread(bands, low_pass_, share, count);
  RaiseGuess();
}

void EquirippleDesign::RaiseGuess() {
  if (guess_sizes_.empty()) return;
  spread_ = points_;
  work_->Do({SlicedWork::Once([this] { exchange_.Start(low_pass_, &points_, work_); }),
             SlicedWork::Once([this] {
               points_ = Spread(exchange_.converged() ? points_ : spread_, low_pass_,
                                guess_sizes_.back());
               guess_sizes_.pop_back();
               RaiseGuess();
             })});
}

}  // namespace baseband::downconvert
