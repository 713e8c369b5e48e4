// Any bytes as a schedule: jobs whose work is nothing, tiny, huge or no number at all, of several
// clients and classes, with deadlines past and to come; cancelled, ended well and badly, in any
// order, on devices that are lost, stand still and come back. On a dispatcher with devices on
// strings and a clock that the bytes set.
//
// Whatever comes: a job is owned by the dispatcher iff it says so, and what it owns is answered
// once; nothing is lost; what it tells of time is finite, and not negative. Nothing here waits: all
// happens on one thread.
#include <fuzzer/FuzzedDataProvider.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/batching/dispatcher.h"
#include "tests/support/no_batch.h"
#include "tests/support/puppet_device.h"

namespace baseband::server {
namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

class IdleOperation final : public Operation {
 public:
  using Operation::Operation;
  std::unique_ptr<Batch> MakeBatch(std::vector<JobPtr> jobs) const override {
    return std::make_unique<NoBatch>(std::move(jobs));
  }
  absl::Status SelfTest(SelfTestBench&) const override { return absl::OkStatus(); }
};

OperationTable& Operations() {
  static auto& operations = *[] {
    auto* const table = new OperationTable();
    for (const char* name : {"Idle", "Search"}) {
      Operation::Description description;
      description.name = name;
      description.is_cut_for_devices = name[0] == 'S';
      table->Add(std::make_unique<IdleOperation>(description));
    }
    return table;
  }();
  return operations;
}

constexpr int64_t kLaneBytes = 1 << 20;

class Schedule {
 public:
  explicit Schedule(FuzzedDataProvider* bytes)
      : bytes_(*bytes),
        first_(2, "first"),
        second_(1, "second"),
        standby_(1, "standby", /*standby=*/true),
        dispatcher_(Options(), std::vector<Device*>(devices_.begin(), devices_.end()), &metrics_) {}

  void Run() {
    constexpr int kMostSteps = 400;
    for (int step = 0; step < kMostSteps && bytes_.remaining_bytes() > 0; ++step) {
      Step();
      CheckTimes();
    }
    // What still runs ends; what waits for it follows, on whatever device.
    for (bool is_idle = false; !is_idle;) {
      is_idle = true;
      for (PuppetDevice* const device : devices_) {
        for (; device->num_running() > 0; is_idle = false) device->End();
      }
    }
    for (const int answers : answers_) Check(answers == 1);
    CheckTimes();
    dispatcher_.WaitUntilIdle();
  }

 private:
  DispatcherOptions Options() {
    DispatcherOptions options;
    options.operations = &Operations();
    options.limits.lane = {kLaneBytes, kLaneBytes, kLaneBytes};
    options.limits.max_blocks = 64;
    options.limits.max_requests = 16;
    options.queue_requests = 32;
    options.queue_bytes = 1 << 20;
    options.low_share = bytes_.ConsumeIntegralInRange(0, 90) / 100.0;
    options.clock = [this] { return now_; };
    return options;
  }

  // A number of seconds or units: of every magnitude, and none.
  double Number() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    switch (bytes_.ConsumeIntegralInRange(0, 9)) {
      case 0:
        return 0.0;
      case 1:
        return kInfinity;
      case 2:
        return -kInfinity;
      case 3:
        return std::numeric_limits<double>::quiet_NaN();
      case 4:
        return std::numeric_limits<double>::denorm_min();
      case 5:
        return std::numeric_limits<double>::max();
      case 6:
        return -1.0;
      case 7:
        return bytes_.ConsumeFloatingPoint<double>();
      default:
        return std::exp2(bytes_.ConsumeIntegralInRange(-40, 40));
    }
  }

  absl::Duration Time() {
    switch (bytes_.ConsumeIntegralInRange(0, 3)) {
      case 0:
        return absl::ZeroDuration();
      case 1:
        return absl::Microseconds(bytes_.ConsumeIntegral<uint16_t>());
      case 2:
        return absl::Milliseconds(bytes_.ConsumeIntegral<uint16_t>());
      default:
        return absl::Hours(bytes_.ConsumeIntegral<uint8_t>());
    }
  }

  absl::Time Deadline() {
    switch (bytes_.ConsumeIntegralInRange(0, 3)) {
      case 0:
        return absl::InfinitePast();
      case 1:
        return now_ - Time();
      case 2:
        return now_ + Time();
      default:
        return absl::InfiniteFuture();
    }
  }

  // Mostly small ones; now and then more than a lane takes.
  int64_t Bytes() {
    return bytes_.ConsumeIntegralInRange(0, 9) == 0
               ? bytes_.ConsumeIntegralInRange<int64_t>(0, 2 * kLaneBytes)
               : bytes_.ConsumeIntegral<uint8_t>();
  }

