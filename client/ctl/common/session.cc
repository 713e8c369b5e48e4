#include "client/ctl/common/session.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cpp/target.h"
#include "client/ctl/common/connect_errors.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/flag_names.h"
#include "client/ctl/common/priority_names.h"
#include "common/tls/pem.h"

namespace baseband::ctl {
namespace {

constexpr char kAdminListen[] = "--admin-listen";

absl::Status CheckTarget(const std::string& target) {
  const auto parsed = client::ParseTarget(target);
  return parsed.ok() ? absl::OkStatus()
                     : absl::InvalidArgumentError(absl::StrCat("--", parsed.status().message()));
}

// What is wrong with the files of TLS, by flag and path: gRPC would say it in its log alone.
absl::Status CheckTlsFiles(const GlobalFlags& flags, const client::TlsOptions& tls) {
  const auto refuse = [](const char* flag, const std::string& path, const absl::Status& status) {
    return status.ok()
               ? status
               : absl::InvalidArgumentError(absl::StrCat(flag, " ", path, " ", status.message()));
  };
  absl::Status status;
  if (flags.tls_cert.empty() != flags.tls_key.empty()) {
    return absl::InvalidArgumentError(flags.tls_key.empty() ? "--tls-cert needs --tls-key"
                                                            : "--tls-key needs --tls-cert");
  }
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

// What is wrong with the token, by where it came from and without a word of it.
absl::Status CheckToken(const GlobalFlags& flags, absl::string_view token) {
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(
        flags.token_file.empty() ? "BASEBAND_TOKEN" : "--token-file " + flags.token_file, " ",
        why));
  };
  const auto bad =
      std::find_if_not(token.begin(), token.end(), [](char c) { return absl::ascii_isgraph(c); });
  if (bad == token.end()) {
    return token.empty() && !flags.token_file.empty() ? refuse("is empty") : absl::OkStatus();
  }
  return refuse(absl::ascii_isspace(*bad)
                    ? "holds more than one word: it has to be the token alone, not a server's"
                      " --tokens-file, whose lines are NAME ROLE SHA256"
                    : absl::StrCat("has a byte that is not printable ASCII, number ",
                                   bad - token.begin() + 1));
}

}  // namespace

client::CallOptions GlobalFlags::call() const {
  client::CallOptions options;
  options.timeout = timeout;
  options.priority =
      FindValue(kPriorities, "--priority", priority).value_or(client::Priority::kNormal);
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
    absl::StatusOr<std::string> read = ReadText(path, kMaxSecretBytes);
    if (!read.ok()) {
      return absl::InvalidArgumentError(read.status().message());
    }
    *contents = *std::move(read);
  }
  absl::StripAsciiWhitespace(&options.token);  // the end of the file's line
  if (absl::Status status = CheckToken(flags, options.token); !status.ok()) {
    return status;
  }
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
  // The state of a channel carries no reason; a call's status does. That of a channel that has been
  // trying for a while comes with its next attempt, of a new one at once.
  client::ClientOptions fresh = *options;
  fresh.connections = 1;
  fresh.max_attempts = 1;
  auto asking = client::Client::Create(fresh);
  client::CallOptions probe;
  probe.timeout = std::min(std::max(flags.timeout, absl::Seconds(2)), absl::Seconds(5));
  const absl::Status why =
      asking.ok() ? (*asking)->GetCapabilities(probe).status() : asking.status();
  const absl::Status told =
      CannotConnect(flags, why.ok() ? "the connection attempt failed" : why.message(),
                    "Is basebandd running there? Name its address by --target or"
                    " BASEBAND_TARGET, or wait for it by --wait.");
  if (!absl::IsDeadlineExceeded(connected)) {
    return told;
  }
  return absl::DeadlineExceededError(
      absl::StrCat("cannot connect to ", flags.target, ": no answer within ",
                   absl::FormatDuration(flags.timeout), "; --timeout gives more of it",
                   absl::IsUnavailable(why) ? absl::StrCat("\nAt last: ", told.message()) : ""));
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
  if (flags_.shared_memory) {
    const absl::Status shared = client_->ShareMemory(flags_.call(), /*least_bytes=*/1);
    if (!shared.ok()) return FailConnect(shared);
  }
  if (flags_.ring) {
    const absl::Status opened = client_->OpenRing(client::RingOptions(), flags_.call());
    if (!opened.ok()) return FailConnect(opened);
  }
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
  absl::FPrintF(stderr, "%s: %s\n", ProgramName(),
                absl::IsInvalidArgument(status) ? WithFlagName(status.message())
                                                : std::string(status.message()));
  return code;
}

int FailConnect(const absl::Status& status) {
  return Fail(status, absl::IsInvalidArgument(status) ? kBadArguments : kCannotConnect);
}

int FailRpc(const absl::Status& status) {
  if (absl::IsUnavailable(status)) {
    absl::FPrintF(stderr, "%s: the server went away or is stopping: %s; --wait waits for one\n",
                  ProgramName(), status.message());
    return kRpcFailed;
  }
  if (absl::IsDeadlineExceeded(status)) {
    absl::FPrintF(stderr, "%s: no answer in time (%s); --timeout gives more of it\n", ProgramName(),
                  status.message());
    return kRpcFailed;
  }
  const bool bad_arguments = absl::IsInvalidArgument(status);
  absl::FPrintF(stderr, "%s: the server answered %s: %s%s\n", ProgramName(),
                absl::StatusCodeToString(status.code()),
                bad_arguments ? WithFlagName(status.message()) : std::string(status.message()),
                absl::IsUnimplemented(status) && !absl::StrContains(status.message(), kAdminListen)
                    ? absl::StrCat("\nIf --target is the server's ", kAdminListen,
                                   ": only `basebandctl admin` goes there.")
                    : "");
  return bad_arguments ? kBadArguments : kRpcFailed;
}

int FailArguments(const absl::Status& status) { return Fail(status, kBadArguments); }

}  // namespace baseband::ctl
