// What a matched filter computes once from its signals. Internal to minimize/.
#ifndef BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_MATCHED_DATA_H_
#define BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_MATCHED_DATA_H_

#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "kernels/minimize/functionals/least_squares.h"
#include "kernels/minimize/functionals/matched_math.h"
#include "kernels/minimize/functionals/sinusoids_data.h"
#include "kernels/minimize/matched.h"

namespace baseband::minimize {

// The grid's rows are its points along the last axis; they are numbered as points are.
class MatchedFunctional final : public Functional {
 public:
  // A chirp if `replica` is empty, which otherwise is not zero and as long as the signal.
  MatchedFunctional(const Column& signal, Column replica, double sampling_interval_s, int num_axes);

  FunctionalKind kind() const override { return FunctionalKind::kMatched; }
  absl::Status Check(const Grid& grid, Method method) const override;
  int64_t HostBytes() const override {
    return static_cast<int64_t>(sizeof(*this) +
                                (signal_.capacity() + table_.capacity()) * sizeof(double));
  }
  double Cost(const Grid& grid, Method method) const override;
  int64_t GpuScratchBytes(const Grid& grid, Method method, int64_t count) const override;
  void Evaluate(const Run<float>& run, CpuWorkspace* workspace) const override;
  void Evaluate(const Run<double>& run, CpuWorkspace* workspace) const override;
  double At(const Coordinates& x) const override;
  void AtMany(const Coordinates* x, int count, double* values) const override;
  double Lobe(int axis) const override;
  absl::StatusOr<NoiseBound> Deviation(const Coordinates& x,
                                       const ContinueCheck& may_continue) const override;

  // Of a row: y conj(s) is a complex signal without fixed columns, |s|^2 = N.
  const SinusoidsShape& shape() const { return shape_; }
  bool is_chirp() const { return table_.empty(); }
  // [2][num_samples], real parts, then imaginary ones; padded.
  absl::Span<const double> signal() const { return signal_; }
  // What delays are made of (matched_math.h): [4][table_stride], both parts on whole samples, then
  // half a sample later. Empty for chirps.
  absl::Span<const double> table() const { return table_; }
  size_t table_stride() const {
    return static_cast<size_t>(shape_.num_samples) + kDelayReach + kVectorPadding;
  }
  bool UsesCells(const Grid& grid, Method method) const;
  // Numbers that a part of a row has in a GPU's scratch memory: whole 16-byte words.
  int64_t GpuStride() const { return (shape_.num_samples + 3) / 4 * 4; }

 private:
  // rows: [2][num_samples], padded.
  void WriteRows(const Coordinates& x, const double* signal, double* rows) const;
  // s exp(j 2 pi f t) at x.
  Column ModelAt(const Coordinates& x) const;
  template <typename T>
  void EvaluateAs(const Run<T>& run, CpuWorkspace* workspace) const;

  SinusoidsShape shape_;
  int num_axes_;
  double delay_lobe_s_ = 0.0;  // of a replica
  std::vector<double> signal_;
  std::vector<double> table_;
};

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_MATCHED_DATA_H_
