// DecodeSharedChannel on the CPU device, from requests to answers.
#include "server/operations/shared_channel/decode_shared_channel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/matchers.h"
#include "tests/support/nr_vectors.h"
#include "tests/support/random_requests.h"
#include "tests/support/shared_channel_answers.h"
#include "tests/support/shared_channel_words.h"

namespace baseband::testing {
namespace {

using Request = v1::DecodeSharedChannelRequest;
using Answer = v1::DecodeSharedChannelResponse;
using Group = v1::DecodeSharedChannelGroup;

// Of one block, which is received as `payload`.
Request RequestOf(const Group& group, const std::string& payload) {
  Request request;
  *request.add_groups() = group;
  if (group.count() == 0) request.mutable_groups(0)->set_count(1);
  request.set_payload(payload);
  request.mutable_payload()->resize((payload.size() + 3) / 4 * 4);
  return request;
}

Group GroupOf(const NrPlanVector& v, int rv) {
  Group group;
  v1::SharedChannelBlock& block = *group.mutable_block();
  block.set_rv(static_cast<uint32_t>(rv));
  block.set_qm(static_cast<uint32_t>(v.block.qm));
  block.set_layers(static_cast<uint32_t>(v.block.num_layers));
  v1::TransportBlock& tb = *block.mutable_transport_block();
  tb.set_tb_bytes(static_cast<uint32_t>(v.block.tb_bytes));
  tb.set_base_graph(static_cast<uint32_t>(v.block.base_graph));
  tb.set_g(static_cast<uint32_t>(v.block.g));
  tb.set_tbs_lbrm(static_cast<uint32_t>(v.block.tbs_lbrm));
  return group;
}

TEST(DecodeSharedChannelTest, KnownBlocksDecodeOnceEnoughOfTheirTransmissionsCame) {
  for (const NrDecodeVector& v : ReadNrDecodeVectors()) {
    std::string soft;
    for (size_t t = 0; t < v.transmissions.size(); ++t) {
      const auto& [rv, llr] = v.transmissions[t];
      Group group = GroupOf(v.plan, rv);
      group.mutable_harq()->set_soft_in(t > 0);
      group.mutable_harq()->set_soft_out(true);
      const Answer answer = AnswerTo(RequestOf(group, soft + std::string(llr.begin(), llr.end())));
      soft = answer.soft();
      ASSERT_EQ(answer.blocks_size(), 1);
      EXPECT_EQ(answer.blocks(0).code_blocks(), v.plan.e.size());
      EXPECT_EQ(answer.crc_ok_size(), static_cast<int>(v.plan.e.size()));
      EXPECT_EQ(soft.size(), v.plan.e.size() * static_cast<size_t>(v.plan.n_cb));
      const bool is_last = t + 1 == v.transmissions.size();
      if (is_last || t == 0) {
        EXPECT_EQ(answer.blocks(0).crc_ok(), is_last || v.decodes_after_first)
            << "case " << v.plan.number << ", transmission " << t;
      }
      if (is_last) {
        EXPECT_EQ(answer.payload(), PayloadOf(v.plan.tb));
      }
    }
  }
}

// A block of `qm`: a transport block of one or two code blocks, or a code block.
v1::SharedChannelBlock BlockOf(int qm, bool is_code_block) {
  v1::SharedChannelBlock block;
  block.set_qm(static_cast<uint32_t>(qm));
  block.set_c_init(static_cast<uint32_t>(1000 + qm));
  if (is_code_block) {
    block.mutable_code_block()->set_base_graph(1);
    block.mutable_code_block()->set_zc(26);
    block.mutable_code_block()->set_n_filler(5);
    block.mutable_code_block()->set_e(static_cast<uint32_t>(1000 / qm * qm));
    block.mutable_code_block()->set_crc(v1::CODE_BLOCK_CRC_24B);
    return block;
  }
  v1::TransportBlock& tb = *block.mutable_transport_block();
  tb.set_tb_bytes(qm % 4 == 0 ? 1125 : 57);
  tb.set_base_graph(1);
  block.set_layers(2);
  tb.set_g(static_cast<uint32_t>(2 * qm * (tb.tb_bytes() * 8 * 10 / 7 / (2 * qm) + 1)));
  return block;
}

TEST(DecodeSharedChannelTest, SymbolsOutAndInAreTheIdentityForEachModulationAndFormat) {
  const std::pair<v1::SharedChannelOutput, v1::SharedChannelInput> kFormats[] = {
      {v1::SHARED_CHANNEL_OUTPUT_FLOAT32, v1::SHARED_CHANNEL_INPUT_SYMBOLS_FLOAT32},
      {v1::SHARED_CHANNEL_OUTPUT_FLOAT16, v1::SHARED_CHANNEL_INPUT_SYMBOLS_FLOAT16},
      {v1::SHARED_CHANNEL_OUTPUT_INT16, v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT16}};
  Random random(1);
  for (const int qm : {1, 2, 4, 6, 8, 10}) {
    for (const bool is_code_block : {false, true}) {
      for (const auto& [output, input] : kFormats) {
        v1::EncodeSharedChannelRequest send;
        v1::EncodeSharedChannelGroup& sent = *send.add_groups();
        *sent.mutable_block() = BlockOf(qm, is_code_block);
        sent.set_count(1);
        sent.set_output(output);
        const auto block = server::BlockFromProto(sent.block());
        ASSERT_THAT(block, IsOk());
        std::string payload = RandomBytes(block->payload_bytes(), random);
        if (is_code_block) payload.back() = static_cast<char>(payload.back() & 0xe0);  // 543 bits
        send.set_payload(payload);

        Group group;
        *group.mutable_block() = sent.block();
        group.set_input(input);
        group.set_noise_variance(1e-4F);
        group.set_log_sum(random.Below(2) == 0);
        const Answer answer = AnswerTo(RequestOf(group, AnswerTo(send).payload()));
        EXPECT_TRUE(answer.blocks(0).crc_ok()) << "qm " << qm << ", input " << input;
        EXPECT_EQ(answer.payload(), payload) << "qm " << qm << ", input " << input;
        EXPECT_THAT(answer.iterations(), Each(::testing::Le(5U)));
      }
    }
  }
}

TEST(DecodeSharedChannelTest, WhateverTheFormBlocksDecodeWhereTheyShould) {
  Random random(2);
  for (int input = 0; input <= v1::SharedChannelInput_MAX; ++input) {
    for (const int qm : {1, 2, 4, 6, 8, 10}) {
      Group group;
      *group.mutable_block() = BlockOf(qm, /*is_code_block=*/false);
      group.set_input(static_cast<v1::SharedChannelInput>(input));
      if (input % 2 == 0 && HasSymbols(group.input())) group.set_noise_variance(1e-3F);
      const auto block = server::BlockFromProto(group.block());
      ASSERT_THAT(block, IsOk());
      const std::string payload = RandomBytes(block->payload_bytes(), random);
      const double snr_db = HasSymbols(group.input()) ? 3.0 * qm + 5.0 : 8.0;
      const Answer answer = AnswerTo(
          RequestOf(group, ReceivedOf(*block, SentBitsOf(*block, payload), group, snr_db, random)));
      EXPECT_TRUE(answer.blocks(0).crc_ok()) << "qm " << qm << ", input " << input;
      EXPECT_EQ(answer.payload(), payload) << "qm " << qm << ", input " << input;
      EXPECT_EQ(answer.blocks(0).unusable(), 0U);
    }
  }
}

TEST(DecodeSharedChannelTest, AScaleThatIsChosenDoesNotDependOnTheUnit) {
  Random random(3);
  Group group;
  *group.mutable_block() = BlockOf(4, false);
  group.set_input(v1::SHARED_CHANNEL_INPUT_LLR_INT16);
  const auto block = server::BlockFromProto(group.block());
  const std::string payload = RandomBytes(block->payload_bytes(), random);
  std::string received =
      ReceivedOf(*block, SentBitsOf(*block, payload), group, /*snr_db=*/6.0, random);
  const Answer answer = AnswerTo(RequestOf(group, received));
  for (size_t i = 0; i < received.size(); i += 2) {
    int16_t value;
    std::memcpy(&value, &received[i], 2);
    value = static_cast<int16_t>(4 * value);  // at most some thousand
    std::memcpy(&received[i], &value, 2);
  }
  const Answer other = AnswerTo(RequestOf(group, received));
  EXPECT_TRUE(answer.blocks(0).crc_ok());
  EXPECT_EQ(answer.SerializeAsString(), other.SerializeAsString());
}

// Two transmissions of one block, of LLRs so small that no sum is clipped.
struct Retransmission {
  explicit Retransmission(Random& random) {
    for (Group& group : groups) {
      *group.mutable_block() = BlockOf(4, false);
      group.mutable_block()->clear_c_init();
      group.mutable_block()->set_rv(&group == &groups[0] ? 0 : 2);
      group.mutable_harq()->set_soft_out(true);
      const auto block = *server::BlockFromProto(group.block());
      if (payload.empty()) payload = RandomBytes(block.payload_bytes(), random);
      const std::vector<uint8_t> sent = SentBitsOf(block, payload);
      std::string& llr = received[&group - groups];
      for (int64_t i = 0; i < block.plan.g(); ++i) {
        const bool one = (sent[static_cast<size_t>(i / 8)] >> (7 - i % 8) & 1) != 0;
        const double y = (one ? -6.0 : 6.0) + 5.0 * random.Normal();
        llr.push_back(static_cast<char>(std::lround(std::clamp(y, -20.0, 20.0))));
      }
    }
  }
  Group groups[2];
  std::string received[2];
  std::string payload;
};

TEST(DecodeSharedChannelTest, SoftBitsThatGoBackAndForthAreTheSumOfAllTransmissions) {
  Random random(4);
  const Retransmission sent(random);
  const Answer first = AnswerTo(RequestOf(sent.groups[0], sent.received[0]));
  const Answer second = AnswerTo(RequestOf(sent.groups[1], sent.received[1]));
  Group combined = sent.groups[1];
  combined.mutable_harq()->set_soft_in(true);
  const Answer both = AnswerTo(RequestOf(combined, first.soft() + sent.received[1]));
  EXPECT_FALSE(first.blocks(0).crc_ok());
  EXPECT_FALSE(second.blocks(0).crc_ok());
  EXPECT_TRUE(both.blocks(0).crc_ok());
  EXPECT_EQ(both.payload(), sent.payload);

  std::string sum = first.soft();
  ASSERT_EQ(sum.size(), second.soft().size());
  for (size_t i = 0; i < sum.size(); ++i) sum[i] = static_cast<char>(sum[i] + second.soft()[i]);
  EXPECT_EQ(both.soft(), sum);
  // One decode of the sum, to which nothing is added.
  const Answer once =
      AnswerTo(RequestOf(combined, sum + std::string(sent.received[1].size(), '\0')));
  EXPECT_EQ(once.SerializeAsString(), both.SerializeAsString());
}

TEST(DecodeSharedChannelTest, WhetherSoftBitsAreWantedChangesNothingElse) {
  Random random(5);
  const Retransmission sent(random);
  Group group = sent.groups[0];
  Answer with = AnswerTo(RequestOf(group, sent.received[0]));
  group.mutable_harq()->set_soft_out(false);
  const Answer without = AnswerTo(RequestOf(group, sent.received[0]));
  with.clear_soft();
  EXPECT_EQ(with.SerializeAsString(), without.SerializeAsString());
}

TEST(DecodeSharedChannelTest, NoiseAndNothingAreBlocksThatDoNotDecode) {
  Random random(6);
  Group group;
  *group.mutable_block() = BlockOf(8, false);  // two code blocks
  group.set_max_iterations(7);
  const int64_t g = group.block().transport_block().g();
  for (const std::string& llr :
       {RandomBytes(g, random), std::string(static_cast<size_t>(g), '\0')}) {
    const Answer answer = AnswerTo(RequestOf(group, llr));
    EXPECT_FALSE(answer.blocks(0).crc_ok());
    EXPECT_EQ(answer.blocks(0).code_blocks(), 2U);
    EXPECT_THAT(answer.crc_ok(), ElementsAre(false, false));
    EXPECT_THAT(answer.iterations(), Each(::testing::Le(7U)));
    EXPECT_EQ(answer.payload().size(), 1125U);
  }
}

TEST(DecodeSharedChannelTest, OneWrongCodeBlockMakesATransportBlockWrongAndLeavesTheOtherRight) {
  Random random(7);
  Group group;
  *group.mutable_block() = BlockOf(4, false);
  const auto block = *server::BlockFromProto(group.block());
  const std::string payload = RandomBytes(block.payload_bytes(), random);
  std::string received = ReceivedOf(block, SentBitsOf(block, payload), group, 20.0, random);
  const auto second = static_cast<size_t>(block.plan.e_begin(1));
  for (size_t i = second; i < received.size(); ++i) received[i] = static_cast<char>(random.Next());
  const Answer answer = AnswerTo(RequestOf(group, received));
  EXPECT_FALSE(answer.blocks(0).crc_ok());
  EXPECT_THAT(answer.crc_ok(), ElementsAre(true, false));
  EXPECT_THAT(answer.parity_ok(), ElementsAre(true, false));
  const size_t right = static_cast<size_t>(block.plan.info_bits() / 8);
  EXPECT_EQ(answer.payload().substr(0, right), payload.substr(0, right));
}

TEST(DecodeSharedChannelTest, ACodeBlocksCrcIsCheckedAndNotReturned) {
  Random random(8);
  for (const auto crc : {v1::CODE_BLOCK_CRC_UNSPECIFIED, v1::CODE_BLOCK_CRC_24A,
                         v1::CODE_BLOCK_CRC_24B, v1::CODE_BLOCK_CRC_16}) {
    Group group;
    *group.mutable_block() = BlockOf(2, /*is_code_block=*/true);
    group.mutable_block()->mutable_code_block()->set_crc(crc);
    const auto block = *server::BlockFromProto(group.block());
    std::string payload = RandomBytes(block.payload_bytes(), random);
    const auto past = 8 * block.payload_bytes() - block.plan.tb_bits;
    payload.back() = static_cast<char>(payload.back() & 0xff << past);
    const std::string received = ReceivedOf(block, SentBitsOf(block, payload), group, 20.0, random);
    const Answer answer = AnswerTo(RequestOf(group, received));
    EXPECT_EQ(answer.payload(), payload) << "filled up with zero bits";
    EXPECT_TRUE(answer.blocks(0).crc_ok());
    EXPECT_THAT(answer.crc_ok(), ElementsAre(true));

    // Another word of the same code, as far as parity goes: no CRC holds.
    const auto next = static_cast<v1::CodeBlockCrc>(crc % 3 + 1);
    group.mutable_block()->mutable_code_block()->set_crc(next);
    const Answer other = AnswerTo(RequestOf(group, received));
    EXPECT_FALSE(other.blocks(0).crc_ok());
    EXPECT_THAT(other.crc_ok(), ElementsAre(false));
    EXPECT_THAT(other.parity_ok(), ElementsAre(true));
  }
}

TEST(DecodeSharedChannelTest, WhatIsNoNumberSaysNothingAndIsCounted) {
  Random random(9);
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Group group;
  *group.mutable_block() = BlockOf(2, false);
  group.set_input(v1::SHARED_CHANNEL_INPUT_SYMBOLS_FLOAT32);
  const auto block = *server::BlockFromProto(group.block());
  const std::string payload = RandomBytes(block.payload_bytes(), random);
  const auto noise_at = static_cast<size_t>(8 * block.num_symbols());
  const std::string right = ReceivedOf(block, SentBitsOf(block, payload), group, 12.0, random);
  const auto with = [](std::string received, size_t at, float value) {
    std::memcpy(&received[at], &value, sizeof(value));
    return received;
  };
  std::string wrong = right;
  wrong = with(wrong, 0, kNan);                 // I of symbol 0
  wrong = with(wrong, 8 * 5 + 4, kInfinity);    // Q of symbol 5
  wrong = with(wrong, noise_at + 4 * 5, kNan);  // the same one's
  wrong = with(wrong, noise_at + 4 * 7, 0.0F);
  wrong = with(wrong, noise_at + 4 * 8, -1.0F);
  wrong = with(wrong, noise_at + 4 * 9, kInfinity);
  Answer answer = AnswerTo(RequestOf(group, wrong));
  EXPECT_EQ(answer.blocks(0).unusable(), 5U);
  EXPECT_TRUE(answer.blocks(0).crc_ok());
  EXPECT_EQ(answer.payload(), payload);

  group.set_input(v1::SHARED_CHANNEL_INPUT_LLR_FLOAT16);
  std::string halves = ReceivedOf(block, SentBitsOf(block, payload), group, 8.0, random);
  for (const size_t i : {3, 17, 18}) halves[2 * i + 1] = '\x7e';             // NaN
  for (const size_t i : {20, 21}) std::memcpy(&halves[2 * i], "\0\x7c", 2);  // infinity is sure
  answer = AnswerTo(RequestOf(group, halves));
  EXPECT_EQ(answer.blocks(0).unusable(), 3U);
  EXPECT_EQ(answer.payload(), payload);
}

}  // namespace
}  // namespace baseband::testing
