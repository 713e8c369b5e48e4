// The CPU as a device: worker threads that share the pieces of the tasks in flight. Background work
// has threads of its own, of low priority: where all cores are wanted, it has some tenth of them.
#ifndef BASEBAND_SERVER_DEVICE_CPU_DEVICE_H_
#define BASEBAND_SERVER_DEVICE_CPU_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "server/device/device.h"
#include "server/device/object_store.h"

namespace baseband::server {

class CpuDevice final : public Device {
 public:
  // `num_threads` >= 1 workers, and two lanes, so that a batch fills the workers while the last
  // pieces of the one before it end; and as many of both for background work.
  explicit CpuDevice(int num_threads, bool standby = false, const ObjectLimits& objects = {});
  ~CpuDevice() override;

  const std::string& kind() const override { return kind_; }
  const std::string& name() const override { return name_; }
  const std::string& id() const override { return id_; }
  int64_t memory_bytes() const override;
  absl::Span<const std::unique_ptr<Lane>> lanes() const override { return lanes_; }
  int pieces_at_once() const override { return num_threads_; }
  absl::Status OnDevice(const std::function<absl::Status()>& f) override { return f(); }
  // Faults only if somebody wants it to, and holds nothing that could be wrong.
  absl::Status Reset(const Alone& alone) override;

 private:
  class CpuLane;
  struct Run;  // a task in flight
  // Workers, and the tasks that they share.
  class Crew;

  // Gives the object store, if there is one, memory.
  absl::Status RenewObjects();

  const int64_t object_bytes_;
  const std::string kind_ = "cpu";
  const std::string id_;
  std::string name_;
  const int num_threads_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<std::unique_ptr<Crew>> crews_;  // last: they end first
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_CPU_DEVICE_H_
