// Transport blocks over a noisy channel, without a server: formats, requests, counts.
#include <string>
#include <vector>

#include "client/ctl/shared_channel/harq_link.h"
#include "client/ctl/shared_channel/shared_transfer.h"
#include "client/ctl/shared_channel/transport_format.h"
#include "client/ctl/studies/bler_report.h"
#include "client/ctl/studies/in_order.h"
#include "nlohmann/json.hpp"
#include "tests/support/matchers.h"

namespace baseband::ctl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

FormatFlags Prbs(int prbs) {
  FormatFlags flags;
  flags.prbs = prbs;
  return flags;
}

TEST(TransportFormatTest, AnMcsSaysItAll) {
  FormatFlags flags = Prbs(273);
  flags.layers = 4;
  const auto format = ToTransportFormat(flags, 27);
  ASSERT_THAT(format, IsOk());
  EXPECT_EQ(format->plan.tb_bits, 1277992);
  EXPECT_EQ(format->plan.num_blocks, 152);
  EXPECT_EQ(format->Name(), "MCS 27 of table 2");
  EXPECT_EQ(format->Describe(), "256QAM, R=0.926, 273 PRBs, 4 layers");
  EXPECT_EQ(format->num_symbols(), 273 * 156 * 4);
  EXPECT_EQ(format->soft_bytes(), 152 * 25344);
  const v1::SharedChannelBlock& block = format->block;
  EXPECT_EQ(block.transport_block().tb_bytes(), 1277992 / 8);
  EXPECT_EQ(block.transport_block().base_graph(), 1);
  EXPECT_EQ(block.transport_block().g(), 273 * 156 * 4 * 8);
  EXPECT_EQ(block.qm(), 8);
  EXPECT_EQ(block.layers(), 4);
  EXPECT_TRUE(block.has_c_init());
}

TEST(TransportFormatTest, AnOwnModulationAndCodeRateDoToo) {
  FormatFlags flags = Prbs(1);
  flags.qm = 1;
  flags.code_rate = 0.2;
  const auto format = ToTransportFormat(flags, absl::nullopt);
  ASSERT_THAT(format, IsOk());
  EXPECT_EQ(format->plan.tb_bits, 24);
  EXPECT_EQ(format->plan.base_graph, 2);
  EXPECT_EQ(format->Name(), "pi/2-BPSK R=0.200");
  EXPECT_FALSE(format->index.has_value());
}

TEST(TransportFormatTest, WhatDoesNotGoTogetherIsRefused) {
  const auto refusal = [](const absl::optional<int>& mcs, int table, int qm, double code_rate,
                          const std::string& message) {
    FormatFlags flags = Prbs(20);
    flags.table = table;
    flags.qm = qm;
    flags.code_rate = code_rate;
    EXPECT_THAT(ToTransportFormat(flags, mcs).status(), IsInvalid(message));
  };
  refusal(28, 0, 0, 0, "mcs 28 is not in [0, 27] of MCS table 2");
  refusal(27, 4, 0, 0, "mcs 27 is not in [0, 26] of MCS table 4");
  refusal(5, 0, 4, 0.5, "--mcs does not go with --qm and --code-rate");
  refusal(absl::nullopt, 1, 4, 0.5, "--mcs-table does not go with --qm and --code-rate");
  refusal(absl::nullopt, 0, 4, 0, "--qm needs --code-rate");
  refusal(absl::nullopt, 0, 0, 0.5, "--code-rate needs --qm");
  refusal(absl::nullopt, 0, 5, 0.5, "qm 5 is not 1, 2, 4, 6, 8 or 10");
  refusal(absl::nullopt, 0, -2, 0.5, "qm -2 is not 1, 2, 4, 6, 8 or 10");
  refusal(absl::nullopt, 0, 2, 0.96, "code_rate 0.96 is not in (0, 0.95]");
  EXPECT_THAT(ToTransportFormat(Prbs(0), 3).status(), IsInvalid("prbs 0 is not in [1, 275]"));
  FormatFlags flags = Prbs(273);
  flags.layers = 5;
  EXPECT_THAT(ToTransportFormat(flags, 3).status(), IsInvalid("layers 5 is not in [1, 4]"));
  flags.layers = 1;
  flags.tbs_lbrm = 1;
  EXPECT_THAT(ToTransportFormat(flags, 27).status(),
              IsInvalid("tbs_lbrm 1 is below the transport block's own "));
}

HarqLink LinkOf(int prbs, int mcs, ReceivedType type, int transmissions) {
  return HarqLink(*ToTransportFormat(Prbs(prbs), mcs), SharedDecodeFlags(), type, 10, transmissions,
                  1);
}

