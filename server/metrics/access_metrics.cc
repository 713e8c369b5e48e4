// Connections, certificates, tokens, and memory, also that of clients.
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
  payload_bytes_in_place_ = AddCounter(*registry_, metric::kPayloadBytes, {{"way", "in_place"}});
  payload_bytes_gathered_ = AddCounter(*registry_, metric::kPayloadBytes, {{"way", "gathered"}});
  shared_bytes_in_ = AddCounter(*registry_, metric::kSharedMemoryBytes, {{"direction", "in"}});
  shared_bytes_out_ = AddCounter(*registry_, metric::kSharedMemoryBytes, {{"direction", "out"}});
  shared_regions_ = AddGauge(*registry_, metric::kSharedMemoryRegions);
  rings_ = AddGauge(*registry_, metric::kRings);
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

void Metrics::AddSharedBytes(int64_t request_bytes, int64_t reply_bytes) {
  if (request_bytes > 0) shared_bytes_in_->Increment(static_cast<double>(request_bytes));
  if (reply_bytes > 0) shared_bytes_out_->Increment(static_cast<double>(reply_bytes));
}

void Metrics::AddPayloadBytes(int64_t in_place, int64_t gathered) {
  if (in_place > 0) payload_bytes_in_place_->Increment(static_cast<double>(in_place));
  if (gathered > 0) payload_bytes_gathered_->Increment(static_cast<double>(gathered));
}

void Metrics::SetSharedRegions(int64_t regions) {
  shared_regions_->Set(static_cast<double>(regions));
}

void Metrics::SetRings(int64_t rings) { rings_->Set(static_cast<double>(rings)); }

void Metrics::CountRefusedConnection() { connections_refused_->Increment(); }

void Metrics::CountEndedStrangers(int64_t count) {
  strangers_ended_->Increment(static_cast<double>(count));
}

void Metrics::SetCertificateExpiry(absl::Time expiry) {
  certificate_expiry_->Set(static_cast<double>(absl::ToUnixSeconds(expiry)));
}

void Metrics::CountReloadFailure() { reload_failures_->Increment(); }

}  // namespace baseband::server
