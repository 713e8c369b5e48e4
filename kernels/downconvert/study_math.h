// The paper's oscillators, one sample after the other, for both devices: the same bits on each. See
// study.h for what each one is.
//
// Slips of the paper's pen, corrected here:
//   eq. 2   takes floor() of radians off, whole radians; whole turns are meant.
//   eq. 7   returns da - db; Knuth's sum returns da + db (eq. 12 carries the two apart).
//   eq. 15  has da = a' - (b' - b1), which is a' - db; eq. 12's a - a1, a1 = sum - b1, is meant.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_STUDY_MATH_H_
#define BASEBAND_KERNELS_DOWNCONVERT_STUDY_MATH_H_

#include <cmath>
#include <cstdint>

#include "kernels/downconvert/downconvert.h"
#include "kernels/downconvert/nco_math.h"  // BASEBAND_HOST_DEVICE

namespace baseband::downconvert {

inline constexpr double kRadiansPerTurn = 6.283185307179586476925286766559;

// kFloat's phase with an initial one, float32: fused, since compilers that may fuse do so unasked,
// and devices would differ by an ulp of the product, 5e-4 rad after 9000 samples.
BASEBAND_HOST_DEVICE inline float FloatPhase(float step, int64_t n, float initial) {
  return fmaf(step, static_cast<float>(n), initial);
}

// All but kExact. Sums only, and products that are exact in double: there is nothing that a
// compiler could fuse.
class StudyOscillator {
 public:
  BASEBAND_HOST_DEVICE StudyOscillator(NcoMethod method, double cycles_per_sample, int segment)
      : method_(method),
        segment_(segment),
        wide_step_(kRadiansPerTurn * cycles_per_sample),
        step_(static_cast<float>(wide_step_)) {}

  // Of the sample it stands at: 0, then one further with each Advance.
  BASEBAND_HOST_DEVICE double phase() const {
    switch (method_) {
      case NcoMethod::kFloat:
        return Multiple(n_);
      case NcoMethod::kSegmented:
        return sum_ + Multiple(position_);
      case NcoMethod::kDouble:
        return wide_sum_;
      default:
        return sum_;
    }
  }

  BASEBAND_HOST_DEVICE void Advance() {
    ++n_;
    ++position_;
    switch (method_) {
      case NcoMethod::kAccumulated:
        sum_ += step_;
        break;
      case NcoMethod::kFast2Sum: {
        const float corrected = step_ + step_error_;
        const float sum = sum_ + corrected;
        step_error_ = corrected - (sum - sum_);
        sum_ = sum;
        break;
      }
      case NcoMethod::kTwoSum: {
        const float a = step_ + step_error_;
        const float b = sum_ + sum_error_;
        sum_ = a + b;
        const float b1 = sum_ - a;
        const float a1 = sum_ - b1;
        sum_error_ = b - b1;
        step_error_ = a - a1;
        break;
      }
      case NcoMethod::kDouble:
        wide_sum_ += wide_step_;
        break;
      default:
        break;
    }
    if (position_ == segment_) {
      EndSegment();
    }
  }

 private:
  // float32 of step * n.
  BASEBAND_HOST_DEVICE float Multiple(int64_t n) const {
    return static_cast<float>(static_cast<double>(step_) *
                              static_cast<double>(static_cast<float>(n)));
  }

  BASEBAND_HOST_DEVICE void EndSegment() {
    if (method_ == NcoMethod::kSegmented) {
      sum_ += Multiple(position_);
    }
    position_ = 0;
    sum_ = static_cast<float>(fmod(static_cast<double>(sum_), kRadiansPerTurn));
    wide_sum_ = fmod(wide_sum_, kRadiansPerTurn);
  }

  NcoMethod method_;
  int segment_;
  double wide_step_;
  float step_;
  int64_t n_ = 0;
  int position_ = 0;  // in the segment
  float sum_ = 0.0F;  // kSegmented: of the segment's first sample
  float step_error_ = 0.0F;
  float sum_error_ = 0.0F;
  double wide_sum_ = 0.0;
};

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_STUDY_MATH_H_
