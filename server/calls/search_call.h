// One call of Minimize: a request, then progress while the grid is searched, then the answer.
//
// The search is cut into pieces, a few of which are in flight at a time; between them the devices
// serve everybody else. Bounded: one response is being written at a time, and progress for which a
// client is too slow is left out.
#ifndef BASEBAND_SERVER_CALLS_SEARCH_CALL_H_
#define BASEBAND_SERVER_CALLS_SEARCH_CALL_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "server/calls/call_environment.h"
#include "server/limits/byte_limit.h"
#include "server/operations/minimize.h"

namespace baseband::server {

// Deletes itself once gRPC is through with it.
class SearchCall {
 public:
  // Waits for the next call on `queue`; when it comes, waits for another.
  static void Listen(const CallEnvironment* environment, grpc::ServerCompletionQueue* queue);

 private:
  using Event = MemberEvent<SearchCall>;

  SearchCall(const CallEnvironment* environment, grpc::ServerCompletionQueue* queue);

  void OnArrived(bool ok);
  void OnNotified(bool ok);  // finished or cancelled, whichever comes first
  void OnRoom(bool ok);      // time to look for room again
  void OnWritten(bool ok);
  void OnStalled(bool ok);  // the client should have read the answer by now
  void OnFinished(bool ok);

  // Begins the search, or says why not. Not `on_slow_path`: steps that take long are put off, and
  // it is called again there.
  absl::Status Accept(bool on_slow_path);
  // Begins the search; what it needs of the GPUs is there.
  absl::Status Begin();
  // Refuses the request, if `status` says so.
  void RejectIfError(const absl::Status& status);
  // Brings as many pieces on their way as there is room for.
  absl::Status Pump() ABSL_LOCKS_EXCLUDED(mutex_);
  JobPtr NextPiece() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A piece's completion, on any thread.
  void Take(const absl::Status& status, JobPtr job) ABSL_LOCKS_EXCLUDED(mutex_);
  void MaybeWriteProgress() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The search is done: nobody changes it any more.
  void Answer() ABSL_LOCKS_EXCLUDED(mutex_);
  void SendAnswer() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  // Whether to go on with that: others wait for the slow path.
  absl::Status Refining(absl::Duration so_far) const;
  // Sends `answer`, if there is one, and the status; waits for a response that is being written.
  void End(const absl::Status& status, absl::optional<grpc::ByteBuffer> answer = absl::nullopt)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Finish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Does `work` on the slow path, unless the client is gone by then; or says why not.
  absl::Status RunOnSlowPath(int64_t bytes, std::function<void()> work);
  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  // The last one is alone with the call, and deletes it.
  void Unref() ABSL_NO_THREAD_SAFETY_ANALYSIS;

  const CallEnvironment& environment_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncWriter<grpc::ByteBuffer> stream_;
  Event arrived_{this, &SearchCall::OnArrived};
  Event notified_{this, &SearchCall::OnNotified};
  Event room_{this, &SearchCall::OnRoom};
  Event written_{this, &SearchCall::OnWritten};
  Event stalled_{this, &SearchCall::OnStalled};
  Event finished_{this, &SearchCall::OnFinished};

  const std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  absl::Time given_up_ = absl::InfiniteFuture();  // by the client; once cancelled_ is set
  absl::Time arrival_;
  absl::Time deadline_;
  Caller caller_;
  ClientHold hold_;
  absl::Duration progress_interval_ = absl::InfiniteDuration();
  ByteHold memory_;
  bool inside_ = false;            // the door
  bool counted_programs_ = false;  // once a search, though it may look twice
  SearchCapacity capacity_;
  std::shared_ptr<SearchPlan> plan_;

  absl::Mutex mutex_;
  absl::optional<minimize::Search> search_ ABSL_GUARDED_BY(mutex_);
  std::vector<JobPtr> waiting_ ABSL_GUARDED_BY(mutex_);  // pieces there was no room for
  int in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  JobTimes last_times_ ABSL_GUARDED_BY(mutex_);
  absl::Time answered_ ABSL_GUARDED_BY(mutex_);
  bool answering_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time next_progress_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool refused_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);
  absl::optional<grpc::ByteBuffer> answer_ ABSL_GUARDED_BY(mutex_);
  int64_t response_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<SteadyAlarm> room_alarm_ ABSL_GUARDED_BY(mutex_);
  SteadyAlarm stall_alarm_ ABSL_GUARDED_BY(mutex_);

  // Events that are due, and work on other threads. Of a call that arrived: OnArrived, and
  // OnNotified, which may come on another thread before OnArrived has begun.
  std::atomic<int> references_{2};
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_SEARCH_CALL_H_
