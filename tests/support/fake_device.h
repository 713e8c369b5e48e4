// What devices of tests have in common: all but their lanes.
#ifndef BASEBAND_TESTS_SUPPORT_FAKE_DEVICE_H_
#define BASEBAND_TESTS_SUPPORT_FAKE_DEVICE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/device/device.h"

namespace baseband::server {

class FakeDevice : public Device {
 public:
  // `kind` is its name, too, and its id unless that is said.
  explicit FakeDevice(const std::string& kind) : FakeDevice(kind, kind) {}
  FakeDevice(std::string kind, std::string id, bool standby = false)
      : Device(standby), kind_(std::move(kind)), id_(std::move(id)) {}

  const std::string& kind() const override { return kind_; }
  const std::string& name() const override { return kind_; }
  const std::string& id() const override { return id_; }
  int64_t memory_bytes() const override { return 0; }
  absl::Span<const std::unique_ptr<Lane>> lanes() const override { return lanes_; }
  int pieces_at_once() const override { return 1; }
  absl::Status OnDevice(const std::function<absl::Status()>& f) override { return f(); }
  absl::Status Reset(const Alone&) override { return absl::UnimplementedError("a fake"); }

 protected:
  std::vector<std::unique_ptr<Lane>> lanes_;

 private:
  const std::string kind_;
  const std::string id_;
};

// A lane without a task.
class FakeLane : public Lane {
 public:
  FakeLane(Device* device, int index, bool background)
      : device_(*device), index_(index), background_(background) {}
  Device& device() override { return device_; }
  int index() const override { return index_; }
  bool background() const override { return background_; }

 private:
  Device& device_;
  const int index_;
  const bool background_;
};

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_SUPPORT_FAKE_DEVICE_H_
