// A GPU that faults beside lanes whose resident kernels are at work: they end with it, everything
// is answered, and once the device is back others take their place.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/jobs/fault_injector.h"
#include "server/operations/encode/encode.h"
#include "tests/gpu/faulted_gpu_fixture.h"

namespace baseband::server {
namespace {

constexpr int kClients = 8;

std::unique_ptr<Batch> MakeDeadly(std::vector<JobPtr> jobs, Device&) {
  return std::make_unique<DeadlyBatch>(MakeBatch(std::move(jobs)));
}

class ResidentFaultedGpuTest : public FaultedGpuTest {
 protected:
  explicit ResidentFaultedGpuTest(Drivers drivers = Drivers::kAll)
      : FaultedGpuTest(drivers, /*resident=*/true) {}

  void SetUp() override {
    FaultedGpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_EQ(device_->WhereNotResident(), "");
    for (int client = 0; client < kClients; ++client) {
      std::vector<JobPtr> jobs;
      jobs.push_back(EncodeJobOf(client));
      jobs = OnCpu(std::move(jobs));
      const auto reply = jobs[0]->reply.span();
      questions_.push_back({[this, client] { return EncodeJobOf(client); },
                            std::string(reply.begin(), reply.end())});
    }
  }

  // One block, so that those of all clients together are few enough for a resident kernel.
  JobPtr EncodeJobOf(int client) {
    EncodeGroup group;
    group.code = *(client % 2 == 0 ? ldpc::NrCode(1, 384) : ldpc::NrCode(2, 64));
    group.count = 1;
    group.output = static_cast<EncodeOutput>(client % 3);
    JobPtr job =
        std::make_unique<EncodeJob>(TestOperation("Encode"), std::vector<EncodeGroup>{group});
    job->fingerprint = static_cast<uint64_t>(client) + 1;
    return WithMemory(std::move(job), "client " + std::to_string(client));
  }
  // On a lane; whether it was right, and by a resident kernel.
  void ExpectEncodedByResident(int lane) {
    // A lane's first of a code only brings its tables.
    ASSERT_THAT(RunOn(lane, EncodeJobOf(0)), IsOk());
    const int64_t before = device_->resident_tasks();
    std::vector<JobPtr> jobs;
    jobs.push_back(EncodeJobOf(0));
    const std::unique_ptr<Batch> batch = MakeBatch(std::move(jobs));
    ASSERT_THAT(RunOnLane(*device_, lane, batch.get()), IsOk());
    ASSERT_THAT(batch->Finish(), IsOk());
    const auto reply = batch->jobs()[0]->reply.span();
    EXPECT_TRUE(std::string(reply.begin(), reply.end()) == questions_[0].reply);
    EXPECT_EQ(device_->resident_tasks(), before + 1);
  }
  std::unique_ptr<LoadBesideFaults> Load(LoadBesideFaults::Spoil spoil) {
    return std::make_unique<LoadBesideFaults>(
        device_.get(), &metrics_, [this] { return SelfTest(); }, questions_, std::move(spoil));
  }
  // Whether right answers come, by resident kernels.
  bool Serves(LoadBesideFaults* load) {
    const int64_t enough = device_->resident_tasks() + 100;
    return load->AwaitRight(500) &&
           load->Await([&] { return device_->resident_tasks() >= enough; });
  }
  void ExpectItComesBackTimeAfterTime(const LoadBesideFaults::Spoil& spoil) {
    std::unique_ptr<LoadBesideFaults> load = Load(spoil);
    for (int fault = 0; fault < kFaults; ++fault) {
      ASSERT_TRUE(Serves(load.get())) << "after " << fault << " faults";
      load->Fault();
      ASSERT_TRUE(load->Await([this] { return device_->healthy(); }));
      (void)load->dispatcher().quarantine().LiftAll();
    }
    EXPECT_TRUE(Serves(load.get()));
    load->Stop();
    EXPECT_EQ(load->wrong(), 0);
    EXPECT_EQ(load->ends(), 0);
    load.reset();
    EXPECT_EQ(pool_->used(), 0);
  }

  std::vector<LoadBesideFaults::Question> questions_;
};

class ResidentResetGpuTest : public ResidentFaultedGpuTest {
 protected:
  ResidentResetGpuTest() : ResidentFaultedGpuTest(Drivers::kThatReset) {}
};

class ResidentRefusedResetGpuTest : public ResidentFaultedGpuTest {
 protected:
  ResidentRefusedResetGpuTest() : ResidentFaultedGpuTest(Drivers::kThatRefuse) {}
};

// Its context is well, and destroyed under kernels that are there.
TEST_F(ResidentFaultedGpuTest, BesideLoadADeviceThatSaysItIsBrokenComesBackTimeAfterTime) {
  FaultInjector injector;
  ExpectItComesBackTimeAfterTime([&](std::vector<JobPtr> jobs, Device& device) {
    Fault fault;
    fault.kind = Fault::Kind::kDeviceFault;
    injector.Arm(fault);
    return injector.MakeBatch(std::move(jobs), device);
  });
}

TEST_F(ResidentResetGpuTest, BesideLoadADeviceThatFaultsComesBackTimeAfterTime) {
  ExpectItComesBackTimeAfterTime(&MakeDeadly);
}

// One lane brings the device down while another's kernel waits for its next task.
TEST_F(ResidentResetGpuTest, WhatALaneWithAResidentKernelGetsNextEndsToo) {
  for (int fault = 0; fault < kFaults; ++fault) {
    const int lane = fault % kNumLanes;
    ExpectEncodedByResident(lane);
    EXPECT_THAT(BringDown((lane + 1) % kNumLanes),
                StatusIs(absl::StatusCode::kInternal, HasSubstr("llegal")));
    EXPECT_THAT(RunOn(lane, EncodeJobOf(0)), StatusIs(absl::StatusCode::kInternal, HasSubstr("")))
        << "the error stays until the reset";
    EXPECT_FALSE(device_->healthy());
    ASSERT_THAT(device_->Reset(nullptr), IsOk());
    ExpectEncodedByResident(lane);
    device_->set_healthy(true);
  }
}

TEST_F(ResidentRefusedResetGpuTest, BesideLoadEverythingIsAnsweredAndTheDeviceStaysLost) {
  std::unique_ptr<LoadBesideFaults> load = Load(&MakeDeadly);
  ASSERT_TRUE(Serves(load.get()));
  load->Fault();
  EXPECT_TRUE(load->Await([&] { return load->ends() == 1; }));
  EXPECT_FALSE(device_->healthy());
  load->Stop();
  EXPECT_EQ(load->wrong(), 0);
  EXPECT_EQ(load->ends(), 1);
  load.reset();
  EXPECT_EQ(pool_->used(), 0);
}

}  // namespace
}  // namespace baseband::server
