// EncodeSharedChannel on the CPU device, from requests to answers.
#include "server/operations/shared_channel/encode_shared_channel.h"

#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/bits.h"
#include "kernels/crc/crc.h"
#include "kernels/nr/float_math.h"
#include "kernels/nr/symbols_reference.h"
#include "tests/support/matchers.h"
#include "tests/support/nr_vectors.h"
#include "tests/support/random_requests.h"
#include "tests/support/shared_channel_answers.h"

namespace baseband::testing {
namespace {

// One bit a byte.
std::vector<uint8_t> BitsOf(const std::string& bytes, int64_t count) {
  std::vector<uint8_t> bits;
  for (int64_t i = 0; i < count; ++i) {
    bits.push_back(static_cast<uint8_t>(bytes[static_cast<size_t>(i / 8)]) >> (7 - i % 8) & 1);
  }
  return bits;
}

v1::SharedChannelBlock BlockOf(const NrPlanVector& v) {
  v1::SharedChannelBlock block;
  block.set_rv(static_cast<uint32_t>(v.block.rv));
  block.set_qm(static_cast<uint32_t>(v.block.qm));
  block.set_layers(static_cast<uint32_t>(v.block.num_layers));
  v1::TransportBlock& tb = *block.mutable_transport_block();
  tb.set_tb_bytes(static_cast<uint32_t>(v.block.tb_bytes));
  tb.set_code_rate(static_cast<float>(v.code_rate));
  tb.set_g(static_cast<uint32_t>(v.block.g));
  tb.set_tbs_lbrm(static_cast<uint32_t>(v.block.tbs_lbrm));
  return block;
}

TEST(EncodeSharedChannelTest, KnownTransportBlocksOfOneSlotAreSentAsTheStandardSays) {
  v1::EncodeSharedChannelRequest request;
  std::string expected;
  for (const NrChainVector& v : ReadNrChainVectors()) {
    v1::EncodeSharedChannelGroup& group = *request.add_groups();
    *group.mutable_block() = BlockOf(v.plan);
    group.set_count(1);
    request.mutable_payload()->append(PayloadOf(v.plan.tb));
    expected += PayloadOf(v.out);
  }
  ASSERT_EQ(request.groups_size(), 20);
  EXPECT_EQ(AnswerTo(request).payload(), expected);
}

TEST(EncodeSharedChannelTest, KnownCodeBlocksAreSentAsTheStandardSays) {
  v1::EncodeSharedChannelRequest request;
  std::string expected;
  for (const NrRateMatchVector& v : ReadNrRateMatchVectors()) {
    v1::EncodeSharedChannelGroup& group = *request.add_groups();
    group.set_count(1);
    group.mutable_block()->set_rv(static_cast<uint32_t>(v.block.rv));
    group.mutable_block()->set_qm(static_cast<uint32_t>(v.block.qm));
    v1::CodeBlock& block = *group.mutable_block()->mutable_code_block();
    block.set_base_graph(static_cast<uint32_t>(v.block.base_graph));
    block.set_zc(static_cast<uint32_t>(v.block.zc));
    block.set_n_filler(static_cast<uint32_t>(v.block.num_filler));
    block.set_n_cb(static_cast<uint32_t>(v.n_cb));
    block.set_e(static_cast<uint32_t>(v.block.e));
    request.mutable_payload()->append(PayloadOf(v.info));
    expected += PayloadOf(v.out);
  }
  ASSERT_EQ(request.groups_size(), 44);
  EXPECT_EQ(AnswerTo(request).payload(), expected);
}

// A code block of 147 bits in all, whose CRC is added.
v1::EncodeSharedChannelRequest CodeBlockOf(v1::CodeBlockCrc crc, const std::string& payload) {
  v1::EncodeSharedChannelRequest request;
  v1::EncodeSharedChannelGroup& group = *request.add_groups();
  group.set_count(1);
  group.mutable_block()->set_qm(2);
  v1::CodeBlock& block = *group.mutable_block()->mutable_code_block();
  block.set_base_graph(2);
  block.set_zc(16);
  block.set_n_filler(13);
  block.set_e(502);
  block.set_crc(crc);
  request.set_payload(payload);
  return request;
}

TEST(EncodeSharedChannelTest, ACodeBlocksCrcFollowsItsBits) {
  constexpr int kBits = 147;
  const struct {
    v1::CodeBlockCrc crc;
    Crc polynomial;
    int bits;
  } kCases[] = {{v1::CODE_BLOCK_CRC_24A, Crc::kCrc24A, 24},
                {v1::CODE_BLOCK_CRC_24B, Crc::kCrc24B, 24},
                {v1::CODE_BLOCK_CRC_16, Crc::kCrc16, 16}};
  Random random(1);
  for (const auto& [crc, polynomial, bits] : kCases) {
    const int payload_bits = kBits - bits;
    std::string payload = RandomBytes(BytesForBits(payload_bits), random);
    const v1::EncodeSharedChannelRequest request = CodeBlockOf(crc, payload);

    payload.resize(19);
    auto* const all = reinterpret_cast<uint8_t*>(payload.data());
    const uint32_t value = CrcOfBits(polynomial, all, 0, payload_bits);
    for (int i = 0; i < bits; ++i) {
      const int bit = payload_bits + i;
      const auto mask = static_cast<uint8_t>(0x80 >> bit % 8);
      const bool one = (value >> (bits - 1 - i) & 1) != 0;
      all[bit / 8] = static_cast<uint8_t>(one ? all[bit / 8] | mask : all[bit / 8] & ~mask);
    }
    const v1::EncodeSharedChannelRequest whole =
        CodeBlockOf(v1::CODE_BLOCK_CRC_UNSPECIFIED, payload);
    EXPECT_EQ(AnswerTo(request).payload(), AnswerTo(whole).payload());
  }
}

TEST(EncodeSharedChannelTest, WhatFillsUpAPayloadsLastByteIsNotLookedAt) {
  const v1::EncodeSharedChannelRequest request =
      CodeBlockOf(v1::CODE_BLOCK_CRC_16, std::string(17, '\0'));
  v1::EncodeSharedChannelRequest other = request;
  other.mutable_payload()->back() = 0x1f;  // 131 bits
  EXPECT_EQ(AnswerTo(request).payload(), AnswerTo(other).payload());
  other.mutable_payload()->back() = 0x20;
  EXPECT_NE(AnswerTo(request).payload(), AnswerTo(other).payload());
}

TEST(EncodeSharedChannelTest, ScramblingAddsTheGoldSequence) {
  Random random(2);
  const v1::EncodeSharedChannelRequest plain =
      CodeBlockOf(v1::CODE_BLOCK_CRC_24A, RandomBytes(16, random));
  const std::vector<uint8_t> bits = BitsOf(AnswerTo(plain).payload(), 502);
  for (const uint32_t c_init : {0U, 1U, 0x12345U, 0x7fffffffU}) {
    v1::EncodeSharedChannelRequest request = plain;
    request.mutable_groups(0)->mutable_block()->set_c_init(c_init);
    const std::string answer = AnswerTo(request).payload();
    std::vector<uint8_t> expected = nr::reference::GoldSequence(c_init, 502);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] ^= bits[i];
    EXPECT_EQ(BitsOf(answer, 502), expected) << c_init;
    EXPECT_EQ(answer.back() & 3, 0) << "the last byte is filled up with zeros";
  }
}

// A transport block of one or two code blocks, modulated.
v1::EncodeSharedChannelRequest SymbolsOf(uint32_t qm, Random& random) {
  v1::EncodeSharedChannelRequest request;
  v1::EncodeSharedChannelGroup& group = *request.add_groups();
  group.set_count(2);
  group.mutable_block()->set_qm(qm);
  group.mutable_block()->set_layers(2);
  group.mutable_block()->set_c_init(77);
  v1::TransportBlock& tb = *group.mutable_block()->mutable_transport_block();
  tb.set_tb_bytes(qm % 4 == 0 ? 1125 : 57);
  tb.set_base_graph(1);
  tb.set_g(2 * qm * 731);
  request.set_payload(RandomBytes(2 * tb.tb_bytes(), random));
  return request;
}

TEST(EncodeSharedChannelTest, SymbolsAreThoseOfTheBitsInEachFormat) {
  Random random(3);
  for (const int qm : {1, 2, 4, 6, 8, 10}) {
    v1::EncodeSharedChannelRequest request = SymbolsOf(static_cast<uint32_t>(qm), random);
    v1::EncodeSharedChannelGroup& group = *request.mutable_groups(0);
    const int64_t g = group.block().transport_block().g();
    const std::string coded = AnswerTo(request).payload();
    std::vector<double> expected;  // I, Q, ..
    for (const size_t block : {0, 1}) {
      const auto bytes = static_cast<size_t>(BytesForBits(g));
      const auto bits = BitsOf(coded.substr(block * bytes, bytes), g);
      for (const auto& symbol : nr::reference::Modulate(qm, bits)) {
        expected.push_back(symbol.real());
        expected.push_back(symbol.imag());
      }
    }
    const auto expect = [&](v1::SharedChannelOutput output, float scale, size_t bytes,
                            const auto& value_at, const auto& tolerance_of) {
      group.set_output(output);
      group.set_scale(scale);
      const std::string symbols = AnswerTo(request).payload();
      ASSERT_EQ(symbols.size(), expected.size() * bytes);
      for (size_t i = 0; i < expected.size(); ++i) {
        const double value = value_at(symbols.data() + i * bytes);
        ASSERT_NEAR(value, expected[i], tolerance_of(expected[i])) << "qm " << qm << ", " << i;
      }
    };
    const auto read = [](auto value, const char* at) {
      std::memcpy(&value, at, sizeof(value));
      return value;
    };
    const auto of_float = [&](const char* at) { return static_cast<double>(read(0.0F, at)); };
    const auto relative = [](double part) {
      return [part](double value) { return part * std::fabs(value) + 1e-7; };
    };
    expect(v1::SHARED_CHANNEL_OUTPUT_FLOAT32, 0.0F, 4, of_float, relative(std::exp2(-22)));
    expect(
        v1::SHARED_CHANNEL_OUTPUT_FLOAT32, 3.0F, 4,
        [&](const char* at) { return of_float(at) / 3.0; }, relative(std::exp2(-22)));
    expect(
        v1::SHARED_CHANNEL_OUTPUT_FLOAT16, 0.0F, 2,
        [&](const char* at) { return static_cast<double>(nr::FloatOfHalf(read(uint16_t{0}, at))); },
        relative(std::exp2(-11) + std::exp2(-22)));
    for (const float scale : {0.0F, 1000.0F}) {
      const double unit = scale == 0.0F ? 8192.0 : 1000.0;
      expect(
          v1::SHARED_CHANNEL_OUTPUT_INT16, scale, 2,
          [&](const char* at) { return read(int16_t{0}, at) / unit; },
          [unit](double) { return 0.50001 / unit + 1e-6; });
    }
  }
}

TEST(EncodeSharedChannelTest, SymbolsThatAnIntegerCannotHoldAreTheNearestThatItCan) {
  Random random(4);
  v1::EncodeSharedChannelRequest request = SymbolsOf(10, random);
  request.mutable_groups(0)->set_output(v1::SHARED_CHANNEL_OUTPUT_INT16);
  request.mutable_groups(0)->set_scale(1e9F);
  const std::string symbols = AnswerTo(request).payload();
  for (size_t i = 0; i < symbols.size(); i += 2) {
    int16_t value;
    std::memcpy(&value, symbols.data() + i, 2);
    ASSERT_TRUE(value == 32767 || value == -32768) << value;
  }
}

}  // namespace
}  // namespace baseband::testing
