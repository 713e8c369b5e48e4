// What GetCapabilities says of 5G shared channels: all that the contract has, in the words of
// bbdev.
#include "server/service/capabilities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace baseband::server {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::StartsWith;

v1::GetCapabilitiesResponse Describe(int object_mib) {
  Config config;
  config.object_mib = object_mib;
  return DescribeServer(config);
}

class SharedChannelCapabilitiesTest : public ::testing::Test {
 protected:
  const v1::GetCapabilitiesResponse response_ = Describe(/*object_mib=*/256);
  const v1::SharedChannelCapabilities& channel_ = response_.shared_channel();
};

TEST_F(SharedChannelCapabilitiesTest, LimitsAreThoseOfTheContract) {
  EXPECT_THAT(channel_.qm(), ElementsAre(1, 2, 4, 6, 8, 10));
  EXPECT_EQ(channel_.max_layers(), 8);
  EXPECT_EQ(channel_.max_tb_bytes(), 262144);
  EXPECT_EQ(channel_.max_coded_bits(), 8388608);
  EXPECT_EQ(channel_.max_tbs_lbrm(), 16777216);
  EXPECT_EQ(channel_.max_iterations(), response_.ldpc().max_iterations());
}

TEST_F(SharedChannelCapabilitiesTest, LlrsAreThoseOfTheDecoder) {
  EXPECT_EQ(channel_.llr_size(), response_.ldpc().llr_bits());
  EXPECT_EQ(channel_.llr_decimals(), 2) << "natural LLRs are best taken times 4 to 7";
}

TEST_F(SharedChannelCapabilitiesTest, EveryModeCrcAndFormatIsNamedOnce) {
  EXPECT_THAT(channel_.modes(), ElementsAre("transport_block", "code_block"));
  EXPECT_THAT(channel_.code_block_crcs(),
              ElementsAre(v1::CODE_BLOCK_CRC_24A, v1::CODE_BLOCK_CRC_24B, v1::CODE_BLOCK_CRC_16));
  // All but the value that stands for one of the others.
  EXPECT_EQ(channel_.inputs_size(), v1::SharedChannelInput_descriptor()->value_count() - 1);
  EXPECT_EQ(channel_.outputs_size(), v1::SharedChannelOutput_descriptor()->value_count() - 1);
  EXPECT_THAT(channel_.early_stops(),
              ElementsAre(v1::EARLY_STOP_PARITY, v1::EARLY_STOP_CRC, v1::EARLY_STOP_NONE));
  for (const int input : channel_.inputs()) EXPECT_TRUE(v1::SharedChannelInput_IsValid(input));
  for (const int output : channel_.outputs()) EXPECT_TRUE(v1::SharedChannelOutput_IsValid(output));
  EXPECT_THAT(channel_.inputs(), Each(Not(v1::SHARED_CHANNEL_INPUT_UNSPECIFIED)));
  EXPECT_THAT(channel_.outputs(), Each(Not(v1::SHARED_CHANNEL_OUTPUT_UNSPECIFIED)));
}

TEST_F(SharedChannelCapabilitiesTest, FlagsAreBbdevsWithoutTheirPrefix) {
  EXPECT_THAT(channel_.encode_flags(), AllOf(Contains("RATE_MATCH"), Contains("CRC_24B_ATTACH"),
                                             Each(Not(StartsWith("RTE_")))));
  EXPECT_THAT(channel_.decode_flags(),
              AllOf(Contains("CRC_TYPE_24B_DROP"), Contains("ITERATION_STOP_ENABLE"),
                    Contains("HQ_COMBINE_IN_ENABLE"), Each(Not(StartsWith("RTE_")))));
}

TEST(SharedChannelHarqTest, MemoryForSoftBitsIsToldAsItIsSet) {
  v1::SharedChannelCapabilities channel = Describe(3).shared_channel();
  EXPECT_EQ(channel.harq_memory_bytes(), 3 << 20);
  EXPECT_THAT(channel.decode_flags(),
              AllOf(Contains("INTERNAL_HARQ_MEMORY_OUT_ENABLE"), Contains("HARQ_6BIT_COMPRESSION"),
                    Contains("HARQ_4BIT_COMPRESSION")));
  EXPECT_THAT(channel.harq_llr_sizes(), ElementsAre(8, 6, 4));
  channel = Describe(0).shared_channel();
  EXPECT_EQ(channel.harq_memory_bytes(), 0);
  EXPECT_THAT(channel.decode_flags(), Each(Not(StartsWith("INTERNAL_HARQ"))));
  EXPECT_THAT(channel.decode_flags(), Each(Not(StartsWith("HARQ_"))));
  EXPECT_THAT(channel.harq_llr_sizes(), ElementsAre());
}

}  // namespace
}  // namespace baseband::server
