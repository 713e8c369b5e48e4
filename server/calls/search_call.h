// One call of Minimize: a request, then progress while the grid is searched, then the answer.
//
// The search is cut into pieces, a few of which are in flight at a time; between them the devices
// serve everybody else. Bounded: one response is being written at a time, and progress for which a
// client is too slow is left out.
#ifndef BASEBAND_SERVER_CALLS_SEARCH_CALL_H_
#define BASEBAND_SERVER_CALLS_SEARCH_CALL_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "server/calls/request_call.h"
#include "server/limits/byte_limit.h"
#include "server/operations/minimize/minimize.h"
#include "server/operations/minimize/minimize_converter.h"
#include "server/operations/minimize/minimize_metrics.h"

namespace baseband::server {

// Deletes itself once gRPC is through with it.
class SearchCall final : public RequestCall {
 public:
  // Waits for the next call of `method` on `queue`; when it comes, waits for another. `method`
  // outlives the calls.
  static void Listen(const CallEnvironment* environment, const OperationMethod* method,
                     grpc::ServerCompletionQueue* queue);

 private:
  using Event = MemberEvent<SearchCall>;

  SearchCall(const CallEnvironment* environment, const OperationMethod* method,
             grpc::ServerCompletionQueue* queue);

  void ListenForNext() override { Listen(&environment_, &method_, queue_); }
  // Begins the search, or goes on on the slow path with it, or says why not.
  absl::Status Accept() override;
  void Refuse(const absl::Status& status) override { End(status); }
  void OnRoom(bool ok);  // time to look for room again
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  void OnCancelled() override ABSL_LOCKS_EXCLUDED(mutex_);
  void Destroy() override ABSL_NO_THREAD_SAFETY_ANALYSIS;  // nobody else is there any more

  // Makes the search of the request; where that takes long, as long as `may_continue` says so.
  absl::Status Prepare(const ContinueCheck& may_continue);
  // Begins the search, if what it needs of the GPUs is there, or `may_continue` to wait for it.
  // False: neither.
  absl::StatusOr<bool> Begin(const ContinueCheck* may_continue);
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
  void SendAnswer(const ContinueCheck& may_continue) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  // Sends `answer`, if there is one, and the status; waits for a response that is being written.
  void End(const absl::Status& status, absl::optional<grpc::ByteBuffer> answer = absl::nullopt)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Finish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  MinimizeMetrics& Results() {
    return static_cast<MinimizeMetrics&>(environment_.metrics->ResultsOf(method_.operation->rpc()));
  }

  const OperationMethod& method_;
  Event room_{this, &SearchCall::OnRoom};
  Event written_{this, &SearchCall::OnWritten};
  Event finished_{this, &SearchCall::OnFinished};

  Request wire_request_;                // until the search is made of it
  std::optional<ParsedSearch> parsed_;  // likewise
  absl::Duration progress_interval_ = absl::InfiniteDuration();
  ByteHold memory_;
  bool counted_programs_ = false;  // once a search, though it may look twice
  SearchCapacity capacity_;
  std::shared_ptr<SearchPlan> plan_;

  absl::Mutex mutex_;
  absl::optional<minimize::Search> search_ ABSL_GUARDED_BY(mutex_);
  std::vector<JobPtr> waiting_ ABSL_GUARDED_BY(mutex_);  // pieces there was no room for
  int in_flight_ ABSL_GUARDED_BY(mutex_) = 0;
  JobTimes last_times_ ABSL_GUARDED_BY(mutex_);
  bool answering_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time next_progress_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status end_ ABSL_GUARDED_BY(mutex_);
  absl::optional<grpc::ByteBuffer> answer_ ABSL_GUARDED_BY(mutex_);
  int64_t response_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<SteadyAlarm> room_alarm_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_SEARCH_CALL_H_
