// Encode's batches on the lanes of a GPU against the same batches on the CPU, also with a kernel
// that stays for small ones.
#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "kernels/ldpc/encode_gpu.h"
#include "server/jobs/self_test.h"
#include "tests/gpu/group_lane_gpu_fixture.h"
#include "tests/support/custom_codes.h"
#include "tests/support/matchers.h"

namespace baseband::server {
namespace {

class EncodeLaneGpuTest : public GroupLaneGpuTest {
 protected:
  // Jobs that are alike, for both devices.
  struct Jobs {
    std::vector<JobPtr> cpu;
    std::vector<JobPtr> gpu;
  };

  // One of `groups`, with random information.
  void Add(const std::vector<EncodeGroup>& groups, std::mt19937* random, Jobs* jobs) {
    int64_t bytes = 0;
    for (const EncodeGroup& group : groups) bytes += group.count * group.info_bytes();
    const std::string payload = Random(bytes, random);
    jobs->cpu.push_back(MakeJob<EncodeJob>(groups, payload));
    jobs->gpu.push_back(MakeJob<EncodeJob>(groups, payload));
  }
  // As one batch on either.
  void ExpectSameReplies(Jobs jobs, int lane = 0) {
    jobs.cpu = OnCpu(std::move(jobs.cpu));
    jobs.gpu = OnGpu(std::move(jobs.gpu), lane);
    for (size_t j = 0; j < jobs.cpu.size(); ++j) {
      ASSERT_TRUE(jobs.cpu[j]->reply.span() == jobs.gpu[j]->reply.span()) << "job " << j;
    }
  }
  EncodeGroup RandomGroup(const ldpc::CodePtr& code, int most) {
    EncodeGroup group;
    group.code = code;
    group.count = 1 + random_() % most;
    group.num_filler = random_() % 2 == 0 ? 0 : static_cast<int>(random_() % code->k());
    group.output = static_cast<EncodeOutput>(random_() % 3);
    return group;
  }
  void ExpectManyEncodedAsOnCpu(const std::vector<ldpc::CodePtr>& codes) {
    Jobs jobs;
    int64_t num_blocks = 0;
    for (int j = 0; j < 6; ++j) {
      std::vector<EncodeGroup> groups;
      for (int g = 0; g < 12; ++g) {
        groups.push_back(RandomGroup(codes[random_() % codes.size()], 150));
        num_blocks += groups.back().count;
      }
      Add(groups, &random_, &jobs);
    }
    ASSERT_GE(num_blocks, ldpc::kLeastTiledBlocks) << "so few are not put in another order";
    ExpectSameReplies(std::move(jobs));
  }
  void ExpectEncodedAsOnCpu(const std::vector<EncodeGroup>& groups) {
    ExpectEncodedAsOnCpu(groups, 0, &random_);
  }
  void ExpectEncodedAsOnCpu(const std::vector<EncodeGroup>& groups, int lane,
                            std::mt19937* random) {
    SCOPED_TRACE(groups[0].code->name());
    Jobs jobs;
    Add(groups, random, &jobs);
    ExpectSameReplies(std::move(jobs), lane);
  }
};

// Than there is room for their tables on a lane.
std::vector<EncodeGroup> MoreCodesThanStay() {
  std::vector<EncodeGroup> groups;
  for (const int zc : ldpc::NrLiftingSizes()) {
    for (const int rows : {46, 45, 44, 43}) {
      EncodeGroup group;
      group.code = *ldpc::NrCode(1, zc, rows);
      group.output = EncodeOutput::kParity;
      group.count = 1;
      groups.push_back(group);
    }
  }
  return groups;
}

TEST_F(EncodeLaneGpuTest, MixedEncodeJobsGiveWhatTheCpuGives) {
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    Jobs jobs;
    for (int j = 0; j < 5; ++j) {
      std::vector<EncodeGroup> groups;
      for (const ldpc::CodePtr& code : Codes()) {
        groups.push_back(RandomGroup(code, 5));
        if (j == 0) break;  // one job that needs no packing: Zc = 384, parity only
      }
      if (j == 0) groups[0].output = EncodeOutput::kParity;
      Add(groups, &random_, &jobs);
    }
    std::shuffle(jobs.gpu.begin(), jobs.gpu.end(), std::mt19937(9));
    std::shuffle(jobs.cpu.begin(), jobs.cpu.end(), std::mt19937(9));
    ExpectSameReplies(std::move(jobs), round % kNumLanes);
  }
}

// Blocks that the lane puts in an order of its own: groups of a code apart from each other, in
// several jobs, alike in nothing but the code, beside codes of few blocks.
TEST_F(EncodeLaneGpuTest, ManyBlocksOfFewCodesGiveWhatTheCpuGives) {
  const auto own = [this](int zc) {
    return *ldpc::Code::Create(testing::TriangularMatrix(6, 14, zc, &random_),
                               ldpc::Family::kCustom, "own");
  };
  ExpectManyEncodedAsOnCpu(
      {*ldpc::NrCode(2, 13, 7), own(33), *ldpc::NrCode(1, 30), *ldpc::WifiCode("5/6", 648)});
  ExpectManyEncodedAsOnCpu({*ldpc::NrCode(2, 2, 4), own(2), *ldpc::NrCode(2, 3, 5)});  // in place
}

// More codes than have room there, one after the other and then all at a time.
TEST_F(EncodeLaneGpuTest, TablesThatStayOnALaneAreThoseOfTheirCodes) {
  const std::vector<EncodeGroup> all = MoreCodesThanStay();
  for (const int round : {1, 2}) {
    SCOPED_TRACE(round);
    for (const EncodeGroup& group : all) ExpectEncodedAsOnCpu({group});
    ExpectEncodedAsOnCpu(all);
  }
}

// With a kernel that stays for small tasks.
class ResidentEncodeLaneGpuTest : public EncodeLaneGpuTest {
 protected:
  CudaDeviceOptions Options() const override {
    CudaDeviceOptions options = OptionsOfLanes(kNumLanes);
    options.resident = true;
    return options;
  }
};

TEST_F(ResidentEncodeLaneGpuTest, TablesThatStayAreThoseOfTheirCodes) {
  const std::vector<EncodeGroup> all = MoreCodesThanStay();
  for (const int round : {1, 2}) {
    SCOPED_TRACE(round);
    for (const EncodeGroup& group : all) {
      for (int again = 0; again < 3; ++again) ExpectEncodedAsOnCpu({group});
    }
    ExpectEncodedAsOnCpu(all);
  }
  EXPECT_GE(device_->resident_tasks(), static_cast<int64_t>(all.size()));
}

// Small tasks, larger ones, and those of other kernels, on all lanes at a time, with pauses in
// which it leaves, and beside calls into the driver that wait until no kernel runs.
TEST_F(ResidentEncodeLaneGpuTest, ComesAndGoesBetweenOtherTasks) {
  const absl::Time end = absl::Now() + absl::Seconds(4);
  std::vector<std::thread> threads;
  for (int lane = 0; lane < kNumLanes; ++lane) {
    threads.emplace_back([this, lane, end] {
      std::mt19937 random(static_cast<unsigned>(lane));
      while (absl::Now() < end && !HasFailure()) {
        EncodeGroup group;
        group.code = Codes()[random() % Codes().size()];
        group.count = random() % 10 == 0 ? 300 : 1 + random() % 20;
        group.output = static_cast<EncodeOutput>(random() % 3);
        ExpectEncodedAsOnCpu({group}, lane, &random);
        if (random() % 10 == 0) absl::SleepFor(absl::Microseconds(random() % 400));
      }
    });
  }
  threads.emplace_back([this, end] {
    while (absl::Now() < end && !HasFailure()) {
      void* memory = nullptr;
      EXPECT_EQ(cudaMalloc(&memory, 1 << 20), cudaSuccess);
      EXPECT_EQ(cudaFree(memory), cudaSuccess);
      absl::SleepFor(absl::Milliseconds(3));
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(RunSelfTest(*device_, TestOperations(), *pool_, *pool_), IsOk());
  EXPECT_GT(device_->resident_tasks(), 1000);
}

TEST_F(ResidentEncodeLaneGpuTest, AnotherTakesItsPlaceAfterAReset) {
  EncodeGroup group;
  group.code = *ldpc::NrCode(1, 384);
  group.count = 1;
  for (int i = 0; i < 3; ++i) ExpectEncodedAsOnCpu({group});
  const int64_t before = device_->resident_tasks();
  EXPECT_GT(before, 0);
  pool_.reset();
  ASSERT_THAT(device_->Reset([](const auto& f) { return f(); }), IsOk());
  pool_ = *CreatePinnedPool(64 << 20);
  for (int i = 0; i < 3; ++i) ExpectEncodedAsOnCpu({group});
  EXPECT_GT(device_->resident_tasks(), before);
}

}  // namespace
}  // namespace baseband::server
