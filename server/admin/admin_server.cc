#include "server/admin/admin_server.h"

#include <spdlog/spdlog.h>

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "baseband/v1/admin.grpc.pb.h"
#include "common/grpc/grpc_time.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/admin/admin_messages.h"
#include "server/admin/message_method.h"
#include "server/config/logging.h"
#include "server/config/quoted.h"

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
    AddQuestion<v1::GetConfigRequest, v1::GetConfigResponse>(
        "GetConfig", [this](auto& response) { response.set_config(options_.effective_config); });
    AddAction<v1::SetLogLevelRequest, v1::SetLogLevelResponse>(
        "SetLogLevel", [](const auto& request, auto&) { return SetLevel(request.level()); });
    AddAction<v1::DrainRequest, v1::DrainResponse>("Drain",
                                                   [this](const auto&, auto&) { return Drain(); });
    AddAction<v1::InjectFaultRequest, v1::InjectFaultResponse>(
        "InjectFault", [this](const auto& request, auto&) { return Inject(request); });
    AddQuestion<v1::GetFlightRecordsRequest, v1::GetFlightRecordsResponse>(
        "GetFlightRecords", [this](auto& response) {
          for (const FlightRecord& record : options_.recorder->Records()) {
            *response.add_records() = ToProto(record);
          }
        });
    AddQuestion<v1::GetQuarantineRequest, v1::GetQuarantineResponse>(
        "GetQuarantine", [this](auto& response) {
          const absl::Time now = SteadyNow();
          for (const auto& suspect : options_.dispatcher->quarantine().List(now)) {
            *response.add_requests() = ToProto(suspect, now);
          }
        });
    AddAction<v1::LiftQuarantineRequest, v1::LiftQuarantineResponse>(
        "LiftQuarantine",
        [this](const auto& request, auto& response) { return Lift(request, &response); });
  }

  grpc::Service* service() { return &service_; }

 private:
  // What an action has done, for the log, as what follows on its caller's name.
  using Done = absl::StatusOr<std::string>;

  static Done SetLevel(const std::string& level) {
    BASEBAND_ASSIGN_OR_RETURN(const std::string before, SetLogLevel(level));
    if (before == level) return absl::StrCat("left the log level at ", level);
    return absl::StrCat("set the log level from ", before, " to ", level);
  }

  Done Drain() {
    const bool begins = !drained_.exchange(true) && options_.drain();
    return std::string(begins ? "began the drain" : "asked for a drain, which had begun before");
  }

  Done Lift(const v1::LiftQuarantineRequest& request, v1::LiftQuarantineResponse* response) {
    Quarantine& quarantine = options_.dispatcher->quarantine();
    if (request.all()) {
      response->set_lifted(static_cast<uint32_t>(quarantine.LiftAll()));
      return absl::StrCat("lifted the quarantine of all ", response->lifted(),
                          response->lifted() == 1 ? " kind of request" : " kinds of request");
    }
    BASEBAND_ASSIGN_OR_RETURN(const uint64_t fingerprint,
                              FingerprintFromText(request.fingerprint()));
    BASEBAND_RETURN_IF_ERROR(quarantine.Lift(fingerprint));
    response->set_lifted(1);
    return absl::StrCat("lifted the quarantine of ", FingerprintText(fingerprint));
  }

  Done Inject(const v1::InjectFaultRequest& request) {
    if (options_.faults == nullptr) {
      return absl::FailedPreconditionError(
          "this server injects no faults: it runs without --allow-fault-injection");
    }
    if (request.kind() == v1::InjectFaultRequest::LOSE) {
      BASEBAND_ASSIGN_OR_RETURN(const std::string device, DeviceToLose(request));
      BASEBAND_RETURN_IF_ERROR(
          options_.dispatcher->LoseDevice(device, DeviceLoss::kInjected, "an admin wanted it so"));
      return absl::StrCat("gave up ", device);
    }
    BASEBAND_ASSIGN_OR_RETURN(const Fault fault, FaultFromProto(request, options_.devices));
    const int64_t left = options_.faults->Arm(fault);
    return absl::StrCat("armed ", ToText(request.kind(), fault),
                        left > 0 ? absl::StrCat(", in place of ", left, " that were left") : "");
  }

  // A method that changes nothing.
  template <typename Request, typename Response>
  void AddQuestion(const char* method, std::function<void(Response&)> answer) {
    AddMessageMethod<Request, Response>(
        {&service_, access_, metrics_, kAdminRpc, Role::kAdmin}, method,
        [method, answer = std::move(answer)](const Identity& caller, const Request&,
                                             Response& response) {
          spdlog::info("admin: {} asks: {}", Quoted(caller.name), method);
          answer(response);
          return absl::OkStatus();
        });
  }

  // One that does something, or refuses to. Afterwards the log has which of them, and who asked.
  template <typename Request, typename Response>
  void AddAction(const char* method, std::function<Done(const Request&, Response&)> act) {
    AddMessageMethod<Request, Response>(
        {&service_, access_, metrics_, kAdminRpc, Role::kAdmin}, method,
        [method, act = std::move(act)](const Identity& caller, const Request& request,
                                       Response& response) {
          const Done done = act(request, response);
          LogAtAnyLevel(absl::StrCat(
              "admin: ", Quoted(caller.name), " ",
              done.ok() ? *done
                        : absl::StrCat("was refused ", method, ": ", done.status().ToString())));
          return done.status();
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
