// A stream of questions, each a message and answered in turn, that no device has to do with.
#ifndef BASEBAND_SERVER_CALLS_QUESTION_CALL_H_
#define BASEBAND_SERVER_CALLS_QUESTION_CALL_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/calls/grpc_call.h"
#include "server/grpc/raw_service.h"

namespace baseband::server {

// Deletes itself once gRPC is through with it.
class QuestionCall final : public GrpcCall {
 public:
  struct Method {
    RawService* service = nullptr;
    int number = 0;  // of the service
    Rpc rpc;
    StreamLimit* streams = nullptr;
    // Answers at once. An error ends the stream.
    std::function<absl::StatusOr<std::string>(const grpc::ByteBuffer& question)> answer;
  };
  // Waits for the next call of `method` on `queue`; when it comes, waits for another. `method`
  // outlives the calls.
  static void Listen(const CallEnvironment* environment, const Method* method,
                     grpc::ServerCompletionQueue* queue);

 private:
  using Event = MemberEvent<QuestionCall>;

  QuestionCall(const CallEnvironment* environment, const Method* method,
               grpc::ServerCompletionQueue* queue);

  void OnArrived(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);
  // One of them is under way at any time, and keeps the call.
  void Read();
  void Finish(const absl::Status& status);
  void Destroy() override;

  const Method& method_;
  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_;
  grpc::ByteBuffer question_;
  int64_t response_bytes_ = 0;
  absl::Status end_;
  Event arrived_{this, &QuestionCall::OnArrived};
  Event read_{this, &QuestionCall::OnRead};
  Event written_{this, &QuestionCall::OnWritten};
  Event finished_{this, &QuestionCall::OnFinished};
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_QUESTION_CALL_H_
