// A device on strings.
#ifndef BASEBAND_TESTS_SUPPORT_PUPPET_DEVICE_H_
#define BASEBAND_TESTS_SUPPORT_PUPPET_DEVICE_H_

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "tests/support/fake_device.h"

namespace baseband::server {

// A device whose lanes start a task, on any thread, and end it when the test says so, on the
// test's thread.
class PuppetDevice : public FakeDevice {
 public:
  // And one lane for background work.
  explicit PuppetDevice(int num_lanes, std::string id = "puppet", bool standby = false,
                        bool can_be_reset = false, std::string kind = "puppet")
      : FakeDevice(std::move(kind), std::move(id), standby), can_be_reset_(can_be_reset) {
    for (int i = 0; i <= num_lanes; ++i) {
      lanes_.push_back(std::make_unique<PuppetLane>(this, i, /*background=*/i == num_lanes));
    }
    set_healthy(true);
  }

  int num_running() const {
    absl::MutexLock lock(&mutex_);
    return static_cast<int>(running_.size());
  }
  // Whether so many run, now or within a minute.
  bool AwaitRunning(int count) const {
    absl::MutexLock lock(&mutex_);
    const auto run = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return static_cast<int>(running_.size()) == count;
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&run), absl::Minutes(1));
  }
  int num_blocks(int run) const { return task(run)->num_pieces(); }
  Task* task(int run) const {
    absl::MutexLock lock(&mutex_);
    return running_[static_cast<size_t>(run)].first;
  }
  absl::Status Reset(const Alone& alone) override {
    if (!can_be_reset_) return FakeDevice::Reset(alone);
    ++num_resets_;
    return on_reset_ ? on_reset_(alone) : absl::OkStatus();
  }
  int num_resets() const { return num_resets_; }
  void set_on_reset(std::function<absl::Status(const Alone&)> f) { on_reset_ = std::move(f); }
  // What all lanes say of their progress.
  void set_progress(int64_t progress) { progress_ = progress; }
  // Ends the task that was started first, or as the `run`th of those that run.
  void End(absl::Status status = absl::OkStatus(), int run = 0) {
    Lane::Done done;
    {
      absl::MutexLock lock(&mutex_);
      done = std::move(running_[static_cast<size_t>(run)].second);
      running_.erase(running_.begin() + run);
    }
    done(std::move(status), {});
  }

 private:
  class PuppetLane final : public FakeLane {
   public:
    PuppetLane(PuppetDevice* device, int index, bool background)
        : FakeLane(device, index, background), device_(device) {}
    int64_t progress() const override { return device_->progress_; }
    void Start(Task* task, Done done) override {
      absl::MutexLock lock(&device_->mutex_);
      device_->running_.emplace_back(task, std::move(done));
    }

   private:
    PuppetDevice* const device_;
  };

  const bool can_be_reset_;
  std::atomic<int> num_resets_{0};
  std::function<absl::Status(const Alone&)> on_reset_;
  int64_t progress_ = 0;
  mutable absl::Mutex mutex_;
  std::deque<std::pair<Task*, Lane::Done>> running_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_SUPPORT_PUPPET_DEVICE_H_
