// What operations count of their results, as the page shows it.
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/metrics/metrics.h"
#include "server/operations/decode/decode.h"
#include "server/operations/encode/encode.h"
#include "server/operations/recover_carrier/recover_carrier.h"
#include "server/operations/shared_channel/decode_shared_channel.h"
#include "server/operations/shared_channel/encode_shared_channel.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

class OperationMetricsTest : public ::testing::Test {
 protected:
  // "name{labels}"; -1 if it is not there.
  double Value(const std::string& series) const {
    std::istringstream page(metrics_.Render());
    for (std::string line; std::getline(page, line);) {
      if (line.rfind(series + " ", 0) == 0) return std::stod(line.substr(series.size() + 1));
    }
    return -1;
  }
  void Count(const Job& job) {
    job.operation().CountResults(job, metrics_.ResultsOf(job.operation().rpc()));
  }

  Metrics metrics_{"1", TestOperations().counted()};
};

TEST_F(OperationMetricsTest, EncodeCountsBlocksAndInformationByFamily) {
  EncodeGroup wifi;
  wifi.code = *ldpc::WifiCode("1/2", 648);
  wifi.count = 48;
  EncodeGroup nr;
  nr.code = *ldpc::NrCode(2, 16);
  nr.count = 3;
  nr.num_filler = 8;
  Count(EncodeJob(TestOperation("Encode"), {wifi, nr}));

  const std::string blocks = "baseband_code_blocks_total";
  EXPECT_EQ(Value(blocks + R"({family="wifi",rpc="Encode"})"), 48);
  EXPECT_EQ(Value(blocks + R"({family="nr",rpc="Encode"})"), 3);
  EXPECT_EQ(Value(blocks + R"({family="wifi",rpc="Decode"})"), 0);
  EXPECT_EQ(Value(R"(baseband_information_bytes_total{rpc="Encode"})"),
            48 * 324 / 8 + 3 * (160 - 8) / 8);
}

TEST_F(OperationMetricsTest, DecodeObservesTheIterationsOfEachBlock) {
  DecodeGroup group;
  group.code = *ldpc::NrCode(2, 16);
  group.count = 6;
  group.llr_count = group.code->num_sent();
  DecodeJob job(TestOperation("Decode"), {group});
  ASSERT_EQ(job.results.size(), 6U);
  const int iterations[] = {1, 1, 2, 9, 10, 100};
  for (size_t block = 0; block < 6; ++block) {
    job.results[block].iterations = static_cast<uint16_t>(iterations[block]);
    job.results[block].parity_ok = iterations[block] < 100;
  }
  Count(job);

  const std::string bucket = "baseband_decode_iterations_bucket{le=\"";
  EXPECT_EQ(Value(bucket + "1\"}"), 2);
  EXPECT_EQ(Value(bucket + "2\"}"), 3);
  EXPECT_EQ(Value(bucket + "8\"}"), 3);
  EXPECT_EQ(Value(bucket + "10\"}"), 5);
  EXPECT_EQ(Value(bucket + "100\"}"), 6);
  EXPECT_EQ(Value("baseband_decode_iterations_count"), 6);
  EXPECT_EQ(Value("baseband_decode_iterations_sum"), 1 + 1 + 2 + 9 + 10 + 100);
  EXPECT_EQ(Value("baseband_decode_parity_failures_total"), 1);
  EXPECT_EQ(Value(R"(baseband_code_blocks_total{family="nr",rpc="Decode"})"), 6);
}

// Of 57 bytes, one code block, or of 1125, two.
nr::TransportBlockPlan PlanOf(int64_t tb_bytes) {
  nr::TransportBlock block;
  block.tb_bytes = tb_bytes;
  block.g = 16 * tb_bytes;
  return *nr::MakePlan(block);
}

TEST_F(OperationMetricsTest, SharedChannelsCountTransportBlocksAndTheCodeBlocksInThem) {
  EncodeSharedChannelGroup group;
  group.block.plan = PlanOf(1125);
  group.code = *ldpc::NrCode(1, group.block.plan.zc);
  group.count = 3;
  Count(EncodeSharedChannelJob(TestOperation("EncodeSharedChannel"), {group}));

  EXPECT_EQ(Value(R"(baseband_transport_blocks_total{rpc="EncodeSharedChannel"})"), 3);
  EXPECT_EQ(Value(R"(baseband_transport_blocks_total{rpc="DecodeSharedChannel"})"), 0);
  EXPECT_EQ(Value(R"(baseband_code_blocks_total{family="nr",rpc="EncodeSharedChannel"})"), 6);
  EXPECT_EQ(Value(R"(baseband_information_bytes_total{rpc="EncodeSharedChannel"})"), 3 * 1125);
  EXPECT_EQ(Value("baseband_transport_block_crc_failures_total"), 0);
}

