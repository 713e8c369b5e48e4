// Faults on purpose, to see what a server and its clients make of them. A server has an injector
// only if it was started to allow that (--allow-fault-injection): its batches and its host memory
// are then wrapped, and otherwise nothing of this is in the way of a request.
#ifndef BASEBAND_SERVER_JOBS_FAULT_INJECTOR_H_
#define BASEBAND_SERVER_JOBS_FAULT_INJECTOR_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/jobs/job.h"

namespace baseband::server {

struct Fault {
  enum class Kind {
    kStall,       // a batch holds its lane for `stall` before it begins; on a GPU its stream does
    kFail,        // a batch ends as Internal, once it has run
    kCorrupt,     // the first bit of a reply's payload is wrong
    kNoMemory,    // host memory is refused as if the pool were full
    kDeviceFault  // the device says under a batch that it is broken
  };
  Kind kind = Kind::kStall;
  int64_t count = 1;  // the next so many batches, replies or allocations
  absl::Duration stall;
  std::string device;  // id of whose batches and replies; empty: anybody's
};

// Thread-safe.
class FaultInjector {
 public:
  FaultInjector();

  // In place of what was armed of that kind before; how much of that was left.
  int64_t Arm(const Fault& fault);

  // As MakeBatch; the batch, for `device`, has the faults that are due. Outlived by the injector
  // and the device.
  std::unique_ptr<Batch> MakeBatch(std::vector<JobPtr> jobs, Device& device);
  // A pool whose leases come from `pool` unless a fault is due. Outlived by the injector.
  std::shared_ptr<HostPool> Wrap(std::shared_ptr<HostPool> pool);

 private:
  class FaultyBatch;
  class FaultyPool;

  // Takes one of the faults of `kind` that are due; if there is one, its `stall` is in `*stall`.
  bool Take(Fault::Kind kind, const std::string& device, absl::Duration* stall = nullptr);

  absl::Mutex mutex_;
  std::array<Fault, 5> armed_ ABSL_GUARDED_BY(mutex_);  // by kind; `count` are left
};

// Enqueues a pause of `stall` on a lane's stream. Unimplemented without CUDA.
absl::Status StallStream(const CudaLaneView& lane, absl::Duration stall);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_JOBS_FAULT_INJECTOR_H_