TEST(HarqLinkTest, RequestsSayWhatEachTransmissionIs) {
  const HarqLink link = LinkOf(3, 10, ReceivedType::kInt16, 4);
  constexpr uint32_t kVersions[] = {0, 2, 3, 1};
  for (int t = 0; t < 4; ++t) {
    EXPECT_EQ(link.EncodeGroup(t).block().rv(), kVersions[t]);
    const v1::DecodeSharedChannelGroup group = link.DecodeGroup(t);
    EXPECT_EQ(group.block().rv(), kVersions[t]);
    EXPECT_EQ(group.harq().soft_in(), t > 0);
    EXPECT_EQ(group.harq().soft_out(), t < 3);
    EXPECT_EQ(group.input(), v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT16);
    EXPECT_EQ(link.DecodeSizes(t).soft_bytes, t < 3 ? link.format().soft_bytes() : 0);
  }
  EXPECT_FALSE(LinkOf(3, 10, ReceivedType::kInt16, 1).DecodeGroup(0).harq().soft_out());
}

// Soft bits, then what was received, filled up to a multiple of 4 bytes.
TEST(HarqLinkTest, ABlocksPartOfTheRequestIsLaidOutAsTheContractHasIt) {
  const HarqLink link = LinkOf(1, 0, ReceivedType::kInt8, 2);
  const TransportFormat& format = link.format();
  HarqBlock first;
  HarqBlock second;
  first.tb = std::string(format.tb_bytes(), 'a');
  second.tb = std::string(format.tb_bytes(), 'b');
  first.soft = std::string(format.soft_bytes(), 'f');
  second.soft = std::string(format.soft_bytes(), 's');
  second.noise = 7;
  const HarqBlocks blocks = {&first, &second};
  EXPECT_EQ(HarqLink::EncodePayload(blocks), first.tb + second.tb);

  const std::string sent(2 * link.EncodeSizes().out_bytes, '\x11');
  const int64_t received = 2 * format.num_symbols();
  const int64_t soft = format.soft_bytes();
  const int64_t stride = link.DecodeSizes(1).in_bytes;
  EXPECT_EQ(stride, (soft + received + 3) / 4 * 4);
  const std::string payload = link.DecodePayload(blocks, 1, sent);
  ASSERT_EQ(static_cast<int64_t>(payload.size()), 2 * stride);
  EXPECT_EQ(payload.substr(0, soft), first.soft);
  EXPECT_EQ(payload.substr(stride, soft), second.soft);
  EXPECT_EQ(payload.substr(soft + received, stride - soft - received),
            std::string(stride - soft - received, '\0'));
  // Each block meets a noise of its own, the same each time.
  EXPECT_NE(payload.substr(soft, received), payload.substr(stride + soft, received));
  EXPECT_EQ(payload, link.DecodePayload(blocks, 1, sent));
  EXPECT_EQ(link.DecodePayload({&second}, 1, sent), payload.substr(stride));
}

TEST(HarqLinkTest, WhatFailedKeepsItsSoftBitsAndIsSentAgain) {
  const HarqLink link = LinkOf(1, 0, ReceivedType::kInt16, 2);
  HarqBlock right;
  HarqBlock wrong;
  HarqBlock undetected;
  const size_t bytes = static_cast<size_t>(link.format().tb_bytes());
  right.tb = wrong.tb = undetected.tb = std::string(bytes, 'x');
  const HarqBlocks blocks = {&right, &wrong, &undetected};
  SharedDecoded decoded = MakeRoom(3, link.DecodeSizes(0));
  decoded.payload = std::string(2 * bytes, 'x') + std::string(bytes, 'y');
  decoded.soft = std::string(decoded.soft.size(), 's');
  decoded.crc_ok = {1, 0, 1};
  decoded.iterations = {2, 10, 3};
  link.Take(decoded, 0, blocks);
  EXPECT_TRUE(right.crc_ok && right.equal && right.soft.empty());
  EXPECT_FALSE(wrong.crc_ok);
  EXPECT_EQ(wrong.soft, std::string(link.format().soft_bytes(), 's'));
  EXPECT_TRUE(undetected.crc_ok);
  EXPECT_FALSE(undetected.equal);
  EXPECT_THAT(HarqLink::Failed(blocks), ElementsAre(&wrong));
}

