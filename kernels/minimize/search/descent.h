// Ways down to a minimum within the surroundings of a grid's point. Internal to minimize/.
#ifndef BASEBAND_KERNELS_MINIMIZE_SEARCH_DESCENT_H_
#define BASEBAND_KERNELS_MINIMIZE_SEARCH_DESCENT_H_

#include "kernels/minimize/search/local_model.h"
#include "kernels/minimize/search/surroundings.h"

namespace baseband::minimize {

// What a descent has come to. Its place is never worse than where it began, but for rounding.
struct Descent {
  Place place;
  LocalModel model;  // there
  Verdict verdict;
  bool out_of_rounds = false;
};

// Newton's method in a box of trust: from model to model (local_model.h), each minimised over the
// box in which the one before was right (Conn, Gould and Toint 2000). Ends where a minimum is
// settled, where no step leads down, or after `rounds` models.
Descent Newton(Surroundings* around, const Place& from, int rounds);

// Along the axes, one after the other, and the directions that this led into (Powell 1964), by
// Brent's method (1973, chapter 5), until nothing moves or after 40 rounds.
Place AlongLines(Surroundings* around, const Place& from, bool* out_of_rounds);

// Grids around the best point, `levels` of them, each finer than the one before.
Place Zoom(Surroundings* around, const Place& from, int levels);

// To the bottom of the parabola through three points of each axis.
Place Parabola(Surroundings* around, const Place& from);

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_SEARCH_DESCENT_H_
