// The filters' inner loops: sums of products over contiguous windows.
//
// N = complex samples in a vector. N outputs are computed at a time: each has N partial sums, one a
// lane, of every N-th product from its oldest sample on, and the N x N partial sums are then added
// as a tree that also brings the outputs side by side. An output's sum therefore has one order,
// wherever it lies; spare outputs at the end of a range repeat the last one.
//
// Long windows are cut into panels whose sums are added: float32's rounding then grows with the
// number of panels, not of taps.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/downconvert/kernels_cpu.h"

// Included once for every instruction set: the guard flips.
#if defined(BASEBAND_KERNELS_DOWNCONVERT_FIR_CPU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BASEBAND_KERNELS_DOWNCONVERT_FIR_CPU_INL_H_
#undef BASEBAND_KERNELS_DOWNCONVERT_FIR_CPU_INL_H_
#else
#define BASEBAND_KERNELS_DOWNCONVERT_FIR_CPU_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/downconvert/mix_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::downconvert::HWY_NAMESPACE {
namespace {

// Outputs at a time. The vectors' length is known: those of unknown length are disabled.
constexpr size_t kGroup = HWY_MAX_BYTES / 8;
constexpr size_t kPanel = 1024;  // floats
static_assert(kPanel % (HWY_MAX_BYTES / 4) == 0, "panels are whole vectors");

enum class Product {
  kComplexByReal,
  kComplexByTurned,
  kRealByTurned,
};

using Outputs = std::make_index_sequence<kGroup>;

// The windows and the taps of a group's outputs.
struct Group {
  const float* window[kGroup];
  const float* re[kGroup];  // one branch: all the same
  const float* im[kGroup];
};

// [x0 + x1, y0 + y1] of the two complex numbers in each 128-bit block.
HWY_INLINE VF AddPairs(VF x, VF y) {
  const auto xs = hn::BitCast(du64, x);
  const auto ys = hn::BitCast(du64, y);
  return hn::Add(hn::BitCast(df, hn::InterleaveLower(du64, xs, ys)),
                 hn::BitCast(df, hn::InterleaveUpper(du64, xs, ys)));
}

// The lower half plus the upper one, of x and of y.
HWY_INLINE VF AddHalves(VF x, VF y) {
  return hn::Add(hn::ConcatLowerLower(df, y, x), hn::ConcatUpperUpper(df, y, x));
}

// Each output's partial sums added up, the outputs in order.
HWY_INLINE VF AddUp(const VF (&sums)[kGroup]) {
#if HWY_MAX_BYTES == 64
  const VF x = AddHalves(AddPairs(sums[0], sums[1]), AddPairs(sums[4], sums[5]));
  const VF y = AddHalves(AddPairs(sums[2], sums[3]), AddPairs(sums[6], sums[7]));
  return hn::Add(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(y), x),
                 hn::OddEvenBlocks(y, hn::SwapAdjacentBlocks(x)));
#elif HWY_MAX_BYTES == 32
  return AddHalves(AddPairs(sums[0], sums[1]), AddPairs(sums[2], sums[3]));
#else
  static_assert(HWY_MAX_BYTES == 16, "an order of sums for this length of vectors");
  return AddPairs(sums[0], sums[1]);
#endif
}

// Whole vectors, or the first `count` floats of one: what lies past a window may be anything, NaN
// too.
struct LoadAll {
  HWY_INLINE VF operator()(const float* from) const { return hn::LoadU(df, from); }
};
struct LoadFirst {
  explicit LoadFirst(size_t count) : valid(hn::FirstN(df, count)) {}
  HWY_INLINE VF operator()(const float* from) const {
    return hn::IfThenElseZero(valid, hn::LoadU(df, from));
  }
  hn::Mask<decltype(df)> valid;
};

// The partial sums of one output: of products with `re`, and with `im` if taps are turned.
struct Sum {
  VF re;
  VF im;
};

template <Product kProduct>
HWY_INLINE void AddProduct(VF x, VF re, VF im, Sum* sum) {
  sum->re = hn::MulAdd(x, re, sum->re);
  if constexpr (kProduct != Product::kComplexByReal) sum->im = hn::MulAdd(x, im, sum->im);
}

// `im` is null if taps are real.
template <Product kProduct>
HWY_INLINE VF LoadIm(const float* im, size_t at) {
  if constexpr (kProduct == Product::kComplexByReal) {
    return hn::Zero(df);
  } else {
    return hn::Load(df, im + at);
  }
}

