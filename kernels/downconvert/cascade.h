// Inside of filter_design.h: how many stages a filter has, and by what factor each one goes.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_CASCADE_H_
#define BASEBAND_KERNELS_DOWNCONVERT_CASCADE_H_

#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/downconvert/design.h"
#include "kernels/downconvert/filter.h"
#include "kernels/downconvert/sliced_work.h"

namespace baseband::downconvert {

// Share of the allowed errors that a design may take; what is left is for rounding taps to float32.
inline constexpr double kRoundingMargin = 0.98;

struct Factors {
  int up = 1;
  int down = 1;
};

// What is asked for, checked.
struct CascadeTask {
  Mask mask;
  Design design = Design::kKaiser;
  int up = 1;
  int down = 1;
  bool decimates() const { return down >= up; }
  size_t Sharp(size_t num_stages) const { return decimates() ? num_stages - 1 : 0; }
};

// The low pass of each stage.
std::vector<LowPass> LowPassesOf(const CascadeTask& task, const std::vector<Factors>& stages,
                                 double margin);

// Finds the factors of least work: tries all ways to take factors out of down (or up).
class CascadeSearch {
 public:
  // Adds it to `work`. `task` stays.
  void Start(const CascadeTask& task, SlicedWork* work);

  const std::vector<Factors>& best() const { return best_; }  // empty: there is none

 private:
  std::vector<int> FactorsOf(int rest) const;
  bool TryHere(int rest);
  void TryFactor(int rest, int factor);

  const CascadeTask* task_ = nullptr;
  std::vector<Factors> before_;
  std::vector<Factors> best_;
  double least_ = std::numeric_limits<double>::infinity();
};

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_CASCADE_H_
