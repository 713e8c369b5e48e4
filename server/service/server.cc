#include "server/service/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/calls/search_call.h"
#include "server/calls/submit_call.h"
#include "server/converters/capabilities.h"
#include "server/grpc/grpc_time.h"
#include "server/grpc/status.h"

namespace baseband::server {
namespace {

constexpr const char* kServiceName = "baseband.v1.Baseband";
// Few queues with several threads each: the thread that reads a call off its connection finds it in
// its own queue more often than not, which saves a thread switch; many queues cost an idle server
// some 30 us a call.
constexpr int kThreadsPerQueue = 4;
// Calls that may arrive at once on a completion queue before a thread is back.
constexpr int kListenersPerQueue = 64;
// In flight on one connection; clients queue the rest themselves.
constexpr int kMaxStreamsPerConnection = 1024;

// Requests that wait for what takes long to prepare, and what they hold.
constexpr int64_t kMaxOnSlowPath = 64;
constexpr int64_t kMaxSlowPathBytes = 256 << 20;

int NumThreads(const Config& config) {
  return config.grpc_threads > 0
             ? config.grpc_threads
             : std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / 2, 2, 8);
}

// The end of a drain: no request for kQuiet, or kMaxLinger; then kGoodbye for streams to be told.
constexpr absl::Duration kQuiet = absl::Milliseconds(100);
constexpr absl::Duration kMaxLinger = absl::Seconds(1);
constexpr absl::Duration kGoodbye = absl::Milliseconds(100);

// What a client may send before its request, and who is there no more.
constexpr int kMaxMetadataBytes = 8 << 10;
constexpr int kKeepaliveTimeoutMs = 20000;
constexpr int kMinPingIntervalMs = 10000;
constexpr int kMaxPingStrikes = 3;

int ToMs(absl::Duration duration) {
  return static_cast<int>(std::min<int64_t>(absl::ToInt64Milliseconds(duration), INT_MAX));
}

void Limit(const Config& config, grpc::ServerBuilder& builder) {
  // The request's other fields come on top of the payload.
  builder.SetMaxReceiveMessageSize(
      static_cast<int>(MibToBytes(config.max_request_mib) + kMaxHeaderBytes));
  builder.SetMaxSendMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, ToMs(config.handshake));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, ToMs(config.keepalive));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinPingIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, kMaxPingStrikes);
  if (config.max_connection_age > absl::ZeroDuration()) {
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, ToMs(config.max_connection_age));
  }
}

}  // namespace

class Server::Service final : public AsyncService {
 public:
  Service(const Config& config, std::vector<Device*> devices, Access* access, Metrics* metrics,
          CarrierModels* models)
      : capabilities_(DescribeServer(config)),
        devices_(std::move(devices)),
        access_(access),
        metrics_(metrics),
        models_(models) {}

  grpc::Status GetCapabilities(grpc::ServerContext* context,
                               const v1::GetCapabilitiesRequest* request,
                               v1::GetCapabilitiesResponse* response) override {
    constexpr auto kRpc = ::baseband::server::Rpc::kGetCapabilities;
    const absl::Time start = SteadyNow();
    metrics_->RequestStarted(kRpc, static_cast<int64_t>(request->ByteSizeLong()));
    absl::Status status = access_->Check(*context, Role::kUser);
    if (status.ok()) {
      *response = capabilities_;
      AddDevices(devices_, response);
      status = AddPoints(*request, *models_, response);
    } else {
      metrics_->CountRejected(kRpc, status.code());
    }
    metrics_->RequestFinished(kRpc, status.code(), SteadyNow() - start,
                              static_cast<int64_t>(response->ByteSizeLong()));
    return ToGrpcStatus(status);
  }

