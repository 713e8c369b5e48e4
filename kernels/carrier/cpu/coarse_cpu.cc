// Stage S4 on the CPU device: how well symbols fit a hypothesis.
#include <algorithm>
#include <cstdint>

#include "kernels/base/simd_targets.h"
#include "kernels/carrier/cpu/stages_cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/carrier/cpu/coarse_cpu.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/carrier/cpu/soft_cpu-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace baseband::carrier::HWY_NAMESPACE {
namespace {

// CoarseFit, or CoarseFitKnown, of the kFitGroup symbols from `first` on; 0 where there is none.
HWY_INLINE void FitGroup(const Table& table, const FrameCpu& frame, size_t first,
                         const TurnBack& turn, Block* block, float* fits) {
  const size_t lanes = hn::Lanes(df);
  const V two_over_noise = hn::Set(df, table.two_over_noise);
  PlaceBlock(table, frame, first, kFitGroup, turn, block);
  ReadBlock<false>(table, kFitGroup, block);
  for (size_t k = 0; k < kFitGroup; k += lanes) {
    V fit, unused;
    hn::LoadInterleaved4(df, block->read + 4 * k, unused, unused, fit, unused);
    if (frame.known.re != nullptr) {
      const V known_re = hn::Load(df, frame.known.re + first + k);
      const V known_im = hn::Load(df, frame.known.im + first + k);
      const V along = hn::MulAdd(hn::Load(df, block->z_re + k), known_re,
                                 hn::Mul(hn::Load(df, block->z_im + k), known_im));
      const M known =
          hn::Gt(hn::MulAdd(known_re, known_re, hn::Mul(known_im, known_im)), hn::Zero(df));
      fit = hn::IfThenElse(known, hn::Mul(two_over_noise, along), fit);
    }
    hn::Store(hn::IfThenElseZero(Exists(frame, first + k), fit), df, fits + k);
  }
}

// Calls use(first, fits) for each group of a pass.
template <typename Use>
HWY_INLINE void ForGroups(const ModelView& view, const FrameCpu& frame, const Estimate& estimate,
                          int pass, const Use& use) {
  const Table table(view, estimate.table);
  TurnBack turn(estimate, frame.centre(), 1.0 / estimate.gain);
  Block block;
  HWY_ALIGN float fits[kFitGroup];
  for (size_t first = static_cast<size_t>(pass) * kFitGroup;
       first < static_cast<size_t>(frame.num_symbols); first += kFitPasses * kFitGroup) {
    turn.Start(first);
    FitGroup(table, frame, first, turn, &block, fits);
    use(first, fits);
  }
}

double SumCoarseFitSimd(const ModelView& view, const FrameCpu& frame, const Estimate& estimate,
                        int pass) {
  double total = 0.0;
  ForGroups(view, frame, estimate, pass, [&](size_t, const float* fits) {
    V sum = hn::Zero(df);
    for (size_t k = 0; k < kFitGroup; k += hn::Lanes(df)) {
      sum = hn::Add(sum, hn::Load(df, fits + k));
    }
    total += static_cast<double>(Sum(sum));
  });
  return total;
}

void AddCoarseFitsSimd(const ModelView& view, const FrameCpu& frame, const Estimate& estimate,
                       int pass, int residues, double* sums) {
  ForGroups(view, frame, estimate, pass, [&](size_t first, const float* fits) {
    int residue = static_cast<int>(first % static_cast<size_t>(residues));
    for (size_t k = 0; k < kFitGroup; ++k) {
      sums[residue] += static_cast<double>(fits[k]);
      residue = residue + 1 < residues ? residue + 1 : 0;
    }
  });
}

}  // namespace
}  // namespace baseband::carrier::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::carrier {

HWY_EXPORT(SumCoarseFitSimd);
HWY_EXPORT(AddCoarseFitsSimd);

double SumCoarseFit(const ModelView& view, const FrameCpu& frame, const Estimate& estimate,
                    int pass) {
  return HWY_DYNAMIC_DISPATCH(SumCoarseFitSimd)(view, frame, estimate, pass);
}

void AddCoarseFits(const ModelView& view, const FrameCpu& frame, const Estimate& estimate, int pass,
                   int residues, double* sums) {
  HWY_DYNAMIC_DISPATCH(AddCoarseFitsSimd)(view, frame, estimate, pass, residues, sums);
}

}  // namespace baseband::carrier
#endif
