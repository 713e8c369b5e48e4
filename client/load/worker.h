// One worker of a load: a completion queue of its own, a thread that sends when calls are due, and
// a thread that takes the answers. (gRPC's callback API would let answers wait for up to 100 ms
// after a second of silence.)
#ifndef BASEBAND_CLIENT_LOAD_WORKER_H_
#define BASEBAND_CLIENT_LOAD_WORKER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "client/cpp/async_call.h"
#include "client/cpp/attempt.h"
#include "client/cpp/channel_pool.h"
#include "client/cpp/ring.h"
#include "client/cpp/shared_arena.h"
#include "client/cpp/shared_memory.h"
#include "client/cpp/submit_call.h"
#include "client/load/arrivals.h"
#include "client/load/placed_payloads.h"
#include "client/load/recorder.h"
#include "client/load/workload.h"
#include "grpcpp/grpcpp.h"
#include "kernels/base/steady_condition.h"

namespace baseband::load {

struct WorkerSpec {
  Pace pace;  // of the whole load; this worker does its part of it
  int part = 0;
  int parts = 1;
  int in_flight = 1;       // of this worker: a closed loop's, or an open loop's cap
  absl::Duration timeout;  // of calls without a deadline
  Window window;           // after its end nothing is sent any more
  uint64_t seed = 1;
  client::ClientOptions client;  // of this worker's connections
  bool stream = false;           // a Submit stream on each of them, in place of unary calls
  std::shared_ptr<client::SharedArena> arena;  // as LoadSpec has it
  absl::optional<v1::SharedMemoryCapabilities>
      rings;                // likewise, with this worker's part of memory
  bool in_place = false;    // likewise
  bool can_cancel = false;  // an open loop whose Cancel() may be called
};

class Worker {
 public:
  using Clock = std::chrono::steady_clock;

  // `workloads` must outlive it.
  Worker(const WorkerSpec& spec, const std::vector<Workload>* workloads);

  // Before Start(); as ChannelPool::Connect, and Ring::Connect.
  absl::Status Connect(absl::Duration timeout, bool keep_trying);
  // The load begins at `begin`; then Join() must be called.
  void Start(Clock::time_point begin);
  // Sends nothing more.
  void Stop();
  // Of an open loop: waits until its schedule is over, and all that was due has been sent, or has
  // found no room.
  void AwaitSent();
  // After AwaitSent(): what is in flight ends at once, and has expired.
  void Cancel();
  // Waits until the schedule is over and all calls have ended.
  void Join();

  Recorder& recorder() { return recorder_; }
  // After Join(): the share of its life that the busier thread was on a processor.
  double busy() const { return busy_; }

 private:
  struct Call;

  absl::Status ConnectRing();
  absl::Status PlaceInArena();
  void SendAll();
  void ReceiveAll();
  // False once nothing more may be sent.
  bool SleepUntil(int64_t due_ns) const;
  bool WaitForRoom(int64_t give_up_ns);
  void Send(size_t workload, int64_t due_ns);
  // The message that brings the call's request, whose payload may go another way.
  grpc::ByteBuffer Message(Call* call) const;
  void SendUnary(std::unique_ptr<Call> call, int64_t deadline_ns);
  // Remembers it for Cancel().
  void Track(const std::shared_ptr<client::AsyncCall>& call);
  // Takes the call's answer.
  std::function<void(absl::StatusOr<grpc::ByteBuffer>)> WhenDone(std::unique_ptr<Call> call);
  void SendOnRing(std::unique_ptr<Call> call, int64_t deadline_ns);
  // Opens a stream anew that has ended.
  void SendOnStream(std::unique_ptr<Call> call, int64_t deadline_ns);
  std::shared_ptr<client::SubmitCall> NewStream();  // not started yet
  void CloseStreams();
  void Skip(size_t workload, int64_t due_ns);
  // In a closed loop, in place of one that the client did not send: who sent another at once would
  // do nothing but that.
  void SendLater();
  void LeaveRoom();
  // Counts the call, and in a closed loop sends another.
  void OnEnd(const Call& call);
  void Count(const Call& call);
  size_t Draw() { return draw_(random_); }
  // The time by which an answer to a call of `workload` is due.
  int64_t Deadline(const Workload& workload, int64_t due_ns) const;
  int64_t NowNs() const;

  const WorkerSpec spec_;
  const std::vector<Workload>& workloads_;
  Recorder recorder_;
  client::ChannelPool channels_;
  client::Buffer placed_in_;  // empty: in the ring's memory
  absl::optional<PlacedPayloads> placed_;
  const client::RetryOptions retry_;
  grpc::CompletionQueue queue_;
  Clock::time_point begin_;
  // Of the thread that sends: `sender_`, or in a closed loop, after Start(), `receiver_`.
  std::mt19937_64 random_;
  std::discrete_distribution<size_t> draw_;
  std::vector<size_t> turns_;  // the next request of each workload
  std::vector<std::shared_ptr<client::SubmitCall>> streams_;
  size_t next_stream_ = 0;
  std::vector<std::weak_ptr<client::AsyncCall>> calls_;  // those that may be in flight
  size_t tidy_at_ = 0;                                   // when so many are, some have ended
  std::atomic<bool> stopped_{false};
  std::atomic<bool> cancelled_{false};
  std::atomic<double> busy_{0};
  absl::Mutex mutex_;
  SteadyCondition room_;                       // in_flight_ goes down, stopped_
  bool sent_ ABSL_GUARDED_BY(mutex_) = false;  // the schedule is over
  int in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  int open_streams_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread receiver_;
  std::thread sender_;
  std::unique_ptr<client::Ring> ring_;  // null: without; its thread uses the rest
};

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_WORKER_H_
