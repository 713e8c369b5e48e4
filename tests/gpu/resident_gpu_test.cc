// The host's side of a resident kernel, with a device that the test plays: what a kernel would do,
// and when, is then known.
#include <vector>

#include "kernels/cuda/resident.h"
#include "tests/support/gpu_test.h"
#include "tests/support/matchers.h"

namespace baseband::cuda {
namespace {

struct Launched {
  ResidentMailbox* mailbox;
  uint64_t number;
};
std::vector<Launched> launches;
absl::Status answer;

absl::Status Play(ResidentMailbox* mailbox, uint64_t number, int, int, cudaStream_t) {
  launches.push_back({mailbox, number});
  return answer;
}

class ResidentGpuTest : public testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    launches.clear();
    answer = absl::OkStatus();
    auto kernel = ResidentKernel::Create();
    ASSERT_THAT(kernel, IsOk());
    kernel_ = *std::move(kernel);
  }

  // What a thread block of the last launch may do.
  void Do(int thread_block) {
    mailbox().done[thread_block] = posted() & ResidentMailbox::kTaskMask;
  }
  void Leave(int thread_block) { mailbox().left[thread_block] = launches.back().number; }
  // Whether it would stay.
  bool MayStay() const {
    return posted() >> ResidentMailbox::kLaunchShift == launches.back().number;
  }
  uint64_t posted() const { return launches.back().mailbox->posted; }
  ResidentMailbox& mailbox() { return *launches.back().mailbox; }
  bool IsDone() {
    const absl::StatusOr<bool> is_done = kernel_.IsDone();
    EXPECT_THAT(is_done, IsOk());
    return is_done.ok() && *is_done;
  }

  ResidentKernel kernel_;
};

TEST_F(ResidentGpuTest, StaysFromTaskToTask) {
  for (int task = 0; task < 3; ++task) {
    ASSERT_THAT(kernel_.Post(100 - task, 1, &Play), IsOk());
    ASSERT_EQ(launches.size(), 1U);
    EXPECT_TRUE(MayStay());
    EXPECT_FALSE(IsDone());
    EXPECT_TRUE(kernel_.has_task());
    Do(0);
    EXPECT_TRUE(IsDone());
    EXPECT_FALSE(kernel_.has_task());
  }
}

TEST_F(ResidentGpuTest, IsLaunchedOnceMoreIfItLeftBeforeItSawTheTask) {
  ASSERT_THAT(kernel_.Post(100, 1, &Play), IsOk());
  Leave(0);
  EXPECT_FALSE(IsDone());
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_TRUE(MayStay());
  EXPECT_FALSE(IsDone());
  EXPECT_EQ(launches.size(), 2U);
  Do(0);
  EXPECT_TRUE(IsDone());
  Leave(0);
  EXPECT_TRUE(IsDone()) << "it did the task, and left";
  ASSERT_THAT(kernel_.Post(100, 1, &Play), IsOk());
  EXPECT_EQ(launches.size(), 3U) << "it is not there";
}

TEST_F(ResidentGpuTest, WhatOneThreadBlockDidIsNotWaitedForAgain) {
  ASSERT_THAT(kernel_.Post(100, 2, &Play), IsOk());
  Do(0);
  Leave(1);
  EXPECT_FALSE(IsDone());
  ASSERT_EQ(launches.size(), 2U) << "for the one that is away";
  Do(1);
  EXPECT_TRUE(IsDone());
}

TEST_F(ResidentGpuTest, MakesRoomForAnotherThatNeedsMoreOrThatHasReadNothing) {
  ASSERT_THAT(kernel_.Post(100, 1, &Play), IsOk());
  Do(0);
  ASSERT_TRUE(IsDone());
  ASSERT_THAT(kernel_.Post(101, 1, &Play), IsOk());
  ASSERT_EQ(launches.size(), 2U);
  Do(0);
  ASSERT_TRUE(IsDone());
  kernel_.Retire();
  EXPECT_FALSE(MayStay());
  ASSERT_THAT(kernel_.Post(1, 1, &Play), IsOk());
  ASSERT_EQ(launches.size(), 3U);
  EXPECT_TRUE(MayStay());
}

TEST_F(ResidentGpuTest, ALaunchThatIsRefusedIsAnErrorAndTheNextTaskTriesAgain) {
  answer = absl::InternalError("no");
  EXPECT_THAT(kernel_.Post(100, 1, &Play), StatusIs(absl::StatusCode::kInternal, "no"));
  EXPECT_THAT(kernel_.Leave(), IsOk());
  EXPECT_FALSE(kernel_.has_task());
  answer = absl::OkStatus();
  ASSERT_THAT(kernel_.Post(100, 1, &Play), IsOk());
  ASSERT_EQ(launches.size(), 2U);
  Leave(0);
  answer = absl::InternalError("again");
  EXPECT_THAT(kernel_.IsDone(), StatusIs(absl::StatusCode::kInternal, "again"));
  EXPECT_THAT(kernel_.Leave(), IsOk());
  answer = absl::OkStatus();
  ASSERT_THAT(kernel_.Post(100, 1, &Play), IsOk());
  Do(0);
  EXPECT_TRUE(IsDone());
}

}  // namespace
}  // namespace baseband::cuda
