// A call of a method that the server has not: UNIMPLEMENTED, whoever makes it.
//
// gRPC would answer it by itself, and in 1.51 ends the process now and then: it asks for the next
// such call in a constructor, and one that comes at once finds an object that is not yet one.
#ifndef BASEBAND_SERVER_CALLS_UNKNOWN_CALL_H_
#define BASEBAND_SERVER_CALLS_UNKNOWN_CALL_H_

#include <grpcpp/generic/async_generic_service.h>

#include "server/calls/call_environment.h"
#include "server/calls/grpc_call.h"
#include "server/limits/live_count.h"

namespace baseband::server {

// Deletes itself once gRPC is through with it.
class UnknownCall final {
 public:
  // Waits for the next such call on `queue`; when it comes, waits for another.
  static void Listen(const CallEnvironment* environment, grpc::AsyncGenericService* service,
                     grpc::ServerCompletionQueue* queue);

 private:
  using Event = MemberEvent<UnknownCall>;

  UnknownCall(const CallEnvironment* environment, grpc::AsyncGenericService* service,
              grpc::ServerCompletionQueue* queue)
      : alive_(environment->calls), environment_(*environment), service_(*service), queue_(queue) {}

  void OnArrived(bool ok);
  void OnFinished(bool) { delete this; }

  const LiveCount::One alive_;  // first: destroyed last
  const CallEnvironment& environment_;
  grpc::AsyncGenericService& service_;
  grpc::ServerCompletionQueue* const queue_;
  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter stream_{&context_};
  Event arrived_{this, &UnknownCall::OnArrived};
  Event finished_{this, &UnknownCall::OnFinished};
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_UNKNOWN_CALL_H_
