// The calls behind one SubmitStream: when the server of one goes, another is opened, and what has
// no answer yet goes there. Internal to the client library.
#ifndef BASEBAND_CLIENT_CPP_SUBMIT_SESSION_H_
#define BASEBAND_CLIENT_CPP_SUBMIT_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/attempt.h"
#include "client/cpp/submit_call.h"
#include "grpcpp/support/byte_buffer.h"
#include "kernels/base/steady_condition.h"

namespace baseband::client {

// The contract of its methods is SubmitStream's. Thread-safe.
class SubmitSession : public std::enable_shared_from_this<SubmitSession> {
 public:
  // What it needs of the client.
  struct Connection {
    RetryOptions retry;                                 // of a request
    std::function<std::shared_ptr<SubmitCall>()> open;  // a call that has been started
    // Runs `then` on a polling thread after `delay`, and at most as long again until there is a
    // connection; or, with false, when the client ends before.
    std::function<void(absl::Duration delay, std::function<void(bool)> then)> after;
  };

  // Opens the first call.
  explicit SubmitSession(Connection connection);

  absl::Status Submit(SubmitItem item, bool wait_for_credits);
  int in_flight() const;
  absl::Status Finish();
  void Cancel();

 private:
  using CallPtr = std::shared_ptr<SubmitCall>;
  struct Sent {
    SubmitItem item;
    int attempts = 1;
  };
  using SentPtr = std::shared_ptr<Sent>;

  // The call for what is sent now.
  CallPtr Current();
  // No more goes to `call`; what it has is answered or sent again.
  void Retire(const CallPtr& call);
  // What goes to `call`: its answer comes here first.
  SubmitItem Watched(const SentPtr& sent, const CallPtr& call);
  bool MayTryAgain(const Sent& sent) const;
  // Waits as long as a request is not tried again that was tried so often; false: cancelled, or
  // there is not so much time.
  bool PauseAfter(int attempts, absl::Time deadline);
  // What is sent in place of what failed with `status` goes where that has gone, whatever credits
  // there are. False: nothing is.
  bool SendInstead(const SentPtr& sent, const absl::Status& status);
  void OnAnswer(const SentPtr& sent, const CallPtr& call, absl::StatusOr<grpc::ByteBuffer> answer);
  void SendAgain(const SentPtr& sent);
  void Answer(const SentPtr& sent, absl::StatusOr<grpc::ByteBuffer> answer);

  const Connection connection_;

  mutable absl::Mutex mutex_;
  SteadyCondition changed_;  // cancelled_
  CallPtr current_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<SubmitCall>> retired_ ABSL_GUARDED_BY(mutex_);
  int64_t unanswered_ ABSL_GUARDED_BY(mutex_) = 0;  // also those whose callback runs
  int pausing_ ABSL_GUARDED_BY(mutex_) = 0;         // of them, those in no call
  bool finish_wanted_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  bool gave_up_ ABSL_GUARDED_BY(mutex_) = false;  // a request is Unavailable for good
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_SUBMIT_SESSION_H_
