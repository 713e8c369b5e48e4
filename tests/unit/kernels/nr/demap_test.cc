// Demapping against the formula in double precision, and on every instruction set against the
// functions that all devices share, to the bit.
#include "kernels/nr/demap.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/nr/modulation.h"
#include "kernels/nr/symbols_reference.h"
#include "tests/support/channel.h"
#include "tests/support/every_target.h"
#include "tests/support/ldpc_words.h"
#include "tests/unit/kernels/nr/formats.h"

namespace baseband::nr {
namespace {

using ::testing::Each;
using testing::OnEveryTarget;
using testing::Random;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <typename T>
void Put(std::vector<uint8_t>& bytes, T value) {
  const auto* const from = reinterpret_cast<const uint8_t*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof(value));
}

std::vector<uint8_t> Bytes(const std::vector<float>& values) {
  std::vector<uint8_t> bytes;
  for (const float value : values) Put(bytes, value);
  return bytes;
}

struct Demapped {
  std::vector<int8_t> llr;
  int64_t unusable = 0;
};
Demapped Demap(const DemapParameters& parameters, const std::vector<uint8_t>& symbols,
               const std::vector<uint8_t>& noise, int64_t first, int64_t count) {
  Demapped demapped;
  demapped.llr.assign(static_cast<size_t>(count * parameters.qm), 99);
  demapped.unusable =
      DemapOnCpu(parameters, symbols, noise, first, count, absl::MakeSpan(demapped.llr));
  return demapped;
}

// ---- the formula ----

// By how much an LLR of a part `part` of y may be off before it is rounded, as demap.h says.
double BoundOf(const DemapParameters& parameters, double part) {
  const double unit = AxisUnit(parameters.qm);
  const double levels = parameters.qm == 1 ? 2 : 1 << parameters.qm / 2;
  const double gain = 4.0 * parameters.llr_scale * unit * unit / parameters.noise_variance;
  return std::ldexp(gain * levels / 2 * (std::abs(part) / unit + levels), -20) +
         (parameters.log_sum ? 1e-4 * parameters.llr_scale : 0.0);
}

void ExpectRoundsTo(int8_t llr, double expected, double bound) {
  const auto rounded = [](double value) {
    return std::nearbyint(std::clamp(value, -127.0, 127.0));
  };
  EXPECT_GE(llr, rounded(expected - bound));
  EXPECT_LE(llr, rounded(expected + bound));
}

// Points of the constellation in noise, points far outside, and the places where LLRs bend.
std::complex<float> RandomPoint(int qm, float n0, int64_t index, Random& random) {
  const auto unit = static_cast<float>(AxisUnit(qm));
  switch (random.Below(8)) {
    case 0:
      return {static_cast<float>(4.0 * random.Normal()), static_cast<float>(random.Normal())};
    case 1: {
      const int far = qm == 1 ? 3 : (1 << qm / 2) + 3;
      const auto place = [&] { return static_cast<float>(random.Below(2 * far) - far) * unit; };
      return {place(), place()};
    }
    default: {
      uint8_t bits[10];
      for (int i = 0; i < qm; ++i) bits[i] = static_cast<uint8_t>(random.Next() >> 63);
      const std::complex<double> noise(random.Normal(), random.Normal());
      return std::complex<float>(reference::SymbolOf(qm, bits, index) +
                                 std::sqrt(n0 / 2.0) * noise);
    }
  }
}

void ExpectIsTheFormula(int qm, bool log_sum, int count, uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    DemapParameters parameters;
    parameters.qm = qm;
    parameters.log_sum = log_sum;
    parameters.llr_scale = random.Below(2) == 0 ? 1.0f : static_cast<float>(random.Uniform() * 16);
    // From where the constellation is lost to where it is clear.
    parameters.noise_variance =
        static_cast<float>(std::pow(10.0, -random.Uniform() * (1.0 + 0.4 * qm)));
    const int64_t index = random.Below(2);
    const auto n0 = parameters.noise_variance;
    const std::complex<float> y = RandomPoint(qm, n0, index, random);
    SCOPED_TRACE(::testing::Message() << "qm " << qm << ", y " << y << ", N0 " << n0);
    std::vector<float> row(4, kNan);  // index 0 or 1 of these
    row[static_cast<size_t>(2 * index)] = y.real();
    row[static_cast<size_t>(2 * index + 1)] = y.imag();
    const Demapped demapped = Demap(parameters, Bytes(row), {}, index, 1);
    EXPECT_EQ(demapped.unusable, 0);

    const std::complex<double> exact(y.real(), y.imag());
    const auto max_log = reference::NaturalLlrs(qm, exact, n0, index, false);
    const auto sums = reference::NaturalLlrs(qm, exact, n0, index, true);
    for (int k = 0; k < qm; ++k) {
      const auto at = static_cast<size_t>(k);
      const double part =
          qm == 1 ? std::abs(y.real()) + std::abs(y.imag()) : (k % 2 == 0 ? y.real() : y.imag());
      const double bound = BoundOf(parameters, part);
      const bool sum = log_sum && std::abs(max_log[at]) <= kLogSumLimit;
      ExpectRoundsTo(demapped.llr[at], (sum ? sums : max_log)[at] * parameters.llr_scale, bound);
    }
  }
}

