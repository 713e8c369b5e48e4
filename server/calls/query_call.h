// One unary call that no device has to do with: a question about the server.
#ifndef BASEBAND_SERVER_CALLS_QUERY_CALL_H_
#define BASEBAND_SERVER_CALLS_QUERY_CALL_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "server/calls/request_call.h"

namespace baseband::server {

// Deletes itself once gRPC is through with it.
class QueryCall final : public RequestCall {
 public:
  struct Method {
    int number = 0;  // RawService's
    Rpc rpc;
    // The answer, serialized. Nothing: it takes long, and there is no check to ask.
    std::function<absl::StatusOr<absl::optional<std::string>>(const Request& request,
                                                              const ContinueCheck* may_continue)>
        answer;
  };
  // Waits for the next call of `method` on `queue`; when it comes, waits for another. `method`
  // outlives the calls.
  static void Listen(const CallEnvironment* environment, const Method* method,
                     grpc::ServerCompletionQueue* queue);

 private:
  using Event = MemberEvent<QueryCall>;

  QueryCall(const CallEnvironment* environment, const Method* method,
            grpc::ServerCompletionQueue* queue);

  void ListenForNext() override { Listen(&environment_, &method_, queue_); }
  absl::Status Accept() override;
  void Refuse(const absl::Status& status) override { Finish(status); }
  void OnFinished(bool ok);
  void Destroy() override;
  // The answer; nothing if it will be given on the slow path.
  absl::StatusOr<absl::optional<std::string>> Answer();
  void Finish(const absl::StatusOr<std::string>& answer);

  const Method& method_;
  Event finished_{this, &QueryCall::OnFinished};

  Request wire_request_;
  int64_t response_bytes_ = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_QUERY_CALL_H_
