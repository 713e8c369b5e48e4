#include "client/cpp/client_options.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/messages.h"
#include "client/cpp/target.h"
#include "common/tls/pem.h"

namespace baseband::client {
namespace {

// gRPC would take anything, and then fail each handshake without a word to the caller.
absl::Status CheckPem(const TlsOptions& tls) {
  const auto refuse = [](const char* field, const absl::Status& status) {
    return status.ok() ? status
                       : absl::InvalidArgumentError(absl::StrCat(field, " ", status.message()));
  };
  absl::Status status;
  if (!tls.ca.empty()) {
    status.Update(refuse("tls.ca", CheckCertificates(tls.ca).status()));
  }
  if (!tls.cert.empty()) {
    status.Update(refuse("tls.cert", CheckCertificates(tls.cert).status()));
    status.Update(refuse("tls.key", CheckKey(tls.key, tls.cert, "tls.cert")));
  }
  return status;
}

absl::Status CheckCredentials(const ClientOptions& options, const Target& target) {
  if (options.tls.has_value()) {
    if (absl::StartsWith(options.target, "unix:")) {
      return absl::InvalidArgumentError("tls is for TCP targets: a Unix socket speaks none");
    }
    if (options.tls->cert.empty() != options.tls->key.empty()) {
      return absl::InvalidArgumentError("tls needs cert and key, or neither");
    }
    if (absl::Status status = CheckPem(*options.tls); !status.ok()) {
      return status;
    }
    if (!IsToken(options.tls->server_name)) {
      return absl::InvalidArgumentError(
          "tls.server_name has a byte that is not printable ASCII, or a blank");
    }
    if (options.tls->server_name.empty() && target.balanced &&
        !absl::StartsWith(options.target, "dns:")) {
      return absl::InvalidArgumentError(
          "tls to several addresses needs server_name, which all their certificates bear");
    }
  }
  if (!IsToken(options.token)) {
    return absl::InvalidArgumentError("token has a byte that is not printable ASCII, or a blank");
  }
  if (!options.token.empty() && !options.tls.has_value() && !target.is_private) {
    return absl::InvalidArgumentError(absl::StrCat(
        "token would travel to ", options.target, " in clear text: it needs tls, a Unix",
        " socket, or a literal loopback address such as 127.0.0.1"));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsToken(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return absl::ascii_isgraph(c); });
}

absl::Status CheckRange(absl::string_view option, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(option, " ", value, " is not in [", low, ", ", high, "]"));
}

absl::Status CheckOptions(const ClientOptions& options) {
  const absl::StatusOr<Target> target = ParseTarget(options.target);
  if (!target.ok()) {
    return target.status();
  }
  if (absl::Status status = CheckCredentials(options, *target); !status.ok()) {
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
        CheckRange("stripe_from_bytes", options.stripe_from_bytes,
                   options.stripe_from_bytes == 0 ? 0 : kLeastBulkBytes, INT32_MAX),
        CheckRange("retry_buffer_bytes", options.retry_buffer_bytes, 0, INT32_MAX)}) {
    if (!status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::client