TEST(NrDemapTest, MaxLogIsTheFormula) {
  for (const int qm : kQms) ExpectIsTheFormula(qm, false, qm == 10 ? 300 : 1500, 1);
}
TEST(NrDemapTest, LogSumIsTheFormula) {
  for (const int qm : kQms) ExpectIsTheFormula(qm, true, qm == 10 ? 300 : 1500, 2);
}

TEST(NrDemapTest, LogSumAndMaxLogDifferByTheTermsLeftOut) {
  DemapParameters parameters;
  parameters.qm = 8;
  parameters.noise_variance = 0.02f;
  const std::vector<uint8_t> symbol = Bytes({0.12f, -0.4f});
  const Demapped max_log = Demap(parameters, symbol, {}, 0, 1);
  parameters.log_sum = true;
  EXPECT_NE(Demap(parameters, symbol, {}, 0, 1).llr, max_log.llr);
}

TEST(NrDemapTest, ExpAndLogAreWithinTheirBounds) {
  for (int i = 0; i <= 87000; ++i) {
    const float x = -static_cast<float>(i) / 1000.0f;
    ASSERT_NEAR(ExpOfNegative(x) / std::exp(static_cast<double>(x)), 1.0, 4e-6) << x;
  }
  EXPECT_EQ(ExpOfNegative(-87.1f), 0.0f);
  EXPECT_EQ(ExpOfNegative(-kInfinity), 0.0f);
  EXPECT_EQ(ExpOfNegative(0.0f), 1.0f);
  for (float x = 1e-36f; x < 64.0f; x *= 1.001f) {
    const double exact = std::log(static_cast<double>(x));
    ASSERT_NEAR(LogOf(x), exact, 4e-6 + std::ldexp(std::abs(exact), -22)) << x;
  }
}

// ---- there and back ----

TEST(NrDemapTest, SymbolsWithoutNoiseAreTheirBits) {
  Random random(3);
  for (const int qm : kQms) {
    for (const SymbolFormat format : kFormats) {
      for (const bool log_sum : {false, true}) {
        DemapParameters parameters;
        parameters.qm = qm;
        parameters.log_sum = log_sum;
        parameters.layout.format = format;
        parameters.layout.scale = format == SymbolFormat::kInt16  ? 9000.0f
                                  : format == SymbolFormat::kInt8 ? 90.0f
                                                                  : 1.0f;
        parameters.noise_variance = 1e-3f;
        const int64_t first = random.Below(2);
        const int64_t count = 1 + random.Below(700);
        std::vector<uint8_t> bits(static_cast<size_t>(count * qm));
        for (uint8_t& bit : bits) bit = static_cast<uint8_t>(random.Next() >> 63);
        std::vector<uint8_t> symbols(static_cast<size_t>((first + count) * BytesPerSymbol(format)));
        ModulateOnCpu(qm, testing::PackBits(bits), 0, first, count, parameters.layout,
                      absl::MakeSpan(symbols));
        const Demapped demapped = Demap(parameters, symbols, {}, first, count);
        EXPECT_EQ(demapped.unusable, 0);
        for (size_t i = 0; i < bits.size(); ++i) {
          ASSERT_NE(demapped.llr[i], 0);
          ASSERT_EQ(demapped.llr[i] < 0, bits[i] != 0) << "qm " << qm << ", bit " << i;
        }
      }
    }
  }
}