TEST(SharedTransferTest, AnAnswerOfOtherSizesIsRefused) {
  BlockSizes sizes;
  sizes.in_bytes = 100;
  sizes.out_bytes = 10;
  sizes.soft_bytes = 20;
  sizes.code_blocks = 3;
  v1::DecodeSharedChannelResponse response;
  for (int block = 0; block < 2; ++block) {
    response.add_blocks()->set_code_blocks(3);
    for (int r = 0; r < 3; ++r) {
      response.add_crc_ok(true);
      response.add_parity_ok(true);
      response.add_iterations(static_cast<uint32_t>(1 + r));
    }
  }
  response.set_payload(std::string(20, 'p'));
  response.set_soft(std::string(40, 's'));
  EXPECT_THAT(CheckDecoded(response, 2, sizes), IsOk());
  SharedDecoded all = MakeRoom(3, sizes);
  TakeDecoded(response, 1, sizes, &all);
  EXPECT_EQ(all.payload, std::string(10, '\0') + std::string(20, 'p'));
  EXPECT_THAT(all.iterations, ElementsAre(0, 6, 6));

  EXPECT_FALSE(CheckDecoded(response, 1, sizes).ok());
  v1::DecodeSharedChannelResponse other = response;
  other.mutable_blocks(1)->set_code_blocks(2);
  EXPECT_FALSE(CheckDecoded(other, 2, sizes).ok());
  other = response;
  other.add_iterations(1);
  EXPECT_FALSE(CheckDecoded(other, 2, sizes).ok());
  other = response;
  other.mutable_soft()->pop_back();
  EXPECT_THAT(CheckDecoded(other, 2, sizes).message(),
              HasSubstr("soft has 39 bytes instead of 40"));
  v1::EncodeSharedChannelResponse encoded;
  encoded.set_payload(std::string(20, 'e'));
  EXPECT_THAT(CheckEncoded(encoded, 2, sizes), IsOk());
  EXPECT_FALSE(CheckEncoded(encoded, 3, sizes).ok());
}

TEST(BlerCountsTest, CountsWhatIsRightAfterEachTransmission) {
  const TransportFormat format = *ToTransportFormat(Prbs(2), 10);
  HarqBlock right;
  right.crc_ok = right.equal = true;
  right.iterations = 3;
  HarqBlock wrong;
  wrong.iterations = 10;
  HarqBlock undetected = right;
  undetected.equal = false;
  BlerCounts counts;
  for (const HarqBlock& first : {right, wrong, wrong, undetected}) {
    counts.AddBlock();
    counts.AddTransmission(0, first);
  }
  counts.AddTransmission(1, right);
  counts.AddTransmission(1, wrong);
  EXPECT_EQ(counts.blocks(), 4);
  EXPECT_EQ(counts.failed(0), 3);
  EXPECT_EQ(counts.failed(1), 2);
  EXPECT_EQ(counts.undetected(), 1);
  EXPECT_EQ(counts.bler(1), 0.5);
  EXPECT_GT(counts.BlerInterval(1).low, 0.1);
  const double each =
      static_cast<double>(format.plan.tb_bits) / static_cast<double>(format.num_symbols());
  EXPECT_DOUBLE_EQ(counts.BitsPerSymbol(0, format), each / 4);
  EXPECT_DOUBLE_EQ(counts.BitsPerSymbol(1, format), 2 * each / 6);
  EXPECT_DOUBLE_EQ(counts.MeanIterations(0, format), (3 + 10 + 10 + 3) / 4.0);
  BlerCounts twice = counts;
  twice.Add(counts);
  EXPECT_EQ(twice.failed(1), 4);
  EXPECT_EQ(twice.bler(0), counts.bler(0));

  const std::vector<BlerCurves> curves = {{format, 2, {{4.5, 0.1, counts}}}};
  EXPECT_THAT(ToTable(curves).ToCsv(),
              AllOf(HasSubstr("snr_db,transmissions,blocks,block_errors,bler"),
                    HasSubstr(",4.5,1,4,3,0.75,"), HasSubstr(",4.5,2,4,2,0.5,")));
  EXPECT_EQ(ToJson(curves[0])["points"][0]["after"][1]["bler"], 0.5);
  const Plot plot = ToPlot(curves, "how");
  ASSERT_EQ(plot.panels.size(), 2u);
  EXPECT_EQ(plot.panels[0].series.size(), 2u);
  EXPECT_EQ(plot.panels[0].series[1].label, "MCS 10, 2 transmissions");
  EXPECT_EQ(plot.panels[1].series.back().label, "Shannon's limit");
}

TEST(InOrderTest, BatchesCountInTheOrderOfTheirNumbersUntilThereAreEnough) {
  for (const int threads : {1, 7}) {
    std::vector<int64_t> counted;
    const auto count = [&](const int64_t& number) {
      counted.push_back(number);
      return counted.size() == 20;
    };
    EXPECT_THAT(InOrder<int64_t>(count).Run(
                    threads, [](int64_t number) -> absl::StatusOr<int64_t> { return number; }),
                IsOk());
    std::vector<int64_t> expected;
    for (int64_t i = 0; i < 20; ++i) expected.push_back(i);
    EXPECT_EQ(counted, expected);
  }
}

TEST(InOrderTest, TheFirstErrorEndsIt) {
  int counted = 0;
  const auto count = [&](const int64_t&) { return ++counted < 0; };
  const auto measure = [](int64_t number) -> absl::StatusOr<int64_t> {
    return number < 5 ? absl::StatusOr<int64_t>(number)
                      : absl::UnavailableError("batch " + std::to_string(number));
  };
  EXPECT_EQ(InOrder<int64_t>(count).Run(4, measure).message(), "batch 5");
  EXPECT_EQ(counted, 5);
}

}  // namespace
}  // namespace baseband::ctl
