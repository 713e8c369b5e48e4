#include "server/admin/admin_server.h"

#include <spdlog/spdlog.h>

#include <atomic>
#include <functional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "baseband/v1/admin.grpc.pb.h"
#include "common/grpc/grpc_time.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/admin/admin_messages.h"
#include "server/admin/message_method.h"
#include "server/config/logging.h"

namespace baseband::server {
namespace {

constexpr int kMaxConnections = 64;
constexpr int kMaxMessageBytes = 64 << 10;
constexpr absl::Duration kGoodbye = absl::Milliseconds(100);

}  // namespace

class AdminServer::Service final {
 public:
  Service(Access* access, Metrics* metrics, Options options)
      : access_(access), metrics_(metrics), options_(std::move(options)) {
    Add<v1::GetConfigRequest, v1::GetConfigResponse>(
        "GetConfig", "asks for the settings", [this](const auto&, auto& response) {
          response.set_config(options_.effective_config);
          return absl::OkStatus();
        });
    Add<v1::SetLogLevelRequest, v1::SetLogLevelResponse>(
        "SetLogLevel", "sets the log level",
        [](const auto& request, auto&) { return SetLogLevel(request.level()); });
    Add<v1::DrainRequest, v1::DrainResponse>("Drain", "drains the server",
                                             [this](const auto&, auto&) {
                                               if (!drained_.exchange(true)) options_.drain();
                                               return absl::OkStatus();
                                             });
    Add<v1::InjectFaultRequest, v1::InjectFaultResponse>(
        "InjectFault", "asks for a fault",
        [this](const auto& request, auto&) { return Inject(request); });
    Add<v1::GetFlightRecordsRequest, v1::GetFlightRecordsResponse>(
        "GetFlightRecords", "asks for the flight records", [this](const auto&, auto& response) {
          for (const FlightRecord& record : options_.recorder->Records()) {
            *response.add_records() = ToProto(record);
          }
          return absl::OkStatus();
        });
    Add<v1::GetQuarantineRequest, v1::GetQuarantineResponse>(
        "GetQuarantine", "asks who is in quarantine", [this](const auto&, auto& response) {
          const absl::Time now = SteadyNow();
          for (const auto& suspect : options_.dispatcher->quarantine().List(now)) {
            *response.add_requests() = ToProto(suspect, now);
          }
          return absl::OkStatus();
        });
    Add<v1::LiftQuarantineRequest, v1::LiftQuarantineResponse>(
        "LiftQuarantine", "lifts quarantine",
        [this](const auto& request, auto& response) { return Lift(request, &response); });
  }

  grpc::Service* service() { return &service_; }

 private:
  absl::Status Lift(const v1::LiftQuarantineRequest& request,
                    v1::LiftQuarantineResponse* response) {
    Quarantine& quarantine = options_.dispatcher->quarantine();
    if (request.all()) {
      response->set_lifted(static_cast<uint32_t>(quarantine.LiftAll()));
    } else {
      BASEBAND_ASSIGN_OR_RETURN(const uint64_t fingerprint,
                                FingerprintFromText(request.fingerprint()));
      BASEBAND_RETURN_IF_ERROR(quarantine.Lift(fingerprint));
      response->set_lifted(1);
    }
    spdlog::warn("quarantine lifted: {}", request.all() ? "all" : request.fingerprint());
    return absl::OkStatus();
  }

  absl::Status Inject(const v1::InjectFaultRequest& request) {
    if (options_.faults == nullptr) {
      return absl::FailedPreconditionError(
          "this server injects no faults: it runs without --allow-fault-injection");
    }
    spdlog::warn("injecting {}", absl::CHexEscape(request.ShortDebugString()));
    if (request.kind() == v1::InjectFaultRequest::LOSE) {
      BASEBAND_ASSIGN_OR_RETURN(const std::string device, DeviceToLose(request));
      return options_.dispatcher->LoseDevice(device, DeviceLoss::kInjected,
                                             "an admin wanted it so");
    }
    BASEBAND_ASSIGN_OR_RETURN(const Fault fault, FaultFromProto(request, options_.devices));
    options_.faults->Arm(fault);
    return absl::OkStatus();
  }

  // A method that admins may call; `what` it does, for the log.
  template <typename Request, typename Response>
  void Add(const char* method, const char* what,
           std::function<absl::Status(const Request&, Response&)> work) {
    AddMessageMethod<Request, Response>(
        {&service_, access_, metrics_, kAdminRpc, Role::kAdmin}, method,
        [what, work = std::move(work)](const Identity& caller, const Request& request,
                                       Response& response) {
          spdlog::info("admin: {} {}", absl::CHexEscape(caller.name), what);
          return work(request, response);
        });
  }

  RawService service_{v1::Admin::service_full_name()};
  Access* const access_;
  Metrics* const metrics_;
  const Options options_;
  std::atomic<bool> drained_{false};
};

AdminServer::AdminServer(const Config& config, Security& security, Metrics& metrics)
    : access_(&security.access()),
      metrics_(&metrics),
      listener_(kMaxConnections, config.keepalive, &security, &metrics) {}

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Listen(const Config& config,
                                                                 Security& security,
                                                                 Metrics& metrics) {
  std::unique_ptr<AdminServer> self(new AdminServer(config, security, metrics));
  BASEBAND_RETURN_IF_ERROR(self->listener_.Listen({config.admin_listen}, config.socket_mode));
  if (!self->access_->AnyoneHas(Role::kAdmin)) {
    spdlog::warn(
        "administration refuses every call: nobody has the role admin; --allow=admin=uid:0 gives"
        " it to root at a unix address");
  }
  return self;
}

absl::Status AdminServer::Start(Options options) {
  service_ = std::make_unique<Service>(access_, metrics_, std::move(options));
  grpc::ServerBuilder builder;
  builder.RegisterService(service_->service());
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  listener_.AddTo(builder);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) {
    return absl::InternalError("gRPC does not start a server for administration");
  }
  listener_.Start(server_.get());
  return absl::OkStatus();
}

AdminServer::~AdminServer() {
  listener_.Stop();
  if (server_ != nullptr) server_->Shutdown(ToGrpcTime(SteadyNow() + kGoodbye));
}

}  // namespace baseband::server
