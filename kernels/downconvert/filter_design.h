// The design of a filter from a mask in slices, for those who have others to serve meanwhile:
//
//   absl::StatusOr<FilterDesign> design = FilterDesign::Create(mask, Design::kEquiripple, 1, 64);
//   while (!design->Step()) SomebodyElsesTurn();
//   absl::StatusOr<FilterPtr> filter = design->Result();
#ifndef BASEBAND_KERNELS_DOWNCONVERT_FILTER_DESIGN_H_
#define BASEBAND_KERNELS_DOWNCONVERT_FILTER_DESIGN_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "kernels/downconvert/filter.h"

namespace baseband::downconvert {

// The largest edges that a mask can have at a rate, cycles per input sample; see Mask.
struct MaskEdges {
  double pass = 0.0;  // below that
  double stop = 0.0;
};
MaskEdges LargestEdges(double pass_edge, int up, int down);

// Move-only. It may be left, taken up by another thread, and given up between any two steps: it is
// memory and nothing else. The filter is the same, to the bit, whatever the steps.
class FilterDesign {
 public:
  // About a millisecond of a server's core; a step goes beyond its work by a few milliseconds at
  // most.
  static constexpr int64_t kStepWork = 1000000;

  // InvalidArgument names what is out of its range: a field of Mask, up or down.
  static absl::StatusOr<FilterDesign> Create(const Mask& mask, Design design, int up, int down);
  FilterDesign(FilterDesign&&) noexcept;
  FilterDesign& operator=(FilterDesign&&) noexcept;
  ~FilterDesign();

  // Goes on for about `work`, in nanoseconds more or less. True: it is done. In all it takes up to
  // several seconds for tens of thousands of taps.
  bool Step(int64_t work = kStepWork);
  // Of a design that is done. InvalidArgument names mask and what cannot be: it would take more
  // than kMaxTaps, or taps of float32 are too coarse.
  absl::StatusOr<FilterPtr> Result() const;

  // Memory that it takes at most from now on until it is done: up to some 100 MB.
  int64_t MaxBytes() const;

 private:
  class Implementation;
  explicit FilterDesign(std::unique_ptr<Implementation> implementation);

  std::unique_ptr<Implementation> implementation_;
};

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_FILTER_DESIGN_H_
