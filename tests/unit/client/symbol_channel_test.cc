// Symbols with noise, and the LLRs of these, in every form that DecodeSharedChannel takes.
#include "client/ctl/shared_channel/symbol_channel.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>
#include <utility>
#include <vector>

#include "client/ctl/common/symbols.h"
#include "tests/support/matchers.h"

namespace baseband::ctl {
namespace {

using ::testing::DoubleNear;

// Symbols of QPSK, as Encode would send them.
std::string Sent(ReceivedType type, int count) {
  std::vector<Complex> symbols;
  for (int i = 0; i < count; ++i) {
    symbols.emplace_back(i % 2 == 0 ? std::sqrt(0.5F) : -std::sqrt(0.5F), std::sqrt(0.5F));
  }
  switch (type) {
    case ReceivedType::kFloat32:
      return FromComplex(symbols, v1::SAMPLE_FORMAT_FLOAT32, 1);
    case ReceivedType::kFloat16:
      return FromComplex(symbols, v1::SAMPLE_FORMAT_FLOAT16, 1);
    default:
      return FromComplex(symbols, v1::SAMPLE_FORMAT_INT16, 1.0F / 8192);
  }
}

std::vector<Complex> Received(ReceivedType type, const std::string& bytes, float scale) {
  switch (type) {
    case ReceivedType::kFloat32:
      return ToComplex(bytes, v1::SAMPLE_FORMAT_FLOAT32, 1 / scale);
    case ReceivedType::kFloat16:
      return ToComplex(bytes, v1::SAMPLE_FORMAT_FLOAT16, 1 / scale);
    case ReceivedType::kInt16:
      return ToComplex(bytes, v1::SAMPLE_FORMAT_INT16, 1 / scale);
    default:
      break;
  }
  std::vector<Complex> symbols;
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    symbols.emplace_back(static_cast<float>(static_cast<int8_t>(bytes[i])) / scale,
                         static_cast<float>(static_cast<int8_t>(bytes[i + 1])) / scale);
  }
  return symbols;
}

class SymbolChannelTest : public ::testing::TestWithParam<ReceivedType> {};

TEST_P(SymbolChannelTest, NoiseHasTheVarianceThatDecodeIsTold) {
  constexpr int kSymbols = 200000;
  const ReceivedType type = GetParam();
  EXPECT_EQ(ParseReceivedType(NameOfReceivedType(type)), type);
  for (const double snr_db : {-5.0, 10.0, 30.0}) {
    const SymbolChannel channel(type, 2, snr_db);
    const std::string sent = Sent(type, kSymbols);
    EXPECT_EQ(static_cast<int64_t>(sent.size()), channel.SentBytes(kSymbols));
    Random random(1);
    std::string received = "soft";  // it appends
    channel.Transmit(sent, &random, &received);
    ASSERT_EQ(static_cast<int64_t>(received.size()), 4 + channel.ReceivedBytes(kSymbols));
    v1::DecodeSharedChannelGroup group;
    channel.Tell(&group);
    const float n0 = group.noise_variance();
    EXPECT_NEAR(n0, std::pow(10, -snr_db / 10), 1e-6);

    const auto symbols = Received(type, received.substr(4), group.symbol_scale());
    double square = 0;
    double sum = 0;
    for (int i = 0; i < kSymbols; ++i) {
      const Complex point(i % 2 == 0 ? std::sqrt(0.5F) : -std::sqrt(0.5F), std::sqrt(0.5F));
      const Complex noise = symbols[static_cast<size_t>(i)] - point;
      square += std::norm(noise);
      sum += noise.real() + noise.imag();
    }
    // Five standard deviations of the estimate; steps of integers; what 8 bits cut off.
    const double step = 1 / static_cast<double>(group.symbol_scale());
    const double steps =
        type == ReceivedType::kInt8 || type == ReceivedType::kInt16 ? 2 * step * step / 12 : 2e-6;
    const double cut = type == ReceivedType::kInt8 ? 0.01 * n0 : 0;
    EXPECT_THAT(square / kSymbols,
                DoubleNear(n0 + steps, 5 * n0 / std::sqrt(kSymbols) + cut + 0.1 * steps))
        << snr_db;
    EXPECT_THAT(sum / (2 * kSymbols), DoubleNear(0, 5 * std::sqrt(n0 / 2 / kSymbols) + step / 10))
        << snr_db;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SymbolChannelTest,
                         ::testing::Values(ReceivedType::kInt8, ReceivedType::kInt16,
                                           ReceivedType::kFloat16, ReceivedType::kFloat32),
                         [](const auto& test) { return NameOfReceivedType(test.param); });

// LLRs of 6 and 4 bits are those of 8, in other steps: packed from the upper bits on.
TEST(LlrChannelTest, PackedLlrsAreThoseThatDecodeIsTold) {
  constexpr int kSymbols = 999;
  constexpr double kSnrDb = 3;
  const auto llrs = [&](ReceivedType type, int bits) {
    const SymbolChannel channel(type, 2, kSnrDb);
    std::string received;
    Random random(3);
    channel.Transmit(Sent(type, kSymbols), &random, &received);
    EXPECT_EQ(static_cast<int64_t>(received.size()), channel.ReceivedBytes(kSymbols));
    v1::DecodeSharedChannelGroup group;
    channel.Tell(&group);
    EXPECT_FALSE(group.has_noise_variance());
    std::vector<double> values;
    for (int i = 0; i < 2 * kSymbols; ++i) {
      int value = 0;
      for (int b = i * bits; b < (i + 1) * bits; ++b) {
        value = 2 * value + (received[static_cast<size_t>(b / 8)] >> (7 - b % 8) & 1);
      }
      value -= value >> (bits - 1) << bits;
      values.push_back(value * static_cast<double>(bits == 8 ? 1.0F : group.llr_scale()));
    }
    return values;
  };
  const std::vector<double> of8 = llrs(ReceivedType::kLlrInt8, 8);
  // The mean of a natural LLR of QPSK is 2 / N0; that of 500 varies by a fifth of its own
  // deviation, 6 sqrt(4 / N0), in 20: three of those.
  double mean = 0;
  for (size_t i = 0; i < of8.size(); i += 4) mean += of8[i];
  mean /= static_cast<double>(of8.size()) / 4;
  EXPECT_NEAR(mean, 6 * 2 * std::pow(10, kSnrDb / 10), 3);
  for (const auto& [type, bits] :
       {std::pair(ReceivedType::kLlrInt6, 6), std::pair(ReceivedType::kLlrInt4, 4)}) {
    const std::vector<double> of_few = llrs(type, bits);
    const double step = bits == 6 ? 3 : 6;
    const double most = step * ((1 << (bits - 1)) - 1);
    for (size_t i = 0; i < of8.size(); ++i) {
      EXPECT_NEAR(of_few[i], std::clamp(of8[i], -most, most), 0.5 * step + 0.51) << i;
    }
  }
}

}  // namespace
}  // namespace baseband::ctl
