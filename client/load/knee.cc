#include "client/load/knee.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace baseband::load {

absl::StatusOr<double> FindKnee(double first_rate, double precision, const Bears& bears) {
  const double lowest = first_rate / 1024;
  const double highest = std::min(first_rate * 1024, 1e7);
  double borne = 0;
  double too_much = 0;
  for (double rate = first_rate; borne == 0 || too_much == 0;) {
    const absl::StatusOr<bool> answer = bears(rate);
    if (!answer.ok()) return answer.status();
    (*answer ? borne : too_much) = rate;
    if (borne >= highest) return borne;
    if (too_much > 0 && too_much <= lowest) {
      return absl::NotFoundError(absl::StrCat("not even ", too_much, " calls a second are borne"));
    }
    rate = *answer ? std::min(2 * rate, highest) : std::max(rate / 2, lowest);
  }
  while (too_much > borne * (1 + precision)) {
    const double rate = std::sqrt(borne * too_much);
    const absl::StatusOr<bool> answer = bears(rate);
    if (!answer.ok()) return answer.status();
    (*answer ? borne : too_much) = rate;
  }
  return borne;
}

}  // namespace baseband::load
