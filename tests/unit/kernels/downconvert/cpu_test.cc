// The CPU device against the formulas in double precision, on every instruction set, and its output
// formats against exact rounding.
#include <cmath>
#include <complex>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernels/downconvert/downconvert.h"
#include "kernels/downconvert/reference.h"
#include "kernels/downconvert/study.h"
#include "tests/support/downconvert_signals.h"
#include "tests/support/every_target.h"
#include "tests/support/matchers.h"

namespace baseband::downconvert {
namespace {

using ::baseband::testing::Convert;
using ::baseband::testing::Converted;
using ::baseband::testing::kInputFormats;
using ::baseband::testing::OnEveryTarget;

constexpr double kRounding = 0x1p-24;  // of float32, relative
constexpr double kPhasorError = 1e-7;  // nco_math.h

FilterPtr TapsOf(int count, int up, int down) {
  return *Filter::FromTaps(testing::SomeTaps(count, up, down, 3), up, down);
}

// The most that rounding can do, relative to the sum of |taps| times the largest sample. A stage:
// the taps' own rounding where they were turned, then the longest chain of sums. That is of two
// partial sums, the fewest (four floats a vector), of at most 512 samples; then those of the parts,
// and of the 512s. The first stage: the oscillator, and the product with it.
double ErrorBound(const Filter& filter) {
  double bound = 0.0;
  for (const Stage& stage : filter.stages()) {
    const double window = static_cast<double>(stage.history() + 1);
    bound += (2.0 + std::ceil(std::min(window, 512.0) / 2.0) + 3.0 + window / 512.0) * kRounding;
  }
  return bound + kPhasorError + 4.0 * kRounding;
}

struct Signal {
  Block block;
  std::vector<uint8_t> samples;
};
Signal MakeSignal(InputFormat format, int64_t first, int64_t history, int64_t count) {
  Signal signal;
  signal.block.format = format;
  signal.block.scale = testing::ScaleOf(format);
  signal.block.first_index = first;
  signal.block.history = history;
  signal.block.num_samples = count;
  signal.samples = testing::NoiseSamples(format, count, 1);
  return signal;
}

struct Oscillator {
  ReferenceOscillator reference;
  PhaseTrack track;
};
Oscillator MakeOscillator(int64_t num, uint64_t den, std::vector<Retune> retunes) {
  Oscillator oscillator;
  oscillator.reference.frequency = *Frequency::FromFraction(num, den);
  oscillator.reference.initial_phase = 0.75;
  oscillator.reference.retunes = std::move(retunes);
  oscillator.track =
      *PhaseTrack::Create(oscillator.reference.frequency, oscillator.reference.initial_phase,
                          oscillator.reference.retunes);
  return oscillator;
}

// Largest difference of the CPU device's float32 outputs to the formulas', relative to gain times
// the sum of |taps|.
double LargestError(const Oscillator& oscillator, const FilterPtr& filter, const Signal& signal) {
  Channel channel;
  channel.phase = oscillator.track;
  channel.filter = filter;
  channel.gain = -0.8F;
  EXPECT_THAT(CheckBlock({&channel, 1}, signal.block), IsOk());
  const OutputRange range = OutputsOf(channel, signal.block);
  EXPECT_GT(range.count, 0);
  const std::vector<uint8_t> output = Convert(channel, signal.block, signal.samples).output;
  const std::vector<std::complex<double>> expected = ReferenceDownconvert(
      oscillator.reference, channel.gain, filter->stages(), signal.block.scale,
      signal.block.first_index, ReferenceSamples(signal.block.format, signal.samples), range);
  double largest = 0.0;
  for (size_t m = 0; m < expected.size(); ++m) {
    float value[2];
    std::memcpy(value, output.data() + 8 * m, 8);
    const double error = std::abs(std::complex<double>(value[0], value[1]) - expected[m]);
    largest = std::max(largest, std::isnan(error) ? 1e9 : error);
  }
  // The largest complex sample is sqrt(2).
  return largest / (0.8 * testing::GainLimitOf(*filter) * std::sqrt(2.0));
}

void ExpectClose(const Oscillator& oscillator, const FilterPtr& filter, const Signal& signal,
                 const std::string& name) {
  const double error = LargestError(oscillator, filter, signal);
  EXPECT_LE(error, ErrorBound(*filter)) << name;
  EXPECT_LE(error, 0.5 * kDeviceTolerance) << name;
}

TEST(DownconvertCpuTest, FormulasForAllFormatsAndShapesOfOneStage) {
  struct Shape {
    int taps;
    int up;
    int down;
  };
  const Oscillator oscillator = MakeOscillator(9123457, 64000000, {});
  OnEveryTarget([&] {
    for (const InputFormat format : kInputFormats) {
      const Signal signal = MakeSignal(format, 0, 0, 4500);
      for (const Shape& shape :
           {Shape{1, 1, 1}, Shape{2, 1, 1}, Shape{31, 1, 1}, Shape{32, 1, 3}, Shape{33, 1, 4},
            Shape{64, 1, 8}, Shape{65, 1, 8}, Shape{7, 1, 50}, Shape{100, 7, 5}, Shape{96, 3, 28},
            Shape{5, 16, 1}, Shape{1000, 4, 1}, Shape{1030, 1, 100}, Shape{600, 1, 7}}) {
        ExpectClose(oscillator, TapsOf(shape.taps, shape.up, shape.down), signal,
                    absl::StrCat("format ", static_cast<int>(format), ", ", shape.taps, " taps, ",
                                 shape.up, "/", shape.down));
      }
    }
  });
}

TEST(DownconvertCpuTest, FormulasForCascades) {
  const Oscillator oscillator = MakeOscillator(-123457, 1000003, {});
  OnEveryTarget([&] {
    for (const auto& [up, down] : {std::pair{1, 64}, {3, 80}, {5, 4}, {20, 1}}) {
      Mask mask;
      const double rate = std::min(1.0, static_cast<double>(up) / down);
      mask.pass_edge = 0.35 * rate;
      mask.stop_edge = 0.5 * rate;
      const auto filter = Filter::FromMask(mask, Design::kEquiripple, up, down);
      ASSERT_THAT(filter, IsOk());
      for (const InputFormat format : {InputFormat::kInt16, InputFormat::kRealFloat32}) {
        ExpectClose(oscillator, *filter, MakeSignal(format, 0, 0, 6000),
                    absl::StrCat(up, "/", down, " in ", (*filter)->stages().size(), " stages"));
      }
    }
  });
}

TEST(DownconvertCpuTest, FormulasAtLargeIndicesAcrossRetunes) {
  constexpr int64_t kCount = 3000;
  for (const int64_t first : {int64_t{0}, int64_t{1000000007}, (int64_t{1} << 53) + 1,
                              int64_t{1000000000000037}, kMaxSampleIndex - kCount - 1}) {
    std::vector<Retune> retunes(4);
    for (size_t r = 0; r < retunes.size(); ++r) {
      retunes[r].index = first + 700 + 400 * static_cast<int64_t>(r);
      retunes[r].frequency =
          *Frequency::FromFraction(1000003 * static_cast<int64_t>(r) - 2000000, 9999991);
      retunes[r].mode = r % 2 == 0 ? RetuneMode::kContinuous : RetuneMode::kCoherent;
    }
    retunes[2].index = retunes[1].index + 3;
    const Oscillator oscillator = MakeOscillator(9123457, 64000000, retunes);
    for (const FilterPtr& filter : {TapsOf(64, 1, 8), TapsOf(61, 1, 1), TapsOf(200, 3, 40)}) {
      for (const InputFormat format : {InputFormat::kInt16, InputFormat::kRealInt8}) {
        const int64_t history = first == 0 ? 0 : filter->history();
        ExpectClose(oscillator, filter, MakeSignal(format, first, history, kCount),
                    absl::StrCat("from ", first, ", ", filter->stages()[0].taps.size(), " taps"));
      }
    }
  }
}

TEST(DownconvertCpuTest, TheLongestFilterStaysWithinTheDevicesTolerance) {
  const Oscillator oscillator = MakeOscillator(9123457, 64000000, {});
  const FilterPtr filter = TapsOf(kMaxTaps, 1, 4096);
  for (const InputFormat format : {InputFormat::kFloat32, InputFormat::kRealInt16}) {
    ExpectClose(oscillator, filter, MakeSignal(format, 0, 0, 300000), "2^16 taps");
  }
}

TEST(DownconvertCpuTest, NothingBesideAWindowCanReachItsOutput) {
  Signal signal = MakeSignal(InputFormat::kFloat32, 0, 0, 4000);
  Channel channel;
  for (const FilterPtr& filter : {TapsOf(61, 1, 10), TapsOf(61, 1, 61), TapsOf(13, 1, 1)}) {
    channel.filter = filter;
    const std::vector<uint8_t> clean = Convert(channel, signal.block, signal.samples).output;
    Signal dirty = signal;
    constexpr int64_t kBad = 2003;
    const float bad = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(dirty.samples.data() + 8 * kBad, &bad, 4);
    const std::vector<uint8_t> output = Convert(channel, signal.block, dirty.samples).output;
    const Stage& stage = filter->stages()[0];
    for (int64_t m = 0; m < OutputsOf(channel, signal.block).count; ++m) {
      float value[2];
      std::memcpy(value, output.data() + 8 * m, 8);
      const int64_t back = stage.NewestInput(m) - kBad;
      const bool sees_it = back >= 0 && back <= stage.history();
      EXPECT_EQ(std::isnan(value[0]), sees_it) << m;
      EXPECT_EQ(std::memcmp(value, clean.data() + 8 * m, 8) != 0, sees_it) << m;
    }
  }
}

// The float32 that rounding to float16, to nearest and ties to even, means.
float NearestHalf(float value) {
  if (value == 0.0F || std::isnan(value)) return value;
  const double step = std::ldexp(1.0, std::max(std::ilogb(value), -14) - 10);
  const double rounded = std::nearbyint(static_cast<double>(value) / step) * step;
  if (std::abs(rounded) > 65504.0) return std::copysign(INFINITY, value);
  return static_cast<float>(rounded);
}

float FromHalf(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int mantissa = half & 1023;
  float value = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                              : std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  if (exponent == 31) value = mantissa == 0 ? INFINITY : NAN;
  return half >> 15 != 0 ? -value : value;
}

// One tap of 1 at frequency 0: outputs are the samples.
class DownconvertOutputTest : public ::testing::Test {
 protected:
  DownconvertOutputTest() { channel_.filter = *Filter::FromTaps({1.0F}, 1, 1); }

