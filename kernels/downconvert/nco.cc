#include "kernels/downconvert/nco.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/downconvert/turn.h"

namespace baseband::downconvert {
namespace {

using Wide = unsigned __int128;

constexpr uint64_t kMaxDen = uint64_t{1} << 63;

uint64_t Magnitude(int64_t value) {
  return value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
}

// A positive double as odd * 2^exponent.
struct Binary {
  uint64_t odd = 0;
  int exponent = 0;
};
Binary ToBinary(double value) {
  Binary binary;
  int exponent = 0;
  binary.odd = static_cast<uint64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  binary.exponent = exponent - 53;
  while (binary.odd % 2 == 0) {
    binary.odd /= 2;
    ++binary.exponent;
  }
  return binary;
}

// Of radians, to the nearest 2^-64 turns.
uint64_t WordOf(double radians) {
  const long double turns =
      std::remainder(static_cast<long double>(radians), kLongTurn) / kLongTurn;
  return static_cast<uint64_t>(static_cast<__int128>(std::rint(std::ldexp(turns, 64))));
}

// The one that sample n is in, or the first.
const PhaseTrack::Segment& SegmentAt(const std::vector<PhaseTrack::Segment>& segments, int64_t n) {
  const auto after = std::upper_bound(
      segments.begin() + 1, segments.end(), n,
      [](int64_t index, const PhaseTrack::Segment& segment) { return index < segment.begin; });
  return *(after - 1);
}

}  // namespace

absl::StatusOr<Frequency> Frequency::FromFraction(int64_t num, uint64_t den) {
  if (den < 1 || den > kMaxDen) {
    return absl::InvalidArgumentError(absl::StrCat("den ", den, " is not in [1, 2^63]"));
  }
  const uint64_t magnitude = Magnitude(num);
  if (magnitude > den) {
    return absl::InvalidArgumentError(
        absl::StrCat("num ", num, " is not in [-", den, ", ", den, "]: at most den"));
  }
  const uint64_t divisor = std::gcd(magnitude, den);
  // The magnitude is at most den: 2^63 / 2^63 becomes 1 / 1, and -2^63 / 2^63 likewise.
  const auto reduced = static_cast<int64_t>(magnitude / divisor);
  Frequency frequency;
  frequency.num_ = num < 0 ? -reduced : reduced;
  frequency.den_ = den / divisor;
  return frequency;
}

absl::StatusOr<Frequency> Frequency::FromRatio(double frequency, double sample_rate) {
  if (!std::isfinite(sample_rate) || sample_rate <= 0.0) {
    return absl::InvalidArgumentError(
        absl::StrCat("sample rate ", sample_rate, " is not finite and > 0"));
  }
  if (!std::isfinite(frequency) || std::abs(frequency) > sample_rate) {
    return absl::InvalidArgumentError(absl::StrCat("frequency ", frequency, " is not in [-",
                                                   sample_rate, ", ", sample_rate,
                                                   "], the sample rate"));
  }
  if (frequency == 0.0) {
    return Frequency();
  }
  Binary num = ToBinary(std::abs(frequency));
  Binary den = ToBinary(sample_rate);
  const uint64_t divisor = std::gcd(num.odd, den.odd);
  num.odd /= divisor;
  den.odd /= divisor;
  const int exponent = num.exponent - den.exponent;
  uint64_t magnitude = 0;
  uint64_t below = kMaxDen;
  if (exponent >= 0) {  // num.odd * 2^exponent <= den.odd < 2^53
    magnitude = num.odd << exponent;
    below = den.odd;
  } else if (-exponent < 64 && (Wide{den.odd} << -exponent) <= kMaxDen) {
    magnitude = num.odd;
    below = den.odd << -exponent;
  } else if (exponent + 63 >= 0) {  // the quotient is at most 1, the product below 2^116
    const Wide shifted = Wide{num.odd} << (exponent + 63);
    magnitude = static_cast<uint64_t>((shifted + den.odd / 2) / den.odd);
  } else if (-exponent - 63 < 64) {
    const Wide divided = Wide{den.odd} << (-exponent - 63);
    magnitude = static_cast<uint64_t>((Wide{num.odd} + divided / 2) / divided);
  }
  if (magnitude == below) {
    return FromFraction(frequency < 0.0 ? -1 : 1, 1);
  }
  const auto value = static_cast<int64_t>(magnitude);
  return FromFraction(frequency < 0.0 ? -value : value, below);
}

double Frequency::cycles_per_sample() const {
  return static_cast<double>(static_cast<long double>(num_) / static_cast<long double>(den_));
}

uint64_t Frequency::word() const { return PhaseWord(1); }

uint64_t Frequency::PhaseWord(uint64_t n) const {
  // |num| * n < 2^125; the remainder is below 2^63.
  const Wide remainder = Wide{Magnitude(num_)} * n % den_;
  const auto word = static_cast<uint64_t>(((remainder << 64) + den_ / 2) / den_);
  return num_ < 0 ? uint64_t{0} - word : word;
}

PhaseTrack::PhaseTrack() {
  static const auto& zero =
      *new std::shared_ptr<const std::vector<Segment>>(std::make_shared<std::vector<Segment>>(1));
  segments_ = zero;
}

absl::StatusOr<PhaseTrack> PhaseTrack::Create(const Frequency& frequency, double initial_phase,
                                              absl::Span<const Retune> retunes) {
  if (!std::isfinite(initial_phase)) {
    return absl::InvalidArgumentError(absl::StrCat("phase ", initial_phase, " is not finite"));
  }
  PhaseTrack track;
  track.initial_word_ = WordOf(initial_phase);
  Segment segment;
  segment.frequency = frequency;
  segment.origin_word = track.initial_word_;
  track.segments_ = std::make_shared<std::vector<Segment>>(1, segment);
  return track.Retuned(retunes, 0);
}

absl::StatusOr<PhaseTrack> PhaseTrack::Retuned(absl::Span<const Retune> retunes,
                                               int64_t keep_from) const {
  if (retunes.empty() && &SegmentOf(keep_from) == segments_->data()) return *this;
  std::vector<Segment> all = *segments_;
  for (size_t r = 0; r < retunes.size(); ++r) {
    const Retune& retune = retunes[r];
    const Segment& last = all.back();
    if (retune.index <= last.begin || retune.index >= kMaxSampleIndex) {
      return absl::InvalidArgumentError(
          absl::StrCat("retune ", r, " at sample ", retune.index, " is not in (", last.begin,
                       ", 2^62): retunes stand in strictly ascending order"));
    }
    Segment segment;
    segment.begin = retune.index;
    segment.frequency = retune.frequency;
    if (retune.mode == RetuneMode::kCoherent) {
      segment.origin = 0;
      segment.origin_word = initial_word_;
    } else {
      segment.origin = retune.index;
      segment.origin_word = last.ExactWord(retune.index);
    }
    all.push_back(segment);
  }
  PhaseTrack track;
  track.initial_word_ = initial_word_;
  const auto kept = all.begin() + (&SegmentAt(all, keep_from) - all.data());
  track.segments_ = std::make_shared<std::vector<Segment>>(kept, all.end());
  return track;
}

uint64_t PhaseTrack::Segment::ExactWord(int64_t n) const {
  return origin_word + frequency.PhaseWord(static_cast<uint64_t>(n - origin));
}

const PhaseTrack::Segment& PhaseTrack::SegmentOf(int64_t n) const {
  return SegmentAt(*segments_, n);
}

uint64_t PhaseTrack::Word(int64_t n) const {
  const Segment& segment = SegmentOf(n);
  const int64_t anchor = std::max(segment.begin, n - n % kAnchorSpacing);
  return segment.ExactWord(anchor) + static_cast<uint64_t>(n - anchor) * segment.frequency.word();
}

void AppendAnchors(const PhaseTrack& track, int64_t begin, int64_t end,
                   std::vector<PhaseAnchor>* anchors) {
  for (int64_t n = begin; n < end;) {
    const PhaseTrack::Segment& segment = track.SegmentOf(n);
    PhaseAnchor anchor;
    anchor.index = n;
    anchor.word = track.Word(n);
    anchor.step = segment.frequency.word();
    anchors->push_back(anchor);
    const int64_t next_grid = n - n % kAnchorSpacing + kAnchorSpacing;
    const bool is_last = &segment == &track.segments().back();
    n = is_last ? next_grid : std::min(next_grid, (&segment + 1)->begin);
  }
}

}  // namespace baseband::downconvert
