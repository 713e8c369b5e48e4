// What the shared channels' requests are held against: each refusal by the field, its value and its
// range; sizes of payloads and answers; limits that are taken.
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "server/operations/shared_channel/decode_shared_channel.h"
#include "server/operations/shared_channel/encode_shared_channel.h"
#include "tests/support/field_path.h"
#include "tests/support/matchers.h"
#include "tests/unit/server/operations/shared_channel_requests.h"

namespace baseband::server {
namespace {

using ::baseband::testing::RefusesFieldOf;

template <typename Message>
struct Refusal {
  std::function<void(Message*)> change;
  std::string message;
};

// That each change of `right` is refused so, and by both directions.
void ExpectRefused(const v1::SharedChannelBlock& right,
                   const std::vector<Refusal<v1::SharedChannelBlock>>& refusals) {
  for (const auto& [change, message] : refusals) {
    v1::SharedChannelBlock wrong = right;
    change(&wrong);
    const std::string expected = "groups[0].block." + message;
    EXPECT_THAT(Convert(EncodeOf(wrong, 100)), IsInvalid(expected));
    EXPECT_THAT(Convert(DecodeOf(wrong, 1600)), IsInvalid(expected));
    EXPECT_THAT(Convert(EncodeOf(wrong, 100)),
                RefusesFieldOf(v1::EncodeSharedChannelRequest::descriptor()));
  }
}

TEST(SharedChannelConverterTest, ATransportBlockIsRefusedByTheFieldThatIsWrong) {
  const auto tb = [](auto set) {
    return [set](v1::SharedChannelBlock* block) { set(block->mutable_transport_block()); };
  };
  using Tb = v1::TransportBlock;
  ASSERT_THAT(Convert(EncodeOf(TransportBlock(), 100)), IsOk());
  ASSERT_THAT(Convert(DecodeOf(TransportBlock(), 1600)), IsOk());
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  ExpectRefused(
      TransportBlock(),
      {{[](auto* block) { block->clear_mode(); }, "mode is not set"},
       {[](auto* block) { block->set_rv(4); }, "rv 4 is not in [0, 3]"},
       {[](auto* block) { block->set_qm(0); }, "qm 0 is not "},
       {[](auto* block) { block->set_qm(3); }, "qm 3 is not 1, 2, 4, 6, 8 or 10"},
       {[](auto* block) { block->set_qm(12); }, "qm 12 is not "},
       {[](auto* block) { block->set_qm(UINT32_MAX); }, "qm 4294967295 is not "},
       {[](auto* block) { block->set_layers(9); }, "layers 9 is not in [0, 8]"},
       {[](auto* block) { block->set_c_init(1U << 31); }, "c_init 2147483648 is not in [0, "},
       {tb([](Tb* m) { m->set_tb_bytes(0); }), "transport_block.tb_bytes 0 is not in [3, 262144]"},
       {tb([](Tb* m) { m->set_tb_bytes(2); }), "transport_block.tb_bytes 2 is not in [3, 262144]"},
       {tb([](Tb* m) { m->set_tb_bytes(262145); }), "transport_block.tb_bytes 262145 is not in "},
       {tb([](Tb* m) { m->set_tb_bytes(2200); }), "transport_block.tb_bytes 2200: its 17624 bits"},
       {tb([](Tb* m) { m->set_base_graph(3); }), "transport_block.base_graph 3 is not in [1, 2]"},
       {tb([](Tb* m) { m->set_base_graph(UINT32_MAX); }),
        "transport_block.base_graph 4294967295 is not in [1, 2]"},
       {tb([](Tb* m) { m->set_base_graph(0); }), "transport_block.code_rate 0 is not in (0, 1)"},
       {tb([](Tb* m) {
          m->set_base_graph(0);
          m->set_code_rate(1.0F);
        }),
        "transport_block.code_rate 1 is not in (0, 1)"},
       {tb([kNan](Tb* m) {
          m->set_base_graph(0);
          m->set_code_rate(kNan);
        }),
        "transport_block.code_rate nan is not in (0, 1)"},
       {tb([](Tb* m) { m->set_code_rate(0.5F); }), "transport_block.code_rate 0.5 is set beside"},
       {tb([](Tb* m) { m->set_g(0); }), "transport_block.g 0 is not in [1, 8388608]"},
       {tb([](Tb* m) { m->set_g(8388612); }), "transport_block.g 8388612 is not in [1, 8388608]"},
       {tb([](Tb* m) { m->set_g(1602); }), "transport_block.g 1602 is not a multiple of "},
       {[](auto* block) { block->set_layers(3); }, "transport_block.g 1600 is not a multiple of "},
       {tb([](Tb* m) {
          m->set_tb_bytes(1125);  // two code blocks
          m->set_g(4);
        }),
        "transport_block.g 4: a code block sends no bit"},
       {tb([](Tb* m) { m->set_tbs_lbrm((1U << 24) + 1); }),
        "transport_block.tbs_lbrm 16777217 is not in [0, 16777216]"},
       {tb([](Tb* m) {
          m->set_tb_bytes(1125);
          m->set_tbs_lbrm(1);
        }),
        "transport_block.tbs_lbrm 1 is below the transport block's own 9000 bits"}});
}

TEST(SharedChannelConverterTest, ACodeBlockIsRefusedByTheFieldThatIsWrong) {
  const auto cb = [](auto set) {
    return [set](v1::SharedChannelBlock* block) { set(block->mutable_code_block()); };
  };
  using Cb = v1::CodeBlock;
  ASSERT_THAT(Convert(EncodeOf(CodeBlock(), 20)), IsOk());
  ASSERT_THAT(Convert(DecodeOf(CodeBlock(), 400)), IsOk());
  ExpectRefused(
      CodeBlock(),
      {{[](auto* block) { block->set_layers(2); }, "layers 2"},
       {[](auto* block) { block->set_qm(5); }, "qm 5 is not 1, 2, 4, 6, 8 or 10"},
       {cb([](Cb* m) { m->set_base_graph(0); }), "code_block.base_graph 0 is not in [1, 2]"},
       {cb([](Cb* m) { m->set_base_graph(UINT32_MAX); }),
        "code_block.base_graph 4294967295 is not in [1, 2]"},
       {cb([](Cb* m) { m->set_zc(17); }), "code_block.zc 17 is not a lifting size"},
       {cb([](Cb* m) { m->set_zc(UINT32_MAX); }), "code_block.zc 4294967295 is not a lifting size"},
       {cb([](Cb* m) { m->set_n_filler(128); }), "code_block.n_filler 128 is not in [0, 127]"},
       {cb([](Cb* m) { m->set_n_filler(UINT32_MAX); }), "code_block.n_filler 4294967295 is not in"},
       {cb([](Cb* m) { m->set_n_cb(801); }), "code_block.n_cb 801 is not in [0, 800]"},
       {cb([](Cb* m) { m->set_n_cb(UINT32_MAX); }), "code_block.n_cb 4294967295 is not in"},
       {cb([](Cb* m) { m->set_e(0); }), "code_block.e 0 is not in [1, 8388608]"},
       {cb([](Cb* m) { m->set_e(402); }), "code_block.e 402 is not a multiple of qm = 4"},
       {cb([](Cb* m) { m->set_e(8388612); }), "code_block.e 8388612 is not in [1, 8388608]"},
       {cb([](Cb* m) { m->set_crc(static_cast<v1::CodeBlockCrc>(4)); }),
        "code_block.crc 4 is not in [0, 3]"},
       {cb([](Cb* m) {
          m->set_zc(2);
          m->set_crc(v1::CODE_BLOCK_CRC_24B);
        }),
        "code_block.crc "}});
}

TEST(SharedChannelConverterTest, TheLimitsThemselvesAreTaken) {
  v1::SharedChannelBlock block = TransportBlock();
  v1::TransportBlock& tb = *block.mutable_transport_block();
  block.set_qm(1);
  block.set_layers(8);
  block.set_rv(3);
  block.set_c_init((1U << 31) - 1);
  tb.set_tb_bytes(3);
  tb.set_g(8388608);
  tb.set_tbs_lbrm(1U << 24);
  EXPECT_THAT(Convert(EncodeOf(block, 3)), IsOk());
  EXPECT_THAT(Convert(DecodeOf(block, 8388608)), IsOk());

  // The largest of 38.214's kind: 249 code blocks of 8416 bits and their CRCs.
  block.set_qm(10);
  block.set_layers(4);
  tb.set_tb_bytes(261945);
  tb.set_g(2400000);
  const auto job = Convert(EncodeOf(block, 261945));
  ASSERT_THAT(job, IsOk());
  EXPECT_EQ((*job)->footprint.blocks, 249);
  EXPECT_EQ((*job)->reply_bytes, 300000);

  v1::SharedChannelBlock one = CodeBlock();
  one.mutable_code_block()->set_n_filler(127);
  one.mutable_code_block()->set_n_cb(800);
  EXPECT_THAT(Convert(EncodeOf(one, 5)), IsOk());
}

TEST(SharedChannelConverterTest, CodeBlocksCountAgainstTheLimitOfBlocks) {
  v1::SharedChannelBlock block = TransportBlock();
  block.mutable_transport_block()->set_tb_bytes(1125);  // two code blocks
  v1::DecodeSharedChannelRequest request = DecodeOf(block, 3 * 1600);
  request.mutable_groups(0)->set_count(3);
  EXPECT_THAT(Convert(request, 6), IsOk());
  EXPECT_THAT(Convert(request, 5), IsInvalid("groups have 6 code blocks together, not 1 to 5"));
  request.mutable_groups(0)->set_count(6);
  EXPECT_THAT(Convert(request, 5), IsInvalid("groups[0].count 6 is not in [1, 5]"));
}

TEST(SharedChannelConverterTest, TheBaseGraphFollowsFromSizeAndRate) {
  const struct {
    uint32_t tb_bytes;
    float rate;
    int graph;
  } kCases[] = {{36, 0.9F, 2},  {37, 0.9F, 1},  {37, 0.67F, 2},   {37, 0.68F, 1},  {478, 0.6F, 2},
                {478, 0.7F, 1}, {479, 0.6F, 1}, {1026, 0.25F, 2}, {1026, 0.26F, 1}};
  for (const auto& [tb_bytes, rate, graph] : kCases) {
    v1::SharedChannelBlock block = TransportBlock();
    block.mutable_transport_block()->set_tb_bytes(tb_bytes);
    block.mutable_transport_block()->clear_base_graph();
    block.mutable_transport_block()->set_code_rate(rate);
    const auto made = BlockFromProto(block);
    ASSERT_THAT(made, IsOk());
    EXPECT_EQ(made->plan.base_graph, graph) << tb_bytes << " bytes at " << rate;
  }
}

TEST(SharedChannelConverterTest, AnEncodersPayloadAndReplyAreOfWholeBytes) {
  // k = 160; of 13 fillers, 147 bits: with their CRC.
  const std::pair<v1::CodeBlockCrc, int64_t> kPayload[] = {{v1::CODE_BLOCK_CRC_UNSPECIFIED, 19},
                                                           {v1::CODE_BLOCK_CRC_24A, 16},
                                                           {v1::CODE_BLOCK_CRC_24B, 16},
                                                           {v1::CODE_BLOCK_CRC_16, 17}};
  for (const auto& [crc, bytes] : kPayload) {
    v1::SharedChannelBlock block = CodeBlock();
    block.mutable_code_block()->set_n_filler(13);
    block.mutable_code_block()->set_crc(crc);
    v1::EncodeSharedChannelRequest request = EncodeOf(block, 2 * bytes);
    request.mutable_groups(0)->set_count(2);
    const std::pair<v1::SharedChannelOutput, int64_t> kReply[] = {
        {v1::SHARED_CHANNEL_OUTPUT_UNSPECIFIED, 50},
        {v1::SHARED_CHANNEL_OUTPUT_BITS, 50},
        {v1::SHARED_CHANNEL_OUTPUT_FLOAT32, 800},
        {v1::SHARED_CHANNEL_OUTPUT_FLOAT16, 400},
        {v1::SHARED_CHANNEL_OUTPUT_INT16, 400}};
    for (const auto& [output, reply] : kReply) {
      request.mutable_groups(0)->set_output(output);
      const auto job = Convert(request);
      ASSERT_THAT(job, IsOk());
      EXPECT_EQ((*job)->payload_bytes, 2 * bytes);
      EXPECT_EQ((*job)->reply_bytes, 2 * reply);
      EXPECT_EQ((*job)->footprint.blocks, 2);
    }
  }
}

TEST(SharedChannelConverterTest, ADecodersPayloadIsFilledUpToWords) {
  // 27 symbols of two bits, 54 LLRs; 450 soft bits.
  v1::SharedChannelBlock block = CodeBlock();
  block.set_qm(2);
  block.mutable_code_block()->set_zc(9);
  block.mutable_code_block()->set_e(54);
  const struct {
    v1::SharedChannelInput input;
    bool soft_in;
    bool has_variance;
    int64_t bytes;
  } kCases[] = {{v1::SHARED_CHANNEL_INPUT_LLR_INT8, false, false, 56},
                {v1::SHARED_CHANNEL_INPUT_LLR_INT8, true, false, 504},
                {v1::SHARED_CHANNEL_INPUT_LLR_INT16, false, false, 108},
                {v1::SHARED_CHANNEL_INPUT_LLR_FLOAT16, false, false, 108},
                {v1::SHARED_CHANNEL_INPUT_LLR_INT6, false, false, 44},
                {v1::SHARED_CHANNEL_INPUT_LLR_INT4, false, false, 28},
                {v1::SHARED_CHANNEL_INPUT_LLR_INT4, true, false, 480},
                {v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT8, false, true, 56},
                {v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT8, false, false, 56 + 108},
                {v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT8, true, false, 504 + 108},
                {v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT16, false, true, 108},
                {v1::SHARED_CHANNEL_INPUT_SYMBOLS_FLOAT16, false, false, 216},
                {v1::SHARED_CHANNEL_INPUT_SYMBOLS_FLOAT32, true, false, 668 + 108}};
  for (const auto& c : kCases) {
    v1::DecodeSharedChannelRequest request = DecodeOf(block, 3 * c.bytes);
    v1::DecodeSharedChannelGroup& group = *request.mutable_groups(0);
    group.set_count(3);
    group.set_input(c.input);
    if (c.input == v1::SHARED_CHANNEL_INPUT_LLR_INT16) group.set_llr_scale(1);
    group.mutable_harq()->set_soft_in(c.soft_in);
    group.mutable_harq()->set_soft_out(true);
    if (c.has_variance) group.set_noise_variance(0.5F);
    const auto job = Convert(request);
    ASSERT_THAT(job, IsOk()) << group.ShortDebugString();
    const auto& decode = static_cast<const DecodeSharedChannelJob&>(**job);
    EXPECT_EQ(decode.bits_bytes(), 3 * 12);  // 90 bits
    EXPECT_EQ(decode.soft_bytes(), 3 * 450);
    EXPECT_GE(decode.soft_offset(), decode.bits_bytes());
    EXPECT_EQ(decode.reply_bytes, decode.soft_offset() + decode.soft_bytes());
    EXPECT_EQ(decode.crc_ok.size(), 3U);
    EXPECT_EQ(decode.code_blocks.size(), 3U);
  }
}

}  // namespace
}  // namespace baseband::server
