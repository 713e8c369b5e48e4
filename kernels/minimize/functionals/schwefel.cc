#include "kernels/minimize/schwefel.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/minimize/cpu/coordinates_cpu.h"
#include "kernels/minimize/cpu/search_kernels_cpu.h"
#include "kernels/minimize/cpu/workspace_cpu.h"

namespace baseband::minimize {
namespace {

class Schwefel final : public Functional {
 public:
  FunctionalKind kind() const override { return FunctionalKind::kSchwefel; }
  absl::Status Check(const Grid& grid, Method /*method*/) const override {
    if (grid.num_axes() == num_axes_) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("number of axes ", grid.num_axes(), " is not ", num_axes_));
  }
  // What Expression::cost gives for the same formula.
  double Cost(const Grid& grid, Method /*method*/) const override { return 14.0 * grid.num_axes(); }
  void Evaluate(const Run<float>& run, CpuWorkspace* workspace) const override {
    EvaluateAs(run, workspace);
  }
  void Evaluate(const Run<double>& run, CpuWorkspace* workspace) const override {
    EvaluateAs(run, workspace);
  }
  double At(const Coordinates& x) const override { return Value(x, num_axes_); }
  int64_t HostBytes() const override { return sizeof(*this); }

  explicit Schwefel(int num_axes) : num_axes_(num_axes) {}

 private:
  static double Value(const Coordinates& x, int num_axes) {
    double value = num_axes * kSchwefelConstant;
    for (int k = 0; k < num_axes; ++k) {
      const double at = x[static_cast<size_t>(k)];
      value = std::fma(-at, std::sin(std::sqrt(std::abs(at))), value);
    }
    return value;
  }
  template <typename T>
  void EvaluateAs(const Run<T>& run, CpuWorkspace* workspace) const {
    const auto x = RunCoordinates<T>(*run.grid, run.first, run.count, workspace);
    SearchKernelsOfThisProcessor<T>().schwefel(x.data(), num_axes_, run.count, run.values);
  }

  int num_axes_;
};

}  // namespace

FunctionalPtr MakeSchwefel(int num_axes) { return std::make_shared<const Schwefel>(num_axes); }

}  // namespace baseband::minimize