  Converted ConvertFloats(const std::vector<float>& values, OutputFormat output) {
    channel_.output = output;
    Block block;
    block.format = InputFormat::kFloat32;
    block.num_samples = static_cast<int64_t>(values.size() / 2);
    return Convert(channel_, block,
                   absl::MakeSpan(reinterpret_cast<const uint8_t*>(values.data()),
                                  values.size() * sizeof(float)));
  }

  Channel channel_;
};

TEST_F(DownconvertOutputTest, Float16IsRoundedToNearestWithTiesToEven) {
  std::vector<float> values;
  std::mt19937 random(4);
  std::uniform_real_distribution<float> exponent(-27.0F, 17.0F);
  for (int i = 0; i < 20000; ++i) {
    const float value = std::exp2(exponent(random)) * (i % 2 == 0 ? 1.0F : -1.0F);
    values.push_back(value);
    // Often a tie; finite, as an infinite sample times a sine of 0 is a NaN.
    values.push_back(std::clamp(NearestHalf(value), -65504.0F, 65504.0F) * (1.0F + 0x1p-11F));
  }
  for (const float value : {65504.0F, 65519.996F, 65520.0F, 65536.0F, 0x1p-24F, 0x1p-25F,
                            0x1.000002p-25F, 6.1035156e-5F, 6.1005354e-5F, -0.0F}) {
    values.push_back(value);
    values.push_back(-value);
  }
  OnEveryTarget([&] {
    const Converted exact = ConvertFloats(values, OutputFormat::kFloat32);
    const Converted halves = ConvertFloats(values, OutputFormat::kFloat16);
    for (size_t i = 0; i < values.size(); ++i) {
      float value;
      uint16_t half;
      std::memcpy(&value, exact.output.data() + 4 * i, 4);
      std::memcpy(&half, halves.output.data() + 2 * i, 2);
      EXPECT_EQ(FromHalf(half), NearestHalf(value)) << value;
    }
    EXPECT_EQ(halves.saturated, 0);
  });
}

TEST_F(DownconvertOutputTest, Int16IsRoundedSaturatedAndCounted) {
  const float one = 1.0F / 32767.0F;
  const std::vector<float> values = {0.0F,      one,   0.5F * one, -0.49F * one, 1.0F,
                                     -1.0F,     1.1F,  32768.7F,   -1e30F,       -32768.0F * one,
                                     0.999999F, 3e38F, -1.00001F,  -1.0001F};
  OnEveryTarget([&] {
    const Converted exact = ConvertFloats(values, OutputFormat::kFloat32);
    const Converted integers = ConvertFloats(values, OutputFormat::kInt16);
    int64_t saturated = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      float value;
      int16_t integer;
      std::memcpy(&value, exact.output.data() + 4 * i, 4);
      std::memcpy(&integer, integers.output.data() + 2 * i, 2);
      const float rounded = std::nearbyint(value * 32767.0F);
      saturated += rounded > 32767.0F || rounded < -32768.0F ? 1 : 0;
      EXPECT_EQ(integer, std::min(std::max(rounded, -32768.0F), 32767.0F)) << value;
    }
    EXPECT_EQ(saturated, 5);
    EXPECT_EQ(integers.saturated, saturated);
  });
}

TEST_F(DownconvertOutputTest, NanBecomesZeroAndIsCounted) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  OnEveryTarget([&] {
    const Converted converted =
        ConvertFloats({1.0F, 0.0F, nan, nan, 0.0F, 1.0F, nan, 0.0F}, OutputFormat::kInt16);
    const std::vector<int16_t> expected = {32767, 0, 0, 0, 0, 32767, 0, 0};
    EXPECT_EQ(std::memcmp(converted.output.data(), expected.data(), 16), 0);
    EXPECT_EQ(converted.saturated, 4);  // a NaN in I is one in Q
  });
}

