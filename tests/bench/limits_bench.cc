// What one core allows: the clock, copies in memory, and operations on vectors that are in
// registers. Thread time, the best of the repetitions.
//
//   limits_bench [repetitions [MEBIBYTES]]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/base/simd_targets.h"
#include "tests/bench/cpu_seconds.h"
#include "tests/bench/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/limits_bench.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::bench::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// More results than are under way at a time on any core.
constexpr int kChains = 12;

// Fused multiply-adds of float32; returns how many.
int64_t MultiplyAdd(int rounds, float* sink) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, *sink);
  decltype(hn::Zero(d)) sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = hn::Set(d, static_cast<float>(i));
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < kChains; ++i) sums[i] = hn::MulAdd(sums[i], factor, factor);
  }
  for (int i = 1; i < kChains; ++i) sums[0] = hn::Add(sums[0], sums[i]);
  *sink = hn::GetLane(sums[0]) / kChains;
  return int64_t{rounds} * kChains * static_cast<int64_t>(hn::Lanes(d));
}

// Sums that saturate and minima of int8, as a decoder has them.
int64_t AddAndLimit(int rounds, float* sink) {
  const hn::ScalableTag<int8_t> d;
  const auto step = hn::Set(d, static_cast<int8_t>(*sink));
  const auto most = hn::Set(d, static_cast<int8_t>(100.0F * *sink));
  decltype(hn::Zero(d)) sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = hn::Set(d, static_cast<int8_t>(i));
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < kChains; ++i) sums[i] = hn::Min(hn::SaturatedAdd(sums[i], step), most);
  }
  for (int i = 1; i < kChains; ++i) sums[0] = hn::SaturatedAdd(sums[0], sums[i]);
  *sink = static_cast<float>(hn::GetLane(sums[0]));
  return int64_t{2} * rounds * kChains * static_cast<int64_t>(hn::Lanes(d));
}

}  // namespace
}  // namespace baseband::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::bench {
namespace {

HWY_EXPORT(MultiplyAdd);
HWY_EXPORT(AddAndLimit);

// `work` returns how many of its things it did, the same each time.
template <typename Work>
void Measure(const char* of, const char* thing, int repetitions, const Work& work) {
  std::vector<double> seconds;
  double count = 0.0;
  for (int i = 0; i <= repetitions; ++i) {
    const double begin = ThreadSeconds();
    count = static_cast<double>(work());
    if (i > 0) seconds.push_back(ThreadSeconds() - begin);  // the first warms up
  }
  const Times times = Times::Of(seconds);
  std::printf("%-8s %9.2f G%s/s\n", of, count / times.best * 1e-9, thing);
  EmitLimit("cpu", of, thing, count, times.best, times.spread);
}

// Steps of a xorshift: a shift and an exclusive or, each of which waits for the one before.
int64_t Step(int rounds, uint64_t* state) {
  uint64_t x = *state;
  for (int i = 0; i < rounds; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
  }
  *state = x;
  return int64_t{4} * rounds;
}

int Main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
  const size_t bytes = static_cast<size_t>(argc > 2 ? std::max(1, std::atoi(argv[2])) : 512) << 20;
  std::printf("one core with %s\n",
              hwy::TargetName(hwy::SupportedTargets() & -hwy::SupportedTargets()));
  uint64_t state = 88172645463325252;
  Measure("clock", "cycle", repetitions, [&] { return Step(2000000, &state); });
  if (state == 0) Fail("a xorshift came to 0");
  float sink = 0.5F;
  Measure(kFma, "operation", repetitions,
          [&] { return HWY_DYNAMIC_DISPATCH(MultiplyAdd)(1000000, &(sink = 0.5F)); });
  if (sink != 1.0F) Fail("multiply-adds did not come to their fixed point");
  Measure(kInteger, "operation", repetitions,
          [&] { return HWY_DYNAMIC_DISPATCH(AddAndLimit)(1000000, &(sink = 1.0F)); });
  if (sink != 127.0F) Fail("sums were not limited");
  std::vector<uint8_t> from(bytes / 2, 1);
  std::vector<uint8_t> to(bytes / 2, 0);
  Measure(kMemory, "byte", std::max(3, repetitions / 3), [&] {
    std::memcpy(to.data(), from.data(), to.size());
    return int64_t{2} * static_cast<int64_t>(to.size());  // read and written
  });
  if (to != from) Fail("a copy differs");
  return 0;
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) { return baseband::bench::Main(argc, argv); }
#endif  // HWY_ONCE
