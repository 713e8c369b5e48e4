#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kernels/downconvert/nco_math.h"
#include "tests/bench/downconvert_nco_bench.h"
#include "tests/bench/downconvert_rig.h"

namespace baseband::downconvert::bench {
namespace {

enum class Oscillator { kNone, kExact, kFloat, kFloatFast };
template <Oscillator kOscillator>
__global__ void MixKernel(const short2* __restrict__ samples, int count, uint64_t word,
                          uint64_t step, float radians_per_sample, float2* __restrict__ mixed) {
  const int n = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (n >= count) return;
  const short2 x = __ldg(samples + n);
  Phasor phasor;
  if constexpr (kOscillator == Oscillator::kExact) {
    phasor = PhasorOf(word + static_cast<uint64_t>(n) * step);
  } else if constexpr (kOscillator == Oscillator::kFloat) {
    sincosf(radians_per_sample * static_cast<float>(n), &phasor.q, &phasor.i);
  } else if constexpr (kOscillator == Oscillator::kFloatFast) {
    __sincosf(radians_per_sample * static_cast<float>(n), &phasor.q, &phasor.i);
  }
  mixed[n] = make_float2(x.x * phasor.i + x.y * phasor.q, x.y * phasor.i - x.x * phasor.q);
}

}  // namespace

void Nco() {
  constexpr int kCount = 1 << 26;
  const auto samples = Value(cuda::CreateDeviceBuffer<short2>(kCount));
  const auto mixed = Value(cuda::CreateDeviceBuffer<float2>(kCount));
  CheckCuda(cudaMemset(samples.data(), 0x17, kCount * sizeof(short2)), "cudaMemset");
  CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  const auto stream = Value(cuda::Stream::Create());
  const Frequency frequency = Value(Frequency::FromFraction(9123457, 64000000));
  const auto radians = static_cast<float>(2 * 3.14159265358979323846 * 9123457 / 64e6);
  const auto time = [&](auto kernel) {
    return Time(stream.get(), [&] {
      kernel<<<kCount / 256, 256, 0, stream.get()>>>(samples.data(), kCount, 0, frequency.word(),
                                                     radians, mixed.data());
    });
  };
  const double none = time(MixKernel<Oscillator::kNone>);
  const double exact = time(MixKernel<Oscillator::kExact>);
  std::vector<float2> last(4096);  // of what the exact one made
  CheckCuda(cudaMemcpy(last.data(), mixed.data() + kCount - last.size(),
                       last.size() * sizeof(float2), cudaMemcpyDeviceToHost),
            "cudaMemcpy");
  for (size_t i = 0; i < last.size(); ++i) {
    const Phasor phasor = PhasorOf((kCount - last.size() + i) * frequency.word());
    const float x = 0x1717;  // I and Q of every sample
    Check(std::abs(last[i].x - x * (phasor.i + phasor.q)) <= 4e-7F * x &&
              std::abs(last[i].y - x * (phasor.i - phasor.q)) <= 4e-7F * x,
          "the exact mixer's samples are the CPU's");
  }
  const double plain = time(MixKernel<Oscillator::kFloat>);
  const double fast = time(MixKernel<Oscillator::kFloatFast>);
  std::printf(
      "a mixer alone, Gsamples/s: no oscillator %.1f, exact %.1f, plain float (sincosf) %.1f, "
      "plain float (__sincosf) %.1f: exact takes %+.1f %% and %+.1f %% of plain's time\n",
      kCount / none * 1e-9, kCount / exact * 1e-9, kCount / plain * 1e-9, kCount / fast * 1e-9,
      (exact / plain - 1) * 100, (exact / fast - 1) * 100);
  const FilterPtr filter = LowPass(64, 1, 8);
  double of_channel[2];
  for (const bool is_plain : {false, true}) {
    auto channels = Channels(1, filter, OutputFormat::kFloat32);
    channels[0].nco = is_plain ? NcoMethod::kFloat : NcoMethod::kExact;
    const Rig rig(channels, BlockOf(InputFormat::kInt16, kMaxStudySamples));
    rig.CheckResults("nco");
    of_channel[is_plain ? 1 : 0] = Time(stream.get(), [&] { rig.Launch(stream.get()); });
  }
  std::printf(
      "1 channel of 64 taps / 8, 2^22 samples: exact %.1f us, plain float sample by sample "
      "%.1f us\n",
      of_channel[0] * 1e6, of_channel[1] * 1e6);
}

}  // namespace baseband::downconvert::bench
