#include "server/jobs/fault_injector.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/status_macros.h"

namespace baseband::server {

// The batch of the operation, and what goes wrong with it.
class FaultInjector::FaultyBatch final : public Batch {
 public:
  FaultyBatch(std::unique_ptr<Batch> batch, FaultInjector* injector, Device& device)
      : Batch({}), batch_(std::move(batch)), injector_(*injector), device_(device) {
    injector_.Take(Fault::Kind::kStall, device_.id(), &stall_);
    fails_ = injector_.Take(Fault::Kind::kFail, device_.id());
    device_faults_ = injector_.Take(Fault::Kind::kDeviceFault, device_.id());
  }

  int num_pieces() const override { return batch_->num_pieces(); }
  void RunPiece(int piece) override {
    if (piece == 0) absl::SleepFor(stall_);
    batch_->RunPiece(piece);
  }
  absl::Status CudaCopyIn(const CudaLaneView& lane) override { return batch_->CudaCopyIn(lane); }
  absl::Status CudaRun(const CudaLaneView& lane) override {
    if (stall_ > absl::ZeroDuration()) BASEBAND_RETURN_IF_ERROR(StallStream(lane, stall_));
    return batch_->CudaRun(lane);
  }
  absl::Status CudaCopyOut(const CudaLaneView& lane) override { return batch_->CudaCopyOut(lane); }
  // A stall goes before the batch on its stream, which a resident kernel does not wait for.
  bool is_in_place() const override {
    return stall_ == absl::ZeroDuration() && batch_->is_in_place();
  }

  absl::Status Finish() override {
    BASEBAND_RETURN_IF_ERROR(batch_->Finish());
    if (device_faults_) {
      device_.set_healthy(false);
      return absl::InternalError("an injected fault: the device says that it is broken");
    }
    if (fails_) return absl::InternalError("an injected fault: the batch failed");
    for (const JobPtr& job : jobs()) {
      if (job->reply_bytes > 0 && injector_.Take(Fault::Kind::kCorrupt, device_.id())) {
        job->reply.data()[0] ^= 0x80;
      }
    }
    return absl::OkStatus();
  }
  absl::Span<const JobPtr> jobs() const override { return batch_->jobs(); }
  std::vector<JobPtr> TakeJobs() override { return batch_->TakeJobs(); }

 private:
  const std::unique_ptr<Batch> batch_;
  FaultInjector& injector_;
  Device& device_;
  absl::Duration stall_;
  bool fails_ = false;
  bool device_faults_ = false;
};

// Has no memory of its own: its leases are those of the pool that it wraps.
class FaultInjector::FaultyPool final : public HostPool {
 public:
  FaultyPool(std::shared_ptr<HostPool> pool, FaultInjector* injector)
      : HostPool(pool->region(), [] {}), pool_(std::move(pool)), injector_(*injector) {}

  absl::StatusOr<HostLease> Lease(int64_t size, int stream) override {
    if (injector_.Take(Fault::Kind::kNoMemory, "")) {
      return absl::ResourceExhaustedError(
          absl::StrCat("an injected fault: no free piece of ", size, " bytes"));
    }
    return pool_->Lease(size, stream);
  }
  void GiveBack() override { pool_->GiveBack(); }
  int64_t used() const override { return pool_->used(); }

 private:
  const std::shared_ptr<HostPool> pool_;
  FaultInjector& injector_;
};

FaultInjector::FaultInjector() {
  absl::MutexLock lock(&mutex_);
  for (Fault& fault : armed_) fault.count = 0;
}

int64_t FaultInjector::Arm(const Fault& fault) {
  absl::MutexLock lock(&mutex_);
  Fault& armed = armed_[static_cast<size_t>(fault.kind)];
  const int64_t left = armed.count;
  armed = fault;
  return left;
}

bool FaultInjector::Take(Fault::Kind kind, const std::string& device, absl::Duration* stall) {
  absl::MutexLock lock(&mutex_);
  Fault& fault = armed_[static_cast<size_t>(kind)];
  if (fault.count == 0 || (!fault.device.empty() && fault.device != device)) return false;
  --fault.count;
  if (stall != nullptr) *stall = fault.stall;
  return true;
}

std::unique_ptr<Batch> FaultInjector::MakeBatch(std::vector<JobPtr> jobs, Device& device) {
  return std::make_unique<FaultyBatch>(server::MakeBatch(std::move(jobs)), this, device);
}

std::shared_ptr<HostPool> FaultInjector::Wrap(std::shared_ptr<HostPool> pool) {
  return std::make_shared<FaultyPool>(std::move(pool), this);
}

}  // namespace baseband::server
