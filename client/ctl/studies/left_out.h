// Points of a curve that --floor has left out.
#ifndef BASEBAND_CLIENT_CTL_STUDIES_LEFT_OUT_H_
#define BASEBAND_CLIENT_CTL_STUDIES_LEFT_OUT_H_

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace baseband::ctl {

using LeftOut = std::vector<double>;  // dB, rising

// Those of `points` behind the one of index `last`, which was at the floor.
inline LeftOut Behind(size_t last, const std::vector<double>& points) {
  return {points.begin() + static_cast<int64_t>(last) + 1, points.end()};
}

// "  left out by --floor=0.001: 2 points, 12.5 to 13 dB\n"; nothing if there are none.
void Print(const LeftOut& left_out, double floor, std::FILE* report);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_STUDIES_LEFT_OUT_H_
