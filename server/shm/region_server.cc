#include "server/shm/region_server.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"

namespace baseband::server {
namespace {

using shm::RegionAnswer;
using shm::RegionKind;
using shm::RegionRequest;

// While freed memory is still used, or there is no descriptor for who wants to connect.
constexpr int kLookMs = 20;

std::string NameOf(const RegionRequest& request) {
  return {reinterpret_cast<const char*>(request.name), sizeof(request.name)};
}

absl::Status NotTheirs() { return absl::NotFoundError("name is no region of this connection"); }

// With a descriptor, unless it is -1.
bool Send(int fd, const RegionAnswer& answer, int granted_fd) {
  iovec part{const_cast<RegionAnswer*>(&answer), sizeof(answer)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (granted_fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &granted_fd, sizeof(int));
  }
  return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(answer);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RegionServer>> RegionServer::Start(const std::string& path,
                                                                  int socket_mode, Access* access,
                                                                  RegionTable* table) {
  BASEBAND_ASSIGN_OR_RETURN(ListeningSocket listening, ListenForPackets(path, socket_mode));
  return std::unique_ptr<RegionServer>(new RegionServer(std::move(listening), access, table));
}

absl::StatusOr<SharedRegions> StartRegions(const Config& config, Access* access,
                                           const std::vector<Device*>& devices, Metrics* metrics) {
  SharedRegions regions;
  if (config.shm_listen.empty()) return regions;
  RegionTable::Limits limits;
  limits.bytes = MibToBytes(config.shm_mib);
  limits.client_bytes = MibToBytes(std::min(config.client_shm_mib, config.shm_mib));
  regions.table = std::make_unique<RegionTable>(
      limits, [devices](int64_t bytes) { return SharedMemory::Create(bytes, devices); });
  BASEBAND_ASSIGN_OR_RETURN(const Address address, ParseAddress(config.shm_listen));
  BASEBAND_ASSIGN_OR_RETURN(
      regions.server,
      RegionServer::Start(address.unix_path, config.socket_mode, access, regions.table.get()));
  const int pool = metrics->AddPool("shared", limits.bytes);
  metrics->BeforeScrape([table = regions.table.get(), pool](Metrics& sampled) {
    const RegionTable::Usage usage = table->usage();
    sampled.SetPoolUsed(pool, usage.bytes);
    sampled.SetSharedRegions(usage.regions);
  });
  spdlog::info("sharing memory at {}", config.shm_listen);
  return regions;
}

RegionServer::RegionServer(ListeningSocket listening, Access* access, RegionTable* table)
    : listening_(std::move(listening)),
      access_(access),
      table_(table),
      stop_fd_(eventfd(0, EFD_CLOEXEC)),
      thread_([this] { Run(); }) {}

RegionServer::~RegionServer() {
  const uint64_t one = 1;
  (void)!write(stop_fd_, &one, sizeof(one));
  thread_.join();
  while (!connections_.empty()) Close(connections_.begin()->first);
  CloseListening(listening_);
  close(stop_fd_);
  table_->Reap();
}

void RegionServer::Run() {
  for (;;) {
    const bool is_used = table_->Reap();
    ForgetClients();
    std::vector<pollfd> polled = {{stop_fd_, POLLIN, 0}, {listening_.fd, POLLIN, 0}};
    for (const auto& [fd, connection] : connections_) polled.push_back({fd, POLLIN, 0});
    if (poll(polled.data(), polled.size(), is_used ? kLookMs : -1) < 0) continue;
    if (polled[0].revents != 0) return;
    for (size_t i = 2; i < polled.size(); ++i) {
      const int fd = polled[i].fd;
      if (polled[i].revents != 0 && !Serve(fd, &connections_.at(fd))) Close(fd);
    }
    if (polled[1].revents != 0) Accept();
  }
}

void RegionServer::Accept() {
  const int fd = accept4(listening_.fd, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    // Without descriptors or memory there is nothing to do but wait.
    if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
      pollfd stop = {stop_fd_, POLLIN, 0};
      poll(&stop, 1, kLookMs);
    }
    return;
  }
  Connection connection;
  const absl::optional<UnixPeer> peer = PeerOf(fd);
  if (!peer.has_value() || connections_.size() >= kMaxConnections) {
    close(fd);
    return;
  }
  const absl::StatusOr<Identity> identity = access_->Admit(*peer, Role::kUser);
  connection.refusal = identity.status();
  connection.client = identity.ok() ? identity->name : absl::StrCat("uid:", peer->uid);
  Client& client = clients_[connection.client];
  if (client.connections >= kMaxClientConnections) {
    close(fd);
    return;
  }
  ++client.connections;
  connections_.emplace(fd, std::move(connection));
}

bool RegionServer::Serve(int fd, Connection* connection) {
  RegionRequest request;
  const ssize_t size = recv(fd, &request, sizeof(request), MSG_DONTWAIT | MSG_TRUNC);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  if (size == 0) return false;
  RegionAnswer answer;
  Given given;
  const absl::Status status = size == sizeof(request)
                                  ? Do(request, connection, &given)
                                  : absl::InvalidArgumentError(absl::StrCat(
                                        "a message has ", sizeof(request), " bytes, not ", size));
  answer.code = static_cast<uint32_t>(status.code());
  std::memcpy(answer.server_id, table_->server_id().data(), sizeof(answer.server_id));
  const absl::string_view message = status.message().substr(0, sizeof(answer.message) - 1);
  std::copy(message.begin(), message.end(), answer.message);
  if (given.region.memory != nullptr) {
    answer.bytes = static_cast<uint64_t>(given.region.memory->region().bytes);
    std::memcpy(answer.name, given.region.name.data(), sizeof(answer.name));
  }
  return Send(fd, answer, given.fd);
}

absl::Status RegionServer::Do(const RegionRequest& request, Connection* connection, Given* given) {
  BASEBAND_RETURN_IF_ERROR(connection->refusal);
  if (request.version != shm::kRegionVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("version ", request.version, " is not ", shm::kRegionVersion));
  }
  switch (request.kind) {
    case RegionKind::kHello:
      return absl::OkStatus();
    case RegionKind::kGrant:
      return Grant(request, connection, given);
    case RegionKind::kFree: {
      const std::string name = NameOf(request);
      if (connection->regions.erase(name) == 0) return NotTheirs();
      Remove(name);
      return absl::OkStatus();
    }
    case RegionKind::kRing:
      return OpenRingIn(request, *connection, given);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("kind ", static_cast<uint32_t>(request.kind), " is not in [0, 3]"));
}

absl::Status RegionServer::Grant(const RegionRequest& request, Connection* connection,
                                 Given* given) {
  const absl::Time now = SteadyNow();
  Allowance& grants = clients_.at(connection->client).grants;
  if (grants.Left(now) < 1.0) {
    return absl::ResourceExhaustedError(absl::StrCat(connection->client,
                                                     " asks for regions too often: more than ",
                                                     kGrantsPerSecond, " a second"));
  }
  grants.Take(now);
  const auto bytes = static_cast<int64_t>(std::min<uint64_t>(request.bytes, INT64_MAX));
  BASEBAND_ASSIGN_OR_RETURN(given->region, table_->Add(connection->client, bytes));
  given->fd = given->region.memory->fd();
  connection->regions.insert(given->region.name);
  return absl::OkStatus();
}

absl::Status RegionServer::OpenRingIn(const RegionRequest& request, const Connection& connection,
                                      Given* given) {
  const std::string name = NameOf(request);
  if (connection.regions.count(name) == 0) return NotTheirs();
  const absl::MutexLock lock(&rings_mutex_);
  if (ring_host_ == nullptr) {
    return absl::UnavailableError("this server takes no rings: it starts, or shuts down");
  }
  BASEBAND_ASSIGN_OR_RETURN(std::unique_ptr<OpenRing> ring,
                            ring_host_->Open(connection.client, table_->Find(name), request.bytes));
  given->fd = ring->bell_fd();
  rings_.emplace(name, std::move(ring));
  return absl::OkStatus();
}

void RegionServer::SetRingHost(RingHost* host) {
  const absl::MutexLock lock(&rings_mutex_);
  ring_host_ = host;
  if (host == nullptr) rings_.clear();
}

void RegionServer::Remove(const std::string& region) {
  table_->Remove(region);
  const absl::MutexLock lock(&rings_mutex_);
  rings_.erase(region);
}

void RegionServer::Close(int fd) {
  const auto found = connections_.find(fd);
  for (const std::string& name : found->second.regions) Remove(name);
  --clients_.at(found->second.client).connections;
  connections_.erase(found);
  close(fd);
}

void RegionServer::ForgetClients() {
  const absl::Time now = SteadyNow();
  for (auto client = clients_.begin(); client != clients_.end();) {
    const bool is_forgotten =
        client->second.connections == 0 && client->second.grants.Left(now) >= kMostGrants;
    client = is_forgotten ? clients_.erase(client) : std::next(client);
  }
}

}  // namespace baseband::server
