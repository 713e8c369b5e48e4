// The numerically controlled oscillator: the phase of sample n, exactly, for n up to 2^62 and for
// ever the same however the samples are cut into chunks.
//
// A frequency is a fraction of the sample rate, num / den cycles per sample, kept as integers. The
// phase of sample n is a function of n alone, in turns as a 64-bit word (2^64 is one turn, so that
// overflow is what it should be):
//   anchors, every kAnchorSpacing samples, are exact: frac(num * (n - begin) / den) by integer
//   arithmetic of 128 bits, rounded once to 2^-64 turns;
//   from its anchor on, a sample's phase advances by the word of the frequency, round(2^64 num /
//   den), which is off by at most 2^-65 turns a sample, 2^-49 turns = 1.1e-14 rad at the end of a
//   block.
// The word's upper half, taken as signed half turns, becomes sine and cosine in float32.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_NCO_H_
#define BASEBAND_KERNELS_DOWNCONVERT_NCO_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace baseband::downconvert {

inline constexpr int64_t kAnchorSpacing = int64_t{1} << 16;
inline constexpr int64_t kMaxSampleIndex = int64_t{1} << 62;  // indices are in [0, kMaxSampleIndex)

// num / den cycles per sample, in lowest terms; den in [1, 2^63], |num| <= den.
class Frequency {
 public:
  Frequency() = default;
  // InvalidArgument names den, or a num beyond it.
  static absl::StatusOr<Frequency> FromFraction(int64_t num, uint64_t den);
  // frequency / sample_rate, both in the same unit. Two doubles have an exact quotient: it is taken
  // as it is if its denominator is at most 2^63 (whole and half hertz, for example, always), else
  // the nearest multiple of 2^-63 cycles per sample. num() and den() say which. InvalidArgument:
  // not finite, sample_rate <= 0, or |frequency| > sample_rate.
  static absl::StatusOr<Frequency> FromRatio(double frequency, double sample_rate);

  int64_t num() const { return num_; }
  uint64_t den() const { return den_; }
  double cycles_per_sample() const;
  // round(2^64 num / den), modulo 2^64.
  uint64_t word() const;
  // frac(num * n / den) as a word, rounded to nearest; n in [0, 2^62].
  uint64_t PhaseWord(uint64_t n) const;

 private:
  int64_t num_ = 0;
  uint64_t den_ = 1;
};

// Which phase a new frequency starts with.
enum class RetuneMode : uint8_t {
  kContinuous,  // that which the old frequency would have had: no jump
  kCoherent,    // as if the new frequency had run since sample 0: come back, and be in phase again
};

struct Retune {
  int64_t index = 0;  // the first sample of the new frequency
  Frequency frequency;
  RetuneMode mode = RetuneMode::kContinuous;
};

// The phase of every sample of one channel. Immutable, and shared by its copies.
class PhaseTrack {
 public:
  PhaseTrack();  // frequency 0, phase 0
  // `initial_phase`: radians at sample 0. `retunes` in strictly ascending order of index, each in
  // (0, kMaxSampleIndex). InvalidArgument names the one that is not, or a phase that is not finite.
  static absl::StatusOr<PhaseTrack> Create(const Frequency& frequency, double initial_phase,
                                           absl::Span<const Retune> retunes);
  // This track with more retunes after those that it has, and without the segments that end at or
  // before `keep_from`: samples before that one are no longer to be asked for. For streams, which
  // learn of retunes as they go. The phases are those of one track made of all retunes at once.
  absl::StatusOr<PhaseTrack> Retuned(absl::Span<const Retune> retunes, int64_t keep_from) const;

  // One frequency from `begin` on, up to the next segment's. Counted from where its phase is known
  // as a word: `begin` after a continuous retune, sample 0 after a coherent one.
  struct Segment {
    int64_t begin = 0;
    Frequency frequency;
    int64_t origin = 0;
    uint64_t origin_word = 0;
    // Phase of sample n by integer arithmetic alone: that of an anchor at n.
    uint64_t ExactWord(int64_t n) const;
  };
  absl::Span<const Segment> segments() const { return *segments_; }
  // The segment of sample n.
  const Segment& SegmentOf(int64_t n) const;
  // The phase of sample n as defined above: anchor and word.
  uint64_t Word(int64_t n) const;

 private:
  uint64_t initial_word_ = 0;
  std::shared_ptr<const std::vector<Segment>> segments_;  // one at least
};

// The phases of samples [begin, end), as devices compute them: sample n has
//   anchor.word + (n - anchor.index) * anchor.step     (modulo 2^64)
// of the last anchor with index <= n. Appends to `anchors`, the first at `begin`, then one at each
// multiple of kAnchorSpacing and each retune, in ascending order.
struct PhaseAnchor {
  int64_t index = 0;
  uint64_t word = 0;
  uint64_t step = 0;
};
void AppendAnchors(const PhaseTrack& track, int64_t begin, int64_t end,
                   std::vector<PhaseAnchor>* anchors);

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_NCO_H_
