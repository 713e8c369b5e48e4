// Angles of the studies, signals and pictures of basebandctl, in radians.
#ifndef BASEBAND_CLIENT_CTL_COMMON_ANGLES_H_
#define BASEBAND_CLIENT_CTL_COMMON_ANGLES_H_

namespace baseband::ctl {

inline constexpr double kPi = 3.14159265358979323846;
inline constexpr double kTwoPi = 2 * kPi;
inline constexpr double kDegreesPerRadian = 180 / kPi;

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_ANGLES_H_
