// What is behind a Client: the connections, the completion queues with their threads, and the calls
// in flight. Internal to the client library.
#ifndef BASEBAND_CLIENT_CPP_CALL_RUNNER_H_
#define BASEBAND_CLIENT_CPP_CALL_RUNNER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_set>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/async_call.h"
#include "client/cpp/attempt.h"
#include "client/cpp/channel_pool.h"
#include "client/cpp/stream_call.h"
#include "client/cpp/striped_call.h"
#include "client/cpp/submit_session.h"
#include "client/cpp/unary_call.h"
#include "grpcpp/completion_queue.h"

namespace baseband::client {

// Thread-safe.
class CallRunner {
 public:
  // `options` as CheckOptions has found them right.
  explicit CallRunner(const ClientOptions& options);
  // Cancels what is in flight and waits until all callbacks have run.
  ~CallRunner();

  ChannelPool& channels() { return channels_; }

  // `spec` but for its retries, which are those of the options.
  std::weak_ptr<AsyncCall> StartUnary(CallSpec spec, UnaryCall::Done done);
  // In how many parts a request with so large a payload is best sent now.
  int CountStripes(int64_t payload_bytes) const;
  // `whole` in `parts`, each a call like it.
  std::weak_ptr<AsyncCall> StartStriped(CallSpec whole, const std::vector<grpc::ByteBuffer>& parts,
                                        StripedCall::Done done);
  std::shared_ptr<StreamCall> StartStream(const StreamSpec& spec);
  // The session must not outlive this.
  std::shared_ptr<SubmitSession> StartSession(const SubmitStreamOptions& options);

 private:
  // Starts what `make` makes on the queue that it is given; until it calls what else it is given,
  // it is known here.
  template <typename Make>
  auto StartCall(const Make& make);
  // False once this is being destroyed: the call must then be cancelled by the caller.
  bool Add(const std::shared_ptr<AsyncCall>& call);
  void Remove(const std::shared_ptr<AsyncCall>& call);
  std::vector<std::shared_ptr<AsyncCall>> CloseAndListCalls();

  const RetryOptions retry_;
  const int stripe_from_bytes_;
  ChannelPool channels_;
  std::vector<std::unique_ptr<grpc::CompletionQueue>> queues_;
  std::atomic<unsigned> turn_{0};
  absl::Mutex mutex_;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::unordered_set<std::shared_ptr<AsyncCall>> calls_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_CALL_RUNNER_H_
