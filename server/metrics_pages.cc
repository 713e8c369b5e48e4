#include "server/metrics_pages.h"

#include <spdlog/spdlog.h>

#include <string>

#include "kernels/base/status_macros.h"
#include "server/config/address.h"

namespace baseband::server {
namespace {

// Who tells tokens from each other lets nobody else read the page from other hosts.
MetricsServer::Admit MetricsDoor(const Config& config, Security& security) {
  const absl::StatusOr<Address> address = ParseAddress(config.metrics_listen);
  if (config.tokens_file.empty() || (address.ok() && address->is_local())) return nullptr;
  return [&security](const std::string& password) {
    const auto holder = security.access().tokens().Find(password);
    return holder.has_value() && holder->roles.Has(Role::kMetrics);
  };
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> StartMetricsPages(const Config& config,
                                                                 const Metrics& metrics,
                                                                 Security& security,
                                                                 const Lifecycle& lifecycle) {
  if (config.metrics_listen.empty()) return nullptr;
  MetricsServer::Probes probes;
  probes.live = [&lifecycle] { return lifecycle.WhyNotLive(); };
  probes.ready = [&lifecycle] { return lifecycle.WhyNotReady(); };
  BASEBAND_ASSIGN_OR_RETURN(
      std::unique_ptr<MetricsServer> server,
      MetricsServer::Start(config.metrics_listen, metrics, MetricsDoor(config, security), probes));
  spdlog::info("metrics at http://{}/metrics, probes at /livez and /readyz", config.metrics_listen);
  return server;
}

}  // namespace baseband::server
