// By what a watchdog tells a lane of the CPU that works from one that stands still.
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "kernels/base/steady_time.h"
#include "kernels/base/work_steps.h"
#include "server/device/cpu_device.h"

namespace baseband::server {
namespace {

// Pieces that wait for the test.
class SlowTask final : public Task {
 public:
  int num_pieces() const override { return 3; }
  void RunPiece(int piece) override {
    begun_[piece].Notify();
    step_[piece].WaitForNotification();
    (void)CountStep();
    stepped_[piece].Notify();
    let_go_[piece].WaitForNotification();
  }
  absl::Status CudaCopyIn(const CudaLaneView&) override { return absl::OkStatus(); }
  absl::Status CudaRun(const CudaLaneView&) override { return absl::OkStatus(); }
  absl::Status CudaCopyOut(const CudaLaneView&) override { return absl::OkStatus(); }

  void Step(int piece) {
    if (!step_[piece].HasBeenNotified()) step_[piece].Notify();
    stepped_[piece].WaitForNotification();
  }
  void LetGo(int piece) {
    Step(piece);
    let_go_[piece].Notify();
  }

  // All that is left, in whatever order the lanes take it.
  void LetAllGo() {
    for (const int piece : {0, 1, 2}) {
      if (!step_[piece].HasBeenNotified()) step_[piece].Notify();
      if (!let_go_[piece].HasBeenNotified()) let_go_[piece].Notify();
    }
  }

  absl::Notification begun_[3];

 private:
  absl::Notification step_[3];
  absl::Notification stepped_[3];
  absl::Notification let_go_[3];
};

class CpuLaneTest : public ::testing::Test {
 protected:
  void Start(int lane, SlowTask* task) {
    lanes_[lane]->Start(task,
                        [this, lane](absl::Status, const StageTimes&) { ended_[lane].Notify(); });
  }

  CpuDevice device_{1};
  Lane* const lanes_[2] = {device_.lanes()[0].get(), device_.lanes()[1].get()};
  absl::Notification ended_[2];
};

TEST_F(CpuLaneTest, ProgressChangesWithEachStepOfAPieceAlsoOfTheLast) {
  SlowTask task;
  Start(0, &task);
  for (const int piece : {0, 1, 2}) {
    task.begun_[piece].WaitForNotification();
    const int64_t before = lanes_[0]->progress();
    EXPECT_EQ(lanes_[0]->progress(), before) << "the piece stands still";
    task.Step(piece);
    EXPECT_NE(lanes_[0]->progress(), before);
    task.LetGo(piece);
  }
  ended_[0].WaitForNotification();
}

TEST_F(CpuLaneTest, ALaneThatWaitsForTheOthersLastPieceHasItsProgress) {
  SlowTask first;
  SlowTask second;
  Start(0, &first);
  first.begun_[0].WaitForNotification();
  first.LetGo(0);
  first.begun_[1].WaitForNotification();
  first.LetGo(1);
  first.begun_[2].WaitForNotification();
  Start(1, &second);
  const int64_t before = lanes_[1]->progress();
  EXPECT_EQ(lanes_[1]->progress(), before);
  first.Step(2);
  EXPECT_NE(lanes_[1]->progress(), before);
  first.LetGo(2);
  for (const int piece : {0, 1, 2}) {
    second.begun_[piece].WaitForNotification();
    second.LetGo(piece);
  }
  for (absl::Notification& ended : ended_) ended.WaitForNotification();
}

TEST_F(CpuLaneTest, WhoeverComesWhileALongBatchRunsWaitsForOneOfItsPieces) {
  SlowTask longer;
  SlowTask shorter;
  Start(0, &longer);
  longer.begun_[0].WaitForNotification();
  Start(1, &shorter);
  // The first piece takes longer than a batch's turn.
  for (const absl::Time begin = SteadyNow(); SteadyNow() < begin + absl::Milliseconds(2);) {
  }
  longer.LetGo(0);
  shorter.begun_[0].WaitForNotification();
  EXPECT_FALSE(longer.begun_[1].HasBeenNotified());
  shorter.LetAllGo();
  longer.LetAllGo();
  for (absl::Notification& ended : ended_) ended.WaitForNotification();
}

}  // namespace
}  // namespace baseband::server
