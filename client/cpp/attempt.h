// One try of a call: where it goes, what it says of itself, when it ends. Internal to the client
// libraries.
#ifndef BASEBAND_CLIENT_CPP_ATTEMPT_H_
#define BASEBAND_CLIENT_CPP_ATTEMPT_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "client/cpp/channel_pool.h"
#include "client/cpp/priority.h"
#include "common/grpc/steady_alarm.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/status.h"

namespace baseband::client {

// What a call says of itself, whatever its kind.
struct CallHeader {
  absl::Time deadline = absl::InfiniteFuture();  // by SteadyNow(); it also travels to the server
  bool wait_for_ready = false;                   // as CallOptions has it
  Priority priority = Priority::kNormal;
  std::string request_id;  // as CallOptions has it
};

// From its construction to End() it counts on its channel, and is cancelled at its deadline: by
// gRPC, or by this side's own timer where gRPC's does not go off, for the host's clock was set
// back. It is the one place where what a caller says of a call becomes metadata, whatever the kind
// of call: what cannot travel is cancelled before it is sent.
class Attempt final : private SteadyTimer::Task {
 public:
  // `channels` must outlive it. `request_bytes`: of the call's one request message, as it is sent;
  // 0 if it has several.
  Attempt(const CallHeader& header, ChannelPool* channels, size_t request_bytes = 0);
  ~Attempt() { End(); }

  grpc::ClientContext* context() { return &context_; }
  PooledChannel& channel() { return channel_; }
  // Thread-safe.
  void Cancel() { context_.TryCancel(); }

  // gRPC is through with it. At most one thread at a time.
  void End();
  // What the call ended with: InvalidArgument if its header cannot travel. A cancellation that
  // `cancelled` does not tell of is the server's, and Unavailable, or this side's timer's, and
  // DeadlineExceeded. RetryAfter() of it is what Pushback() says, if that is a time. After End().
  absl::Status Outcome(const grpc::Status& status, bool cancelled) const;
  // What the server says of when to come back; empty: nothing. InfiniteDuration: not at all, which
  // it says with anything that is no number from 0 on. After End().
  absl::optional<absl::Duration> Pushback() const;

 private:
  void Run() override;  // the deadline has passed

  PooledChannel& channel_;
  absl::Status refusal_;  // not OK: the call is not sent
  grpc::ClientContext context_;
  bool ended_ = false;
  std::atomic<bool> expired_{false};
};

// What a request asks of who sends it again.
struct Repetition {
  // If set, called before it is tried again.
  std::function<void()> before;
  // If set, asked when it has failed: what to send in place of it, which is no further attempt;
  // empty: nothing.
  std::function<absl::optional<grpc::ByteBuffer>(const absl::Status& failure)> instead;
  // Tried again only if a server has answered, and says when to come back: where an attempt's end
  // is not known, it may go on in what is the caller's once another has succeeded.
  bool only_when_told = false;
};

// How often who is to try again looks whether there is a connection by now.
inline constexpr absl::Duration kConnectionLook = absl::Milliseconds(50);

// How often a call is tried, and with which pauses; see ClientOptions.
struct RetryOptions {
  int max_attempts = 1;
  absl::Duration initial_backoff = ClientOptions().initial_backoff;
  absl::Duration max_backoff = ClientOptions().max_backoff;

  RetryOptions() = default;
  explicit RetryOptions(const ClientOptions& options)
      : max_attempts(options.max_attempts),
        initial_backoff(options.initial_backoff),
        max_backoff(options.max_backoff) {}

  // How long to wait before a call is tried again that was tried `attempts` times: not at all at
  // first, for another server may be there; then initial_backoff, doubled each time, at most
  // max_backoff, and up to a fifth more, so that those who failed together do not come back
  // together.
  absl::Duration PauseAfter(int attempts) const;
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_ATTEMPT_H_