 private:
  const v1::GetCapabilitiesResponse capabilities_;
  const std::vector<Device*> devices_;
  Access* const access_;
  Metrics* const metrics_;
  CarrierModels* const models_;
};

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Config& config, Security& security,
                                                      CallEnvironment environment,
                                                      std::vector<Device*> devices) {
  // Health and reflection are gRPC's own; both must be asked for before the server is built. They
  // ask nobody who calls: reflection is for servers that serve everybody.
  const bool open_health = config.open_health || !config.access_is_limited();
  grpc::EnableDefaultHealthCheckService(open_health);
  if (!config.access_is_limited()) {
    static const bool reflection = [] {
      grpc::reflection::InitProtoReflectionServerBuilderPlugin();
      return true;
    }();
    (void)reflection;
  }

  std::unique_ptr<Server> self(new Server());
  self->environment_ = std::move(environment);
  self->environment_.devices = devices;
  self->service_ =
      std::make_unique<Service>(config, std::move(devices), &security.access(),
                                self->environment_.metrics, &self->environment_.caches->models);
  self->environment_.service = self->service_.get();
  self->environment_.gate = &self->gate_;
  self->environment_.timer = &self->timer_;
  self->quotas_ = std::make_unique<ClientQuotas>(
      ClientQuotas::Limits{config.client_requests, MibToBytes(config.client_mib),
                           config.client_streams},
      self->environment_.metrics);
  self->environment_.quotas = self->quotas_.get();
  self->streams_ = std::make_unique<StreamLimit>("streams", config.max_streams);
  self->environment_.streams = self->streams_.get();
  self->searches_ = std::make_unique<StreamLimit>("searches", config.max_searches);
  self->environment_.searches = self->searches_.get();
  self->search_memory_ =
      std::make_unique<ByteLimit>("searches", MibToBytes(config.search_memory_mib));
  self->environment_.search_memory = self->search_memory_.get();
  self->slow_path_ = std::make_unique<SlowPathExecutor>(kMaxOnSlowPath, kMaxSlowPathBytes);
  self->environment_.slow_path = self->slow_path_.get();

  self->environment_.access = &security.access();
  if (!open_health) {
    self->authenticated_health_ =
        std::make_unique<AuthenticatedHealthService>(kServiceName, &security.access());
  }
  self->listener_ =
      std::make_shared<Listener>(config.max_connections, &security, self->environment_.metrics);
  self->environment_.metrics->SetConnectionsCapacity(self->listener_->max_open());
  self->environment_.metrics->BeforeScrape([listener = self->listener_](Metrics& metrics) {
    metrics.SetConnections(listener->CountOpen());
  });
  BASEBAND_RETURN_IF_ERROR(self->listener_->Listen(config.listen, config.socket_mode));
  grpc::ServerBuilder builder;
  builder.RegisterService(self->service_.get());
  if (self->authenticated_health_ != nullptr) {
    builder.RegisterService(self->authenticated_health_.get());
  }
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
  // gRPC says SERVING of "" from its first moment on: the server starts when it is ready to serve.
  self->SetServing(true);
  for (const auto& queue : self->queues_) {
    for (int i = 0; i < kListenersPerQueue; ++i) {
      for (const MethodDescriptor* page : AllMethods()) {
        UnaryCall::Listen(&self->environment_, page, queue.get());
      }
      StreamCall::Listen(&self->environment_, &kDownconvertStream, queue.get());
      SearchCall::Listen(&self->environment_, queue.get());
      SubmitCall::Listen(&self->environment_, queue.get());
    }
  }
  for (int i = 0; i < num_threads; ++i) {
    const auto& queue = self->queues_[static_cast<size_t>(i % num_queues)];
    self->pollers_.emplace_back([server = self.get(), q = queue.get()] { server->Poll(q); });
  }
  self->listener_->Start(self->server_.get());
  return self;
}

Server::~Server() { Shutdown(absl::ZeroDuration()); }

void Server::SetServing(bool serving) {
  if (authenticated_health_ != nullptr) {
    authenticated_health_->SetServing(serving);
    return;
  }
  grpc::HealthCheckServiceInterface& health = *server_->GetHealthCheckService();
  health.SetServingStatus(serving);  // all that are known, and ""
  health.SetServingStatus(kServiceName, serving);
}

void Server::Shutdown(absl::Duration timeout) {
  if (server_ == nullptr) {
    for (const auto& queue : queues_) {  // the server never started: end its queues by the book
      queue->Shutdown();
      Poll(queue.get());
    }
    queues_.clear();
    return;
  }
  SetServing(false);
  const absl::Time deadline = SteadyNow() + timeout;
  gate_.Close();
  gate_.WaitUntilEmpty(deadline);
  // gRPC cancels requests that are still on their way when it shuts down; who is told Unavailable
  // first, and goes elsewhere, is spared that.
  gate_.WaitUntilQuiet(kQuiet, std::min(deadline, SteadyNow() + kMaxLinger));
  listener_->Stop();
  // What is left now are streams without end: the watchers of health.
  server_->Shutdown(ToGrpcTime(std::min(deadline, SteadyNow() + kGoodbye)));
  slow_path_->Finish();  // whoever is there goes on to the dispatcher
  environment_.dispatcher->WaitUntilIdle();
  environment_.streams->WaitUntilEmpty();
  environment_.searches->WaitUntilEmpty();
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
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) {
    static_cast<CompletionEvent*>(tag)->OnEvent(ok);
  }
}

}  // namespace baseband::server
