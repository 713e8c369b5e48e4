// One call of the standard health service: Check, which is answered once, or Watch, which is told
// of every change until somebody ends it. gRPC's own service knows no bounds.
#ifndef BASEBAND_SERVER_CALLS_HEALTH_CALL_H_
#define BASEBAND_SERVER_CALLS_HEALTH_CALL_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "server/calls/grpc_call.h"
#include "server/calls/health.h"
#include "server/grpc/raw_service.h"

namespace baseband::server {

// Deletes itself once gRPC is through with it.
class HealthCall final : public GrpcCall, private HealthListener {
 public:
  struct Method {
    RawService* service = nullptr;
    int number = 0;  // of the service
    bool is_watch = false;
    bool is_open = true;  // to everybody; else to whoever has any role
    Health* health = nullptr;
  };
  // Waits for the next call of `method` on `queue`; when it comes, waits for another. `method`
  // outlives the calls.
  static void Listen(const CallEnvironment* environment, const Method* method,
                     grpc::ServerCompletionQueue* queue);

 private:
  using Event = MemberEvent<HealthCall>;

  HealthCall(const CallEnvironment* environment, const Method* method,
             grpc::ServerCompletionQueue* queue);

  void OnArrived(bool ok);
  void OnRead(bool ok) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnWritten(bool ok) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnFinished(bool ok);
  void OnCancelled() override {
    EndWith(absl::CancelledError("the client cancelled"), Manner::kAtOnce);
  }
  void OnStalled() override;
  void OnChange() override ABSL_LOCKS_EXCLUDED(mutex_);
  void EndWith(const absl::Status& status, Manner manner) override ABSL_LOCKS_EXCLUDED(mutex_);
  void Destroy() override;

  absl::Status Admit();
  void CountEnd() ABSL_LOCKS_EXCLUDED(mutex_);
  // Writes what there is to say, or to end with, unless something is being written.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Method& method_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_;
  grpc::ByteBuffer message_;
  absl::optional<uint64_t> number_;  // Health's
  std::string service_;              // that is asked after

  absl::Mutex mutex_;
  bool is_asked_ ABSL_GUARDED_BY(mutex_) = false;  // the message has come
  bool has_news_ ABSL_GUARDED_BY(mutex_) = false;  // to be written
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
  absl::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  int64_t response_bytes_ ABSL_GUARDED_BY(mutex_) = 0;

  Event arrived_{this, &HealthCall::OnArrived};
  Event read_{this, &HealthCall::OnRead};
  Event written_{this, &HealthCall::OnWritten};
  Event finished_{this, &HealthCall::OnFinished};
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_HEALTH_CALL_H_
