// What transport formats amount to, by hand out of 38.212 and 38.214.
#include "client/ctl/shared_channel/format_figures.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/support/matchers.h"

namespace baseband::ctl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TransportFormat FormatOf(int prbs, int layers, int mcs, int64_t tbs_lbrm = 0) {
  FormatFlags flags;
  flags.prbs = prbs;
  flags.layers = layers;
  flags.tbs_lbrm = tbs_lbrm;
  return *ToTransportFormat(flags, mcs);
}

TEST(FormatFiguresTest, OfAWholeCarrierAreThoseOfTheStandard) {
  const TransportFormat format = FormatOf(273, 4, 27);
  EXPECT_EQ(CodeWordBits(format.plan), 66 * 384);
  // 42588 symbols of four layers: 152 code blocks have 280 of them, and 28 have one more.
  EXPECT_THAT(CodedBlocks(format.plan), ElementsAre(Pair(124, 280 * 32), Pair(28, 281 * 32)));
  const nlohmann::json json = FiguresJson(format);
  EXPECT_EQ(json["tb_bits"], 1277992);
  EXPECT_EQ(json["tb_bytes"], 159749);
  EXPECT_EQ(json["tb_crc_bits"], 24);
  EXPECT_EQ(json["code_block_crc_bits"], 24);
  EXPECT_EQ(json["k"], 22 * 384);
  EXPECT_EQ(json["k_prime"], (1277992 + 24) / 152 + 24);
  EXPECT_EQ(json["n_filler"], 16);
  EXPECT_EQ(json["n_cb"], 25344);
  EXPECT_EQ(json["coded_bits"], 273 * 156 * 8 * 4);
  EXPECT_EQ(json["received_bytes"]["llr-int8"], 273 * 156 * 8 * 4);
  EXPECT_EQ(json["received_bytes"]["llr-int4"], 273 * 156 * 4 * 4);
  EXPECT_EQ(json["received_bytes"]["int8"], 2 * 273 * 156 * 4);
  EXPECT_EQ(json["received_bytes"]["float32"], 8 * 273 * 156 * 4);
  EXPECT_EQ(json["soft_bytes"], 152 * 25344);
  EXPECT_EQ(json["held_bytes"]["8"], 152 * 25344);
  EXPECT_EQ(json["held_bytes"]["6"], 152 * 25344 * 6 / 8);
  EXPECT_EQ(json["held_bytes"]["4"], 152 * 25344 * 4 / 8);
  EXPECT_THAT(FiguresText(format), AllOf(HasSubstr("soft bits, held in 8 bits  3852288\n"),
                                         HasSubstr("soft bits, held in 6 bits  2889216\n"),
                                         HasSubstr("soft bits, held in 4 bits  1926144\n")));
}

TEST(FormatFiguresTest, ALimitedBufferIsShorterThanTheCodeWord) {
  const TransportFormat format = FormatOf(273, 4, 27, 1277992);
  const int n_ref = 1277992 * 3 / (152 * 2);  // of rate 2/3, clause 5.4.2.1
  EXPECT_EQ(FiguresJson(format)["n_cb"], n_ref);
  EXPECT_EQ(FiguresJson(format)["n"], 25344);
  EXPECT_THAT(FiguresText(format),
              HasSubstr(absl::StrCat(n_ref, " bits, limited by TBS_LBRM 1277992")));
}

TEST(FormatFiguresTest, ASmallBlockIsOneCodeBlockWithoutACrcOfItsOwn) {
  const TransportFormat format = FormatOf(1, 1, 0);
  EXPECT_THAT(CodedBlocks(format.plan), ElementsAre(Pair(1, 312)));
  EXPECT_THAT(FiguresText(format), AllOf(HasSubstr("QPSK"), HasSubstr("; CRC16\n"),
                                         HasSubstr("not limited\n"), HasSubstr("312 bits\n")));
  EXPECT_EQ(FiguresJson(format)["code_block_crc_bits"], 0);
  EXPECT_EQ(FiguresJson(format)["held_bytes"]["4"], 4096) << "no key has less";
}

}  // namespace
}  // namespace baseband::ctl
