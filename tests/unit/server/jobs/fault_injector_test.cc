// Injected faults: each kind does its harm, to whom it is meant for, as often as was said.
#include "server/jobs/fault_injector.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/ldpc/code.h"
#include "server/admin/admin_messages.h"
#include "server/operations/decode/decode.h"
#include "tests/support/puppet_device.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;
using Request = v1::InjectFaultRequest;

class FaultInjectorTest : public ::testing::Test {
 protected:
  std::unique_ptr<Batch> MakeBatch(Device& device, int jobs = 1) {
    DecodeGroup group;
    group.code = *ldpc::NrCode(2, 2);
    group.count = 1;
    group.llr_count = group.code->num_sent();
    std::vector<JobPtr> all;
    for (int i = 0; i < jobs; ++i) {
      all.push_back(
          std::make_unique<DecodeJob>(TestOperation("Decode"), std::vector<DecodeGroup>{group}));
      all.back()->SetInput(*pool_->Lease(all.back()->payload_bytes));
      all.back()->reply = *pool_->Lease(all.back()->reply_bytes);
      std::fill(all.back()->staging.span().begin(), all.back()->staging.span().end(), uint8_t{20});
    }
    return injector_.MakeBatch(std::move(all), device);
  }
  static absl::Status Run(Batch& batch) {
    for (int piece = 0; piece < batch.num_pieces(); ++piece) batch.RunPiece(piece);
    return batch.Finish();
  }
  static int FirstBytes(const Batch& batch) {
    int sum = 0;
    for (const JobPtr& job : batch.jobs()) sum += job->reply.data()[0];
    return sum;
  }

  const std::shared_ptr<HostPool> pool_ = *HostPool::CreatePageable(1 << 20);
  FaultInjector injector_;
  PuppetDevice cpu_{1, "cpu"};
  PuppetDevice other_{1, "other"};
};

TEST_F(FaultInjectorTest, NothingGoesWrongUntilAFaultIsArmed) {
  const auto batch = MakeBatch(cpu_, 2);
  EXPECT_THAT(Run(*batch), IsOk());
  EXPECT_EQ(FirstBytes(*batch), 0);
  EXPECT_EQ(batch->TakeJobs().size(), 2U);
  EXPECT_THAT(injector_.Wrap(pool_)->Lease(100), IsOk());
}

TEST_F(FaultInjectorTest, AFailureIsForTheNextBatchesOfItsDevice) {
  Fault fault;
  fault.kind = Fault::Kind::kFail;
  fault.count = 2;
  fault.device = "cpu";
  injector_.Arm(fault);
  EXPECT_THAT(Run(*MakeBatch(other_)), IsOk());
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(Run(*MakeBatch(cpu_)),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("injected")));
  }
  EXPECT_THAT(Run(*MakeBatch(cpu_)), IsOk());
}

TEST_F(FaultInjectorTest, ADeviceSaysUnderABatchThatItIsBroken) {
  Fault fault;
  fault.kind = Fault::Kind::kDeviceFault;
  injector_.Arm(fault);
  cpu_.set_healthy(true);
  const auto batch = MakeBatch(cpu_);
  EXPECT_TRUE(cpu_.healthy());
  EXPECT_THAT(Run(*batch), StatusIs(absl::StatusCode::kInternal, HasSubstr("it is broken")));
  EXPECT_FALSE(cpu_.healthy());
}

TEST_F(FaultInjectorTest, OneBitOfEachOfTheNextRepliesIsWrong) {
  Fault fault;
  fault.kind = Fault::Kind::kCorrupt;
  fault.count = 3;
  injector_.Arm(fault);
  const auto first = MakeBatch(cpu_, 2);
  const auto second = MakeBatch(other_, 2);
  EXPECT_THAT(Run(*first), IsOk());
  EXPECT_THAT(Run(*second), IsOk());
  EXPECT_EQ(FirstBytes(*first), 2 * 0x80);
  EXPECT_EQ(FirstBytes(*second), 0x80);
}

