#include "client/cpp/admin_client.h"

#include <utility>

#include "baseband/v1/admin.grpc.pb.h"
#include "client/cpp/attempt.h"
#include "client/cpp/channel_pool.h"
#include "client/cpp/client_options.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {

class AdminClient::Impl {
 public:
  explicit Impl(const ClientOptions& options)
      : channels_(options), stub_(v1::Admin::NewStub(channels_.Pick().channel)) {}

  template <typename Request, typename Response>
  absl::Status Call(grpc::Status (v1::Admin::Stub::*method)(grpc::ClientContext*, const Request&,
                                                            Response*),
                    const Request& request, absl::Duration timeout, Response* response) {
    CallHeader header;
    header.deadline = SteadyNow() + timeout;
    Attempt attempt(header, &channels_);
    const grpc::Status status = (stub_.get()->*method)(attempt.context(), request, response);
    attempt.End();
    return attempt.Outcome(status, /*cancelled=*/false);
  }

 private:
  ChannelPool channels_;
  const std::unique_ptr<v1::Admin::Stub> stub_;
};

AdminClient::AdminClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AdminClient::~AdminClient() = default;

absl::StatusOr<std::unique_ptr<AdminClient>> AdminClient::Create(ClientOptions options) {
  options.connections = 1;
  if (absl::Status status = CheckOptions(options); !status.ok()) {
    return status;
  }
  return std::unique_ptr<AdminClient>(new AdminClient(std::make_unique<Impl>(options)));
}

absl::StatusOr<std::string> AdminClient::GetConfig(absl::Duration timeout) {
  v1::GetConfigResponse response;
  const absl::Status status =
      impl_->Call(&v1::Admin::Stub::GetConfig, v1::GetConfigRequest(), timeout, &response);
  return status.ok() ? absl::StatusOr<std::string>(response.config()) : status;
}

absl::Status AdminClient::SetLogLevel(const std::string& level, absl::Duration timeout) {
  v1::SetLogLevelRequest request;
  request.set_level(level);
  v1::SetLogLevelResponse response;
  return impl_->Call(&v1::Admin::Stub::SetLogLevel, request, timeout, &response);
}

absl::Status AdminClient::Drain(absl::Duration timeout) {
  v1::DrainResponse response;
  return impl_->Call(&v1::Admin::Stub::Drain, v1::DrainRequest(), timeout, &response);
}

absl::Status AdminClient::InjectFault(const v1::InjectFaultRequest& request,
                                      absl::Duration timeout) {
  v1::InjectFaultResponse response;
  return impl_->Call(&v1::Admin::Stub::InjectFault, request, timeout, &response);
}

absl::StatusOr<v1::GetFlightRecordsResponse> AdminClient::GetFlightRecords(absl::Duration timeout) {
  v1::GetFlightRecordsResponse response;
  const absl::Status status = impl_->Call(&v1::Admin::Stub::GetFlightRecords,
                                          v1::GetFlightRecordsRequest(), timeout, &response);
  return status.ok() ? absl::StatusOr<v1::GetFlightRecordsResponse>(std::move(response)) : status;
}

absl::StatusOr<v1::GetQuarantineResponse> AdminClient::GetQuarantine(absl::Duration timeout) {
  v1::GetQuarantineResponse response;
  const absl::Status status =
      impl_->Call(&v1::Admin::Stub::GetQuarantine, v1::GetQuarantineRequest(), timeout, &response);
  return status.ok() ? absl::StatusOr<v1::GetQuarantineResponse>(std::move(response)) : status;
}

absl::StatusOr<uint32_t> AdminClient::LiftQuarantine(const v1::LiftQuarantineRequest& request,
                                                     absl::Duration timeout) {
  v1::LiftQuarantineResponse response;
  const absl::Status status =
      impl_->Call(&v1::Admin::Stub::LiftQuarantine, request, timeout, &response);
  return status.ok() ? absl::StatusOr<uint32_t>(response.lifted()) : status;
}

}  // namespace baseband::client
