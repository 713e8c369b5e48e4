// Several sinusoids on one grid. Internal to minimize/.
#ifndef BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_MANY_SINUSOIDS_DATA_H_
#define BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_MANY_SINUSOIDS_DATA_H_

#include <vector>

#include "absl/types/span.h"
#include "kernels/minimize/functionals/many_sinusoids_math.h"
#include "kernels/minimize/functionals/sinusoids_data.h"

namespace baseband::minimize {

class ManySinusoidsFunctional final : public Functional {
 public:
  ManySinusoidsFunctional(const Observation& observation, const Grid& grid);
  // Makes the table, without which it is of no use; as MakeManySinusoids. Once.
  absl::Status MakeTable(const ContinueCheck& may_continue);

  FunctionalKind kind() const override { return FunctionalKind::kManySinusoids; }
  absl::Status Check(const Grid& grid, Method method) const override;
  double Cost(const Grid& grid, Method method) const override;
  int64_t HostBytes() const override {
    return one_.HostBytes() + static_cast<int64_t>(table_.size() * sizeof(double));
  }
  void Evaluate(const Run<float>& run, CpuWorkspace* workspace) const override;
  void Evaluate(const Run<double>& run, CpuWorkspace* workspace) const override;
  double At(const Coordinates& x) const override;
  int AtOnce() const override { return kMaxAtOnce; }
  void AtMany(const Coordinates* x, int count, double* values) const override;
  double Lobe(int axis) const override { return one_.Lobe(axis); }
  absl::StatusOr<NoiseBound> Deviation(const Coordinates& x,
                                       const ContinueCheck& may_continue) const override;

  const SinusoidsShape& shape() const { return one_.shape(); }
  absl::Span<const double> table() const { return table_; }
  // With the table on the host.
  const ManySinusoidsTask& task() const { return task_; }

 private:
  template <typename T>
  void EvaluateAs(const Run<T>& run) const;
  // Of a coordinate in the table.
  long long RowStride() const { return 2 * shape().num_rows(); }
  // The same of frequencies in cycles per sample, 1 .. kCorrelated of them.
  void AppendCorrelations(const double* turns, size_t count, std::vector<double>* table) const;
  double ValueOf(const double* const* at, const double* turns) const;

  const SinusoidsFunctional one_;
  const Grid grid_;
  std::vector<double> table_;
  ManySinusoidsTask task_;
};

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_MANY_SINUSOIDS_DATA_H_
