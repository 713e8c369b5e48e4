#include "server/service/server.h"

#include <grpcpp/resource_quota.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <climits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/grpc/frames.h"
#include "common/grpc/grpc_time.h"
#include "kernels/base/periodic_thread.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/calls/submit_call.h"
#include "server/calls/unknown_call.h"
#include "server/converters/checks.h"
#include "server/grpc/status.h"
#include "server/operations/downconvert/downconvert_operation.h"
#include "server/process/freed_memory.h"
#include "server/process/usable_cores.h"
#include "server/service/capabilities.h"
#include "server/service/reflection.h"

namespace baseband::server {
namespace {

constexpr const char* kServiceName = "baseband.v1.Baseband";
// Few queues with several threads each: the thread that reads a call off its connection finds it in
// its own queue more often than not, which saves a thread switch; many queues cost an idle server
// some 30 us a call.
constexpr int kThreadsPerQueue = 4;
// Calls that may arrive at once on a completion queue before a thread is back.
constexpr int kListenersPerQueue = 64;
// A thread whose queue has no event looks so often whether its freed memory is wanted.
constexpr absl::Duration kIdle = absl::Seconds(1);
// In flight on one connection; clients queue the rest themselves.
constexpr int kMaxStreamsPerConnection = 128;

int NumThreads(const Config& config) {
  return config.grpc_threads > 0 ? config.grpc_threads : std::clamp(UsableCores() / 2, 2, 6);
}

// The end of a drain: no request for kQuiet, or kMaxLinger; then as long for streams to be told,
// and kGoodbye for clients to hang up. Connections that gRPC has not ended kPatience after
// that are reset.
constexpr absl::Duration kQuiet = absl::Milliseconds(100);
constexpr absl::Duration kMaxLinger = absl::Seconds(1);
constexpr absl::Duration kGoodbye = absl::Milliseconds(100);
constexpr absl::Duration kLook = absl::Milliseconds(1);
// A client that takes nothing for so long does not get the rest of what waits for it.
constexpr absl::Duration kMaxUntaken = absl::Seconds(2);
constexpr absl::Duration kPatience = absl::Milliseconds(500);

int ToMs(absl::Duration duration) {
  return static_cast<int>(std::min<int64_t>(absl::ToInt64Milliseconds(duration), INT_MAX));
}

int64_t MaxMessageBytes(const Config& config) {
  // The request's other fields come on top of the payload.
  return MibToBytes(config.max_request_mib) + kMaxHeaderBytes;
}

void Limit(const Config& config, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(MaxMessageBytes(config)));
  builder.SetMaxSendMessageSize(-1);
  // Who may call may also send a half of many messages: where all of that takes more, gRPC ends
  // some of those calls as RESOURCE_EXHAUSTED.
  grpc::ResourceQuota memory("basebandd");
  memory.Resize(static_cast<size_t>(MibToBytes(config.grpc_mib)));
  builder.SetResourceQuota(memory);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kMaxFrameBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, ToMs(config.handshake));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, ToMs(config.keepalive));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ToMs(Listener::kKeepaliveTimeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  if (config.max_connection_age > absl::ZeroDuration()) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, ToMs(config.max_connection_age));
  }
}

// What devices have to do before a request of a message's method. Nothing, of what goes to them in
// pieces, as it comes.
ReadQueue::LookAtDevices LookAtDevicesOf(const CallEnvironment& environment) {
  constexpr int kNone = -1;
  std::array<int, ReadQueue::kMethods> operations;  // by method
  operations.fill(kNone);
  for (const auto& operation : environment.operations->all()) {
    if (operation->description().is_cut_for_devices) continue;
    operations[operation->rpc().row] = operation->index();
  }
  return [operations, dispatcher = environment.dispatcher](const AnnouncedMessage& message) {
    ReadQueue::Devices devices;
    const int operation = operations[message.method];
    if (operation == kNone) return devices;
    const Dispatcher::Wait wait = dispatcher->WaitOf(operation, message.client, message.priority);
    devices.wait_s = wait.seconds;
    devices.count = wait.devices;
    devices.is_known = wait.is_known;
    return devices;
  };
}

}  // namespace

Server::Server() : service_(kServiceName) {}

