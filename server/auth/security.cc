#include "server/auth/security.h"

#include <spdlog/spdlog.h>

#include <string>

#include "kernels/base/status_macros.h"

namespace baseband::server {
namespace {

constexpr absl::Duration kWatchInterval = absl::Seconds(1);

}  // namespace

absl::Status CheckSecurityFiles(const Config& config) {
  BASEBAND_RETURN_IF_ERROR(Access::Create(config).status());
  return config.tls_cert.empty() ? absl::OkStatus() : ReadTlsFiles(config).status();
}

absl::StatusOr<std::unique_ptr<Security>> Security::Create(const Config& config, Metrics* metrics) {
  std::unique_ptr<Security> security(new Security(metrics));
  BASEBAND_ASSIGN_OR_RETURN(security->access_, Access::Create(config));
  if (!config.tls_cert.empty()) {
    BASEBAND_ASSIGN_OR_RETURN(security->tls_, Tls::Create(config));
    metrics->SetCertificateExpiry(security->tls_->expiry());
  }
  security->watcher_ =
      std::make_unique<PeriodicThread>(kWatchInterval, [s = security.get()] { s->ReloadFiles(); });
  return security;
}

Security::~Security() = default;

std::shared_ptr<grpc::ServerCredentials> Security::credentials() const {
  return tls_ == nullptr ? grpc::InsecureServerCredentials() : tls_->credentials();
}

void Security::ReloadFiles() {
  const auto complain = [this](const absl::Status& status) {
    if (status.ok()) return;
    metrics_->CountReloadFailure();
    spdlog::error("{}; what was read before stays in force", std::string(status.message()));
  };
  complain(access_->tokens().Reload());
  if (tls_ == nullptr) return;
  const absl::Time before = tls_->expiry();
  complain(tls_->Reload());
  metrics_->SetCertificateExpiry(tls_->expiry());
  if (tls_->expiry() != before) {
    spdlog::info("a new certificate is in use, until {}",
                 absl::FormatTime(tls_->expiry(), absl::UTCTimeZone()));
  }
}

}  // namespace baseband::server
