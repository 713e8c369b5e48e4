// A call that brings one request message. It is let in or refused by its headers: of whoever is
// refused no more is taken than HTTP/2's window lets him send unasked.
#ifndef BASEBAND_SERVER_CALLS_REQUEST_CALL_H_
#define BASEBAND_SERVER_CALLS_REQUEST_CALL_H_

#include <grpcpp/grpcpp.h>

#include <optional>

#include "absl/status/status.h"
#include "server/calls/grpc_call.h"

namespace baseband::server {

// gRPC reads the message of a unary method before it says that there is a call; so these are
// streams to it, whose first message is the request and whose last one the answer.
class RequestCall : public GrpcCall, private AwaitedMessages::Awaited {
 protected:
  // `number` is RawService's.
  RequestCall(const CallEnvironment* environment, grpc::ServerCompletionQueue* queue, int number,
              Rpc rpc);

  // Waits for a call. Once it has come, ListenForNext is called, and then AdmitByHeaders; once its
  // message is there, Accept; and Refuse with what either says but OK.
  void Listen();
  virtual void ListenForNext() = 0;
  virtual absl::Status AdmitByHeaders() { return Identify(); }
  // The message is in `message_`. `request_` has started, and knows the requester.
  virtual absl::Status Accept() = 0;
  virtual void Refuse(const absl::Status& status) = 0;

  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_;
  grpc::ByteBuffer message_;
  std::optional<RequestContext> request_;  // once it has arrived

 private:
  using Event = MemberEvent<RequestCall>;

  void OnArrived(bool ok);
  void OnRead(bool ok);
  // Refuses the request, whose message has not come while memory is scarce.
  void OnLate() override;
  // The request, with a message of `bytes`, counts from now on.
  void Start(int64_t bytes);

  const int number_;
  const Rpc rpc_;
  Event arrived_{this, &RequestCall::OnArrived};
  Event read_{this, &RequestCall::OnRead};
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_REQUEST_CALL_H_
