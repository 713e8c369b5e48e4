// When code blocks of shared channels are done.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/operations/shared_channel/shared_channel_block.h"
#include "tests/support/random_requests.h"
#include "tests/support/shared_channel_answers.h"
#include "tests/support/shared_channel_words.h"

namespace baseband::testing {
namespace {

using Group = v1::DecodeSharedChannelGroup;
using Answer = v1::DecodeSharedChannelResponse;
using ::testing::Each;
using ::testing::Le;

v1::SharedChannelBlock TransportBlockOf(uint32_t tb_bytes) {
  v1::SharedChannelBlock block;
  block.set_qm(4);
  block.mutable_transport_block()->set_tb_bytes(tb_bytes);
  block.mutable_transport_block()->set_base_graph(1);
  block.mutable_transport_block()->set_g(tb_bytes * 16);  // rate 1/2
  return block;
}

v1::SharedChannelBlock CodeBlockWith(v1::CodeBlockCrc crc) {
  v1::SharedChannelBlock block;
  block.set_qm(4);
  block.mutable_code_block()->set_base_graph(2);
  block.mutable_code_block()->set_zc(64);
  block.mutable_code_block()->set_n_filler(32);
  block.mutable_code_block()->set_e(1400);
  block.mutable_code_block()->set_crc(crc);
  return block;
}

// Sure LLRs of `payload`, but for the last bit of the circular buffer that each code block sends,
// of a column in one parity check only: it is wrong, and surer than that check can mend.
std::string HeldUp(const server::SharedChannelBlock& block, const std::string& payload) {
  const std::vector<uint8_t> sent = SentBitsOf(block, payload);
  std::string llr;
  for (int64_t i = 0; i < block.plan.g(); ++i) {
    const bool one = (sent[static_cast<size_t>(i / 8)] >> (7 - i % 8) & 1) != 0;
    llr.push_back(static_cast<char>(one ? -20 : 20));
  }
  for (int r = 0; r < block.plan.num_blocks; ++r) {
    char& last = llr[static_cast<size_t>(block.plan.e_begin(r + 1) - 1)];
    last = static_cast<char>(last < 0 ? 127 : -127);
  }
  return llr;
}

Answer Decoded(Group group, v1::EarlyStop stop, const std::string& received) {
  group.set_early_stop(stop);
  group.set_count(1);
  v1::DecodeSharedChannelRequest request;
  *request.add_groups() = std::move(group);
  request.set_payload(received);
  request.mutable_payload()->resize((received.size() + 3) / 4 * 4);
  return AnswerTo(request);
}

TEST(EarlyStopTest, ARightBlockStopsByItsOwnCrcWhereAParityCheckIsHeldUp) {
  Random random(1);
  for (const v1::SharedChannelBlock& message :
       {TransportBlockOf(57) /* CRC16 */, TransportBlockOf(600) /* CRC24A */,
        TransportBlockOf(1125) /* CRC24B twice */, CodeBlockWith(v1::CODE_BLOCK_CRC_16),
        CodeBlockWith(v1::CODE_BLOCK_CRC_24A), CodeBlockWith(v1::CODE_BLOCK_CRC_24B)}) {
    SCOPED_TRACE(message.ShortDebugString());
    Group group;
    *group.mutable_block() = message;
    group.set_max_iterations(12);
    const auto block = *server::BlockFromProto(message);
    const std::string payload = RandomBytes(block.payload_bytes(), random);
    const std::string received = HeldUp(block, payload);

    const Answer parity = Decoded(group, v1::EARLY_STOP_PARITY, received);
    const Answer crc = Decoded(group, v1::EARLY_STOP_CRC, received);
    for (const Answer* answer : {&parity, &crc}) {
      EXPECT_TRUE(answer->blocks(0).crc_ok());
      EXPECT_EQ(answer->payload(), payload);
      EXPECT_THAT(answer->crc_ok(), Each(true));
      EXPECT_THAT(answer->parity_ok(), Each(false));
    }
    EXPECT_THAT(parity.iterations(), Each(12U));
    EXPECT_THAT(crc.iterations(), Each(Le(4U)));
    const Answer unspecified = Decoded(group, v1::EARLY_STOP_UNSPECIFIED, received);
    EXPECT_THAT(unspecified.iterations(), Each(12U));
  }
}

TEST(EarlyStopTest, WithoutAStopAllIterationsAreRun) {
  Random random(2);
  Group group;
  *group.mutable_block() = TransportBlockOf(1125);
  group.set_max_iterations(7);
  const auto block = *server::BlockFromProto(group.block());
  const std::string payload = RandomBytes(block.payload_bytes(), random);
  const std::string received =
      ReceivedOf(block, SentBitsOf(block, payload), group, /*snr_db=*/8.0, random);
  const Answer none = Decoded(group, v1::EARLY_STOP_NONE, received);
  EXPECT_THAT(none.iterations(), Each(7U));
  EXPECT_THAT(none.parity_ok(), Each(true));
  EXPECT_EQ(none.payload(), payload);
  EXPECT_THAT(Decoded(group, v1::EARLY_STOP_CRC, received).iterations(), Each(Le(3U)));
}

// Zeros have a right CRC. Where nothing was received they are decided, and where they were sent
// they wait for the parity checks.
TEST(EarlyStopTest, ZerosAreNotStoppedByTheirCrc) {
  Group group;
  *group.mutable_block() = TransportBlockOf(600);
  const auto block = *server::BlockFromProto(group.block());
  const Answer nothing =
      Decoded(group, v1::EARLY_STOP_CRC, std::string(static_cast<size_t>(block.plan.g()), '\0'));
  EXPECT_FALSE(nothing.blocks(0).crc_ok());
  EXPECT_THAT(nothing.crc_ok(), Each(false));
  const std::string zeros(static_cast<size_t>(block.payload_bytes()), '\0');
  const Answer sent = Decoded(group, v1::EARLY_STOP_CRC, HeldUp(block, zeros));
  EXPECT_TRUE(sent.blocks(0).crc_ok());
  EXPECT_EQ(sent.payload(), zeros);
  EXPECT_THAT(sent.iterations(), Each(10U));
}

}  // namespace
}  // namespace baseband::testing
