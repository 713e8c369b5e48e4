// One bidirectional call with one response a request: its window, its patience. Internal to the
// client library.
#ifndef BASEBAND_CLIENT_CPP_STREAM_CALL_H_
#define BASEBAND_CLIENT_CPP_STREAM_CALL_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/cpp/bidi_call.h"
#include "client/cpp/downconvert_stream.h"
#include "grpcpp/support/byte_buffer.h"

namespace baseband::client {

struct StreamSpec {
  std::string method;  // "/package.Service/Method"
  StreamOptions options;
};

// The contract of its methods is DownconvertStream's. Thread-safe.
class StreamCall final : public BidiCall {
 public:
  // As BidiCall.
  StreamCall(const StreamSpec& spec, ChannelPool* channels, grpc::CompletionQueue* queue,
             std::function<void()> closed);

  bool Write(grpc::ByteBuffer message);
  bool Read(grpc::ByteBuffer* message);
  int in_flight() const;
  absl::Status Finish();

 private:
  bool HasNext() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !requests_.empty(); }
  absl::optional<grpc::ByteBuffer> TakeNext(bool* more) override;
  void OnMessage(grpc::ByteBuffer message) override;
  absl::Status CheckComplete() const override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnHalfCloseWanted() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A response is, or the end of the stream.
  bool IsResponseDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Time GivenUpAt() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Waits until `condition` holds; when what is due has not come for too long, aborts and waits on.
  template <typename Condition>
  void AwaitResponses(const Condition& condition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StreamOptions options_;

  std::deque<grpc::ByteBuffer> requests_ ABSL_GUARDED_BY(mutex_);   // not yet with gRPC
  std::deque<grpc::ByteBuffer> responses_ ABSL_GUARDED_BY(mutex_);  // not yet read
  int64_t accepted_ ABSL_GUARDED_BY(mutex_) = 0;                    // messages, by Write()
  int64_t received_ ABSL_GUARDED_BY(mutex_) = 0;                    // responses, by gRPC
  int64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;                       // responses, by Read()
  absl::Time due_since_ ABSL_GUARDED_BY(mutex_);  // the last response, if others were due then
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_STREAM_CALL_H_
