#include "client/load/knee.h"

#include <algorithm>
#include <cmath>
namespace baseband::load {
namespace {

constexpr int kMostLoads = 80;
constexpr double kStumbles = 0.25;  // loads of a rate that is borne
constexpr double kLucky = 0.05;     // loads of one that is not
constexpr double kRather = 2.5;     // logarithms of odds: one load that is borne, two that are not
constexpr double kSure = 6;
constexpr int kSureSteps = 4;  // of the precision, between rates that are sure
constexpr double kFar = 1.2;   // times the rate that is sure ..
constexpr int kFarLoads = 5;   // .. and above, more of which are not borne than are
constexpr double kRounding = 1 + 1e-9;

}  // namespace

KneeSearch::KneeSearch(double first_rate, double precision, double least_rate)
    : first_(first_rate),
      lowest_(std::max(first_rate / 1024, least_rate)),
      highest_(std::min(first_rate * 1024, 1e7)),
      precision_(precision) {}

void KneeSearch::Add(double rate, bool borne) {
  ++(borne ? loads_[rate].borne : loads_[rate].not_borne);
  ++count_;
  // The likelihood of all outcomes if the first i rates are borne, and the others are not.
  std::vector<double> likelihood = {0};
  for (const auto& [at, outcomes] : loads_) {
    likelihood[0] += outcomes.borne * std::log(kLucky) + outcomes.not_borne * std::log1p(-kLucky);
  }
  for (const auto& [at, outcomes] : loads_) {
    likelihood.push_back(likelihood.back() +
                         outcomes.borne * (std::log1p(-kStumbles) - std::log(kLucky)) +
                         outcomes.not_borne * (std::log(kStumbles) - std::log1p(-kLucky)));
  }
  auto end = likelihood.begin();
  for (const auto& [at, outcomes] : loads_) {
    ++end;
    odds_[at] =
        *std::max_element(end, likelihood.end()) - *std::max_element(likelihood.begin(), end);
  }
}

KneeSearch::Bracket KneeSearch::At(double odds) const {
  Bracket bracket;
  for (const auto& [rate, known] : odds_) {
    if (known >= odds) bracket.borne = rate;
  }
  for (const auto& [rate, known] : odds_) {
    if (rate > bracket.borne && known <= -odds) {
      bracket.too_much = rate;
      break;
    }
  }
  return bracket;
}

double KneeSearch::Doubtful(const Bracket& bracket) const {
  std::vector<double> rates;
  for (const auto& [rate, known] : odds_) {
    if (rate > bracket.borne && std::abs(known) < kRather &&
        (bracket.too_much == 0 || rate < bracket.too_much)) {
      rates.push_back(rate);
    }
  }
  return rates.empty() ? 0
                       : rates[bracket.borne == 0 || bracket.too_much == 0 ? 0 : rates.size() / 2];
}

absl::optional<double> KneeSearch::Next() const {
  if (loads_.empty()) return first_;
  if (count_ >= kMostLoads) return absl::nullopt;
  const Bracket rather = At(kRather);
  const Bracket sure = At(kSure);
  const double doubtful = Doubtful(rather);
  if (rather.borne == 0) {
    if (doubtful > 0) return doubtful;
    return rather.too_much <= lowest_ ? absl::optional<double>()
                                      : std::max(rather.too_much / 2, lowest_);
  }
  if (rather.too_much == 0) {
    if (doubtful > 0) return doubtful;
    if (sure.borne >= highest_) return absl::nullopt;
    return std::min(2 * rather.borne, highest_);
  }
  if (doubtful == 0 && rather.too_much > rather.borne * (1 + precision_) * kRounding) {
    return std::sqrt(rather.borne * rather.too_much);
  }
  if (sure.borne > 0 && sure.too_much > 0 &&
      sure.too_much <= sure.borne * std::pow(1 + precision_, kSureSteps) * kRounding) {
    const double far = kFar * sure.borne;
    int more = 0;
    for (auto at = loads_.lower_bound(far / kRounding); at != loads_.end(); ++at) {
      more += at->second.not_borne - at->second.borne;
    }
    if (more < kFarLoads && far < highest_) return far;
    return absl::nullopt;
  }
  if (doubtful > 0) return doubtful;
  return sure.borne != rather.borne ? rather.borne : rather.too_much;
}

Knee KneeSearch::Get() const {
  const Bracket rather = At(kRather);
  const Bracket sure = At(kSure);
  Knee knee;
  knee.loads = count_;
  knee.is_sure = count_ < kMostLoads;
  knee.low = sure.borne > 0 ? sure.borne : rather.borne;
  // Where nothing is borne, how far down that was seen, though the last loads were but two.
  knee.high = sure.too_much > 0 && knee.low > 0 ? sure.too_much : rather.too_much;
  return knee;
}

absl::StatusOr<Knee> FindKnee(double first_rate, double precision, const Bears& bears,
                              double least_rate) {
  KneeSearch search(first_rate, precision, least_rate);
  while (const absl::optional<double> rate = search.Next()) {
    const absl::StatusOr<bool> borne = bears(*rate);
    if (!borne.ok()) return borne.status();
    search.Add(*rate, *borne);
  }
  return search.Get();
}

}  // namespace baseband::load