TEST_F(DownconvertOutputTest, MethodsForStudyTurnByTheirOwnPhases) {
  const Frequency frequency = *Frequency::FromFraction(9123457, 64000000);
  channel_.phase = *PhaseTrack::Create(frequency, 0.5, {});
  channel_.study_segment = 1000;
  const std::vector<float> ones = [] {
    std::vector<float> values(2 * 30000);
    for (size_t i = 0; i < values.size(); i += 2) values[i] = 1.0F;
    return values;
  }();
  OnEveryTarget([&] {
    for (const NcoMethod method :
         {NcoMethod::kFloat, NcoMethod::kSegmented, NcoMethod::kFast2Sum, NcoMethod::kTwoSum,
          NcoMethod::kDouble, NcoMethod::kAccumulated}) {
      channel_.nco = method;
      const std::vector<double> phases = StudyPhases(method, frequency, 30000, 1000);
      const auto step = static_cast<float>(2.0 * M_PI * frequency.cycles_per_sample());
      const Converted converted = ConvertFloats(ones, OutputFormat::kFloat32);
      double largest = 0.0;
      for (size_t n = 0; n < phases.size(); ++n) {
        float value[2];
        std::memcpy(value, converted.output.data() + 8 * n, 8);
        // Plain floats take the initial phase in, rounded once, whether vectors of them or not.
        const double phase = method == NcoMethod::kFloat
                                 ? std::fmaf(step, static_cast<float>(n), 0.5F)
                                 : phases[n] + 0.5;
        largest = std::max(
            largest, std::abs(std::complex<double>(value[0], value[1]) - std::polar(1.0, -phase)));
      }
      EXPECT_LE(largest, 2.0 * kPhasorError) << static_cast<int>(method);
    }
  });
}

}  // namespace
}  // namespace baseband::downconvert
