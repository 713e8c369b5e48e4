// Stage 2 on the CPU device: samples turned back by the spectrum's middle, and filtered where the
// symbols lie.
#include <algorithm>
#include <cstddef>

#include "kernels/base/simd_targets.h"
#include "kernels/base/work_steps.h"
#include "kernels/timing/cpu/stages_cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/timing/cpu/match_cpu.cc"
// The order matters.
// clang-format off
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/carrier/cpu/turn_cpu-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace baseband::timing::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
namespace turning = carrier::HWY_NAMESPACE;

const hn::CappedTag<float, 16> df;  // row_taps is a multiple of its lanes
using V = hn::Vec<decltype(df)>;

// Samples first .. first + count - 1, of which some may lie beyond the frame, to turned[lead ..]:
// turned back, and zeros where there are none. `turn` is per sample.
void LoadSamples(const SampleView& samples, int64_t num_samples, int64_t first, int64_t count,
                 turning::TurnBack* turn, const FrameArrays& arrays, int64_t* begin) {
  *begin = std::min(std::max<int64_t>(first, 0), num_samples - 1);
  const int64_t end = std::min(std::max(first + count, *begin + 1), num_samples);
  const auto present = static_cast<size_t>(end - *begin);
  carrier::FrameCpu read;
  read.num_symbols = static_cast<int>(present);
  read.symbols = arrays.read;
  double unused = 0.0;
  carrier::ReadSymbols(samples.format, samples.scale,
                       samples.Part(*begin, static_cast<int64_t>(present)), &read, &unused);
  const size_t lanes = hn::Lanes(turning::df);
  for (size_t block = 0; block < present; block += carrier::kBlock) {
    turn->Start(static_cast<size_t>(*begin) + block);
    for (size_t k = 0; k < carrier::kBlock; k += lanes) {
      turning::V re = hn::Load(turning::df, arrays.read.re + block + k);
      turning::V im = hn::Load(turning::df, arrays.read.im + block + k);
      turn->Apply(k, &re, &im);
      hn::Store(re, turning::df, arrays.turned.re + arrays.lead + block + k);
      hn::Store(im, turning::df, arrays.turned.im + arrays.lead + block + k);
    }
  }
  // The block's end is zeros already; behind it what the frame's last symbols reach over.
  const size_t padded = carrier::PaddedToBlock(present);
  const size_t wanted = static_cast<size_t>(std::max<int64_t>(first + count - *begin, 0)) + 16;
  for (size_t n = padded; n < wanted; ++n) {
    arrays.turned.re[arrays.lead + n] = arrays.turned.im[arrays.lead + n] = 0.0F;
  }
}

void MatchSymbolsSimd(const LinePlan& plan, const PulseView& pulse, const SampleView& samples,
                      double centre, double bandwidth, double offset, double clock_error,
                      int num_symbols, const FrameArrays& arrays) {
  const double rate = static_cast<double>(plan.samples) / plan.symbols;
  const SymbolPlaces places(pulse.rows, pulse.before, plan.samples, plan.symbols,
                            plan.max_clock_error, offset, clock_error);
  carrier::Estimate per_sample;
  per_sample.frequency = centre / rate;
  turning::TurnBack turn(per_sample, 0.0, 1.0);
  const auto lead = static_cast<int64_t>(arrays.lead);
  std::fill(arrays.turned.re, arrays.turned.re + lead, 0.0F);
  std::fill(arrays.turned.im, arrays.turned.im + lead, 0.0F);
  const size_t lanes = hn::Lanes(df);
  const auto row_taps = static_cast<size_t>(pulse.row_taps);
  for (int block = 0; block < num_symbols; block += kMatchBlock) {
    if (!CountStep()) return;
    const int end = std::min(block + kMatchBlock, num_symbols);
    const int64_t first = places.At(block).first;
    const int64_t count = places.At(end - 1).first - first + pulse.row_taps;
    int64_t begin = 0;
    LoadSamples(samples, plan.num_samples, first, count, &turn, arrays, &begin);
    for (int k = block; k < end; ++k) {
      const TapPlace place = places.At(k);
      const int64_t at = lead + place.first - begin;
      const float* const re = arrays.turned.re + at;
      const float* const im = arrays.turned.im + at;
      const float* const taps = &pulse.taps_of[place.row * pulse.row_taps].value;
      V y_re = hn::Zero(df);
      V y_im = hn::Zero(df);
      V slope_re = hn::Zero(df);
      V slope_im = hn::Zero(df);
      for (size_t j = 0; j < row_taps; j += lanes) {
        V value, slope;
        hn::LoadInterleaved2(df, taps + 2 * j, value, slope);
        const V x_re = hn::LoadU(df, re + j);
        const V x_im = hn::LoadU(df, im + j);
        y_re = hn::MulAdd(x_re, value, y_re);
        y_im = hn::MulAdd(x_im, value, y_im);
        slope_re = hn::MulAdd(x_re, slope, slope_re);
        slope_im = hn::MulAdd(x_im, slope, slope_im);
      }
      const Iq y = {hn::GetLane(hn::SumOfLanes(df, y_re)), hn::GetLane(hn::SumOfLanes(df, y_im))};
      const Iq slope = {hn::GetLane(hn::SumOfLanes(df, slope_re)),
                        hn::GetLane(hn::SumOfLanes(df, slope_im))};
      const float bend = -place.rest * static_cast<float>(bandwidth);
      const Iq at_y = {y.i + place.rest * slope.i, y.q + place.rest * slope.q};
      const Iq at_slope = {slope.i + bend * y.i, slope.q + bend * y.q};
      // Back to the frequency that it had.
      const carrier::Turned back = carrier::Turn(centre * (offset + k * (1.0 + clock_error)));
      arrays.symbols[k] = {at_y.i * back.c - at_y.q * back.s, at_y.i * back.s + at_y.q * back.c};
      arrays.slopes[k] = {at_slope.i * back.c - at_slope.q * back.s,
                          at_slope.i * back.s + at_slope.q * back.c};
    }
  }
}

}  // namespace
}  // namespace baseband::timing::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::timing {

HWY_EXPORT(MatchSymbolsSimd);

void MatchSymbols(const LinePlan& plan, const PulseView& pulse, const SampleView& samples,
                  double centre, double bandwidth, double offset, double clock_error,
                  int num_symbols, const FrameArrays& arrays) {
  HWY_DYNAMIC_DISPATCH(MatchSymbolsSimd)
  (plan, pulse, samples, centre, bandwidth, offset, clock_error, num_symbols, arrays);
}

}  // namespace baseband::timing
#endif
