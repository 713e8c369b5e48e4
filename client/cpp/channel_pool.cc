#include "client/cpp/channel_pool.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cpp/target.h"
#include "common/grpc/frames.h"
#include "common/grpc/grpc_time.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

// Who does not answer a ping is gone: a call in flight, or the watch over a server's health, learns
// of it after the sum of both. The server takes a ping each 10 s.
constexpr int kKeepaliveMs = 20000;
constexpr int kKeepaliveTimeoutMs = 10000;
// The server sends so much of an answer without waiting until it is asked for what goes beyond the
// first 64 KiB; but where gRPC estimates the window itself, to other hosts.
constexpr int kUnaskedBytes = 4 << 20;
// A server that is restarted is back within a second; the pauses between attempts to connect grow
// by 1.6 each.
constexpr int kFirstReconnectMs = 50;
// Servers come back, and others take their place: this is how soon a balanced client sees it.
constexpr int kBalancedReconnectMs = 1000;
constexpr int kBalancedResolveMs = 2000;
// An attempt to connect, to a host that says nothing, takes at most so long.
constexpr int kBalancedConnectMs = 5000;

grpc::ChannelArguments ToChannelArguments(const ClientOptions& options, const Target& target) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kMaxFrameBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kUnaskedBytes);
  // Without a pool of its own a channel shares the connection of its equals.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetServiceConfigJSON(ServiceConfigJson(options, target.balanced));
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, options.max_attempts > 1 ? 1 : 0);
  arguments.SetInt(GRPC_ARG_PER_RPC_RETRY_BUFFER_SIZE, options.retry_buffer_bytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS,
                   target.balanced ? kBalancedReconnectMs : 5000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // as many as that takes
  if (target.balanced) {
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kBalancedConnectMs);
    arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, kBalancedResolveMs);
  }
  if (options.tls.has_value() && !options.tls->server_name.empty()) {
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, options.tls->server_name);
  }
  if (target.same_host) {
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    // A proxy of the environment must not get between a host and itself.
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  }
  return arguments;
}

std::shared_ptr<grpc::ChannelCredentials> ToCredentials(const ClientOptions& options) {
  if (!options.tls.has_value()) {
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions ssl;
  ssl.pem_root_certs = options.tls->ca;
  ssl.pem_cert_chain = options.tls->cert;
  ssl.pem_private_key = options.tls->key;
  return grpc::SslCredentials(ssl);
}

// Seconds as the JSON form of a protobuf Duration wants them: "0.050s".
std::string JsonDuration(absl::Duration duration) {
  return absl::StrFormat("%.3fs", absl::ToDoubleSeconds(duration));
}

}  // namespace

std::string ServiceConfigJson(const ClientOptions& options, bool balanced) {
  std::vector<std::string> parts;
  if (balanced) {
    parts.push_back(R"("loadBalancingConfig":[{"round_robin":{}}])");
    parts.push_back(R"("healthCheckConfig":{"serviceName":"baseband.v1.Baseband"})");
  }
  if (options.max_attempts > 1) {
    parts.push_back(absl::StrCat(
        R"("methodConfig":[{"name":[{"service":"baseband.v1.Baseband","method":"Minimize"}],)",
        R"("retryPolicy":{"maxAttempts":)", options.max_attempts, R"(,"initialBackoff":")",
        JsonDuration(options.initial_backoff), R"(","maxBackoff":")",
        JsonDuration(options.max_backoff),
        R"(","backoffMultiplier":2,"retryableStatusCodes":["UNAVAILABLE"]}}])"));
  }
  return absl::StrCat("{", absl::StrJoin(parts, ","), "}");
}

ChannelPool::ChannelPool(const ClientOptions& options)
    : authorization_(options.token.empty() ? "" : absl::StrCat("Bearer ", options.token)),
      throttle_(options.throttle) {
  const std::shared_ptr<grpc::ChannelCredentials> credentials = ToCredentials(options);
  const Target target = *ParseTarget(options.target);
  is_one_server_ = !target.balanced;
  const grpc::ChannelArguments arguments = ToChannelArguments(options, target);
  for (int i = 0; i < options.connections; ++i) {
    auto pooled = std::make_unique<PooledChannel>();
    pooled->channel = grpc::CreateCustomChannel(target.uri, credentials, arguments);
    pooled->stub = std::make_unique<grpc::GenericStub>(pooled->channel);
    channels_.push_back(std::move(pooled));
  }
}

void ChannelPool::Authorize(grpc::ClientContext* context) const {
  if (!authorization_.empty()) {
    context->AddMetadata("authorization", authorization_);
  }
}

PooledChannel& ChannelPool::Pick() {
  const size_t first = turn_.fetch_add(1, std::memory_order_relaxed);
  PooledChannel* best = channels_[first % channels_.size()].get();
  for (size_t i = 1; i < channels_.size(); ++i) {
    PooledChannel* candidate = channels_[(first + i) % channels_.size()].get();
    if (candidate->calls.load(std::memory_order_relaxed) <
        best->calls.load(std::memory_order_relaxed)) {
      best = candidate;
    }
  }
  return *best;
}

int ChannelPool::CountIdle() const {
  const auto idle = std::count_if(channels_.begin(), channels_.end(), [](const auto& pooled) {
    return pooled->calls.load(std::memory_order_relaxed) == 0;
  });
  return idle > 0 && IsConnected() ? static_cast<int>(idle) : 0;
}

bool ChannelPool::IsConnected() const {
  bool connected = true;
  for (const auto& pooled : channels_) {
    connected &= pooled->channel->GetState(/*try_to_connect=*/true) == GRPC_CHANNEL_READY;
  }
  return connected;
}

absl::Status ChannelPool::Connect(absl::Duration timeout, bool keep_trying) {
  // Looks again and again: gRPC's wait for a change goes by the host's clock.
  constexpr absl::Duration kLook = absl::Milliseconds(2);
  // Connections come about while somebody polls, and before the first call that may be nobody: gRPC
  // then looks after them every 5 s. Whoever polls any queue does so for all connections.
  grpc::CompletionQueue polled;
  absl::Status status;
  const absl::Time deadline = SteadyNow() + timeout;
  while (status.ok() && !IsConnected()) {
    for (const auto& pooled : channels_) {
      if (!keep_trying && pooled->channel->GetState(false) == GRPC_CHANNEL_TRANSIENT_FAILURE) {
        status = absl::UnavailableError("the connection attempt failed");
      }
    }
    if (SteadyNow() >= deadline) {
      status.Update(absl::DeadlineExceededError(
          absl::StrCat("not connected within ", absl::FormatDuration(timeout))));
    }
    void* tag = nullptr;
    bool ok = false;
    polled.AsyncNext(&tag, &ok, ToGrpcTime(SteadyNow() + kLook));
  }
  polled.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (polled.Next(&tag, &ok)) {
  }
  return status;
}

}  // namespace baseband::client