// ---- every instruction set, format and layout ----

// A number of a buffer: mostly near the constellation, at times an extreme.
void PutNumber(std::vector<uint8_t>& bytes, SymbolFormat format, float scale, bool extremes,
               Random& random) {
  const float value = static_cast<float>(random.Normal()) * scale;
  const float extreme[] = {0.0f,     -0.0f,   kNan,    kInfinity, -kInfinity, FLT_MAX,
                           -FLT_MAX, FLT_MIN, -1e-45f, 1e-40f,    65504.0f,   1e20f};
  const bool is_extreme = extremes && random.Below(20) == 0;
  switch (format) {
    case SymbolFormat::kFloat32:
      return Put(bytes, is_extreme ? extreme[random.Below(12)] : value);
    case SymbolFormat::kFloat16:
      return Put(bytes, is_extreme ? static_cast<uint16_t>(random.Next()) : HalfOfFloat(value));
    case SymbolFormat::kInt16:
      return Put(bytes, is_extreme ? int16_t{-32768} : ToInt16(value, 1.0f));
    case SymbolFormat::kInt8:
      return Put(bytes, is_extreme ? int8_t{-128} : ToInt8(value, 1.0f));
  }
}

void PutVariance(std::vector<uint8_t>& bytes, NoiseFormat format, bool extremes, Random& random) {
  float value = static_cast<float>(std::pow(10.0, -3.0 * random.Uniform()));
  const float extreme[] = {0.0f,    -0.0f,  kNan,   kInfinity, -1.0f,
                           FLT_MAX, 1e-45f, 1e-30f, 6e-8f,     -kInfinity};
  if (extremes && random.Below(20) == 0) value = extreme[random.Below(10)];
  if (format == NoiseFormat::kFloat32) return Put(bytes, value);
  Put(bytes, std::isnan(value) ? uint16_t{0x7e01} : HalfOfFloat(value));
}

void ExpectEqualsReference(int qm, bool log_sum, SymbolFormat format, NoiseFormat noise_format,
                           Random& random) {
  DemapParameters parameters;
  parameters.qm = qm;
  parameters.log_sum = log_sum;
  parameters.noise_format = noise_format;
  parameters.noise_variance = static_cast<float>(std::pow(10.0, -3.0 * random.Uniform()));
  parameters.llr_scale = random.Below(2) == 0 ? 8.0f : 0.5f;
  SymbolLayout& layout = parameters.layout;
  layout.format = format;
  layout.scale = format == SymbolFormat::kInt16  ? 8192.0f
                 : format == SymbolFormat::kInt8 ? 50.0f
                                                 : 1.0f;
  layout.num_layers = 1 + random.Below(8);
  layout.by_layer = random.Below(2) == 0;
  const int64_t count = random.Below(3) == 0 ? 256 * random.Below(4) : random.Below(900);
  const int64_t first = random.Below(50);
  layout.symbols_per_layer = (first + count) / layout.num_layers + 1;
  const int64_t places = layout.symbols_per_layer * layout.num_layers;
  const bool extremes = random.Below(3) == 0;
  std::vector<uint8_t> symbols;
  std::vector<uint8_t> noise;
  for (int64_t i = 0; i < 2 * places; ++i) {
    PutNumber(symbols, format, layout.scale, extremes, random);
  }
  if (noise_format != NoiseFormat::kOne) {
    for (int64_t i = 0; i < places; ++i) PutVariance(noise, noise_format, extremes, random);
  }
  std::vector<int8_t> expected(static_cast<size_t>(count * qm));
  const int64_t unusable =
      reference::Demap(parameters, symbols.data(), noise.data(), first, count, expected.data());
  OnEveryTarget([&] {
    const Demapped demapped = Demap(parameters, symbols, noise, first, count);
    EXPECT_EQ(demapped.unusable, unusable);
    ASSERT_EQ(demapped.llr, expected) << "qm " << qm << ", format " << int(format) << ", noise "
                                      << int(noise_format) << ", log-sum " << log_sum;
  });
}