TEST_F(FaultInjectorTest, AStalledBatchTakesSoLong) {
  Fault fault;
  fault.stall = absl::Milliseconds(20);
  injector_.Arm(fault);
  const auto batch = MakeBatch(cpu_);
  const absl::Time begin = absl::Now();
  EXPECT_THAT(Run(*batch), IsOk());
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(19));
  EXPECT_EQ(FirstBytes(*batch), 0);
}

TEST_F(FaultInjectorTest, APoolIsFullForTheNextAllocationsAndKeepsItsAccounts) {
  Fault fault;
  fault.kind = Fault::Kind::kNoMemory;
  fault.count = 1;
  injector_.Arm(fault);
  const std::shared_ptr<HostPool> wrapped = injector_.Wrap(pool_);
  EXPECT_THAT(wrapped->Lease(100).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("100 bytes")));
  {
    const auto lease = wrapped->Lease(100, 3);
    ASSERT_THAT(lease, IsOk());
    EXPECT_GE(wrapped->used(), 100);
    EXPECT_EQ(wrapped->used(), pool_->used());
    EXPECT_EQ(wrapped->capacity(), pool_->capacity());
  }
  EXPECT_EQ(pool_->used(), 0);
}

Request RequestOf(Request::Kind kind, uint32_t count = 0, uint32_t stall_ms = 0,
                  const std::string& device = "") {
  Request request;
  request.set_kind(kind);
  request.set_count(count);
  request.set_stall_ms(stall_ms);
  request.set_device(device);
  return request;
}

TEST(FaultFromProtoTest, ARequestIsRead) {
  const std::string devices[] = {"cpu", "cpu:standby"};
  const auto fault = FaultFromProto(RequestOf(Request::STALL, 1000, 600000, "cpu"), devices);
  ASSERT_THAT(fault, IsOk());
  EXPECT_EQ(fault->kind, Fault::Kind::kStall);
  EXPECT_EQ(fault->count, 1000);
  EXPECT_EQ(fault->stall, absl::Minutes(10));
  EXPECT_EQ(fault->device, "cpu");
  EXPECT_EQ(FaultFromProto(RequestOf(Request::NO_MEMORY), devices)->count, 1);
  EXPECT_EQ(*DeviceToLose(RequestOf(Request::LOSE, 0, 0, "cpu")), "cpu");
}

TEST(FaultFromProtoTest, WhatIsOutOfRangeIsRefusedByName) {
  const std::string devices[] = {"cpu", "cpu:standby"};
  const auto refusal = [&](const Request& request) {
    const absl::Status status = FaultFromProto(request, devices).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(refusal(Request()), "kind 0 is not in [1, 6]");
  EXPECT_EQ(refusal(RequestOf(static_cast<Request::Kind>(7))), "kind 7 is not in [1, 6]");
  EXPECT_EQ(refusal(RequestOf(Request::FAIL, 1001)), "count 1001 is not in [1, 1000]");
  EXPECT_EQ(refusal(RequestOf(Request::STALL)), "stall_ms 0 is not in [1, 600000]");
  EXPECT_EQ(refusal(RequestOf(Request::STALL, 1, 600001)), "stall_ms 600001 is not in [1, 600000]");
  EXPECT_THAT(refusal(RequestOf(Request::FAIL, 1, 5)), HasSubstr("stall_ms 5 is set: kind FAIL"));
  EXPECT_EQ(refusal(RequestOf(Request::CORRUPT, 1, 0, "cuda:0")),
            "device 'cuda:0' is not one of cpu, cpu:standby");
  EXPECT_THAT(refusal(RequestOf(Request::NO_MEMORY, 1, 0, "cpu")),
              HasSubstr("device 'cpu' is set: kind NO_MEMORY"));
  EXPECT_THAT(DeviceToLose(RequestOf(Request::LOSE)).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("device is not set")));
  EXPECT_THAT(DeviceToLose(RequestOf(Request::LOSE, 2, 0, "cpu")).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("count 2 is set: kind LOSE")));
}

}  // namespace
}  // namespace baseband::server
