// What is minimised: a real function of the coordinates of a grid's points.
#ifndef BASEBAND_KERNELS_MINIMIZE_FUNCTIONAL_H_
#define BASEBAND_KERNELS_MINIMIZE_FUNCTIONAL_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/base/continue_check.h"
#include "kernels/minimize/grid.h"
#include "kernels/minimize/search/precision.h"

namespace baseband::minimize {

enum class FunctionalKind { kExpression, kSchwefel, kSinusoids, kManySinusoids, kMatched };

// How a functional of signals is evaluated. The others have one way and ignore it.
enum class Method {
  kLiteral,  // as published: every column of the model at every sample of every point
  kHoisted,  // fixed columns projected out once; the added ones by rotating phasors
  kFast,     // as kHoisted, but on dense grids a polynomial of many points at once
};

// A run of consecutive points of a grid, and where their values go.
template <typename T>
struct Run {
  const Grid* grid = nullptr;
  Method method = Method::kLiteral;
  int64_t first = 0;
  size_t count = 0;     // 1 .. kMaxRun
  T* values = nullptr;  // [count]
};
inline constexpr size_t kMaxRun = 1024;
// Vectors are written whole: arrays of the CPU device have so many elements more than what is said.
inline constexpr size_t kVectorPadding = 64;

inline constexpr size_t kMaxAtOnce = 8;

class CpuWorkspace;

// What has a noise model: the observations are the model at some parameters plus white noise.
struct NoiseBound {
  bool known = false;
  double noise_variance = 0.0;  // estimated from the residual; complex signals: of re plus im
  Coordinates deviation{};      // Cramer-Rao: the least standard deviation of each coordinate
};

// Immutable and thread-safe. A value depends on its point, grid, method and precision alone, never
// on the run that it was evaluated in.
class Functional {
 public:
  virtual ~Functional() = default;

  virtual FunctionalKind kind() const = 0;
  // InvalidArgument where the functional has no meaning on `grid`, or not that method.
  virtual absl::Status Check(const Grid& grid, Method method) const = 0;
  // Arithmetic operations a point, special functions at their weight: what pieces are cut by.
  virtual double Cost(const Grid& grid, Method method) const = 0;

  // Host memory that it holds: samples, rows, tables, arrays.
  virtual int64_t HostBytes() const = 0;
  // Memory that a GPU needs beside for `count` points, wherever they begin. Grows with `count`.
  virtual int64_t GpuScratchBytes(const Grid& /*grid*/, Method /*method*/,
                                  int64_t /*count*/) const {
    return 0;
  }

  // On the CPU device. Allocates nothing once `workspace` has seen the functional.
  virtual void Evaluate(const Run<float>& run, CpuWorkspace* workspace) const = 0;
  virtual void Evaluate(const Run<double>& run, CpuWorkspace* workspace) const = 0;
  // At any coordinates, in float64, as well as it can be computed; not fast. May allocate.
  virtual double At(const Coordinates& x) const = 0;
  // At `count` of them, 1 .. AtOnce(): as many as take no longer than one does. Quicker than At,
  // and rounded more, to some 1e-13 of the greatest values at worst.
  virtual int AtOnce() const { return 1; }  // 1 .. kMaxAtOnce
  virtual void AtMany(const Coordinates* x, int count, double* values) const {
    for (int i = 0; i < count; ++i) values[i] = At(x[i]);
  }

  // How wide the well that a signal leaves is along an axis, at half its depth and with the other
  // coordinates right; 0 if not known. A grid with longer steps may miss it.
  virtual double Lobe(int /*axis*/) const { return 0.0; }
  // At a minimum `x`. Takes some evaluations' time; `may_continue` is asked in between.
  virtual absl::StatusOr<NoiseBound> Deviation(const Coordinates& /*x*/,
                                               const ContinueCheck& /*may_continue*/) const {
    return NoiseBound();
  }
};

using FunctionalPtr = std::shared_ptr<const Functional>;

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_FUNCTIONAL_H_
