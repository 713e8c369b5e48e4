// The literal method on a GPU: every column at every sample of every point. What the fixed ones
// have in common with each other and with the signal is the same for all points, and is not made
// again.
#ifndef BASEBAND_KERNELS_MINIMIZE_GPU_LITERAL_KERNELS_CUH_
#define BASEBAND_KERNELS_MINIMIZE_GPU_LITERAL_KERNELS_CUH_

#include <type_traits>

#include "kernels/base/host_device.h"
#include "kernels/minimize/functionals/phase_math.h"
#include "kernels/minimize/functionals/sinusoids_math.h"
#include "kernels/minimize/gpu/sinusoids_kernels.cuh"

namespace baseband::minimize {
namespace {

// So many samples does a thread work on at once; with zeros behind them the image has whole groups.
constexpr int kLiteralGroup = 4;
BASEBAND_HOST_DEVICE constexpr int LiteralSamples(int num_samples) {
  return (num_samples + kLiteralGroup - 1) / kLiteralGroup * kLiteralGroup;
}
// A sample in the image: the signal, the fixed columns, the sample's number.
BASEBAND_HOST_DEVICE constexpr int LiteralRows(int fixed) { return fixed + 2; }
// Behind the samples: in float64 the phases' table; then the sums that no frequency enters, which
// are the signal's energy, its products with the fixed columns, and the lower triangle of the
// products of these.
template <typename T>
BASEBAND_HOST_DEVICE constexpr int LiteralTable() {
  return std::is_same_v<T, double> ? 2 * kPhaseSteps : 0;
}
BASEBAND_HOST_DEVICE constexpr int LiteralSums(int fixed) {
  return 1 + fixed + fixed * (fixed + 1) / 2;
}

struct LiteralTask {
  SinusoidsTask task;
  PhaseCoefficients coefficients;
};

// One point's sinusoid.
template <typename T>
class LiteralPhase;

template <>
class LiteralPhase<double> {
 public:
  __device__ __forceinline__ LiteralPhase(const LiteralTask& task, const SineCosine* table,
                                          double turns)
      : coefficients_(task.coefficients), table_(table), steps_(PhaseSteps(turns)) {}
  template <int kCount>
  __device__ __forceinline__ void At(const double (&n)[kCount], double (&sine)[kCount],
                                     double (&cosine)[kCount]) const {
    SinesAndCosines<kCount>(coefficients_, table_, steps_, n, sine, cosine);
  }

 private:
  const PhaseCoefficients& coefficients_;
  const SineCosine* table_;
  double steps_;
};

// The hardware's functions, as published, but within their range.
template <>
class LiteralPhase<float> {
 public:
  __device__ __forceinline__ LiteralPhase(const LiteralTask& /*task*/, const SineCosine* /*table*/,
                                          float turns)
      : turns_(turns) {}
  template <int kCount>
  __device__ __forceinline__ void At(const float (&n)[kCount], float (&sine)[kCount],
                                     float (&cosine)[kCount]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const float phase = turns_ * n[i];
      __sincosf(static_cast<float>(kTwoPi) * (phase - rintf(phase)), &sine[i], &cosine[i]);
    }
  }

 private:
  float turns_;
};

template <typename T, int kFixed>
struct Literal {
  using Real = T;
  static constexpr int kAxes = 1;
  static constexpr int kPoints = 1;
  static constexpr int kColumns = kFixed + 2;
  const LiteralTask& literal;
  const SineCosine* table;

  __device__ __forceinline__ void operator()(const SearchPoint<1>* point, Real* value) const {
    constexpr int kPadded = kPaddedRows<Real, LiteralRows(kFixed)>;
    constexpr int kGroup = kFixed > 2 ? 2 : kLiteralGroup;
    const Real* const samples = static_cast<const Real*>(literal.task.samples);
    const int num_samples = LiteralSamples(literal.task.num_samples);
    const auto turns = static_cast<Real>(point->x[0] * literal.task.sampling_interval_s);
    const LiteralPhase<Real> phase(literal, table, turns);
    Real c[kFixed + 1], s[kFixed + 1];  // with the signal, then the fixed columns
#pragma unroll
    for (int k = 0; k <= kFixed; ++k) c[k] = s[k] = Real(0);
#pragma unroll 1
    for (int first = 0; first < num_samples; first += kGroup) {
      Real x[kGroup][kPadded], n[kGroup], sine[kGroup], cosine[kGroup];
#pragma unroll
      for (int i = 0; i < kGroup; ++i) {
        LoadSample<Real, kPadded>(samples + static_cast<size_t>(first + i) * kPadded, x[i]);
        n[i] = x[i][kFixed + 1];
      }
      phase.At(n, sine, cosine);
#pragma unroll
      for (int i = 0; i < kGroup; ++i) {
#pragma unroll
        for (int k = 0; k <= kFixed; ++k) {
          c[k] += cosine[i] * x[i][k];
          s[k] += sine[i] * x[i][k];
        }
      }
    }
    const size_t behind = static_cast<size_t>(num_samples) * kPadded + LiteralTable<Real>();
    *value = Value(turns, samples + behind, c, s);
  }

  // The pair's own elements in closed form.
  __device__ __forceinline__ Real Value(Real turns, const Real* sums, const Real* c,
                                        const Real* s) const {
    constexpr int kPair = kFixed * (kFixed + 1) / 2;
    const auto size = static_cast<double>(literal.task.num_samples);
    const double dirichlet = Dirichlet(size, static_cast<double>(turns));
    double sine, cosine;
    sincospi(2.0 * (size - 1.0) * static_cast<double>(turns), &sine, &cosine);
    Real gram[kColumns * (kColumns + 1) / 2];
    Real r[kColumns];
    const Real energy = __ldg(sums);
#pragma unroll
    for (int i = 0; i < kPair; ++i) gram[i] = __ldg(sums + 1 + kFixed + i);
#pragma unroll
    for (int k = 0; k < kFixed; ++k) {
      r[k] = __ldg(sums + 1 + k);
      gram[kPair + k] = c[1 + k];
      gram[kPair + kFixed + 1 + k] = s[1 + k];
    }
    r[kFixed] = c[0];
    r[kFixed + 1] = s[0];
    gram[kPair + kFixed] = static_cast<Real>(0.5 * (size + dirichlet * cosine));
    gram[kPair + 2 * kFixed + 1] = static_cast<Real>(0.5 * dirichlet * sine);
    gram[kPair + 2 * kFixed + 2] = static_cast<Real>(0.5 * (size - dirichlet * cosine));
    return ResidualOfGram<kColumns>(energy, gram, r);
  }
};

template <typename T, int kFixed>
__global__ void __launch_bounds__(kSearchThreads)
    LiteralKernel(const __grid_constant__ SearchTask search,
                  const __grid_constant__ LiteralTask literal) {
  if constexpr (std::is_same_v<T, double>) {
    __shared__ SineCosine table[kPhaseSteps];
    const auto* const from = reinterpret_cast<const double2*>(
        static_cast<const T*>(literal.task.samples) +
        static_cast<size_t>(LiteralSamples(literal.task.num_samples)) *
            kPaddedRows<T, LiteralRows(kFixed)>);
    for (auto k = static_cast<int>(threadIdx.x); k < kPhaseSteps; k += kSearchThreads) {
      const double2 at = __ldg(from + k);
      table[k] = {at.x, at.y};
    }
    __syncthreads();
    SearchBlock(search, Literal<T, kFixed>{literal, table});
  } else {
    SearchBlock(search, Literal<T, kFixed>{literal, nullptr});
  }
}

}  // namespace
}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_GPU_LITERAL_KERNELS_CUH_
