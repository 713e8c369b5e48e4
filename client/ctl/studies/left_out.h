// Points of a curve that --floor has left out.
#ifndef BASEBAND_CLIENT_CTL_STUDIES_LEFT_OUT_H_
#define BASEBAND_CLIENT_CTL_STUDIES_LEFT_OUT_H_

#include <string>
#include <vector>

namespace baseband::ctl {

using LeftOut = std::vector<double>;  // dB, rising

// "  left out by --floor=0.001: 2 points, 12.5 to 13 dB\n"; empty without any.
std::string ToText(const LeftOut& left_out, double floor);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_STUDIES_LEFT_OUT_H_
