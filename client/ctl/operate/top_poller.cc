#include "client/ctl/operate/top_poller.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "client/load/http_get.h"
#include "common/metric_names.h"
#include "kernels/base/steady_time.h"

namespace baseband::ctl {
namespace {

// The address of the page that says whether the server is ready, beside that of the metrics.
std::string ReadyUrl(const std::string& url) {
  const size_t host = url.find("://") == std::string::npos ? 0 : url.find("://") + 3;
  const size_t slash = url.find('/', host);
  return (slash == std::string::npos ? url : url.substr(0, url.rfind('/'))) + "/readyz";
}

ServerState StateOf(const std::string& url, absl::Duration timeout, const load::MetricsPage& page) {
  const absl::StatusOr<load::HttpAnswer> ready = load::HttpGet(ReadyUrl(url), timeout);
  if (ready.ok() && ready->status == 200) {
    return ServerState::kServing;
  }
  if (ready.ok() && ready->status == 503) {
    return absl::StrContains(ready->body, "starting") ? ServerState::kStarting
           : absl::StrContains(ready->body, "device") ? ServerState::kNoDevice
                                                      : ServerState::kDraining;
  }
  return load::Sum(page, metric::kDeviceHealthy.name) > 0 ? ServerState::kServing
                                                          : ServerState::kNoDevice;
}

}  // namespace

const char* NameOf(ServerState state) {
  switch (state) {
    case ServerState::kUnknown:
      return "";
    case ServerState::kServing:
      return "serving";
    case ServerState::kStarting:
      return "starting";
    case ServerState::kDraining:
      return "draining";
    case ServerState::kNoDevice:
      return "no device";
    case ServerState::kUnreachable:
      break;
  }
  return "unreachable";
}

Sample LookAt(const std::string& url, absl::Duration timeout, const std::string& password) {
  Sample sample;
  absl::StatusOr<load::MetricsPage> page = load::FetchMetrics(url, timeout, password);
  sample.time = SteadyNow();
  if (!page.ok()) {
    sample.state = ServerState::kUnreachable;
    sample.why = std::string(page.status().message());
    return sample;
  }
  sample.page = *std::move(page);
  sample.state = StateOf(url, timeout, sample.page);
  return sample;
}

TopPoller::TopPoller(std::vector<std::string> urls, absl::Duration timeout, std::string password)
    : timeout_(timeout), password_(std::move(password)), idle_fd_(eventfd(1, EFD_CLOEXEC)) {
  servers_.resize(urls.size());
  for (size_t i = 0; i < urls.size(); ++i) {
    servers_[i].url = std::move(urls[i]);
    servers_[i].last.time = absl::InfinitePast();
  }
  for (size_t i = 0; i < urls.size(); ++i) {
    threads_.emplace_back([this, i] { Run(i); });
  }
}

TopPoller::~TopPoller() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
  close(idle_fd_);
}

void TopPoller::Ask() {
  absl::MutexLock lock(&mutex_);
  if (under_way_ == 0 && !servers_.empty()) {
    eventfd_t idle = 0;
    eventfd_read(idle_fd_, &idle);
  }
  for (Server& server : servers_) {
    under_way_ += server.asked ? 0 : 1;
    server.asked = true;
  }
}

void TopPoller::WaitUntilIdle() const {
  const auto idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return under_way_ == 0; };
  absl::MutexLock lock(&mutex_, absl::Condition(&idle));
}

std::vector<Sample> TopPoller::Last() const {
  absl::MutexLock lock(&mutex_);
  std::vector<Sample> samples;
  for (const Server& server : servers_) {
    samples.push_back(server.last);
  }
  return samples;
}

void TopPoller::Run(size_t i) {
  absl::MutexLock lock(&mutex_);
  Server& server = servers_[i];
  const auto wanted = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stop_ || server.asked; };
  while (true) {
    mutex_.Await(absl::Condition(&wanted));
    if (stop_) {
      return;
    }
    const std::string url = server.url;
    mutex_.Unlock();
    Sample sample = LookAt(url, timeout_, password_);
    mutex_.Lock();
    server.last = std::move(sample);
    server.asked = false;
    if (--under_way_ == 0) {
      eventfd_write(idle_fd_, 1);
    }
  }
}

}  // namespace baseband::ctl
