// Soft bits that the server holds and soft bits that travel are the same to the bit, whatever the
// block, its modulation, its layers, its buffer and the form in which it is received.
#include <string>
#include <vector>

#include "kernels/nr/tbs.h"
#include "tests/support/nr_vectors.h"
#include "tests/support/random_requests.h"
#include "tests/support/shared_channel_words.h"
#include "tests/unit/server/operations/held_soft_bits_fixture.h"

namespace baseband::server {
namespace {

using ::testing::IsEmpty;
using testing::IsOk;
using ::testing::Not;
using testing::Random;

constexpr int kTransmissions = 4;

// Of a scheme that is drawn, in a quarter to all of its bits a transmission.
v1::DecodeSharedChannelGroup RandomGroup(Random& random) {
  const auto table = nr::McsTable(1 + random.Below(nr::kMcsTables));
  const nr::Mcs mcs = table[static_cast<size_t>(random.Below(static_cast<int>(table.size())))];
  const int layers = 1 + random.Below(4);
  const int64_t num_re = 60 + random.Below(1500);
  const int64_t bits = nr::TransportBlockBits(num_re, mcs, layers);
  v1::DecodeSharedChannelGroup group;
  v1::SharedChannelBlock& block = *group.mutable_block();
  v1::TransportBlock& tb = *block.mutable_transport_block();
  tb.set_tb_bytes(static_cast<uint32_t>(bits / 8));
  tb.set_code_rate(static_cast<float>(mcs.code_rate));
  tb.set_g(static_cast<uint32_t>(num_re * mcs.qm * layers));
  if (random.Below(2) == 0) tb.set_tbs_lbrm(static_cast<uint32_t>(bits + random.Below(20'000)));
  block.set_qm(static_cast<uint32_t>(mcs.qm));
  block.set_layers(static_cast<uint32_t>(layers));
  block.set_c_init(static_cast<uint32_t>(random.Below(1 << 30)));
  group.set_count(1);
  constexpr v1::SharedChannelInput kInputs[] = {
      v1::SHARED_CHANNEL_INPUT_LLR_INT8,     v1::SHARED_CHANNEL_INPUT_LLR_INT16,
      v1::SHARED_CHANNEL_INPUT_LLR_INT4,     v1::SHARED_CHANNEL_INPUT_LLR_FLOAT16,
      v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT8, v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT16};
  group.set_input(kInputs[random.Below(6)]);
  if (group.input() == v1::SHARED_CHANNEL_INPUT_LLR_INT16) group.set_llr_scale(1.0F);
  if (testing::HasSymbols(group.input())) group.set_noise_variance(0.05F);
  return group;
}

// What an answer says that has to be the same.
std::string Essence(v1::DecodeSharedChannelResponse response) {
  response.clear_timing();
  response.clear_soft();
  for (v1::SharedChannelResult& block : *response.mutable_blocks()) block.clear_harq();
  return response.SerializeAsString();
}

class HeldLikeTravellingTest : public HeldSoftBitsTest {};

TEST_F(HeldLikeTravellingTest, AnswersAreTheSameToTheBit) {
  Random random(1);
  int late = 0;  // that decode after more than one transmission
  for (int trial = 0; trial < 120; ++trial) {
    v1::DecodeSharedChannelGroup group = RandomGroup(random);
    const auto block = BlockFromProto(group.block());
    if (!block.ok()) continue;  // of a higher rate than there is
    const std::string payload = testing::RandomBytes(block->payload_bytes(), random);
    const int qm = static_cast<int>(group.block().qm());
    const double snr_db = testing::HasSymbols(group.input())
                              ? 2.5 * qm - 6 + random.Below(8)
                              : -4 + random.Below(8);  // of LLRs a bit's
    std::string soft;
    for (int transmission = 0; transmission < kTransmissions; ++transmission) {
      SCOPED_TRACE(group.ShortDebugString());
      group.mutable_block()->set_rv(static_cast<uint32_t>(kVersions[transmission]));
      const SharedChannelBlock sent = *BlockFromProto(group.block());
      const std::vector<uint8_t> bits = testing::SentBitsOf(sent, payload);
      Random same = random;
      v1::DecodeSharedChannelRequest held;
      *held.add_groups() = group;
      held.mutable_groups(0)->mutable_harq()->set_key("process " + std::to_string(trial % 16));
      held.mutable_groups(0)->mutable_harq()->set_transmission(static_cast<uint32_t>(transmission));
      held.set_payload(testing::ReceivedOf(sent, bits, group, snr_db, random));
      v1::DecodeSharedChannelRequest travelling;
      *travelling.add_groups() = group;
      travelling.mutable_groups(0)->mutable_harq()->set_soft_in(transmission > 0);
      travelling.mutable_groups(0)->mutable_harq()->set_soft_out(true);
      travelling.set_payload(testing::ReceivedOf(sent, bits, group, snr_db, same, soft));
      const auto a = Call(held);
      const auto b = Call(travelling);
      ASSERT_THAT(a, IsOk());
      ASSERT_THAT(b, IsOk());
      soft = b->soft();
      ASSERT_EQ(Essence(*a), Essence(*b)) << "transmission " << transmission;
      ASSERT_EQ(a->blocks(0).harq(),
                transmission == 0 ? v1::HARQ_OUTCOME_FIRST : v1::HARQ_OUTCOME_COMBINED);
      if (!a->blocks(0).crc_ok()) continue;
      EXPECT_EQ(a->payload(), payload);
      late += transmission > 0 ? 1 : 0;
      break;
    }
  }
  EXPECT_GT(late, 20) << "nothing is shown where the first transmissions decode alone";
}

// The published cases of several transmissions, combined where they are held.
TEST_F(HeldLikeTravellingTest, KnownBlocksDecodeOnceEnoughOfTheirTransmissionsCame) {
  const auto vectors = testing::ReadNrDecodeVectors();
  ASSERT_THAT(vectors, Not(IsEmpty()));
  for (const testing::NrDecodeVector& v : vectors) {
    SCOPED_TRACE(v.plan.number);
    for (size_t t = 0; t < v.transmissions.size(); ++t) {
      const auto& [rv, llr] = v.transmissions[t];
      v1::DecodeSharedChannelRequest request;
      v1::DecodeSharedChannelGroup& group = *request.add_groups();
      v1::SharedChannelBlock& block = *group.mutable_block();
      block.set_rv(static_cast<uint32_t>(rv));
      block.set_qm(static_cast<uint32_t>(v.plan.block.qm));
      block.set_layers(static_cast<uint32_t>(v.plan.block.num_layers));
      v1::TransportBlock& tb = *block.mutable_transport_block();
      tb.set_tb_bytes(static_cast<uint32_t>(v.plan.block.tb_bytes));
      tb.set_base_graph(static_cast<uint32_t>(v.plan.block.base_graph));
      tb.set_g(static_cast<uint32_t>(v.plan.block.g));
      tb.set_tbs_lbrm(static_cast<uint32_t>(v.plan.block.tbs_lbrm));
      group.set_count(1);
      group.mutable_harq()->set_key("published");
      group.mutable_harq()->set_transmission(static_cast<uint32_t>(t));
      request.set_payload(std::string(llr.begin(), llr.end()));
      request.mutable_payload()->resize((llr.size() + 3) / 4 * 4);
      const auto answer = Call(request);
      ASSERT_THAT(answer, IsOk());
      EXPECT_EQ(answer->blocks(0).harq(),
                t == 0 ? v1::HARQ_OUTCOME_FIRST : v1::HARQ_OUTCOME_COMBINED);
      if (t + 1 < v.transmissions.size()) {
        EXPECT_TRUE(t > 0 || answer->blocks(0).crc_ok() == v.decodes_after_first);
        continue;
      }
      EXPECT_TRUE(answer->blocks(0).crc_ok());
      EXPECT_EQ(answer->payload(), std::string(v.plan.tb.begin(), v.plan.tb.end()));
    }
  }
}

}  // namespace
}  // namespace baseband::server
