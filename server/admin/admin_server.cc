#include "server/admin/admin_server.h"

#include <spdlog/spdlog.h>

#include <atomic>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "baseband/v1/admin.grpc.pb.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/admin/admin_messages.h"
#include "server/config/logging.h"
#include "server/grpc/grpc_time.h"
#include "server/grpc/status.h"

namespace baseband::server {
namespace {

constexpr int kMaxConnections = 64;
constexpr int kMaxMessageBytes = 64 << 10;
constexpr absl::Duration kGoodbye = absl::Milliseconds(100);

}  // namespace

class AdminServer::Service final : public v1::Admin::Service {
 public:
  Service(Access* access, Options options) : access_(access), options_(std::move(options)) {}

  grpc::Status GetConfig(grpc::ServerContext* context, const v1::GetConfigRequest*,
                         v1::GetConfigResponse* response) override {
    return Serve(*context, "asks for the settings", [&] {
      response->set_config(options_.effective_config);
      return absl::OkStatus();
    });
  }

  grpc::Status SetLogLevel(grpc::ServerContext* context, const v1::SetLogLevelRequest* request,
                           v1::SetLogLevelResponse*) override {
    return Serve(*context, "sets the log level",
                 [&] { return server::SetLogLevel(request->level()); });
  }

  grpc::Status Drain(grpc::ServerContext* context, const v1::DrainRequest*,
                     v1::DrainResponse*) override {
    return Serve(*context, "drains the server", [&] {
      if (!drained_.exchange(true)) options_.drain();
      return absl::OkStatus();
    });
  }

  grpc::Status InjectFault(grpc::ServerContext* context, const v1::InjectFaultRequest* request,
                           v1::InjectFaultResponse*) override {
    return Serve(*context, "asks for a fault", [&] { return Inject(*request); });
  }

  grpc::Status GetFlightRecords(grpc::ServerContext* context, const v1::GetFlightRecordsRequest*,
                                v1::GetFlightRecordsResponse* response) override {
    return Serve(*context, "asks for the flight records", [&] {
      for (const FlightRecord& record : options_.recorder->Records()) {
        *response->add_records() = ToProto(record);
      }
      return absl::OkStatus();
    });
  }

 private:
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

  template <typename Work>
  grpc::Status Serve(const grpc::ServerContext& context, const char* what, const Work& work) {
    absl::Status status = access_->Check(context, Role::kAdmin);
    if (status.ok()) {
      spdlog::info("admin: {} {}", absl::CHexEscape(access_->ClientOf(context)), what);
      status = work();
    }
    return ToGrpcStatus(status);
  }

  Access* const access_;
  const Options options_;
  std::atomic<bool> drained_{false};
};

AdminServer::AdminServer(Security& security, Metrics& metrics)
    : listener_(kMaxConnections, &security, &metrics) {}

absl::StatusOr<std::unique_ptr<AdminServer>> AdminServer::Start(const Config& config,
                                                                Security& security,
                                                                Metrics& metrics, Options options) {
  std::unique_ptr<AdminServer> self(new AdminServer(security, metrics));
  BASEBAND_RETURN_IF_ERROR(self->listener_.Listen({config.admin_listen}, config.socket_mode));
  self->service_ = std::make_unique<Service>(&security.access(), std::move(options));
  grpc::ServerBuilder builder;
  builder.RegisterService(self->service_.get());
  builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
  self->listener_.AddTo(builder);
  self->server_ = builder.BuildAndStart();
  if (self->server_ == nullptr) {
    return absl::InternalError("gRPC does not start a server for administration");
  }
  self->listener_.Start(self->server_.get());
  return self;
}

AdminServer::~AdminServer() {
  listener_.Stop();
  if (server_ != nullptr) server_->Shutdown(ToGrpcTime(SteadyNow() + kGoodbye));
}

}  // namespace baseband::server
