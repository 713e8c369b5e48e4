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

void LinkLaw::Learn(double bytes, double seconds, absl::Time now) {
  if (!(bytes > 0.0 && seconds > 0.0)) return;
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
  Confirm(now);
}

void LinkLaw::Confirm(absl::Time now) {
  seen_ = std::min(seen_ + 1, kLeastSeen);
  last_ = now;
}

bool ReadLaw::IsAlone(double bytes, double load) { return load <= kAlone * bytes; }

void ReadLaw::Learn(double bytes, double load, double seconds, absl::Time now, LinkLaw* link) {
  if (!(bytes > 0.0 && load >= bytes && seconds > 0.0)) return;
  const bool is_first = shared_ == 0.0;
  const bool is_alone = IsAlone(bytes, load);
  const double alone = link->Of(bytes);
  for (LinkLaw* law : {&all_, link}) {
    // In company nobody is slower than alone while there is room; of a link that was never alone
    // nothing is known.
    if (is_alone || is_first || (law->has_seen() && seconds < law->Of(bytes))) {
      law->Learn(bytes, seconds, now);
    } else if (law->has_seen()) {
      law->Confirm(now);
    }
  }
  if (is_first) {
    shared_ = seconds / std::max(load, bytes);
  } else if ((!is_alone && alone > 0.0 && seconds > kCrowded * alone) ||
             seconds < link->latency() + shared_ * load) {
    FollowLoad(*link, load, seconds);
  }
}

void ReadLaw::LearnLate(const LinkLaw& link, double bytes, double load, double seconds) {
  const double at_least = kGivenUp * seconds;
  if (shared_ > 0.0 && !IsAlone(bytes, load) && at_least > Of(link, bytes, load)) {
    FollowLoad(link, load, at_least);
  }
}

void ReadLaw::FollowLoad(const LinkLaw& link, double load, double seconds) {
  // However the latency is thought of, it is not all.
  const double reading = std::max(seconds - link.latency(), seconds / 2.0);
  shared_ *= std::pow(reading / load / shared_, kStep);
}

}  // namespace baseband::server
