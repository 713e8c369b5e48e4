// A turn in radians.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_TURN_H_
#define BASEBAND_KERNELS_DOWNCONVERT_TURN_H_

namespace baseband::downconvert {

inline constexpr double kTurn = 6.283185307179586476925286766559;
inline constexpr long double kLongTurn = 6.283185307179586476925286766559L;

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_TURN_H_
