// Brings waiting jobs and free lanes together. Batches form by themselves: when a lane is free,
// what waits leaves; while all are busy, work gathers.
#ifndef BASEBAND_SERVER_BATCHING_DISPATCHER_H_
#define BASEBAND_SERVER_BATCHING_DISPATCHER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "server/batching/admission.h"
#include "server/batching/batch_queue.h"
#include "server/device/device.h"
#include "server/metrics/metrics.h"
#include "server/operations/job.h"

namespace baseband::server {

struct DispatcherOptions {
  BatchLimits limits;
  int64_t queue_requests = 0;
  int64_t queue_bytes = 0;
};

// Promises:
// - A job is owned by the dispatcher iff Submit returned OK; its `done` then runs exactly once,
//   never under a lock.
// - A job whose deadline has passed or whose caller is gone leaves the queue unlaunched.
// - The thread that submits to a free lane also starts it: an idle server adds no thread switch
//   between a request and its kernel.
// - Background jobs and all others neither share a batch nor wait for each other's lanes.
// - A lane that ended a batch starts the next one before the ended one's replies are sent.
// Thread-safe.
class Dispatcher {
 public:
  // `devices` outlive the dispatcher, and so does `metrics`.
  Dispatcher(const DispatcherOptions& options, absl::Span<Device* const> devices, Metrics* metrics);
  // Waits until every accepted job was answered. Nothing may be submitted any more.
  ~Dispatcher();

  // Room for a request of `payload_bytes`; ResourceExhausted when the queues are full.
  absl::StatusOr<AdmissionTicket> Admit(int64_t payload_bytes);

  // Takes `job`, whose payload is in place, and returns OK. Otherwise leaves it where it was:
  // InvalidArgument when it is larger than any lane, Unavailable when no device is healthy.
  absl::Status Submit(JobPtr& job, AdmissionTicket ticket);

  // Returns once every accepted job was answered.
  void WaitUntilIdle();

  // How long a refused request should wait before it comes back: the recent wait in the queue.
  absl::Duration RetryHint() const;

  // Sets the gauges of queues and devices; for the moment before a scrape.
  void SampleGauges() const;

 private:
  struct Start {
    Lane* lane = nullptr;
    std::vector<JobPtr> jobs;
  };

  // Starts batches while there is a free lane and something to run on it.
  void Dispatch() ABSL_LOCKS_EXCLUDED(mutex_);
  // The next batch and its lane, or no lane. Appends what is not to be launched to `dropped`.
  Start Next(bool background, std::vector<std::pair<absl::Status, JobPtr>>* dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Lane* FreeLane(bool background) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  using Queues = std::array<std::vector<BatchQueue>, 2>;  // [background][operation]
  void StartBatch(Start start);
  void EndBatch(Lane* lane, std::unique_ptr<Batch> batch, absl::Status status,
                const StageTimes& stages, absl::Time started);
  void Answer(absl::Status status, JobPtr job);
  bool HasHealthyDevice() const;
  // Wakes up when a queue's delay has passed; runs only if there is a delay.
  void WaitForDelays();

  // What Metrics calls `device`.
  int MetricsNumber(const Device& device) const;

  const DispatcherOptions options_;
  const std::vector<Device*> devices_;
  std::vector<int> metrics_numbers_;  // by device
  Metrics* const metrics_;
  Admission admission_;

  mutable absl::Mutex mutex_;
  Queues queues_ ABSL_GUARDED_BY(mutex_);
  std::vector<Lane*> free_lanes_ ABSL_GUARDED_BY(mutex_);
  int64_t unanswered_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration recent_wait_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::CondVar queue_changed_;
  std::thread delay_thread_;  // last: ends first
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_BATCHING_DISPATCHER_H_
