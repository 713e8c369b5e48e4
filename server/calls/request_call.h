// A call that brings one request message. It is let in or refused by its headers, which say how
// large it is, and waits for its turn to be read: of whoever is refused no more is taken than
// HTTP/2's window lets him send unasked.
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
  // The message is in `message_`. `request_` has started, and knows the requester and the size.
  virtual absl::Status Accept() = 0;
  virtual void Refuse(const absl::Status& status) = 0;
  // Once it is answered, or could not be by its deadline: how long that took from its message on,
  // and what it took of a device. Nothing, of a message that has not come, or was not what was
  // expected.
  void TellReads(absl::Duration duration, double work_s, bool in_time) {
    if (teaches_) environment_.reads->Answered(reader_, duration, work_s, in_time);
  }

  grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> stream_;
  grpc::ByteBuffer message_;
  std::optional<RequestContext> request_;  // once it has arrived

 private:
  using Event = MemberEvent<RequestCall>;
  class Reader final : public MessageReads::Reader {
   public:
    explicit Reader(RequestCall* call) : call_(*call) {}

   private:
    void OnTurn(const absl::Status& status) override { call_.OnTurn(status); }

    RequestCall& call_;
  };

  void OnArrived(bool ok);
  // Reads the message, now or when it is its turn; not OK: neither.
  absl::Status BeginRead();
  void OnTurn(const absl::Status& status);
  void OnGone() override;
  // Its message is not read. A size that nobody said may have been wrong: the next one's is less.
  void CountUnread();
  void OnRead(bool ok);
  ReadQueue::End HowItEnded(bool came) const;
  absl::Status AcceptIfAsAnnounced();
  // Refuses the request, whose message is not read, unless that was done before.
  void Decline(const absl::Status& status);
  // The message is to come from now on.
  void Read();
  // Refuses the request, whose message has not come: while memory is scarce, or at all.
  void OnLate() override;
  void OnOverdue() override;
  void RefuseUnread(const absl::Status& status);
  // The request, with a message of `bytes`, counts from now on.
  void Start(int64_t bytes);

  const int number_;
  const Rpc rpc_;
  Event arrived_{this, &RequestCall::OnArrived};
  Event read_{this, &RequestCall::OnRead};
  absl::optional<int64_t> announced_bytes_;
  Reader reader_{this};
  bool takes_turn_ = false;
  bool teaches_ = false;  // its message took its turn, and came as it was expected
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_REQUEST_CALL_H_