void Server::AddMethods(const Config& config) {
  for (const auto& operation : environment_.operations->all()) {
    const Operation::Description& description = operation->description();
    if (description.method == Operation::Method::kUnary) {
      unary_methods_.push_back({service_.Add(description.name), operation.get()});
    } else {
      search_methods_.push_back({service_.Add(description.name), operation.get()});
    }
    if (*description.stream_name != '\0') {
      stream_methods_.push_back({service_.Add(description.stream_name), operation.get()});
    }
  }
  submit_ = service_.Add("Submit");
  get_capabilities_.number = service_.Add("GetCapabilities");
  get_capabilities_.rpc = kGetCapabilitiesRpc;
  v1::GetCapabilitiesResponse fixed = DescribeServer(config);
  if (environment_.regions != nullptr) AddSharedMemory(config, *environment_.regions, &fixed);
  get_capabilities_.answer =
      [this, fixed = std::move(fixed)](
          const Request& request,
          const ContinueCheck* may_continue) -> absl::StatusOr<absl::optional<std::string>> {
    BASEBAND_ASSIGN_OR_RETURN(const auto message, ParseHeader<v1::GetCapabilitiesRequest>(
                                                      request, "GetCapabilitiesRequest"));
    v1::GetCapabilitiesResponse response = fixed;
    AddDevices(environment_.devices, &response);
    BASEBAND_ASSIGN_OR_RETURN(
        const bool done, AddPoints(message, *environment_.caches.models, may_continue, &response));
    return done ? absl::make_optional(response.SerializeAsString()) : absl::nullopt;
  };
}

void Server::AddReflection() {
  // Who asks by the older version's name, as its messages are, is told of those that are described.
  const std::vector<std::string> services = {"grpc.reflection.v1.ServerReflection", kServiceName,
                                             "grpc.health.v1.Health"};
  for (const char* const name :
       {"grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"}) {
    RawService& service = reflection_services_.emplace_back(name);
    reflection_.push_back({&service, service.Add("ServerReflectionInfo"), kReflectionRpc,
                           &reflections_, [services](const grpc::ByteBuffer& question) {
                             return AnswerReflection(services, question);
                           }});
  }
}

void Server::AddHealth(bool is_open) {
  health_ = std::make_unique<Health>(
      kServiceName,
      [access = environment_.access](const std::string& peer) { return access->IsStranger(peer); });
  health_methods_.push_back(
      {&health_service_, health_service_.Add("Check"), /*is_watch=*/false, is_open, health_.get()});
  // gRPC's clients show nothing when they watch, and take UNIMPLEMENTED for "always serving".
  if (!is_open) return;
  health_methods_.push_back(
      {&health_service_, health_service_.Add("Watch"), /*is_watch=*/true, is_open, health_.get()});
}

void Server::ListenForCalls(grpc::ServerCompletionQueue* queue) {
  for (int i = 0; i < kListenersPerQueue; ++i) {
    for (const OperationMethod& method : unary_methods_) {
      UnaryCall::Listen(&environment_, &method, queue);
    }
    for (const OperationMethod& method : search_methods_) {
      SearchCall::Listen(&environment_, &method, queue);
    }
    for (const OperationMethod& method : stream_methods_) {
      StreamCall::Listen(&environment_, &method, queue);
    }
    SubmitCall::Listen(&environment_, submit_, queue);
  }
  QueryCall::Listen(&environment_, &get_capabilities_, queue);
  for (const QuestionCall::Method& method : reflection_) {
    QuestionCall::Listen(&environment_, &method, queue);
  }
  for (const HealthCall::Method& method : health_methods_) {
    HealthCall::Listen(&environment_, &method, queue);
  }
  UnknownCall::Listen(&environment_, &unknown_methods_, queue);
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Config& config, Security& security,
                                                      CallEnvironment environment,
                                                      std::vector<Device*> devices) {
  std::unique_ptr<Server> self(new Server());
  self->environment_ = std::move(environment);
  self->environment_.devices = std::move(devices);
  self->environment_.service = &self->service_;
  self->AddMethods(config);
  self->AddReflection();
  self->environment_.gate = &self->gate_;
  self->environment_.calls = &self->calls_;
  self->environment_.calls_there = &self->calls_there_;
  self->environment_.timer = &self->timer_;
  self->quotas_ = std::make_unique<ClientQuotas>(ClientQuotas::Limits{
      config.client_requests, MibToBytes(config.client_mib), config.client_streams});
  self->environment_.quotas = self->quotas_.get();
  self->reads_ =
      std::make_shared<MessageReads>(config.queue_requests, LookAtDevicesOf(self->environment_));
  self->environment_.reads = self->reads_.get();
  self->environment_.metrics->BeforeScrape([reads = self->reads_](Metrics& metrics) {
    const MessageReads::State state = reads->Look();
    metrics.SetReads(state.waiting, state.reading, state.overdue, state.rate, state.ahead_s);
  });
  self->environment_.max_message_bytes = MaxMessageBytes(config);
  self->streams_ = std::make_unique<StreamLimit>("streams", config.max_streams);
  self->environment_.streams = self->streams_.get();
  self->searches_ = std::make_unique<StreamLimit>("searches", config.max_searches);
  self->environment_.searches = self->searches_.get();
  self->search_memory_ =
      std::make_unique<ByteLimit>("searches", MibToBytes(config.search_memory_mib));
  self->environment_.search_memory = self->search_memory_.get();
  self->slow_path_ = std::make_unique<SlowPathExecutor>(SlowPathExecutor::Options());
  self->environment_.slow_path = self->slow_path_.get();

  self->environment_.access = &security.access();
  self->AddHealth(config.open_health || !config.access_is_limited());
  self->listener_ = std::make_shared<Listener>(config.max_connections, config.keepalive, &security,
                                               self->environment_.metrics);
  self->environment_.metrics->SetMaxConnections(self->listener_->max_open());
  self->environment_.metrics->BeforeScrape([listener = self->listener_](Metrics& metrics) {
    metrics.SetOpenConnections(listener->CountOpen());
  });
  self->listener_->OnlyWhile(
      [memory = self->environment_.memory] { return memory->may_connect(); });
  BASEBAND_RETURN_IF_ERROR(self->listener_->Listen(config.listen, config.socket_mode));
  grpc::ServerBuilder builder;
  builder.RegisterService(&self->service_);
  for (RawService& service : self->reflection_services_) builder.RegisterService(&service);
  builder.RegisterService(&self->health_service_);
  builder.RegisterAsyncGenericService(&self->unknown_methods_);
  Limit(config, builder);
  self->listener_->AddTo(builder);
  const int num_threads = NumThreads(config);
  const int num_queues = (num_threads + kThreadsPerQueue - 1) / kThreadsPerQueue;
  for (int i = 0; i < num_queues; ++i) {
    self->queues_.push_back(builder.AddCompletionQueue());
  }
  self->server_ = builder.BuildAndStart();
  if (self->server_ == nullptr) {
    return absl::InternalError("gRPC does not start a server");
  }
  self->SetServing(true);
  for (const auto& queue : self->queues_) self->ListenForCalls(queue.get());
  for (int i = 0; i < num_threads; ++i) {
    const auto& queue = self->queues_[static_cast<size_t>(i % num_queues)];
    self->pollers_.emplace_back([server = self.get(), q = queue.get()] { server->Poll(q); });
  }
  self->listener_->Start(self->server_.get());
  return self;
}

