// Requests of any operation, many at a time on one stream, for programs that send every slot:
// Client::OpenSubmitStream().
//
//   auto stream = client->OpenSubmitStream();
//   SubmitOptions options;
//   options.timeout = absl::Milliseconds(2);
//   absl::Status status = (*stream)->Submit(request, options,
//       [](absl::StatusOr<v1::DecodeResponse> response) { .. });
//   ..
//   status = (*stream)->Finish();
//
// Answers come when they are done, not in the order of the requests.
#ifndef BASEBAND_CLIENT_CPP_SUBMIT_STREAM_H_
#define BASEBAND_CLIENT_CPP_SUBMIT_STREAM_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "baseband/v1/baseband.pb.h"
#include "client/cpp/priority.h"
#include "client/cpp/visibility.h"

namespace baseband::client {

struct SubmitStreamOptions {
  // The longest time without any response while some are due; then the stream is cancelled. > 0.
  absl::Duration response_timeout = absl::Seconds(60);
  bool wait_for_ready = false;            // as CallOptions has it, within response_timeout
  Priority priority = Priority::kNormal;  // of requests that name none
};

struct SubmitOptions {
  // From now, for all attempts; afterwards it is DeadlineExceeded, whatever the server does, and no
  // device time is spent if that shows before. What has to wait here, for credits or for those that
  // are being sent, goes earliest end of the timeout first. In its turn it is DeadlineExceeded at
  // once, unsent, if others are in flight and less is left than 19 of 20 answers took, in the last
  // ten to twenty seconds, to requests of the same operation, size and timeout (within a tenth). If
  // as many of the client's are in flight as are in time, it waits for room while it has the time,
  // with its credits; most time first, for where not all can be in time they are most likely to be.
  // Without ClientOptions::throttle neither. > 0.
  absl::Duration timeout = absl::InfiniteDuration();
  absl::optional<Priority> priority;
  // What to do when the server's credits are used up: wait for some, or return ResourceExhausted.
  bool wait_for_credits = true;
};

// When the server says that a request it refused is worth another try; zero: it does not say. Of a
// status of any call of this library.
BASEBAND_PUBLIC absl::Duration RetryAfter(const absl::Status& status);

// Thread-safe; several threads may submit.
class BASEBAND_PUBLIC SubmitStream {
 public:
  template <typename Response>
  using Callback = std::function<void(absl::StatusOr<Response>)>;

  // `arena` says which memory is shared with the server now, null: none; as long as the client
  // lives.
  SubmitStream(std::shared_ptr<class SubmitSession> session,
               std::function<std::shared_ptr<class SharedArena>()> arena);
  // Cancels what is not over; does not wait.
  ~SubmitStream();
  SubmitStream(const SubmitStream&) = delete;
  SubmitStream& operator=(const SubmitStream&) = delete;

  // Sends `request`. OK: `done` runs exactly once, on a polling thread of the client, never inside
  // this call, with the response or with the server's error, or Cancelled after Cancel(). `done`
  // must not block: it may submit, but not wait for credits.
  // A stream stays with one server. When that drains or goes, the next one is opened, and what has
  // no answer is sent there, up to ClientOptions::max_attempts times, with its pauses, and no
  // longer than its timeout; then it is Unavailable. A stream that ended with any other error gives
  // it to the requests that it had, and they are not tried again. Otherwise `done` never runs:
  // ResourceExhausted: no credits, also before the server has granted the first ones;
  // DeadlineExceeded: none came within the timeout; Unavailable: the stream has ended;
  // FailedPrecondition: after Finish(); InvalidArgument: the timeout.
  absl::Status Submit(const v1::EncodeRequest& request, const SubmitOptions& options,
                      Callback<v1::EncodeResponse> done);
  absl::Status Submit(const v1::DecodeRequest& request, const SubmitOptions& options,
                      Callback<v1::DecodeResponse> done);
  absl::Status Submit(const v1::EncodeSharedChannelRequest& request, const SubmitOptions& options,
                      Callback<v1::EncodeSharedChannelResponse> done);
  absl::Status Submit(const v1::DecodeSharedChannelRequest& request, const SubmitOptions& options,
                      Callback<v1::DecodeSharedChannelResponse> done);
  absl::Status Submit(const v1::RecoverCarrierRequest& request, const SubmitOptions& options,
                      Callback<v1::RecoverCarrierResponse> done);
  absl::Status Submit(const v1::DownconvertRequest& request, const SubmitOptions& options,
                      Callback<v1::DownconvertResponse> done);

  // Requests without an answer yet.
  int in_flight() const;

  // The end: waits for the answers that are due, and returns how the stream ended, the first time
  // and afterwards. OK: each request has been answered by a server. Not from a callback.
  absl::Status Finish();
  // From any thread. Finish() then returns Cancelled, unless the stream was over.
  void Cancel();

 private:
  const std::shared_ptr<class SubmitSession> session_;
  const std::function<std::shared_ptr<class SharedArena>()> arena_;
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_SUBMIT_STREAM_H_
