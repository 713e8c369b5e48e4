// Connections, certificates, tokens, and memory.
#include "server/metrics/metrics.h"
#include "server/metrics/series.h"

namespace baseband::server {

void Metrics::RegisterAccess() {
  memory_limit_ = AddGauge(*registry_, metric::kMemoryLimit);
  memory_used_ = AddGauge(*registry_, metric::kMemoryUsed);
  memory_step_ = AddGauge(*registry_, metric::kMemoryStep);
  open_connections_ = AddGauge(*registry_, metric::kOpenConnections);
  max_connections_ = AddGauge(*registry_, metric::kMaxConnections);
  connections_refused_ = AddCounter(*registry_, metric::kConnectionsRefused);
  strangers_ended_ = AddCounter(*registry_, metric::kStrangersEnded);
  certificate_expiry_ = AddGauge(*registry_, metric::kCertificateExpiry);
  reload_failures_ = AddCounter(*registry_, metric::kReloadFailures);
}

void Metrics::SetMemory(int64_t limit, int64_t used, int step) {
  memory_limit_->Set(static_cast<double>(limit));
  memory_used_->Set(static_cast<double>(used));
  memory_step_->Set(step);
}

void Metrics::SetOpenConnections(int64_t connections) {
  open_connections_->Set(static_cast<double>(connections));
}

void Metrics::SetMaxConnections(int64_t connections) {
  max_connections_->Set(static_cast<double>(connections));
}

void Metrics::CountRefusedConnection() { connections_refused_->Increment(); }

void Metrics::CountEndedStrangers(int64_t count) {
  strangers_ended_->Increment(static_cast<double>(count));
}

void Metrics::SetCertificateExpiry(absl::Time expiry) {
  certificate_expiry_->Set(static_cast<double>(absl::ToUnixSeconds(expiry)));
}

void Metrics::CountReloadFailure() { reload_failures_->Increment(); }

}  // namespace baseband::server