Server::~Server() { Shutdown(absl::ZeroDuration()); }

void Server::Shutdown(absl::Duration timeout, const std::function<void()>& end_others) {
  if (server_ == nullptr) {
    for (const auto& queue : queues_) {  // the server never started: end its queues by the book
      queue->Shutdown();
      Poll(queue.get());
    }
    queues_.clear();
    return;
  }
  health_->Drain();
  const absl::Time deadline = SteadyNow() + timeout;
  gate_.Close();
  reads_->Close(gate_.CheckOpen(SteadyNow()));
  gate_.WaitUntilEmpty(deadline);
  // gRPC cancels requests that are still on their way when it shuts down; who is told Unavailable
  // first, and goes elsewhere, is spared that.
  gate_.WaitUntilQuiet(kQuiet, std::min(deadline, SteadyNow() + kMaxLinger));
  listener_->Stop();
  const absl::Time told = std::min(deadline, SteadyNow() + kMaxLinger);
  health_->EndAll(told);
  // What streams end with is nobody's in the gate.
  while (calls_there_.count() > 0 && SteadyNow() < told) absl::SleepFor(kLook);
  // An answer is sent, to gRPC, once the system has it: clients may be far from having it, and what
  // they have not when a connection is closed may be lost. gRPC also cancels what comes while it
  // shuts down: a client that hears the end of its connection instead takes its calls for
  // Unavailable.
  while (listener_->EndTaken(SteadyNow(), kMaxUntaken) > 0 && SteadyNow() < deadline) {
    absl::SleepFor(kLook);
  }
  const absl::Time hung_up = std::min(deadline, SteadyNow() + kGoodbye);
  while (listener_->CountOpen() > 0 && SteadyNow() < hung_up) absl::SleepFor(kLook);
  {
    // gRPC waits for connections that never stop sending.
    const PeriodicThread reset(kPatience, [this] { listener_->ResetAll(); });
    server_->Shutdown(ToGrpcTime(std::min(deadline, SteadyNow() + kGoodbye)));
  }
  if (end_others != nullptr) end_others();
  slow_path_->Finish();  // whoever is there goes on to the dispatcher
  environment_.dispatcher->WaitUntilIdle();
  // Until then a call that is over for its client may still start something on its queue.
  calls_.WaitUntilNone();
  for (const auto& queue : queues_) {
    queue->Shutdown();
  }
  for (std::thread& poller : pollers_) {
    poller.join();
  }
  pollers_.clear();
  queues_.clear();
  server_.reset();
}

void Server::Poll(grpc::ServerCompletionQueue* queue) {
  pthread_setname_np(pthread_self(), "grpc");
  void* tag = nullptr;
  bool ok = false;
  for (;;) {
    const auto next = queue->AsyncNext(&tag, &ok, ToGrpcTime(SteadyNow() + kIdle));
    if (next == grpc::CompletionQueue::SHUTDOWN) return;
    if (next == grpc::CompletionQueue::GOT_EVENT) static_cast<CompletionEvent*>(tag)->OnEvent(ok);
    GiveBackOwnIfWanted();  // messages were received into this thread's heap
  }
}

}  // namespace baseband::server
