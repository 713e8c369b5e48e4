#include "client/cpp/channel_pool.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cpp/grpc_time.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

grpc::ChannelArguments ToChannelArguments(const ClientOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  // Without a pool of its own a channel shares the connection of its equals.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetServiceConfigJSON(ServiceConfigJson(options));
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, options.max_attempts > 1 ? 1 : 0);
  arguments.SetInt(GRPC_ARG_PER_RPC_RETRY_BUFFER_SIZE, options.retry_buffer_bytes);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5000);
  if (IsSameHost(options.target)) {
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

std::string ServiceConfigJson(const ClientOptions& options) {
  if (options.max_attempts <= 1) {
    return "{}";
  }
  return absl::StrCat(R"({"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":)",
                      options.max_attempts, R"(,"initialBackoff":")",
                      JsonDuration(options.initial_backoff), R"(","maxBackoff":")",
                      JsonDuration(options.max_backoff),
                      R"(","backoffMultiplier":2,"retryableStatusCodes":["UNAVAILABLE"]}}],)",
                      R"("retryThrottling":{"maxTokens":100,"tokenRatio":0.1}})");
}

bool IsSameHost(const std::string& target) {
  for (const char* prefix : {"unix:", "unix-abstract:", "127.", "localhost:", "[::1]:", "ipv4:127.",
                             "ipv6:[::1]", "dns:///localhost:", "dns:localhost:"}) {
    if (absl::StartsWith(target, prefix)) {
      return true;
    }
  }
  return target == "localhost";
}

ChannelPool::ChannelPool(const ClientOptions& options)
    : authorization_(options.token.empty() ? "" : absl::StrCat("Bearer ", options.token)) {
  const std::shared_ptr<grpc::ChannelCredentials> credentials = ToCredentials(options);
  const grpc::ChannelArguments arguments = ToChannelArguments(options);
  for (int i = 0; i < options.connections; ++i) {
    auto pooled = std::make_unique<PooledChannel>();
    pooled->channel = grpc::CreateCustomChannel(options.target, credentials, arguments);
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

absl::Status ChannelPool::Connect(absl::Duration timeout, bool keep_trying) {
  const gpr_timespec deadline = ToGrpcTime(SteadyNow() + timeout);
  for (const auto& pooled : channels_) {
    grpc::Channel& channel = *pooled->channel;
    for (;;) {
      const grpc_connectivity_state state = channel.GetState(/*try_to_connect=*/true);
      if (state == GRPC_CHANNEL_READY) {
        break;
      }
      if (state == GRPC_CHANNEL_TRANSIENT_FAILURE && !keep_trying) {
        return absl::UnavailableError("the connection attempt failed");
      }
      if (!channel.WaitForStateChange(state, deadline)) {
        return absl::DeadlineExceededError(
            absl::StrCat("not connected within ", absl::FormatDuration(timeout)));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::client
