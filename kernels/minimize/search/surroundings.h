// Where a refinement may look: the surroundings of a grid's point, in steps of the grid from it.
// Internal to minimize/.
#ifndef BASEBAND_KERNELS_MINIMIZE_SEARCH_SURROUNDINGS_H_
#define BASEBAND_KERNELS_MINIMIZE_SEARCH_SURROUNDINGS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/minimize/search.h"
#include "kernels/minimize/search/small_matrix.h"

namespace baseband::minimize {

// A point and its value, of the goal "minimum".
struct Place {
  Vector u{};  // steps from the grid's point, by free axis
  double value = 0.0;
};

// Axes with more than one point are free; they are numbered from 0 on here.
class Surroundings {
 public:
  Surroundings(const Problem& problem, int64_t index, const ContinueCheck& may_continue);

  size_t size() const { return size_; }  // free axes
  size_t axis(size_t i) const { return free_[i]; }
  double step(size_t i) const { return problem_.grid().axis(static_cast<int>(free_[i])).step; }
  // The box that the point may be moved in, a step to each side within the ends of its axes, and
  // these ends, beyond which nothing is evaluated.
  double low(size_t i) const { return low_[i]; }    // -1 or 0
  double high(size_t i) const { return high_[i]; }  // 0 or 1
  double first(size_t i) const { return first_[i]; }
  double last(size_t i) const { return last_[i]; }
  // What a coordinate is found to if it is found: kRefinementTolerance, or some roundings of it.
  double Tolerance(size_t i) const;
  // How wide the functional says that its wells are; 0: it does not know.
  double Lobe(size_t i) const;

  // Between the ends, and those of the grid on the faces of the box.
  Coordinates At(const Vector& u) const;
  Vector Clamped(Vector u) const;  // into the box
  // Infinite, without being evaluated, once the check does not say OK or kMaxRefinementEvaluations
  // are spent: every method ends soon then.
  double Value(const Vector& u);
  void Values(absl::Span<const Vector> u, double* values);
  // Looks at how values as close to `u` as coordinates allow scatter (Hamming 1971; More and Wild
  // 2011): what a functional's own arithmetic does to them is often far more than their last bits.
  void MeasureRounding(const Vector& u);
  // Of values up to `greatest`: a deviation.
  double Rounding(double greatest) const {
    return std::max(rounding_, std::numeric_limits<double>::epsilon() * greatest);
  }
  const absl::Status& status() const { return status_; }
  bool is_spent() const { return evaluations_ >= kMaxRefinementEvaluations; }

 private:
  const Problem& problem_;
  const ContinueCheck& may_continue_;
  absl::Status status_;
  int64_t evaluations_ = 0;
  double rounding_ = 0.0;
  Coordinates origin_{};
  std::array<size_t, kMaxAxes> free_{};
  size_t size_ = 0;
  Vector low_{};
  Vector high_{};
  Vector first_{};
  Vector last_{};
  // Coordinates of the box' faces as the grid has them, and of the ends, the less first.
  Vector at_low_{};
  Vector at_high_{};
  Vector at_least_{};
  Vector at_most_{};
};

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_SEARCH_SURROUNDINGS_H_
