// Soft bits that the real server holds: what its clients are told of them, and what it counts.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/faults_test.h"
#include "tests/support/shared_channel_traffic.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

class HarqTest : public FaultsTest {
 protected:
  // Decodes a transmission of a block of `tb_bytes` under `key`.
  v1::SharedChannelResult Send(const std::string& key, uint32_t transmission,
                               uint32_t tb_bytes = 1125) {
    v1::DecodeSharedChannelRequest request;
    v1::DecodeSharedChannelGroup& group = *request.add_groups();
    v1::TransportBlock& block = *group.mutable_block()->mutable_transport_block();
    block.set_tb_bytes(tb_bytes);
    block.set_base_graph(1);
    block.set_g(11'000);
    group.mutable_block()->set_qm(2);
    group.set_count(1);
    group.mutable_harq()->set_key(key);
    group.mutable_harq()->set_transmission(transmission);
    request.set_payload(std::string(11'000, '\x03'));
    v1::DecodeSharedChannelResponse response;
    const grpc::Status status = Call(*stub_, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.blocks_size() == 1 ? response.blocks(0) : v1::SharedChannelResult();
  }
  double Counted(const std::string& outcome) const {
    return server_->Metric("baseband_harq_transmissions_total",
                           {absl::StrCat("outcome=\"", outcome, "\"")});
  }
};

TEST_F(HarqTest, EachOutcomeIsToldAndCountedAndARestartIsALoss) {
  StartServer({});
  EXPECT_EQ(Send("a", 0).harq(), v1::HARQ_OUTCOME_FIRST);
  EXPECT_EQ(Send("a", 1).harq(), v1::HARQ_OUTCOME_COMBINED);
  EXPECT_EQ(Send("a", 1).harq(), v1::HARQ_OUTCOME_REPEATED);
  EXPECT_EQ(Send("a", 2, 1101).harq(), v1::HARQ_OUTCOME_OTHER_BLOCK);
  EXPECT_EQ(Send("a", 0).harq(), v1::HARQ_OUTCOME_FIRST);
  EXPECT_EQ(Counted("first"), 2);
  EXPECT_EQ(Counted("combined"), 1);
  EXPECT_EQ(Counted("repeated"), 1);
  EXPECT_EQ(Counted("other_block"), 1);
  EXPECT_EQ(Counted("lost"), 0);
  EXPECT_EQ(server_->Terminate(), 0);

  StartServer({});
  const v1::SharedChannelResult lost = Send("a", 1);
  EXPECT_EQ(lost.harq(), v1::HARQ_OUTCOME_LOST);
  EXPECT_THAT(lost.harq_message(), HasSubstr("is not there"));
  EXPECT_EQ(Send("a", 2).harq(), v1::HARQ_OUTCOME_COMBINED) << "with what came after the restart";
  EXPECT_EQ(Counted("lost"), 1);
}

TEST_F(HarqTest, ALostDeviceIsALossWithThatReasonAndHoldsAgainWhatComesAfter) {
  StartServer({"--allow-fault-injection"});
  EXPECT_EQ(Send("a", 0).harq(), v1::HARQ_OUTCOME_FIRST);
  EXPECT_EQ(Send("a", 1).harq(), v1::HARQ_OUTCOME_COMBINED);
  ASSERT_THAT(Inject(Fault::DEVICE_FAULT, 1, 0, Device()), IsOk());
  EXPECT_EQ(Decode().error_code(), grpc::StatusCode::INTERNAL);
  ASSERT_TRUE(server_->WaitForMetric("baseband_device_resets_total", {Device()}, 1));
  ASSERT_TRUE(server_->WaitForMetric("baseband_device_healthy", {Device()}, 1));
  const v1::SharedChannelResult lost = Send("a", 2);
  EXPECT_EQ(lost.harq(), v1::HARQ_OUTCOME_LOST);
  EXPECT_THAT(lost.harq_message(), HasSubstr("its device was lost"));
  EXPECT_EQ(Send("a", 3).harq(), v1::HARQ_OUTCOME_COMBINED);
  EXPECT_EQ(Counted("lost"), 1);
}

TEST_F(HarqTest, WhatNobodyUsesForTooLongIsLostWithThatReason) {
  StartServer({"--object-lifetime=1s"});
  EXPECT_EQ(Send("a", 0).harq(), v1::HARQ_OUTCOME_FIRST);
  absl::SleepFor(absl::Milliseconds(1500));
  const v1::SharedChannelResult lost = Send("a", 1);
  EXPECT_EQ(lost.harq(), v1::HARQ_OUTCOME_LOST);
  EXPECT_THAT(lost.harq_message(), HasSubstr("nobody used it for too long"));
}

TEST_F(HarqTest, WhatAClientMayHoldIsTheLatestAndTheRestIsLostWithThatReason) {
  StartServer({"--client-object-mib=1"});
  // Each has two code blocks of 13,728 bits: a MiB has 38 of them.
  for (int key = 0; key < 60; ++key) {
    EXPECT_EQ(Send(absl::StrCat(key), 0).harq(), v1::HARQ_OUTCOME_FIRST);
  }
  const v1::SharedChannelResult lost = Send("0", 1);
  EXPECT_EQ(lost.harq(), v1::HARQ_OUTCOME_LOST);
  EXPECT_THAT(lost.harq_message(), HasSubstr("its client's objects took more than they may"));
  EXPECT_EQ(Send("59", 1).harq(), v1::HARQ_OUTCOME_COMBINED);
  EXPECT_GE(server_->Metric("baseband_device_objects_dropped_total", {"reason=\"quota\""}), 10);
}

TEST_F(HarqTest, AServerThatHoldsNothingSaysSo) {
  StartServer({"--object-mib=0"});
  const v1::SharedChannelResult alone = Send("a", 0);
  EXPECT_EQ(alone.harq(), v1::HARQ_OUTCOME_NOT_HELD);
  EXPECT_THAT(alone.harq_message(), HasSubstr("object_mib is 0"));
  EXPECT_EQ(Counted("not_held"), 1);
}

}  // namespace
}  // namespace baseband::testing
