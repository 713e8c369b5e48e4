#include "client/ctl/common/session.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/files.h"
#include "common/tls/pem.h"

namespace baseband::ctl {
namespace {

absl::Status CheckTarget(const std::string& target) {
  const size_t colon = target.rfind(':');
  if (absl::StartsWith(target, "unix:") ? target.size() > 5
                                        : colon != std::string::npos && colon + 1 < target.size()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--target '", target, "' is not HOST:PORT, unix:PATH or a list ADDRESS:PORT,ADDRESS:PORT"));
}

// The part of gRPC's message that says what went wrong: "Connection refused".
std::string Reason(const absl::Status& status) {
  std::string message(status.message());
  for (const char* known :
       {"Connection refused", "No such file or directory", "Permission denied", "No route to host",
        "Network is unreachable", "CERTIFICATE_VERIFY_FAILED", "Connection reset"}) {
    if (absl::StrContains(message, known)) {
      return known;
    }
  }
  if (absl::StrContains(message, "DNS")) {
    return "the host name is not known";
  }
  return message;
}

// What is wrong with the files of TLS, by flag and path: gRPC would say it in its log alone.
absl::Status CheckTlsFiles(const GlobalFlags& flags, const client::TlsOptions& tls) {
  const auto refuse = [](const char* flag, const std::string& path, const absl::Status& status) {
    return status.ok()
               ? status
               : absl::InvalidArgumentError(absl::StrCat(flag, " ", path, " ", status.message()));
  };
  absl::Status status;
  if (!flags.tls_ca.empty()) {
    status.Update(refuse("--tls-ca", flags.tls_ca, CheckCertificates(tls.ca).status()));
  }
  if (!flags.tls_cert.empty()) {
    status.Update(refuse("--tls-cert", flags.tls_cert, CheckCertificates(tls.cert).status()));
  }
  if (status.ok() && !flags.tls_cert.empty() && !flags.tls_key.empty()) {
    status = refuse("--tls-key", flags.tls_key,
                    CheckKey(tls.key, tls.cert, absl::StrCat("--tls-cert ", flags.tls_cert)));
  }
  return status;
}

}  // namespace

client::CallOptions GlobalFlags::call() const {
  client::CallOptions options;
  options.timeout = timeout;
  options.priority = priority == "high"  ? client::Priority::kHigh
                     : priority == "low" ? client::Priority::kLow
                                         : client::Priority::kNormal;
  return options;
}

absl::StatusOr<client::ClientOptions> ToClientOptions(const GlobalFlags& flags) {
  if (absl::Status status = CheckTarget(flags.target); !status.ok()) {
    return status;
  }
  client::ClientOptions options;
  options.target = flags.target;
  options.connections = flags.connections;
  client::TlsOptions tls;
  if (const char* const token = std::getenv("BASEBAND_TOKEN")) {
    options.token = token;
  }
  const std::pair<const std::string&, std::string*> files[] = {{flags.tls_ca, &tls.ca},
                                                               {flags.tls_cert, &tls.cert},
                                                               {flags.tls_key, &tls.key},
                                                               {flags.token_file, &options.token}};
  for (const auto& [path, contents] : files) {
    if (path.empty()) {
      continue;
    }
    absl::StatusOr<std::string> read = ReadFile(path);
    if (!read.ok()) {
      return absl::InvalidArgumentError(read.status().message());
    }
    *contents = *std::move(read);
  }
  absl::StripAsciiWhitespace(&options.token);  // the end of the file's line
  if (absl::Status status = CheckTlsFiles(flags, tls); !status.ok()) {
    return status;
  }
  tls.server_name = flags.tls_server_name;
  if (flags.tls || !tls.ca.empty() || !tls.cert.empty() || !tls.key.empty()) {
    options.tls = std::move(tls);
  }
  return options;
}

absl::StatusOr<std::unique_ptr<client::Client>> Connect(const GlobalFlags& flags) {
  const auto options = ToClientOptions(flags);
  if (!options.ok()) {
    return options.status();
  }
  auto client = client::Client::Create(*options);
  if (!client.ok()) {
    return client;
  }
  const absl::Status connected = (*client)->Connect(flags.timeout, flags.wait);
  if (connected.ok()) {
    return client;
  }
  if (absl::IsDeadlineExceeded(connected)) {
    return absl::DeadlineExceededError(
        absl::StrCat("cannot connect to ", flags.target, ": no answer within ",
                     absl::FormatDuration(flags.timeout), "; --timeout gives more of it"));
  }
  // The state of a channel carries no reason; a call's status does.
  client::CallOptions probe;
  probe.timeout = std::min(flags.timeout, absl::Seconds(5));
  const absl::Status why = (*client)->GetCapabilities(probe).status();
  return absl::UnavailableError(
      absl::StrCat("cannot connect to ", flags.target, ": ",
                   why.ok() ? "the connection attempt failed" : Reason(why),
                   "\nIs basebandd running there? Name its address by --target or"
                   " BASEBAND_TARGET, or wait for it by --wait."));
}

Session::Session(const GlobalFlags& flags, const Outputs& outputs)
    : flags_(flags), exit_code_(Start(outputs)) {}

int Session::Start(const Outputs& outputs) {
  if (!outputs.status().ok()) {
    return FailArguments(outputs.status());
  }
  auto client = Connect(flags_);
  if (!client.ok()) {
    return FailConnect(client.status());
  }
  client_ = *std::move(client);
  auto capabilities = client_->GetCapabilities(flags_.call());
  if (!capabilities.ok()) {
    return FailRpc(capabilities.status());
  }
  capabilities_ = *std::move(capabilities);
  return kOk;
}

RequestLimits Session::limits() const {
  RequestLimits limits;
  if (capabilities_.max_request_bytes() > 0) {
    // A little of the message is header.
    limits.bytes = std::min<int64_t>(
        limits.bytes, std::max<int64_t>(1, capabilities_.max_request_bytes() * 9 / 10));
  }
  if (capabilities_.max_blocks_per_request() > 0) {
    limits.blocks = std::min<int64_t>(limits.blocks, capabilities_.max_blocks_per_request());
  }
  return limits;
}

int Fail(const absl::Status& status, ExitCode code) {
  absl::FPrintF(stderr, "basebandctl: %s\n", status.message());
  return code;
}

int FailConnect(const absl::Status& status) {
  return Fail(status, absl::IsInvalidArgument(status) ? kBadArguments : kCannotConnect);
}

int FailRpc(const absl::Status& status) {
  if (absl::IsUnavailable(status)) {
    absl::FPrintF(stderr,
                  "basebandctl: the server went away or is stopping: %s; --wait waits for one\n",
                  status.message());
    return kRpcFailed;
  }
  if (absl::IsDeadlineExceeded(status)) {
    absl::FPrintF(stderr, "basebandctl: no answer in time (%s); --timeout gives more of it\n",
                  status.message());
    return kRpcFailed;
  }
  absl::FPrintF(stderr, "basebandctl: the server answered %s: %s\n",
                absl::StatusCodeToString(status.code()), status.message());
  return kRpcFailed;
}

int FailArguments(const absl::Status& status) { return Fail(status, kBadArguments); }

}  // namespace baseband::ctl
