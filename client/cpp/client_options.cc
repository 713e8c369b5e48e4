#include "client/cpp/client_options.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/channel_pool.h"

namespace baseband::client {
namespace {

absl::Status CheckCredentials(const ClientOptions& options) {
  if (options.tls.has_value()) {
    if (absl::StartsWith(options.target, "unix:")) {
      return absl::InvalidArgumentError("tls is for TCP targets: a Unix socket speaks none");
    }
    if (options.tls->cert.empty() != options.tls->key.empty()) {
      return absl::InvalidArgumentError("tls needs cert and key, or neither");
    }
  }
  for (const char c : options.token) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c))) {
      return absl::InvalidArgumentError("token has a byte that is not printable ASCII");
    }
  }
  if (!options.token.empty() && !options.tls.has_value() && !IsSameHost(options.target)) {
    return absl::InvalidArgumentError(
        absl::StrCat("token would travel to ", options.target, " in clear text: it needs tls"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRange(absl::string_view option, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(option, " ", value, " is not in [", low, ", ", high, "]"));
}

absl::Status CheckOptions(const ClientOptions& options) {
  if (options.target.empty()) {
    return absl::InvalidArgumentError("target is empty");
  }
  if (absl::Status status = CheckCredentials(options); !status.ok()) {
    return status;
  }
  if (options.initial_backoff <= absl::ZeroDuration() ||
      options.max_backoff < options.initial_backoff) {
    return absl::InvalidArgumentError("initial_backoff must be > 0 and at most max_backoff");
  }
  for (const absl::Status& status :
       {CheckRange("connections", options.connections, 1, 64),
        CheckRange("polling_threads", options.polling_threads, 1, 64),
        CheckRange("max_attempts", options.max_attempts, 1, 5),
        CheckRange("retry_buffer_bytes", options.retry_buffer_bytes, 0, INT32_MAX)}) {
    if (!status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::client
