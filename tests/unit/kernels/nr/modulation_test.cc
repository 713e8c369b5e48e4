// Mapping: the constellations of TS 38.211 clause 5.1, formats and layers.
#include "kernels/nr/modulation.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/base/bits.h"
#include "kernels/nr/modulation_math.h"
#include "kernels/nr/symbols_reference.h"
#include "tests/support/channel.h"
#include "tests/support/ldpc_words.h"
#include "tests/unit/kernels/nr/formats.h"

namespace baseband::nr {
namespace {

using testing::Random;

std::vector<uint8_t> RandomBits(int64_t count, Random& random) {
  std::vector<uint8_t> bits(static_cast<size_t>(count));
  for (uint8_t& bit : bits) bit = static_cast<uint8_t>(random.Next() >> 63);
  return bits;
}

// All labels of a constellation one after the other, one bit a byte.
std::vector<uint8_t> AllLabels(int qm) {
  std::vector<uint8_t> bits;
  for (uint32_t label = 0; label < 1u << qm; ++label) {
    for (int i = qm - 1; i >= 0; --i) bits.push_back(label >> i & 1);
  }
  return bits;
}

// Symbols of a whole code word, as bytes.
std::vector<uint8_t> Map(int qm, const std::vector<uint8_t>& bits, const SymbolLayout& layout) {
  const auto count = static_cast<int64_t>(bits.size()) / qm;
  std::vector<uint8_t> symbols(static_cast<size_t>(count * BytesPerSymbol(layout.format)));
  ModulateOnCpu(qm, testing::PackBits(bits), 0, 0, count, layout, absl::MakeSpan(symbols));
  return symbols;
}

std::vector<std::complex<float>> MapToFloats(int qm, const std::vector<uint8_t>& bits) {
  const std::vector<uint8_t> bytes = Map(qm, bits, SymbolLayout());
  std::vector<std::complex<float>> symbols(bytes.size() / 8);
  std::memcpy(symbols.data(), bytes.data(), bytes.size());
  return symbols;
}

std::vector<uint8_t> BitsOfText(const char* text) {
  std::vector<uint8_t> bits;
  for (; *text != 0; ++text) bits.push_back(*text == '1' ? 1 : 0);
  return bits;
}

void ExpectMapsTo(const char* bits, double i, double q, double energy) {
  const auto symbol = MapToFloats(static_cast<int>(std::strlen(bits)), BitsOfText(bits))[0];
  EXPECT_FLOAT_EQ(symbol.real(), static_cast<float>(i / std::sqrt(energy))) << bits;
  EXPECT_FLOAT_EQ(symbol.imag(), static_cast<float>(q / std::sqrt(energy))) << bits;
}

TEST(NrModulationTest, KnownLabels) {
  ExpectMapsTo("00", 1, 1, 2);
  ExpectMapsTo("10", -1, 1, 2);
  ExpectMapsTo("01", 1, -1, 2);
  ExpectMapsTo("0000", 1, 1, 10);
  ExpectMapsTo("0010", 3, 1, 10);
  ExpectMapsTo("0001", 1, 3, 10);
  ExpectMapsTo("1101", -1, -3, 10);
  ExpectMapsTo("000000", 3, 3, 42);
  ExpectMapsTo("000010", 1, 3, 42);
  ExpectMapsTo("001000", 5, 3, 42);
  ExpectMapsTo("101010", -7, 3, 42);
  ExpectMapsTo("00000000", 5, 5, 170);
  ExpectMapsTo("00000010", 7, 5, 170);
  ExpectMapsTo("00001000", 3, 5, 170);
  ExpectMapsTo("00001010", 1, 5, 170);
  ExpectMapsTo("10101011", -15, 7, 170);
  ExpectMapsTo("0000000000", 11, 11, 682);
  ExpectMapsTo("0010101010", 31, 11, 682);
}

TEST(NrModulationTest, BpskTurnsByAQuarterEveryOtherSymbol) {
  const auto symbols = MapToFloats(1, BitsOfText("0011001"));
  const float r = std::sqrt(0.5f);
  const std::vector<std::complex<float>> expected = {{r, r}, {-r, r}, {-r, -r}, {r, -r},
                                                     {r, r}, {-r, r}, {-r, -r}};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_FLOAT_EQ(symbols[i].real(), expected[i].real()) << i;
    EXPECT_FLOAT_EQ(symbols[i].imag(), expected[i].imag()) << i;
  }
}

TEST(NrModulationTest, EveryPointIsTheClauses) {
  for (const int qm : kQms) {
    const std::vector<uint8_t> bits = AllLabels(qm);
    const auto symbols = MapToFloats(qm, bits);
    const auto expected = reference::Modulate(qm, bits);
    for (size_t i = 0; i < symbols.size(); ++i) {
      const double bound = std::ldexp(1.0, -23);  // two roundings of half a unit in the last place
      EXPECT_NEAR(symbols[i].real(), expected[i].real(), bound * std::abs(expected[i].real()));
      EXPECT_NEAR(symbols[i].imag(), expected[i].imag(), bound * std::abs(expected[i].imag()));
    }
  }
}

TEST(NrModulationTest, MeanEnergyIsOneAndPointsDiffer) {
  for (const int qm : kQms) {
    std::vector<uint8_t> bits = AllLabels(qm);
    if (qm == 1) bits = BitsOfText("00110101");  // at even and odd places
    const auto symbols = MapToFloats(qm, bits);
    double energy = 0.0;
    std::set<std::pair<float, float>> points;
    for (const auto& symbol : symbols) {
      energy += std::norm(std::complex<double>(symbol));
      points.emplace(symbol.real(), symbol.imag());
    }
    EXPECT_NEAR(energy / static_cast<double>(symbols.size()), 1.0, 1e-6) << qm;
    EXPECT_EQ(points.size(), qm == 1 ? 4u : size_t{1} << qm);
  }
}

// On either axis the labels of neighbours differ in one bit.
TEST(NrModulationTest, LevelsAreLabelledByAGrayCode) {
  for (int h = 1; h <= 5; ++h) {
    std::vector<uint32_t> label_of(1u << h);
    for (uint32_t bits = 0; bits < label_of.size(); ++bits) {
      const int level = PamLevel(h, bits);
      ASSERT_EQ(std::abs(level) % 2, 1);
      ASSERT_LT(std::abs(level), 1 << h);
      label_of[static_cast<size_t>((level + (1 << h)) / 2)] = bits;
    }
    for (size_t i = 1; i < label_of.size(); ++i) {
      EXPECT_EQ(__builtin_popcount(label_of[i] ^ label_of[i - 1]), 1) << h << " bits, level " << i;
    }
  }
}

template <typename T>
std::vector<T> As(const std::vector<uint8_t>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(NrModulationTest, FormatsAreTheRoundedFloats) {
  for (const int qm : kQms) {
    const std::vector<uint8_t> bits = AllLabels(qm);
    const std::vector<float> floats = As<float>(Map(qm, bits, SymbolLayout()));
    SymbolLayout layout;
    layout.format = SymbolFormat::kFloat16;
    const std::vector<uint16_t> halves = As<uint16_t>(Map(qm, bits, layout));
    for (const float scale : {1.0f, 100.0f, 8192.0f, 1e6f}) {
      layout.scale = scale;
      layout.format = SymbolFormat::kInt16;
      const std::vector<int16_t> shorts = As<int16_t>(Map(qm, bits, layout));
      layout.format = SymbolFormat::kInt8;
      const std::vector<int8_t> bytes = As<int8_t>(Map(qm, bits, layout));
      for (size_t i = 0; i < floats.size(); ++i) {
        const float rounded = std::nearbyint(floats[i] * scale);
        EXPECT_EQ(shorts[i], std::clamp(rounded, -32768.0f, 32767.0f));
        EXPECT_EQ(bytes[i], std::clamp(rounded, -128.0f, 127.0f));
        EXPECT_EQ(halves[i], HalfOfFloat(floats[i]));
        EXPECT_NEAR(FloatOfHalf(halves[i]), floats[i], std::ldexp(1.0, -11));
      }
    }
  }
}

// Bits that begin anywhere, any number of symbols that begin anywhere in the code word: each piece
// is that piece of the whole, and nothing else is written.
TEST(NrModulationTest, PiecesAreThoseOfTheWhole) {
  Random random(7);
  for (const int qm : kQms) {
    const int64_t total = 2520;
    const std::vector<uint8_t> bits = RandomBits(total * qm, random);
    for (const SymbolFormat format : kFormats) {
      SymbolLayout layout;
      layout.format = format;
      layout.scale = 50.0f;
      const std::vector<uint8_t> whole = Map(qm, bits, layout);
      for (int trial = 0; trial < 20; ++trial) {
        const int64_t count = random.Below(trial < 10 ? 70 : 2000);
        const int64_t first = random.Below(static_cast<int>(total - count));
        const int64_t begin = random.Below(17);
        // The piece's bits behind others, and no byte more than they need.
        std::vector<uint8_t> shifted(static_cast<size_t>(begin), 1);
        const auto from = bits.begin() + first * qm;
        shifted.insert(shifted.end(), from, from + count * qm);
        std::vector<uint8_t> symbols(whole.size(), 0xee);
        ModulateOnCpu(qm, testing::PackBits(shifted), begin, first, count, layout,
                      absl::MakeSpan(symbols));
        std::vector<uint8_t> expected(whole.size(), 0xee);
        const auto bytes = static_cast<int64_t>(BytesPerSymbol(format));
        std::copy(whole.begin() + first * bytes, whole.begin() + (first + count) * bytes,
                  expected.begin() + first * bytes);
        ASSERT_EQ(symbols, expected) << "qm " << qm << ", " << count << " from " << first;
      }
    }
  }
}

TEST(NrModulationTest, LayersTakeSymbolsInTurns) {
  Random random(8);
  for (const int qm : kQms) {
    for (int num_layers = 1; num_layers <= 8; ++num_layers) {
      SymbolLayout layout;
      layout.format = kFormats[num_layers % 4];
      layout.scale = 60.0f;
      const auto bytes = static_cast<size_t>(BytesPerSymbol(layout.format));
      const int64_t per_layer = 1 + random.Below(700);
      const int64_t count = per_layer * num_layers;
      const std::vector<uint8_t> bits = RandomBits(count * qm, random);
      const std::vector<uint8_t> in_order = Map(qm, bits, layout);

      layout.num_layers = num_layers;
      EXPECT_EQ(Map(qm, bits, layout), in_order);
      layout.by_layer = true;
      layout.symbols_per_layer = per_layer;
      std::vector<uint8_t> expected(in_order.size());
      for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
        const size_t layer = i % static_cast<size_t>(num_layers);
        const size_t place =
            layer * static_cast<size_t>(per_layer) + i / static_cast<size_t>(num_layers);
        std::copy_n(in_order.begin() + static_cast<int64_t>(i * bytes), bytes,
                    expected.begin() + static_cast<int64_t>(place * bytes));
      }
      EXPECT_EQ(Map(qm, bits, layout), expected);

      // In two pieces.
      const int64_t cut = random.Below(static_cast<int>(count));
      const std::vector<uint8_t> packed = testing::PackBits(bits);
      std::vector<uint8_t> symbols(expected.size());
      ModulateOnCpu(qm, packed, 0, 0, cut, layout, absl::MakeSpan(symbols));
      ModulateOnCpu(qm, packed, cut * qm, cut, count - cut, layout, absl::MakeSpan(symbols));
      EXPECT_EQ(symbols, expected);
    }
  }
}

TEST(NrFloatMathTest, HalvesGoThereAndBack) {
  for (uint32_t bits = 0; bits < 1u << 16; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = FloatOfHalf(half);
    if ((bits & 0x7fff) > 0x7c00) {
      EXPECT_TRUE(std::isnan(value));
    } else {
      EXPECT_EQ(HalfOfFloat(value), half);
    }
  }
}

TEST(NrFloatMathTest, FloatsBecomeTheNearestHalfAndTiesAreEven) {
  // Between each half and the next: a tie, and what lies next to it.
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const float low = FloatOfHalf(static_cast<uint16_t>(bits));
    const float high = bits + 1 < 0x7c00 ? FloatOfHalf(static_cast<uint16_t>(bits + 1)) : 65536.0f;
    const float tie = 0.5f * (low + high);
    const auto even = static_cast<uint16_t>(bits % 2 == 0 ? bits : bits + 1);
    ASSERT_EQ(HalfOfFloat(tie), even);
    ASSERT_EQ(HalfOfFloat(-tie), even | 0x8000);
    ASSERT_EQ(HalfOfFloat(std::nextafter(tie, 0.0f)), bits);
    ASSERT_EQ(HalfOfFloat(std::nextafter(tie, 1e9f)), bits + 1);
  }
  EXPECT_EQ(HalfOfFloat(INFINITY), 0x7c00);
  EXPECT_EQ(HalfOfFloat(1e30f), 0x7c00);
}

}  // namespace
}  // namespace baseband::nr
