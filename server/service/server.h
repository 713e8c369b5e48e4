// The gRPC server: listening, completion queues, health, reflection, graceful end.
#ifndef BASEBAND_SERVER_SERVICE_SERVER_H_
#define BASEBAND_SERVER_SERVICE_SERVER_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/auth/security.h"
#include "server/calls/health.h"
#include "server/calls/health_call.h"
#include "server/calls/query_call.h"
#include "server/calls/question_call.h"
#include "server/calls/search_call.h"
#include "server/calls/stream_call.h"
#include "server/calls/unary_call.h"
#include "server/config/config.h"
#include "server/service/listener.h"

namespace baseband::server {

class Server {
 public:
  // Listens at every address of `config.listen` and serves who may call. `environment.service` and
  // `access` are set by the server; all else in it, `security` and `devices` outlive it.
  // Unavailable names an address that cannot be had. Health says SERVING from the first moment on:
  // the devices must have passed their self-tests before.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Config& config, Security& security,
                                                       CallEnvironment environment,
                                                       std::vector<Device*> devices);
  // Shuts down at once if Shutdown was not called.
  ~Server();

  // What the health service says of "" and of baseband.v1.Baseband; NOT_SERVING for good once it
  // shuts down. Thread-safe.
  void SetServing(bool serving) { health_->SetServing(serving); }

  // Health turns NOT_SERVING, new calls are refused as Unavailable, accepted ones get their
  // answers; calls still unanswered after `timeout` are cancelled, and `end_others`, if there is
  // one, has to cancel what came another way. Returns when all have ended.
  void Shutdown(absl::Duration timeout, const std::function<void()>& end_others = nullptr);

  // What calls have of it, for those that come another way; all of them have to end before it.
  const CallEnvironment& environment() const { return environment_; }

  // The addresses with the ports that were taken, "127.0.0.1:50151".
  const std::vector<std::string>& addresses() const { return listener_->addresses(); }

 private:
  Server();
  // One method of the service for each operation, and the others.
  void AddMethods(const Config& config);
  void AddReflection();
  void AddHealth(bool is_open);
  // Waits for calls of all of them on `queue`.
  void ListenForCalls(grpc::ServerCompletionQueue* queue);
  void Poll(grpc::ServerCompletionQueue* queue);

  InFlightGate gate_;
  std::shared_ptr<MessageReads> reads_;  // a scrape may still ask it
  LiveCount calls_;
  LiveCount calls_there_;
  SteadyTimer timer_;
  std::unique_ptr<ClientQuotas> quotas_;
  std::unique_ptr<StreamLimit> streams_;
  std::unique_ptr<StreamLimit> searches_;
  StreamLimit reflections_{"streams of reflection", 64};
  std::unique_ptr<ByteLimit> search_memory_;
  std::unique_ptr<SlowPathExecutor> slow_path_;
  CallEnvironment environment_;
  RawService service_;
  std::vector<OperationMethod> unary_methods_;  // calls point to these
  std::vector<OperationMethod> search_methods_;
  std::vector<OperationMethod> stream_methods_;
  QueryCall::Method get_capabilities_;
  std::deque<RawService> reflection_services_;  // of each version of the protocol
  std::deque<QuestionCall::Method> reflection_;
  int submit_ = 0;  // its number
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues_;
  std::unique_ptr<Health> health_;
  RawService health_service_{"grpc.health.v1.Health"};
  std::deque<HealthCall::Method> health_methods_;
  grpc::AsyncGenericService unknown_methods_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<Listener> listener_;  // a scrape may still ask it
  std::vector<std::thread> pollers_;    // last: use all of the above
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_SERVER_H_
