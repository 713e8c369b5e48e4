// One call whose request goes in parts, each as a call, over several connections. Internal to the
// client library.
#ifndef BASEBAND_CLIENT_CPP_STRIPED_CALL_H_
#define BASEBAND_CLIENT_CPP_STRIPED_CALL_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/cpp/async_call.h"
#include "client/cpp/unary_call.h"
#include "grpcpp/support/byte_buffer.h"

namespace baseband::client {

// Fails with the first error of a part, and the others are cancelled. Where a part is refused as
// wrong, the whole request goes as one call instead: its error names the group by its place there.
// Thread-safe.
class StripedCall final : public AsyncCall, public std::enable_shared_from_this<StripedCall> {
 public:
  // Starts a call with `request`.
  using StartCall =
      std::function<std::weak_ptr<AsyncCall>(const grpc::ByteBuffer& request, UnaryCall::Done)>;
  // The answers to the parts in order, or that to the whole.
  using Done = std::function<void(absl::StatusOr<std::vector<grpc::ByteBuffer>>)>;

  // `done` runs exactly once, where that of the last call does.
  StripedCall(StartCall start, grpc::ByteBuffer whole, Done done)
      : start_(std::move(start)), whole_(std::move(whole)), done_(std::move(done)) {}

  // Once.
  void Start(const std::vector<grpc::ByteBuffer>& parts);
  void Cancel() override;
  void OnEvent(int /*event*/, bool /*ok*/) override {}  // it has none of its own

 private:
  void OnAnswer(size_t part, absl::StatusOr<grpc::ByteBuffer> answer);
  void CancelParts() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StartCall start_;
  const grpc::ByteBuffer whole_;
  const Done done_;

  absl::Mutex mutex_;
  std::vector<grpc::ByteBuffer> answers_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::weak_ptr<AsyncCall>> calls_ ABSL_GUARDED_BY(mutex_);
  size_t open_ ABSL_GUARDED_BY(mutex_) = 0;  // parts without an answer
  bool is_whole_ ABSL_GUARDED_BY(mutex_) = false;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);  // of the first part that failed
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_STRIPED_CALL_H_
