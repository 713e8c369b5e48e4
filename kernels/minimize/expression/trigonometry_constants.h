// Numbers of sin, cos and tan, the same for the CPU device (trigonometry_cpu-inl.h), nvcc and NVRTC
// (trigonometry.cuh): all of them do the same operations in the same order. Includes nothing.
//
// x is reduced to r in [-pi/2, pi/2] by multiples of pi, or odd ones of pi/2 for the cosine, which
// are subtracted in three parts (Cody and Waite 1980): k times the first is exact in a fused
// multiply-add and so is its difference from x, for it is a multiple of the first part's last bit
// and at most 2 in magnitude. The third part is enough for k below 2^16 in float and 2^29 in
// double: what is left of pi, times k, stays below the last bit of the smallest r that any x of the
// range has. Beyond kRange the platform's library is asked.
#ifndef BASEBAND_KERNELS_MINIMIZE_EXPRESSION_TRIGONOMETRY_CONSTANTS_H_
#define BASEBAND_KERNELS_MINIMIZE_EXPRESSION_TRIGONOMETRY_CONSTANTS_H_

namespace baseband {
namespace minimize {

template <typename T>
struct TrigonometryConstants {
  static constexpr double kRange = 1e9;
  static constexpr double kRound = 6755399441055744.0;  // 1.5 2^52: its last bit is 1
  static constexpr double kOverPi = 0.31830988618379067154;
  static constexpr double kPi = 3.1415926535897931;
  static constexpr double kPiHigh = kPi;
  static constexpr double kPiMiddle = 1.2246467991473532e-16;
  static constexpr double kPiLow = -2.9947698097183397e-33;
  // sin(r) = r + kSine3 r^3 + ..; (sin(r) - r) / r^3 in r^2 is interpolated at Chebyshev points of
  // [0, pi/2]: 5e-17 of sin(r).
  static constexpr double kSine3 = -0.16666666666666666;
  static constexpr double kSine5 = 0.0083333333333333159;
  static constexpr double kSine7 = -0.00019841269841254432;
  static constexpr double kSine9 = 2.7557319219017265e-06;
  static constexpr double kSine11 = -2.5052107598462721e-08;
  static constexpr double kSine13 = 1.6058976114446052e-10;
  static constexpr double kSine15 = -7.6439321620123467e-13;
  static constexpr double kSine17 = 2.7309706931013859e-15;
};

template <>
struct TrigonometryConstants<float> {
  static constexpr float kRange = 1e5F;
  static constexpr float kRound = 12582912.0F;  // 1.5 2^23
  static constexpr float kOverPi = 0.318309886F;
  static constexpr float kPi = 3.14159274F;
  static constexpr float kPiHigh = kPi;
  static constexpr float kPiMiddle = -8.74227766e-8F;
  static constexpr float kPiLow = -3.43024902e-15F;
  // A search among such floats; 8e-9.
  static constexpr float kSine3 = -0.166666672F;
  static constexpr float kSine5 = 0.00833333284F;
  static constexpr float kSine7 = -0.000198408001F;
  static constexpr float kSine9 = 2.75499997e-06F;
  static constexpr float kSine11 = -2.50000003e-08F;
};

}  // namespace minimize
}  // namespace baseband

#endif  // BASEBAND_KERNELS_MINIMIZE_EXPRESSION_TRIGONOMETRY_CONSTANTS_H_
