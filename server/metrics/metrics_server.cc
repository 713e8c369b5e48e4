#include "server/metrics/metrics_server.h"

#include <prometheus/exposer.h>

#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace baseband::server {
namespace {

// A connection that says nothing holds a thread, and is closed after so long.
constexpr char kThreads[] = "8";
constexpr char kPatienceMs[] = "3000";

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(const std::string& address,
                                                                    const Metrics& metrics,
                                                                    Admit admit) {
  try {
    auto exposer = std::make_unique<prometheus::Exposer>(std::vector<std::string>{
        "listening_ports", address, "num_threads", kThreads, "request_timeout_ms", kPatienceMs});
    if (admit != nullptr) {
      exposer->RegisterAuth(
          [admit](const std::string&, const std::string& password) { return admit(password); },
          "basebandd");
    }
    exposer->RegisterCollectable(metrics.collectable());
    const std::vector<int> ports = exposer->GetListeningPorts();
    return std::unique_ptr<MetricsServer>(
        new MetricsServer(std::move(exposer), ports.empty() ? 0 : ports.front()));
  } catch (const std::exception& error) {  // of civetweb, which does not say why
    return absl::UnavailableError(
        absl::StrCat("metrics_listen ", address, " cannot be had (is it taken?): ", error.what()));
  }
}

MetricsServer::MetricsServer(std::unique_ptr<prometheus::Exposer> exposer, int port)
    : exposer_(std::move(exposer)), port_(port) {}

MetricsServer::~MetricsServer() = default;

}  // namespace baseband::server