TEST_F(OperationMetricsTest, OnlyTransportBlocksThatAreRightAreInformation) {
  DecodeSharedChannelGroup small;
  small.block.plan = PlanOf(57);
  small.code = *ldpc::NrCode(1, small.block.plan.zc);
  small.count = 2;
  DecodeSharedChannelGroup large;
  large.block.plan = PlanOf(1125);
  large.code = *ldpc::NrCode(1, large.block.plan.zc);
  large.count = 1;
  DecodeSharedChannelJob job(TestOperation("DecodeSharedChannel"), {small, large});
  ASSERT_EQ(job.code_blocks.size(), 4U);
  for (CodeBlockResult& result : job.code_blocks) result.decode = {/*iterations=*/3, 1};
  job.code_blocks[3].decode.parity_ok = 0;
  job.crc_ok = {1, 0, 0};
  Count(job);

  EXPECT_EQ(Value(R"(baseband_transport_blocks_total{rpc="DecodeSharedChannel"})"), 3);
  EXPECT_EQ(Value("baseband_transport_block_crc_failures_total"), 2);
  EXPECT_EQ(Value(R"(baseband_information_bytes_total{rpc="DecodeSharedChannel"})"), 57);
  EXPECT_EQ(Value(R"(baseband_code_blocks_total{family="nr",rpc="DecodeSharedChannel"})"), 4);
  EXPECT_EQ(Value(R"(baseband_harq_transmissions_total{outcome="first"})"), 0);  // no keys
  // Together with those of Decode.
  EXPECT_EQ(Value("baseband_decode_iterations_count"), 4);
  EXPECT_EQ(Value("baseband_decode_iterations_sum"), 12);
  EXPECT_EQ(Value("baseband_decode_parity_failures_total"), 1);
}

TEST_F(OperationMetricsTest, WhatStopsByItsCrcDidNotFail) {
  DecodeSharedChannelGroup by_parity;
  by_parity.block.plan = PlanOf(1125);
  by_parity.code = *ldpc::NrCode(1, by_parity.block.plan.zc);
  by_parity.count = 1;
  DecodeSharedChannelGroup by_crc = by_parity;
  by_crc.parameters.stop_crc = by_crc.block.plan.last_crc();
  DecodeSharedChannelJob job(TestOperation("DecodeSharedChannel"), {by_parity, by_crc});
  ASSERT_EQ(job.code_blocks.size(), 4U);
  for (CodeBlockResult& result : job.code_blocks) {
    result.decode = {/*iterations=*/3, /*parity_ok=*/0};
    result.crc_ok = true;
  }
  job.code_blocks[3].crc_ok = false;
  job.crc_ok = {1, 0};
  Count(job);
  EXPECT_EQ(Value("baseband_decode_iterations_count"), 4);
  EXPECT_EQ(Value("baseband_decode_parity_failures_total"), 3);
}

TEST_F(OperationMetricsTest, OnlyLockedFramesHaveAnEvm) {
  RecoverCarrierGroup group;
  group.model =
      *carrier::Model::Create(*carrier::Constellation::FromName("QPSK"), carrier::Amplitude::kUnit,
                              /*power=*/4);
  group.count = 3;
  group.frame_symbols = 100;
  RecoverCarrierJob job(TestOperation("RecoverCarrier"), {group});
  job.results.assign(3, carrier::Result());
  job.results[0].lock = carrier::Lock::kLocked;
  job.results[0].evm = 0.375F;
  job.results[1].lock = carrier::Lock::kLocked;
  job.results[1].evm = 7.0F;
  job.results[2].lock = carrier::Lock::kNoPeak;
  job.results[2].evm = 0.5F;
  Count(job);

  EXPECT_EQ(Value(R"(baseband_carrier_frames_total{lock="locked"})"), 2);
  EXPECT_EQ(Value(R"(baseband_carrier_frames_total{lock="no_peak"})"), 1);
  EXPECT_EQ(Value(R"(baseband_carrier_frames_total{lock="bad_fit"})"), 0);
  EXPECT_EQ(Value("baseband_carrier_symbols_total"), 300);
  EXPECT_EQ(Value(R"(baseband_carrier_evm_ratio_bucket{le="0.5"})"), 1);
  EXPECT_EQ(Value(R"(baseband_carrier_evm_ratio_bucket{le="1"})"), 1);
  EXPECT_EQ(Value("baseband_carrier_evm_ratio_count"), 2);
  EXPECT_EQ(Value("baseband_carrier_evm_ratio_sum"), 7.375);
  EXPECT_EQ(Value(R"(baseband_timing_frames_total{lock="locked"})"), 0);  // they were symbols
}

TEST_F(OperationMetricsTest, FramesOfSamplesCountByTheirTiming) {
  RecoverCarrierGroup group;
  group.model =
      *carrier::Model::Create(*carrier::Constellation::FromName("QPSK"), carrier::Amplitude::kUnit,
                              /*power=*/4);
  group.count = 3;
  group.frame_symbols = 100;
  RecoverCarrierGroup sampled = group;
  sampled.pulse = *timing::Pulse::Create(timing::PulseShape());
  sampled.frame_samples = 203;
  RecoverCarrierJob job(TestOperation("RecoverCarrier"), {group, sampled});
  ASSERT_EQ(job.timings.size(), 3U);
  job.timings[0].lock = timing::Lock::kLocked;
  job.timings[1].lock = timing::Lock::kTooShort;
  job.timings[2].lock = timing::Lock::kTooShort;
  Count(job);

  EXPECT_EQ(Value(R"(baseband_timing_frames_total{lock="locked"})"), 1);
  EXPECT_EQ(Value(R"(baseband_timing_frames_total{lock="no_line"})"), 0);
  EXPECT_EQ(Value(R"(baseband_timing_frames_total{lock="too_short"})"), 2);
  EXPECT_EQ(Value("baseband_carrier_symbols_total"), 600);
}

}  // namespace
}  // namespace baseband::server
