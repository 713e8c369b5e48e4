#include "server/service/listener.h"

#include <grpcpp/server_posix.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/config/address.h"
#include "server/grpc/first_settings.h"

namespace baseband::server {
namespace {

// What a client may send beside its requests.
constexpr int kMaxMetadataBytes = 8 << 10;
constexpr int kMinPingIntervalMs = 10000;
constexpr int kMaxPingStrikes = 3;

// "host:0" becomes "host:<port>".
std::string WithPort(const std::string& address, int port) {
  if (absl::StartsWith(address, "unix:")) {
    return address;
  }
  return absl::StrCat(address.substr(0, address.rfind(':')), ":", port);
}

}  // namespace

absl::Status Listener::Listen(const std::vector<std::string>& addresses, int socket_mode) {
  for (const std::string& text : addresses) {
    BASEBAND_ASSIGN_OR_RETURN(const Address address, ParseAddress(text));
    const absl::StatusOr<int> port = acceptor_.Listen(
        address, socket_mode,
        [this, is_unix = address.is_unix()](size_t thread, int listener_fd, int fd) {
          is_unix ? HandOverUnix(fd) : HandOverTcp(thread, listener_fd, fd);
        });
    if (!port.ok()) {
      return absl::UnavailableError(
          absl::StrCat("cannot listen at ", text, ": ", port.status().message()));
    }
    addresses_.push_back(WithPort(text, *port));
  }
  return absl::OkStatus();
}

void Listener::AddTo(grpc::ServerBuilder& builder) {
  static_assert(kMaxMetadataBytes != kFirstMetadataBytes);
  if (!LimitFirstSettings()) {
    spdlog::warn(
        "of this gRPC the calls of a client that does not acknowledge SETTINGS are not limited");
  }
  for (auto& tcp : tcp_) {
    tcp = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        security_->credentials());
  }
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kMinPingIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, kMaxPingStrikes);
  // What is packed is refused as UNIMPLEMENTED: of 1 MB it could make a gigabyte, whoever sent it.
  for (const auto algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP}) {
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  }
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
}

void Listener::Start(grpc::Server* server) {
  server_ = server;
  acceptor_.Start();
}

void Listener::HandOverTcp(size_t thread, int listener_fd, int fd) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.listener_fd = listener_fd;
  connection.fd = fd;
  tcp_[thread]->HandleNewConnection(&connection);
}

void Listener::HandOverUnix(int fd) {
  absl::optional<UnixPeer> peer = PeerOf(fd);
  if (!peer.has_value()) {  // gone already
    close(fd);
    return;
  }
  security_->access().unix_peers().Add(fd, *std::move(peer));
  grpc::AddInsecureChannelFromFd(server_, fd);
}

}  // namespace baseband::server
