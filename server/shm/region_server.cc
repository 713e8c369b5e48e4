#include "server/shm/region_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/shm/packet.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"

namespace baseband::server {
namespace {

using shm::RegionAnswer;
using shm::RegionKind;
using shm::RegionRequest;

// While there is no descriptor for who wants to connect.
constexpr int kLookMs = 20;

void Signal(int event_fd) {
  const uint64_t one = 1;
  (void)!write(event_fd, &one, sizeof(one));
}

absl::Status NotTheirs() { return absl::NotFoundError("name is no region of this connection"); }

// Reads a message, and all the descriptors that come with it.
ssize_t Receive(int fd, RegionRequest* request, std::vector<int>* passed) {
  constexpr size_t kMostPassed = 253;  // SCM_MAX_FD: what did not fit would be closed here
  iovec part{request, sizeof(*request)};
  alignas(cmsghdr) char control[CMSG_SPACE(kMostPassed * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t size = recvmsg(fd, &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
  if (size < 0) return size;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    passed->resize((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    std::memcpy(passed->data(), CMSG_DATA(header), passed->size() * sizeof(int));
  }
  return size;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RegionServer>> RegionServer::Start(const std::string& path,
                                                                  Options options, Access* access,
                                                                  RegionTable* table) {
  BASEBAND_ASSIGN_OR_RETURN(ListeningSocket listening, ListenForPackets(path, options.socket_mode));
  return std::unique_ptr<RegionServer>(
      new RegionServer(std::move(listening), std::move(options), access, table));
}

RegionServer::RegionServer(ListeningSocket listening, Options options, Access* access,
                           RegionTable* table)
    : listening_(std::move(listening)),
      options_(std::move(options)),
      access_(access),
      table_(table),
      stop_fd_(eventfd(0, EFD_CLOEXEC)),
      made_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      grants_(std::make_unique<GrantThread>(table, [fd = made_fd_] { Signal(fd); })),
      thread_([this] { Run(); }) {}

RegionServer::~RegionServer() {
  Signal(stop_fd_);
  thread_.join();
  while (!connections_.empty()) Close(connections_.begin()->first);
  grants_.reset();
  CloseListening(listening_);
  close(made_fd_);
  close(stop_fd_);
  table_->Reap();
}

int RegionServer::WaitMs() const {
  absl::Time due = absl::InfiniteFuture();
  for (const auto& [fd, connection] : connections_) {
    if (connection.order != 0) due = std::min(due, connection.due);
  }
  if (due == absl::InfiniteFuture()) return -1;
  return static_cast<int>(std::max<int64_t>(absl::ToInt64Milliseconds(due - SteadyNow()), 0)) + 1;
}

void RegionServer::Run() {
  for (;;) {
    ForgetClients();
    const bool is_open = closing_->load() < kMaxClosing;
    std::vector<pollfd> polled = {{stop_fd_, POLLIN, 0},
                                  {listening_.fd, static_cast<short>(is_open ? POLLIN : 0), 0},
                                  {made_fd_, POLLIN, 0}};
    const size_t first = polled.size();
    for (const auto& [fd, connection] : connections_) {
      // Who waits for a grant is heard once it is there.
      polled.push_back({fd, static_cast<short>(connection.order == 0 ? POLLIN : 0), 0});
    }
    if (poll(polled.data(), polled.size(), is_open ? WaitMs() : kLookMs) < 0) continue;
    if (polled[0].revents != 0) return;
    for (size_t i = first; i < polled.size(); ++i) {
      const int fd = polled[i].fd;
      if (polled[i].revents == 0) continue;
      const bool has_said = (polled[i].revents & POLLIN) != 0;
      if (!has_said || !Serve(fd, &connections_.at(fd))) Close(fd);
    }
    AnswerGrants();
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
    CloseElsewhere({fd});
    return;
  }
  const absl::StatusOr<Identity> identity = access_->Admit(*peer, Role::kUser);
  connection.refusal = identity.status();
  connection.client = identity.ok() ? identity->name : absl::StrCat("uid:", peer->uid);
  Client& client = ClientOf(connection.client);
  if (client.connections >= kMaxClientConnections) {
    CloseElsewhere({fd});
    return;
  }
  ++client.connections;
  connections_.emplace(fd, std::move(connection));
}

RegionServer::Client& RegionServer::ClientOf(const std::string& name) {
  const auto most = 2 * static_cast<double>(table_->limits().client_bytes);
  return clients_
      .try_emplace(
          name, Client{0, {kMostGrants, kGrantsPerSecond}, Allowance(most, kGrantedBytesPerSecond)})
      .first->second;
}

bool RegionServer::Serve(int fd, Connection* connection) {
  RegionRequest request;
  std::vector<int> passed;
  const ssize_t size = Receive(fd, &request, &passed);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  if (!passed.empty()) {
    CloseElsewhere(std::move(passed));
    return false;
  }
  if (size == 0) return false;
  Given given;
  const absl::Status status = size == sizeof(request)
                                  ? Do(request, fd, connection, &given)
                                  : absl::InvalidArgumentError(absl::StrCat(
                                        "a message has ", sizeof(request), " bytes, not ", size));
  const bool is_well = connection->order != 0 || Answer(fd, status, given);
  if (given.bell_fd >= 0) close(given.bell_fd);
  return is_well;
}

bool RegionServer::Answer(int fd, const absl::Status& status, const Given& given) const {
  RegionAnswer answer;
  answer.code = static_cast<uint32_t>(status.code());
  std::memcpy(answer.server_id, table_->server_id().data(), sizeof(answer.server_id));
  const absl::string_view message = status.message().substr(0, sizeof(answer.message) - 1);
  std::copy(message.begin(), message.end(), answer.message);
  if (given.region.memory != nullptr) {
    answer.bytes = static_cast<uint64_t>(given.region.memory->region().bytes);
    std::memcpy(answer.name, given.region.name.data(), sizeof(answer.name));
  }
  const int passed = given.region.memory != nullptr ? given.region.memory->fd() : given.bell_fd;
  return shm::SendPacket(fd, &answer, sizeof(answer),
                         passed < 0 ? std::vector<int>() : std::vector<int>{passed}, MSG_DONTWAIT);
}

std::string RegionServer::NameOf(const RegionRequest& request) {
  return {reinterpret_cast<const char*>(request.name), sizeof(request.name)};
}

absl::Status RegionServer::Do(const RegionRequest& request, int fd, Connection* connection,
                              Given* given) {
  BASEBAND_RETURN_IF_ERROR(connection->refusal);
  if (request.version != shm::kRegionVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("version ", request.version, " is not ", shm::kRegionVersion));
  }
  switch (request.kind) {
    case RegionKind::kHello:
      return absl::OkStatus();
    case RegionKind::kGrant:
      return Order(static_cast<int64_t>(std::min<uint64_t>(request.bytes, INT64_MAX)), fd,
                   connection);
    case RegionKind::kFree: {
      const std::string name = NameOf(request);
      if (connection->regions.erase(name) == 0) return NotTheirs();
      Remove(name);
      return absl::OkStatus();
    }
    case RegionKind::kRing:
    case RegionKind::kMapped:
      if (connection->regions.count(NameOf(request)) == 0) return NotTheirs();
      if (table_->Find(NameOf(request)) == nullptr) return OrderSeal(request, fd, connection);
      return request.kind == RegionKind::kRing ? OpenRingIn(request, *connection, given)
                                               : absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("kind ", static_cast<uint32_t>(request.kind), " is not in [0, 4]"));
}

absl::Status RegionServer::OpenRingIn(const RegionRequest& request, const Connection& connection,
                                      Given* given) {
  const std::string name = NameOf(request);
  BASEBAND_ASSIGN_OR_RETURN(
      given->bell_fd, rings_.Open(connection.client, name, table_->Find(name), request.bytes));
  return absl::OkStatus();
}

void RegionServer::Remove(const std::string& region) {
  table_->Remove(region);
  rings_.Remove(region);
  grants_->Reap();
}

void RegionServer::Close(int fd) {
  const auto found = connections_.find(fd);
  for (const std::string& name : found->second.regions) Remove(name);
  --clients_.at(found->second.client).connections;
  connections_.erase(found);
  CloseElsewhere({fd});
}

void RegionServer::CloseElsewhere(std::vector<int> fds) {
  closing_->fetch_add(1);
  RunElsewhere([fds = std::move(fds), closing = closing_] {
    for (const int fd : fds) close(fd);
    closing->fetch_sub(1);
  });
}

void RegionServer::ForgetClients() {
  const absl::Time now = SteadyNow();
  for (auto client = clients_.begin(); client != clients_.end();) {
    const bool is_forgotten = client->second.connections == 0 &&
                              client->second.grants.Used(now) <= 0 &&
                              client->second.bytes.Used(now) <= 0;
    client = is_forgotten ? clients_.erase(client) : std::next(client);
  }
}

}  // namespace baseband::server
