// Speed of the CPU device's down-conversion on one core, beside its peers.
//
//   downconvert_bench [repetitions]
//
// Every row first checks its result: outputs spread over the block against sums in double
// precision. Speeds are input samples per second of the thread's own processor time, the best of
// many runs, so that other work on the machine disturbs them least. Peers' figures were measured by
// us likewise, with GNU Radio 3.10.5 on one core of an EPYC (Zen 4).
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "hwy/targets.h"
#include "kernels/downconvert/downconvert.h"
#include "tests/bench/cpu_seconds.h"
#include "tests/bench/rows.h"

namespace baseband::downconvert {
namespace {

using bench::ThreadSeconds;

constexpr int64_t kSamples = int64_t{1} << 20;  // of a block
constexpr double kTurn = 6.283185307179586476925286766559;

// A windowed sinc that passes what decimation by `down` leaves.
std::vector<float> LowPass(int num_taps, int down) {
  std::vector<float> taps;
  for (int k = 0; k < num_taps; ++k) {
    const double t = (k - 0.5 * (num_taps - 1)) / down;
    const double sinc = t == 0.0 ? 1.0 : std::sin(0.5 * kTurn * t) / (0.5 * kTurn * t);
    const double window = 0.54 - 0.46 * std::cos(kTurn * (k + 0.5) / num_taps);
    taps.push_back(static_cast<float>(sinc * window / down));
  }
  return taps;
}

struct Case {
  const char* name;
  InputFormat format;
  int num_taps;
  int up;
  int down;
  OutputFormat output;
  NcoMethod nco;
  const char* peer;
};

Channel MakeChannel(const Case& test) {
  Channel channel;
  channel.phase = *PhaseTrack::Create(*Frequency::FromFraction(9123457, 64000000), 0.5, {});
  channel.filter = *Filter::FromTaps(LowPass(test.num_taps, test.down), test.up, test.down);
  channel.output = test.output;
  channel.nco = test.nco;
  return channel;
}

// Noise of a third of full scale.
std::vector<uint8_t> MakeSamples(InputFormat format, int64_t samples) {
  const bool is_real = format >= InputFormat::kRealInt8;
  std::vector<uint8_t> bytes(static_cast<size_t>(samples * BytesPerSample(format)));
  std::mt19937 random(1);
  std::uniform_real_distribution<float> noise(-0.33F, 0.33F);
  for (int64_t i = 0; i < samples * (is_real ? 1 : 2); ++i) {
    const float value = noise(random);
    const auto at = static_cast<size_t>(i);
    if (format == InputFormat::kInt8 || format == InputFormat::kRealInt8) {
      bytes[at] = static_cast<uint8_t>(static_cast<int8_t>(value * 127.0F));
    } else if (format == InputFormat::kInt16 || format == InputFormat::kRealInt16) {
      const auto integer = static_cast<int16_t>(value * 32767.0F);
      std::memcpy(bytes.data() + 2 * at, &integer, 2);
    } else {
      std::memcpy(bytes.data() + 4 * at, &value, 4);
    }
  }
  return bytes;
}

Block MakeBlock(InputFormat format, int64_t samples) {
  constexpr float kScales[] = {1.0F / 127, 1.0F / 32767, 1.0F};
  Block block;
  block.format = format;
  block.scale = kScales[static_cast<int>(format) % 3];
  block.num_samples = samples;
  return block;
}

double ComponentOf(InputFormat format, const uint8_t* bytes, int64_t i) {
  const auto at = static_cast<size_t>(i);
  if (format == InputFormat::kInt8 || format == InputFormat::kRealInt8) {
    return static_cast<int8_t>(bytes[at]);
  }
  if (format == InputFormat::kInt16 || format == InputFormat::kRealInt16) {
    int16_t value;
    std::memcpy(&value, bytes + 2 * at, 2);
    return value;
  }
  float value;
  std::memcpy(&value, bytes + 4 * at, 4);
  return value;
}

std::complex<double> Expected(const Case& test, const Channel& channel, const Block& block,
                              const std::vector<uint8_t>& bytes, int64_t m) {
  const Stage& stage = channel.filter->stages().front();
  const bool is_real = block.format >= InputFormat::kRealInt8;
  std::complex<double> sum = 0.0;
  int64_t n = stage.NewestInput(m);
  for (int k = stage.TapPhase(m); k < test.num_taps && n >= 0; k += stage.up, --n) {
    std::complex<double> x;
    if (is_real) {
      x = ComponentOf(block.format, bytes.data(), n);
    } else {
      x = {ComponentOf(block.format, bytes.data(), 2 * n),
           ComponentOf(block.format, bytes.data(), 2 * n + 1)};
    }
    const double turns = static_cast<double>(channel.phase.Word(n)) * 0x1p-64;
    sum += static_cast<double>(stage.taps[static_cast<size_t>(k)]) * x *
           std::polar(1.0, -kTurn * turns);
  }
  return sum * static_cast<double>(block.scale);
}

bool IsVerified(const Case& test) {
  return test.output == OutputFormat::kFloat32 && test.nco == NcoMethod::kExact;
}

// float32 outputs by the exact oscillator; others are checked by the unit tests.
bool Verify(const Case& test, const Channel& channel, const Block& block,
            const std::vector<uint8_t>& bytes, const std::vector<uint8_t>& output) {
  if (!IsVerified(test)) return true;
  double taps = 0.0;
  for (const float tap : channel.filter->stages().front().taps) taps += std::abs(tap);
  const auto count = static_cast<int64_t>(output.size() / 8);
  for (int64_t m = 0; m < count; m += 997) {
    float value[2];
    std::memcpy(value, output.data() + 8 * m, 8);
    const std::complex<double> difference =
        std::complex<double>(value[0], value[1]) - Expected(test, channel, block, bytes, m);
    if (!(std::abs(difference) <= kDeviceTolerance * 0.5 * taps)) {
      std::printf("%s: output %lld is off by %g\n", test.name, static_cast<long long>(m),
                  std::abs(difference));
      return false;
    }
  }
  return true;
}

// A row for the report. A wrong result ends the program.
bench::Row Measure(const Case& test, bench::RowParameters parameters, int64_t samples,
                   int repetitions) {
  const Channel channel = MakeChannel(test);
  const std::vector<uint8_t> bytes = MakeSamples(test.format, samples);
  const Block block = MakeBlock(test.format, samples);
  bench::Must(CheckBlock({&channel, 1}, block));
  const OutputRange range = OutputsOf(channel, block);
  std::vector<uint8_t> output(static_cast<size_t>(range.count * BytesPerOutput(test.output)));
  std::vector<double> seconds;
  for (int i = 0; i <= repetitions; ++i) {
    const double start = ThreadSeconds();
    DownconvertOnCpu(channel, block, bytes, range, absl::MakeSpan(output));
    seconds.push_back(ThreadSeconds() - start);
    if (i == 0 && !Verify(test, channel, block, bytes, output)) bench::Fail("a wrong result");
  }
  const bench::Times times = bench::Times::Of(seconds);
  const auto count = static_cast<double>(samples);
  bench::Row row = bench::RateRow("down-conversion", "cpu", std::move(parameters), count, "sample",
                                  times.best, times.spread);
  row.checked = IsVerified(test);
  row.bytes = static_cast<double>(bytes.size() + output.size()) / count;
  // Turned taps: 4 multiply-adds for complex samples, 2 for real ones.
  row.operations = (test.format >= InputFormat::kRealInt8 ? 2.0 : 4.0) * test.num_taps / test.down;
  row.of = bench::kFma;
  return row;
}

constexpr auto kF32 = InputFormat::kFloat32;
constexpr auto kI16 = InputFormat::kInt16;
constexpr auto kFull = OutputFormat::kFloat32;
constexpr auto kExact = NcoMethod::kExact;

constexpr Case kCases[] = {
    {"complex float32, 64 taps, /8", kF32, 64, 1, 8, kFull, kExact, "199-207"},
    {"complex int16,   64 taps, /8", kI16, 64, 1, 8, kFull, kExact, ""},
    {"complex int8,    64 taps, /8", InputFormat::kInt8, 64, 1, 8, kFull, kExact, ""},
    {"complex int16 to int16, 64 taps, /8", kI16, 64, 1, 8, OutputFormat::kInt16, kExact, ""},
    {"complex int16 to float16, 64 taps, /8", kI16, 64, 1, 8, OutputFormat::kFloat16, kExact, ""},
    {"real int16,      64 taps, /8", InputFormat::kRealInt16, 64, 1, 8, kFull, kExact, "327-341"},
    {"real float32,    64 taps, /8", InputFormat::kRealFloat32, 64, 1, 8, kFull, kExact, ""},
    {"complex float32, 256 taps, /64", kF32, 256, 1, 64, kFull, kExact, "288-333"},
    {"complex float32, 64 taps, /1", kF32, 64, 1, 1, kFull, kExact, "43-44"},
    {"complex float32, 64 taps, /2", kF32, 64, 1, 2, kFull, kExact, ""},
    {"complex float32, 63 taps, /5", kF32, 63, 1, 5, kFull, kExact, ""},
    {"complex float32, 192 taps, 3/8", kF32, 192, 3, 8, kFull, kExact, ""},
    {"complex float32, 4096 taps, /512", kF32, 4096, 1, 512, kFull, kExact, ""},
    {"complex float32, 65536 taps, /4096", kF32, 65536, 1, 4096, kFull, kExact, ""},
};

constexpr Case kNcoCases[] = {
    {"exact", kF32, 64, 1, 8, kFull, NcoMethod::kExact, ""},
    {"plain float", kF32, 64, 1, 8, kFull, NcoMethod::kFloat, ""},
    {"exact, mixer alone (1 tap, /1)", kF32, 1, 1, 1, kFull, NcoMethod::kExact, "258-280"},
    {"plain float, mixer alone", kF32, 1, 1, 1, kFull, NcoMethod::kFloat, ""},
    {"exact, 64 taps, /1", kF32, 64, 1, 1, kFull, NcoMethod::kExact, ""},
    {"plain float, 64 taps, /1", kF32, 64, 1, 1, kFull, NcoMethod::kFloat, ""},
};

void PrintTable(const char* title, const char* what, const Case* cases, size_t count,
                int repetitions) {
  std::printf("%-42s %14s %14s\n", title, "Msamples/s", "GNU Radio");
  for (size_t i = 0; i < count; ++i) {
    const bench::Row row = Measure(cases[i], {{what, cases[i].name}}, kSamples, repetitions);
    row.Emit();
    std::printf("%-42s %14.0f %14s\n", cases[i].name, 1e-6 * row.value, cases[i].peer);
    std::fflush(stdout);
  }
  std::printf("\n");
}

void MeasureBatches(int repetitions) {
  for (int64_t samples = 1 << 12; samples <= 1 << 22; samples *= 4) {
    const bench::Row row = Measure(
        kCases[1], {{"channel", "int16, 64 taps, /8"}, {"samples", std::to_string(samples)}},
        samples, repetitions);
    std::printf("%s, %lld samples: %.1f us\n", kCases[1].name, static_cast<long long>(samples),
                1e6 * static_cast<double>(samples) / row.value);
    TimeRow(row, static_cast<double>(samples), "samples").Emit();
  }
}

}  // namespace
}  // namespace baseband::downconvert

int main(int argc, char** argv) {
  namespace dc = baseband::downconvert;
  const int repetitions = argc > 1 ? std::max(1, std::atoi(argv[1])) : 30;
  std::printf("One core, %s; %lld samples a block; processor time.\n\n",
              hwy::TargetName(hwy::SupportedAndGeneratedTargets().front()),
              static_cast<long long>(dc::kSamples));
  dc::PrintTable("One channel", "channel", dc::kCases, std::size(dc::kCases), repetitions);
  dc::PrintTable("Oscillators", "oscillator", dc::kNcoCases, std::size(dc::kNcoCases), repetitions);
  dc::MeasureBatches(repetitions);
  return 0;
}
