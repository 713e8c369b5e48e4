// Device time by client, of a bounded number of them.
#include "server/metrics/metrics.h"
#include "server/metrics/series.h"

namespace baseband::server {
namespace {

constexpr size_t kMaxNameBytes = 128;

// Names are the clients' own: one that is no text would spoil the page for whoever scrapes it.
std::string ToLabel(const std::string& client) {
  std::string label = client.substr(0, kMaxNameBytes);
  for (char& c : label) {
    if (c < ' ' || c > '~') c = '?';
  }
  return label;
}

}  // namespace

void Metrics::AddClientTime(const std::string& client, double seconds) {
  prometheus::Counter* counter = other_clients_;
  bool is_new = false;
  {
    absl::ReaderMutexLock lock(&clients_mutex_);
    const auto found = clients_.find(client);
    if (found != clients_.end()) {
      counter = found->second;
    } else {
      is_new = clients_.size() < kMaxClientNames;
    }
  }
  if (is_new) {
    absl::MutexLock lock(&clients_mutex_);
    if (clients_.size() < kMaxClientNames) {
      counter = clients_.try_emplace(client).first->second =
          AddCounter(*registry_, metric::kClientDeviceSeconds, {{"client", ToLabel(client)}});
    }
  }
  counter->Increment(seconds);
}

}  // namespace baseband::server
