// By what a watchdog tells a lane of the CPU that works from one that stands still.
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "server/device/cpu_device.h"

namespace baseband::server {
namespace {

// Pieces that wait for the test.
class SlowTask final : public Task {
 public:
  int num_pieces() const override { return 3; }
  void RunPiece(int piece) override {
    begun_[piece].Notify();
    let_go_[piece].WaitForNotification();
  }
  absl::Status CudaCopyIn(const CudaLaneView&) override { return absl::OkStatus(); }
  absl::Status CudaRun(const CudaLaneView&) override { return absl::OkStatus(); }
  absl::Status CudaCopyOut(const CudaLaneView&) override { return absl::OkStatus(); }

  absl::Notification begun_[3];
  absl::Notification let_go_[3];
};

TEST(CpuLaneTest, ProgressChangesWithEachPieceThatBeginsOnTheCrew) {
  CpuDevice device(1);
  SlowTask first;
  SlowTask second;
  absl::Notification ended[2];
  Lane& lane = *device.lanes()[0];
  Lane& next = *device.lanes()[1];
  lane.Start(&first, [&](absl::Status, const StageTimes&) { ended[0].Notify(); });
  first.begun_[0].WaitForNotification();
  next.Start(&second, [&](absl::Status, const StageTimes&) { ended[1].Notify(); });
  const int64_t before = lane.progress();
  EXPECT_EQ(lane.progress(), before);
  EXPECT_EQ(next.progress(), before) << "it waits for the other lane's";
  first.let_go_[0].Notify();
  first.begun_[1].WaitForNotification();
  EXPECT_NE(lane.progress(), before);
  EXPECT_NE(next.progress(), before);
  first.let_go_[1].Notify();
  first.begun_[2].WaitForNotification();
  const int64_t last = lane.progress();  // each worker has its last piece in hand
  first.let_go_[2].Notify();
  for (absl::Notification& let_go : second.let_go_) let_go.Notify();
  ended[1].WaitForNotification();
  ended[0].WaitForNotification();
  EXPECT_EQ(lane.progress(), last);
}

}  // namespace
}  // namespace baseband::server
