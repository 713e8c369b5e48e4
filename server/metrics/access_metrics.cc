// Connections, refused callers, certificates and tokens.
#include "server/metrics/metrics.h"
#include "server/metrics/series.h"

namespace baseband::server {

void Metrics::RegisterAccess() {
  for (size_t i = 0; i < kDenialNames.size(); ++i) {
    denied_[i] = AddCounter(*registry_, names::kDenied, {{"reason", kDenialNames[i]}});
  }
  connections_ = AddGauge(*registry_, names::kConnections);
  connections_capacity_ = AddGauge(*registry_, names::kConnectionsCapacity);
  connections_refused_ = AddCounter(*registry_, names::kConnectionsRefused);
  certificate_expiry_ = AddGauge(*registry_, names::kCertificateExpiry);
  reload_failures_ = AddCounter(*registry_, names::kReloadFailures);
}

void Metrics::CountDenied(Denial reason) { denied_[static_cast<size_t>(reason)]->Increment(); }

void Metrics::SetConnections(int64_t open) { connections_->Set(static_cast<double>(open)); }

void Metrics::SetConnectionsCapacity(int64_t connections) {
  connections_capacity_->Set(static_cast<double>(connections));
}

void Metrics::CountRefusedConnection() { connections_refused_->Increment(); }

void Metrics::SetCertificateExpiry(absl::Time expiry) {
  certificate_expiry_->Set(static_cast<double>(absl::ToUnixSeconds(expiry)));
}

void Metrics::CountReloadFailure() { reload_failures_->Increment(); }

}  // namespace baseband::server
