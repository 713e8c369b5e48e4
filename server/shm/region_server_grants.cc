// RegionServer's part for what others make: memory, its seals, and what is answered once they have.
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/shm/region_server.h"

namespace baseband::server {

using shm::RegionKind;
using shm::RegionRequest;

absl::Status RegionServer::Order(int64_t bytes, int fd, Connection* connection) {
  const absl::Time now = SteadyNow();
  Client& client = ClientOf(connection->client);
  if (client.grants.Left(now) < 1.0) {
    return absl::ResourceExhaustedError(absl::StrCat(connection->client,
                                                     " asks for regions too often: more than ",
                                                     kGrantsPerSecond, " a second"));
  }
  client.grants.Take(now);
  // What is more than a client may have is refused for that.
  const int64_t wanted = std::min(bytes, table_->limits().client_bytes);
  if (client.bytes.Left(now) < static_cast<double>(wanted)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "bytes ", bytes, ": ", connection->client, " asks for memory too often: more than ",
        static_cast<int64_t>(kGrantedBytesPerSecond), " bytes a second"));
  }
  BASEBAND_RETURN_IF_ERROR(options_.memory->AdmitBytes(wanted));
  connection->order = ++last_order_;
  connection->due = now + options_.patience;
  grants_->Add({connection->order, fd, connection->client, bytes, "", connection->due});
  return absl::OkStatus();
}

absl::Status RegionServer::OrderSeal(const RegionRequest& request, int fd, Connection* connection) {
  connection->order = ++last_order_;
  connection->due = SteadyNow() + options_.patience;
  connection->request = request;
  grants_->Seal({connection->order, fd, connection->client, 0, NameOf(request), connection->due});
  return absl::OkStatus();
}

bool RegionServer::AnswerSeal(int fd, Connection* connection, const absl::Status& sealed) {
  connection->order = 0;
  Given given;
  absl::Status status = sealed;
  if (status.ok() && connection->request.kind == RegionKind::kRing) {
    status = OpenRingIn(connection->request, *connection, &given);
  }
  const bool is_well = Answer(fd, status, given);
  if (given.bell_fd >= 0) close(given.bell_fd);
  return is_well;
}

void RegionServer::AnswerGrants() {
  uint64_t many = 0;
  (void)!read(made_fd_, &many, sizeof(many));
  const absl::Time now = SteadyNow();
  for (GrantThread::Made& made : grants_->TakeMade()) {
    if (!made.order.region.empty()) {
      const auto found = connections_.find(made.order.fd);
      if (found != connections_.end() && found->second.order == made.order.id &&
          !AnswerSeal(made.order.fd, &found->second, made.grant.status())) {
        Close(made.order.fd);
      }
      continue;
    }
    // Whoever waits for it or not: it has kept the driver.
    if (made.grant.ok()) {
      ClientOf(made.order.client)
          .bytes.Take(now, static_cast<double>(made.grant->memory->region().bytes));
    }
    const auto found = connections_.find(made.order.fd);
    if (found == connections_.end() || found->second.order != made.order.id) {
      if (made.grant.ok()) table_->Remove(made.grant->name);
      made.grant = absl::CancelledError();
      grants_->Reap();
      continue;
    }
    found->second.order = 0;
    Given given;
    if (made.grant.ok()) {
      found->second.regions.insert(made.grant->name);
      given.region = *made.grant;
    }
    if (!Answer(made.order.fd, made.grant.status(), given)) Close(made.order.fd);
  }
  std::vector<int> late;
  for (const auto& [fd, connection] : connections_) {
    if (connection.order != 0 && connection.due <= now) late.push_back(fd);
  }
  const absl::Status status = absl::UnavailableError(
      absl::StrCat("no region within ", absl::FormatDuration(options_.patience),
                   ": the driver of the GPUs, maybe for a reset, or the region's file, which its "
                   "client changes, "
                   "keeps the server waiting; ask again later"));
  for (const int fd : late) {
    connections_.at(fd).order = 0;
    if (!Answer(fd, status, Given())) Close(fd);
  }
}

}  // namespace baseband::server
