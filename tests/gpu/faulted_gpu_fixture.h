// Fixture of the tests in which a GPU faults for real, and load that goes on meanwhile.
#ifndef BASEBAND_TESTS_GPU_FAULTED_GPU_FIXTURE_H_
#define BASEBAND_TESTS_GPU_FAULTED_GPU_FIXTURE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/device/cuda_device.h"
#include "server/jobs/self_test.h"
#include "server/process/device_supervisor.h"
#include "tests/gpu/lanes.h"
#include "tests/support/gpu_test.h"
#include "tests/support/matchers.h"
#include "tests/support/test_operations.h"

namespace baseband::server {

// Writes where it must not, after its work. Not in place, whatever it wraps.
class DeadlyBatch final : public Batch {
 public:
  explicit DeadlyBatch(std::unique_ptr<Batch> batch) : Batch({}), batch_(std::move(batch)) {}
  int num_pieces() const override { return batch_->num_pieces(); }
  void RunPiece(int piece) override { batch_->RunPiece(piece); }
  absl::Status CudaCopyIn(const CudaLaneView& lane) override { return batch_->CudaCopyIn(lane); }
  absl::Status CudaRun(const CudaLaneView& lane) override;
  absl::Status CudaCopyOut(const CudaLaneView& lane) override { return batch_->CudaCopyOut(lane); }
  absl::Status Finish() override { return batch_->Finish(); }
  absl::Span<const JobPtr> jobs() const override { return batch_->jobs(); }
  std::vector<JobPtr> TakeJobs() override { return batch_->TakeJobs(); }

 private:
  const std::unique_ptr<Batch> batch_;
};

class FaultedGpuTest : public ::baseband::testing::GpuTest {
 protected:
  static constexpr int kNumLanes = 4;
  static constexpr int kFaults = 8;

  // For which drivers a test is: for those that make another context in a process in which a kernel
  // has faulted, or for those that refuse it, whose process is lost then to tests that come later.
  enum class Drivers { kAll, kThatReset, kThatRefuse };

  explicit FaultedGpuTest(Drivers drivers, bool resident = false)
      : drivers_(drivers), resident_(resident) {}
  void SetUp() override;

  absl::Status SelfTest() { return RunSelfTest(*device_, TestOperations(), *pool_, *pool_); }
  // With its memory, and `payload` repeated in it.
  JobPtr WithMemory(JobPtr job, const std::string& payload);
  // Of all-zero code words, whose bits are zeros.
  JobPtr DecodeJobOf(int blocks);
  // Runs a batch of one on a lane to its end.
  absl::Status RunOn(int lane, JobPtr job, bool deadly = false);
  // The same with what brings the device down.
  absl::Status BringDown(int lane) { return RunOn(lane, DecodeJobOf(2), /*deadly=*/true); }

  Metrics metrics_{"test", TestOperations().counted()};
  std::unique_ptr<CudaDevice> device_;
  std::shared_ptr<HostPool> pool_;

 private:
  const Drivers drivers_;
  const bool resident_;
};

// Clients of a dispatcher who send one job after the other, each its own, and the supervisor that
// brings the device back.
class LoadBesideFaults {
 public:
  struct Question {
    std::function<JobPtr()> make_job;
    std::string reply;  // its right answer
  };
  using Spoil = std::function<std::unique_ptr<Batch>(std::vector<JobPtr>, Device&)>;

  // Begins. A batch is what `spoil` makes of its jobs where a fault is due.
  LoadBesideFaults(Device* device, Metrics* metrics, std::function<absl::Status()> self_test,
                   std::vector<Question> questions, Spoil spoil);
  // Waits until all that was submitted was answered, and the lanes have ended.
  ~LoadBesideFaults();

  // The next batch is spoilt; returns once a client has felt it.
  void Fault();
  // False: it has not become true in the time that all of a test may take.
  bool Await(const std::function<bool()>& condition) const;
  // Until so many more right answers have come.
  bool AwaitRight(int more);
  // Ends the clients, with their last answers.
  void Stop();

  Dispatcher& dispatcher() { return *dispatcher_; }
  int wrong() const { return wrong_; }
  // Of the process, asked for as no device is left.
  int ends() const { return ends_; }

 private:
  DeviceSupervisorOptions Supervising(Device* device, std::function<absl::Status()> self_test);
  DispatcherOptions Dispatching(Spoil spoil);
  void Ask(const Question& question);

  const absl::Time deadline_;
  const std::vector<Question> questions_;
  std::atomic<bool> fault_is_due_{false};
  std::atomic<bool> stop_{false};
  std::atomic<int> right_{0};
  std::atomic<int> wrong_{0};
  std::atomic<int> failed_{0};
  std::atomic<int> ends_{0};
  Lifecycle lifecycle_;
  DeviceSupervisor supervisor_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::vector<std::thread> clients_;
};

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_GPU_FAULTED_GPU_FIXTURE_H_
