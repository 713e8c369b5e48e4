// The CPU as a device: worker threads that share the pieces of the tasks in flight.
#ifndef BASEBAND_SERVER_DEVICE_CPU_DEVICE_H_
#define BASEBAND_SERVER_DEVICE_CPU_DEVICE_H_

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/device/device.h"

namespace baseband::server {

class CpuDevice final : public Device {
 public:
  // `num_threads` >= 1 workers, and two lanes, so that a batch fills the workers while the last
  // pieces of the one before it end.
  explicit CpuDevice(int num_threads);
  ~CpuDevice() override;

  const std::string& kind() const override { return kind_; }
  const std::string& name() const override { return name_; }
  const std::string& id() const override { return kind_; }
  int64_t memory_bytes() const override;
  absl::Span<const std::unique_ptr<Lane>> lanes() const override { return lanes_; }
  int pieces_at_once() const override { return static_cast<int>(workers_.size()); }
  absl::Status OnDevice(const std::function<absl::Status()>& f) override { return f(); }

 private:
  class CpuLane;
  struct Run;  // a task in flight

  void Enqueue(std::shared_ptr<Run> run);
  void Work();

  const std::string kind_ = "cpu";
  std::string name_;
  std::vector<std::unique_ptr<Lane>> lanes_;

  absl::Mutex mutex_;
  std::deque<std::shared_ptr<Run>> runs_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;  // last: ends first
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_CPU_DEVICE_H_
