#include "client/load/arrivals.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace baseband::load {
namespace {

constexpr double kMaxRate = 1e7;

template <typename T>
std::string OutOfRange(const char* field, T value, absl::string_view range) {
  return absl::StrCat(field, " ", value, " is not in ", range);
}

}  // namespace

double Pace::offered() const {
  switch (kind) {
    case Kind::kClosed:
      return 0;
    case Kind::kSlots:
      return cells / absl::ToDoubleSeconds(slot);
    default:
      return rate;
  }
}

absl::Status Pace::Check() const {
  std::string wrong;
  if (kind == Kind::kClosed) {
    if (in_flight < 1 || in_flight > 65536)
      wrong = OutOfRange("in_flight", in_flight, "[1, 65536]");
  } else if (kind == Kind::kSlots) {
    if (cells < 1 || cells > kMaxCells) {
      wrong = OutOfRange("cells", cells, absl::StrCat("[1, ", kMaxCells, "]"));
    }
    if (slot < absl::Microseconds(10) || slot > absl::Seconds(10)) {
      wrong = OutOfRange("slot", absl::FormatDuration(slot), "[10us, 10s]");
    } else if (jitter < absl::ZeroDuration() || jitter > slot) {
      wrong = OutOfRange("jitter", absl::FormatDuration(jitter),
                         absl::StrCat("[0, ", absl::FormatDuration(slot), "], the slot"));
    }
  } else if (!(rate > 0) || rate > kMaxRate) {
    wrong = OutOfRange("rate", rate, absl::StrCat("(0, ", kMaxRate, "]"));
  }
  return wrong.empty() ? absl::OkStatus() : absl::InvalidArgumentError(wrong);
}

std::string Pace::ToText() const {
  switch (kind) {
    case Kind::kClosed:
      return absl::StrCat("closed loop, ", in_flight, " in flight");
    case Kind::kConstant:
      return absl::StrFormat("%g calls/s, evenly spaced", rate);
    case Kind::kPoisson:
      return absl::StrFormat("%g calls/s, Poisson", rate);
    case Kind::kSlots:
      break;
  }
  return absl::StrFormat("%g calls/s: %d cells, one call each a slot of %s, up to %s late",
                         offered(), cells, absl::FormatDuration(slot),
                         absl::FormatDuration(jitter));
}

Arrivals::Arrivals(const Pace& pace, int part, int parts, uint64_t seed)
    : pace_(pace), part_(part), parts_(parts) {
  std::seed_seq mixed = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32),
                         static_cast<uint32_t>(part)};
  random_.seed(mixed);
}

absl::Duration Arrivals::Next() {
  switch (pace_.kind) {
    case Pace::Kind::kPoisson:
      last_ += absl::Seconds(std::exponential_distribution<double>(pace_.rate / parts_)(random_));
      return last_;
    case Pace::Kind::kSlots: {
      while (slot_.empty()) NextSlot();
      const absl::Duration due = slot_.back();
      slot_.pop_back();
      return due;
    }
    default:
      return absl::Seconds(static_cast<double>(index_++ * parts_ + part_) / pace_.rate);
  }
}

void Arrivals::NextSlot() {
  const absl::Duration begin = index_++ * pace_.slot;
  std::uniform_real_distribution<double> late(0, absl::ToDoubleSeconds(pace_.jitter));
  for (int cell = part_; cell < pace_.cells; cell += parts_) {
    slot_.push_back(begin + absl::Seconds(late(random_)));
  }
  std::sort(slot_.begin(), slot_.end(), std::greater<>());
}

}  // namespace baseband::load