TEST(NrDemapTest, EveryInstructionSetAgreesWithTheSharedFunctions) {
  Random random(4);
  for (const int qm : kQms) {
    for (const bool log_sum : {false, true}) {
      for (const SymbolFormat format : kFormats) {
        for (const NoiseFormat noise :
             {NoiseFormat::kOne, NoiseFormat::kFloat32, NoiseFormat::kFloat16}) {
          for (int trial = 0; trial < 6; ++trial) {
            ExpectEqualsReference(qm, log_sum, format, noise, random);
          }
        }
      }
    }
  }
}

// ---- what cannot be used, and extremes ----

TEST(NrDemapTest, UnusableSymbolsAreCountedAndTheirLlrsZero) {
  for (const int qm : kQms) {
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
      for (const size_t part : {0u, 1u}) {
        DemapParameters parameters;
        parameters.qm = qm;
        parameters.noise_variance = 0.1f;
        std::vector<float> values(2 * 300, 0.6f);
        const Demapped good = Demap(parameters, Bytes(values), {}, 0, 300);
        values[2 * 17 + part] = bad;
        values[2 * 299 + part] = bad;
        OnEveryTarget([&] {
          const Demapped demapped = Demap(parameters, Bytes(values), {}, 0, 300);
          EXPECT_EQ(demapped.unusable, 2);
          for (size_t i = 0; i < demapped.llr.size(); ++i) {
            const size_t symbol = i / static_cast<size_t>(qm);
            const bool zero = symbol == 17 || symbol == 299;
            ASSERT_EQ(demapped.llr[i], zero ? 0 : good.llr[i]);
          }
        });
      }
    }
  }
}

TEST(NrDemapTest, UnusableVariancesAreCountedAndTheirLlrsZero) {
  const std::vector<uint8_t> symbols = Bytes(std::vector<float>(2 * 300, 0.6f));
  for (const float bad : {kNan, kInfinity, -kInfinity, 0.0f, -0.0f, -1.0f}) {
    DemapParameters parameters;
    parameters.qm = 4;
    parameters.noise_variance = bad;
    Demapped demapped = Demap(parameters, symbols, {}, 0, 300);
    EXPECT_EQ(demapped.unusable, 300);
    EXPECT_THAT(demapped.llr, Each(0));

    std::vector<float> variances(300, 0.1f);
    variances[256] = bad;
    parameters.noise_format = NoiseFormat::kFloat32;
    OnEveryTarget([&] {
      demapped = Demap(parameters, symbols, Bytes(variances), 0, 300);
      EXPECT_EQ(demapped.unusable, 1);
      for (size_t i = 0; i < demapped.llr.size(); ++i) {
        ASSERT_EQ(demapped.llr[i] == 0, i / 4 == 256) << i;
      }
    });
  }
}

TEST(NrDemapTest, TheSmallestVarianceSaturatesAndTheLargestSaysNothing) {
  for (const int qm : kQms) {
    const auto unit = static_cast<float>(AxisUnit(qm));
    for (const bool log_sum : {false, true}) {
      DemapParameters parameters;
      parameters.qm = qm;
      parameters.log_sum = log_sum;
      const std::vector<uint8_t> symbols = Bytes({0.7f * unit, 1.3f * unit, FLT_MAX, -FLT_MAX});
      const int64_t count = qm == 1 ? 1 : 2;  // on the diagonal BPSK knows nothing
      for (const float smallest : {FLT_TRUE_MIN, FLT_MIN, 1e-20f}) {
        parameters.noise_variance = smallest;
        OnEveryTarget([&] {
          const Demapped demapped = Demap(parameters, symbols, {}, 0, count);
          EXPECT_EQ(demapped.unusable, 0);
          for (const int8_t llr : demapped.llr) EXPECT_EQ(std::abs(llr), 127);
        });
      }
      parameters.noise_variance = FLT_MAX;
      OnEveryTarget([&] { EXPECT_THAT(Demap(parameters, symbols, {}, 0, 1).llr, Each(0)); });
    }
  }
}

TEST(NrDemapTest, SubnormalSymbolsAreNearZero) {
  DemapParameters parameters;
  parameters.qm = 6;
  parameters.noise_variance = 0.05f;
  OnEveryTarget([&] {
    const Demapped zero = Demap(parameters, Bytes({0.0f, 0.0f}), {}, 0, 1);
    EXPECT_EQ(Demap(parameters, Bytes({1e-45f, -1e-40f}), {}, 0, 1).llr, zero.llr);
  });
}

}  // namespace
}  // namespace baseband::nr
