#include "server/limits/read_law.h"

#include <cmath>

namespace baseband::server {
namespace {

constexpr double kForget = 0.99;
constexpr double kStep = 0.1;  // of the error's logarithm
// Who has so much beside him is alone.
constexpr double kAlone = 1.05;
// Who takes so many times as long as alone has no room.
constexpr double kCrowded = 1.25;
// Who did not come would have taken so many times as long.
constexpr double kGivenUp = 1.5;
// Rounds in which latency and own find each other, from where they were.
constexpr int kRounds = 4;

}  // namespace

bool ReadLaw::IsAlone(double bytes, double load) { return load <= kAlone * bytes; }

void ReadLaw::Learn(double bytes, double load, double seconds, absl::Time now) {
  if (!(bytes > 0.0 && load >= 0.0 && seconds > 0.0)) return;
  const double alone = latency_ + own_ * bytes;
  const bool is_alone = IsAlone(bytes, load) || seen_ == 0;
  // In company nobody is slower than alone while there is room.
  if (is_alone || seconds < alone) Fit(bytes, seconds);
  if (seen_ == 0) {
    shared_ = seconds / std::max(load, bytes);
  } else if ((!is_alone && seconds > kCrowded * alone) || seconds < latency_ + shared_ * load) {
    FollowLoad(load, seconds);
  }
  seen_ = std::min(seen_ + 1, kLeastSeen);
  last_ = now;
}

void ReadLaw::LearnLate(double bytes, double load, double seconds) {
  const double at_least = kGivenUp * seconds;
  if (seen_ > 0 && !IsAlone(bytes, load) && at_least > Of(bytes, load)) {
    FollowLoad(load, at_least);
  }
}

void ReadLaw::FollowLoad(double load, double seconds) {
  // However the latency is thought of, it is not all.
  const double reading = std::max(seconds - latency_, seconds / 2.0);
  shared_ *= std::pow(reading / load / shared_, kStep);
}

void ReadLaw::Fit(double bytes, double seconds) {
  const double y = 1.0 / seconds;
  const double x = bytes / seconds;
  for (double* sum : {&yy_, &xy_, &xx_, &y_, &x_}) *sum *= kForget;
  yy_ += y * y;
  xy_ += x * y;
  xx_ += x * x;
  y_ += y;
  x_ += x;
  // Neither is negative. Where the sizes do not tell them apart they stay near where they were.
  for (int round = 0; round < kRounds; ++round) {
    own_ = std::max(0.0, (x_ - xy_ * latency_) / xx_);
    latency_ = std::max(0.0, (y_ - xy_ * own_) / yy_);
  }
}

}  // namespace baseband::server