  void Submit() {
    const auto& operations = Operations().all();
    JobPtr job = std::make_unique<Job>(
        *operations[bytes_.ConsumeIntegralInRange<size_t>(0, operations.size() - 1)]);
    job->footprint = {Bytes(), Bytes(), Bytes(), bytes_.ConsumeIntegralInRange(1, 80)};
    job->payload_bytes = Bytes();
    job->fingerprint = bytes_.ConsumeIntegralInRange<uint64_t>(0, 5);
    job->work.units = Number();
    job->work.shape = bytes_.ConsumeIntegralInRange(0, kNumShapes - 1);
    job->work.guessed_unit_s = Number();
    job->caller.client =
        std::string(1, static_cast<char>('a' + bytes_.ConsumeIntegral<uint8_t>() % 4));
    job->caller.priority = static_cast<Priority>(bytes_.ConsumeIntegralInRange(0, 2));
    job->background = bytes_.ConsumeBool();
    job->deadline = Deadline();
    job->cancelled = std::make_shared<std::atomic<bool>>(false);
    cancelled_.push_back(job->cancelled);
    absl::StatusOr<AdmissionTicket> ticket = dispatcher_.Admit(job.get());
    const JobSchedule& schedule = job->schedule;
    for (const double seconds :
         {schedule.cost_s, schedule.alone_s, schedule.wait_s, schedule.finish_s}) {
      Check(std::isfinite(seconds) && seconds >= 0);
    }
    if (!ticket.ok()) {
      Check(!ticket.status().message().empty());
      return;
    }
    const size_t id = answers_.size();
    answers_.push_back(0);
    job->done = [this, id](const absl::Status& status, JobPtr done) {
      ++answers_[id];
      Check(answers_[id] == 1 && done != nullptr);
      Check(std::isfinite(done->schedule.device_s) && done->schedule.device_s >= 0);
      Check(status.ok() || !status.message().empty());
    };
    const absl::Status status = dispatcher_.Submit(job, *std::move(ticket));
    Check(status.ok() == (job == nullptr));
    if (!status.ok()) {
      Check(answers_[id] == 0);
      answers_[id] = 1;
    }
  }

  void End() {
    PuppetDevice& device = SomeDevice();
    const int running = device.num_running();
    if (running == 0) return;
    const int run = bytes_.ConsumeIntegralInRange(0, running - 1);
    switch (bytes_.ConsumeIntegralInRange(0, 7)) {
      case 0:
        device.End(absl::InternalError("the batch failed"), run);
        break;
      case 1:
        device.set_healthy(false);
        device.End(absl::InternalError("the device failed"), run);
        break;
      default:
        device.End(absl::OkStatus(), run);
    }
  }

  void Step() {
    switch (bytes_.ConsumeIntegralInRange(0, 11)) {
      case 0:
        if (!cancelled_.empty()) {
          cancelled_[bytes_.ConsumeIntegralInRange<size_t>(0, cancelled_.size() - 1)]->store(true);
        }
        break;
      case 1:
        now_ += Time();
        break;
      case 2:
        dispatcher_.LoseDevice(SomeDevice().id(), DeviceLoss::kInjected, "an admin gave it up")
            .IgnoreError();
        break;
      case 3: {  // what the server does once a lost device passes its self-test
        PuppetDevice& device = SomeDevice();
        if (!device.healthy() && device.num_running() == 0) dispatcher_.Restore(device);
        break;
      }
      case 4:
        SomeDevice().set_progress(bytes_.ConsumeIntegral<uint8_t>());
        dispatcher_.LookAtLanes();
        break;
      case 5:
      case 6:
      case 7:
        End();
        break;
      default:
        Submit();
    }
  }

  PuppetDevice& SomeDevice() { return *devices_[bytes_.ConsumeIntegralInRange<size_t>(0, 2)]; }

  void CheckTimes() {
    const absl::Duration hint = dispatcher_.RetryHint();
    Check(hint >= absl::Milliseconds(1) && hint <= absl::Seconds(1));
    dispatcher_.SampleGauges();
  }

  FuzzedDataProvider& bytes_;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  std::vector<int> answers_;  // by job that was admitted
  std::vector<std::shared_ptr<std::atomic<bool>>> cancelled_;
  Metrics metrics_{"fuzzer", Operations().counted()};
  PuppetDevice first_;
  PuppetDevice second_;
  PuppetDevice standby_;
  const std::array<PuppetDevice*, 3> devices_ = {&first_, &second_, &standby_};
  Dispatcher dispatcher_;
};

}  // namespace
}  // namespace baseband::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider bytes(data, size);
  baseband::server::Schedule(&bytes).Run();
  return 0;
}
