// Slope and curvature of a function along a line, with what they may be wrong by: from a polynomial
// of degree 4 through many of its values. Internal to minimize/.
//
// Nothing has to be known of the function. What the polynomial leaves of the values (rounding,
// noise, higher terms, kinks) is the measure of the errors, and the length of the line that makes
// them least is looked for: long enough for noise, short enough for what is no polynomial. Where
// there is a kink or a jump no length is, and the errors say so.
#ifndef BASEBAND_KERNELS_MINIMIZE_SEARCH_LINE_FIT_H_
#define BASEBAND_KERNELS_MINIMIZE_SEARCH_LINE_FIT_H_

#include <limits>

#include "kernels/minimize/search/surroundings.h"

namespace baseband::minimize {

// The points from.u + t direction.
struct Line {
  Place from;
  Vector direction{};
  double low = 0.0;   // t, at most 0: no point beyond is an end's
  double high = 0.0;  // at least 0
};
// As long as the axes.
Line LineFrom(const Surroundings& around, const Place& from, const Vector& direction);
Vector PointOf(const Line& line, double t);

struct LineFit {
  double half = 0.0;  // |t| <= half was looked at
  // d/dt, d^2/dt^2 and d^3/dt^3 at t = 0. The errors are not finite where there is no fit.
  double slope = 0.0;
  double bend = 0.0;
  double third = 0.0;
  double slope_error = std::numeric_limits<double>::infinity();
  double bend_error = std::numeric_limits<double>::infinity();
  double rounding = 0.0;     // of the values that were looked at, at least
  bool is_smooth = false;    // a polynomial is nearly all that there is to see
  bool is_rounding = false;  // there is nothing but rounding to see
  Place least;               // of what was looked at
};

LineFit FitLine(Surroundings* around, const Line& line, double half);

// At the length that tells the slope best, from `half` on. Up to `most` fits, fewer if the minimum
// is told to a fifth of `tolerance` and the curvature to a twentieth, both times `fineness`; the
// curvature to no less than that.
LineFit FitLineAtItsScale(Surroundings* around, const Line& line, double half, double tolerance,
                          double fineness, int most);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_SEARCH_LINE_FIT_H_
