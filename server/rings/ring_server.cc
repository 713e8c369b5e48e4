#include "server/rings/ring_server.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"

namespace baseband::server {

// A ring and the thread that looks after it.
class RingServer::Served final : public OpenRing {
 public:
  Served(std::shared_ptr<RingSession> session, int bell_fd, RingPoller* poller,
         std::shared_ptr<LiveCount> rings)
      : session_(std::move(session)),
        bell_fd_(bell_fd),
        poller_(*poller),
        rings_(std::move(rings)),
        counted_(rings_.get()) {}
  ~Served() override {
    session_->End();
    poller_.Remove(session_, bell_fd_);
    close(bell_fd_);
  }

  absl::Status Serve() override {
    return poller_.Add(session_, bell_fd_)
               ? absl::OkStatus()
               : absl::ResourceExhaustedError("there is no memory for another ring");
  }
  int bell_fd() const override { return bell_fd_; }
  uint64_t bytes() const override { return baseband_ring_bytes(session_->entries()); }

 private:
  const std::shared_ptr<RingSession> session_;
  const int bell_fd_;
  RingPoller& poller_;
  const std::shared_ptr<LiveCount> rings_;
  const LiveCount::One counted_;
};

RingServer::RingServer(const CallEnvironment& environment, RegionServer* regions)
    : environment_(environment), regions_(regions), rings_(std::make_shared<LiveCount>()) {}

absl::StatusOr<std::unique_ptr<RingServer>> RingServer::Start(const Options& options,
                                                              const CallEnvironment& environment,
                                                              RegionServer* regions) {
  std::unique_ptr<RingServer> self(new RingServer(environment, regions));
  for (int i = 0; i < options.threads; ++i) {
    BASEBAND_ASSIGN_OR_RETURN(
        std::unique_ptr<RingPoller> poller,
        RingPoller::Start(options.spin, [dispatcher = environment.dispatcher] {
          dispatcher->DispatchGathered();
        }));
    self->pollers_.push_back(std::move(poller));
  }
  environment.metrics->BeforeScrape(
      [rings = self->rings_](Metrics& metrics) { metrics.SetRings(rings->count()); });
  regions->SetRingHost(self.get());
  return self;
}

RingServer::~RingServer() { regions_->SetRingHost(nullptr); }

absl::StatusOr<std::unique_ptr<OpenRing>> RingServer::Open(
    const std::string& client, std::shared_ptr<const SharedMemory> memory, uint64_t offset) {
  BASEBAND_ASSIGN_OR_RETURN(std::shared_ptr<RingSession> session,
                            RingSession::Open(environment_, client, std::move(memory), offset));
  const int bell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (bell_fd < 0) return absl::ResourceExhaustedError("there is no descriptor for another ring");
  RingPoller& poller = **std::min_element(
      pollers_.begin(), pollers_.end(),
      [](const auto& a, const auto& b) { return a->CountRings() < b->CountRings(); });
  return std::make_unique<Served>(std::move(session), bell_fd, &poller, rings_);
}

absl::StatusOr<std::unique_ptr<RingServer>> StartRings(const Config& config,
                                                       const CallEnvironment& environment,
                                                       RegionServer* regions) {
  if (regions == nullptr) return nullptr;
  return RingServer::Start({config.ring_threads, config.ring_spin}, environment, regions);
}

}  // namespace baseband::server
