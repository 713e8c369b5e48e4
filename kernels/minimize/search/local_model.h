// A function near a point: slope and curvature, what they may be wrong by, and what follows for a
// minimum. Internal to minimize/.
#ifndef BASEBAND_KERNELS_MINIMIZE_SEARCH_LOCAL_MODEL_H_
#define BASEBAND_KERNELS_MINIMIZE_SEARCH_LOCAL_MODEL_H_

#include <cstddef>

#include "kernels/minimize/search/line_fit.h"
#include "kernels/minimize/search/small_matrix.h"
#include "kernels/minimize/search/surroundings.h"

namespace baseband::minimize {

// centre.value + Rise(d) at centre.u + d.
struct LocalModel {
  Place centre;
  Vector half{};  // lengths that the fits along the axes were made at
  Vector slope{};
  Vector slope_error{};
  Matrix bend{};
  Matrix bend_error{};
  Vector third{};         // how fast bend[i][i] changes along axis i
  double rounding = 0.0;  // of values, at least
  Place least;            // of all that was looked at within the box

  // slope' d + d' bend d / 2, of the first n.
  double Rise(const Vector& d, size_t n) const;
};

// Curvatures along the axes alone, for those who want no more.
LocalModel FitCurvatures(Surroundings* around, const Place& centre, int fits);
// half: where the fits along the axes begin, 0 for what is not known. At most `fits` of them an
// axis, fewer where the first are as good as `fineness` asks for (line_fit.h): less than 1 for what
// is curved much more one way than another.
LocalModel MakeLocalModel(Surroundings* around, const Place& centre, const Vector& half, int fits,
                          double fineness = 1.0);

// Where the model is least with low <= d <= high, each of the first n.
Vector LeastInBox(const LocalModel& model, const Vector& low, const Vector& high, size_t n);

// What a model says of a minimum within the box.
struct Verdict {
  // -1, 1: the point is at that face of the box, and the function falls beyond.
  std::array<int, kMaxAxes> face{};
  // Along the other axes it is curved upwards, whatever the errors; then the minimum is `move`
  // away, give or take `error`.
  bool is_curved = false;
  Vector move{};
  Vector error{};
  // ... and that is within the tolerance on every axis, and nothing better was seen nearer than
  // that.
  bool is_settled = false;
};
Verdict Judge(Surroundings* around, const LocalModel& model);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_SEARCH_LOCAL_MODEL_H_