// One vector of every output's window. (Expanded for all outputs: loops over arrays of vectors
// would keep them in memory.)
template <Product kProduct, bool kOneBranch, typename Load, size_t... kI>
HWY_INLINE void AddVector(std::index_sequence<kI...>, const Group& group, size_t at, Load load,
                          Sum (&sums)[kGroup]) {
  if constexpr (kOneBranch) {
    const VF re = hn::Load(df, group.re[0] + at);
    const VF im = LoadIm<kProduct>(group.im[0], at);
    (AddProduct<kProduct>(load(group.window[kI] + at), re, im, &sums[kI]), ...);
  } else {
    (AddProduct<kProduct>(load(group.window[kI] + at), hn::Load(df, group.re[kI] + at),
                          LoadIm<kProduct>(group.im[kI], at), &sums[kI]),
     ...);
  }
}

// N complex partial sums.
template <Product kProduct>
HWY_INLINE VF Combine(const Sum& sum) {
  if constexpr (kProduct == Product::kComplexByTurned) {
    return hn::Add(sum.re, SwapIq(sum.im));
  } else if constexpr (kProduct == Product::kRealByTurned) {
    return hn::Add(hn::InterleaveLower(df, sum.re, sum.im),
                   hn::InterleaveUpper(df, sum.re, sum.im));
  } else {
    return sum.re;
  }
}

// Floats [begin, end) of every output's window.
template <Product kProduct, bool kOneBranch, size_t... kI>
HWY_INLINE VF OutputsOfPanel(std::index_sequence<kI...> outputs, const Group& group, size_t begin,
                             size_t end) {
  Sum sums[kGroup] = {((void)kI, Sum{hn::Zero(df), hn::Zero(df)})...};
  const size_t lanes = hn::Lanes(df);
  size_t at = begin;
  for (; at + lanes <= end; at += lanes) {
    AddVector<kProduct, kOneBranch>(outputs, group, at, LoadAll(), sums);
  }
  if (at < end) {
    AddVector<kProduct, kOneBranch>(outputs, group, at, LoadFirst(end - at), sums);
  }
  const VF combined[kGroup] = {Combine<kProduct>(sums[kI])...};
  return AddUp(combined);
}

template <Product kProduct, bool kOneBranch>
HWY_INLINE VF OutputsOfGroup(const Group& group, size_t floats) {
  VF total = OutputsOfPanel<kProduct, kOneBranch>(Outputs(), group, 0, std::min(floats, kPanel));
  for (size_t begin = kPanel; begin < floats; begin += kPanel) {
    const size_t end = std::min(floats, begin + kPanel);
    total = hn::Add(total, OutputsOfPanel<kProduct, kOneBranch>(Outputs(), group, begin, end));
  }
  return total;
}

template <Product kProduct, bool kOneBranch>
void Filter(const FirTask& task) {
  constexpr size_t kComponents = kProduct == Product::kRealByTurned ? 1 : 2;
  const auto up = static_cast<size_t>(task.up);
  const size_t step = static_cast<size_t>(task.down) / up * kComponents;
  const size_t branch_step = static_cast<size_t>(task.down) % up;
  const float* window = task.window;
  auto branch = static_cast<size_t>(task.branch);
  Group group;
  for (size_t first = 0; first < task.count; first += kGroup) {
    for (size_t i = 0; i < kGroup; ++i) {
      group.window[i] = window;
      group.re[i] = task.taps.re + branch * task.taps.row;
      group.im[i] =
          kProduct == Product::kComplexByReal ? nullptr : task.taps.im + branch * task.taps.row;
      if (first + i + 1 >= task.count) continue;
      window += step;
      branch += branch_step;
      if (branch >= up) {
        branch -= up;
        window += kComponents;
      }
    }
    hn::StoreU(OutputsOfGroup<kProduct, kOneBranch>(group, task.taps.floats), df,
               task.out + 2 * first);
  }
}

template <Product kProduct>
void FilterAnyBranches(const FirTask& task) {
  if (task.up == 1) {
    Filter<kProduct, true>(task);
  } else {
    Filter<kProduct, false>(task);
  }
}

void Fir(const FirTask& task) {
  if (task.in_is_real) {
    FilterAnyBranches<Product::kRealByTurned>(task);
  } else if (task.taps.im != nullptr) {
    FilterAnyBranches<Product::kComplexByTurned>(task);
  } else {
    FilterAnyBranches<Product::kComplexByReal>(task);
  }
}

}  // namespace
}  // namespace baseband::downconvert::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // BASEBAND_KERNELS_DOWNCONVERT_FIR_CPU_INL_H_
