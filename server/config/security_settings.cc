#include "server/config/security_settings.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kernels/base/status_macros.h"
#include "server/config/access_rule.h"
#include "server/config/address.h"
#include "server/config/setting_kinds.h"

namespace baseband::server {
namespace {

constexpr char kOff[] = "off";
constexpr char kNobody[] = "none";

absl::Status Needs(const char* setting, bool is_set, const char* other, bool other_is_set,
                   const char* why) {
  if (!is_set || other_is_set) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(setting, " needs ", other, ": ", why));
}

// Three octal digits, 0 before them or not.
bool ParseMode(const std::string& text, int* mode) {
  if (text.empty() || text.size() > 4 || text.find_first_not_of("01234567") != std::string::npos) {
    return false;
  }
  *mode = std::stoi(text, nullptr, 8);
  return *mode <= 0777 && (*mode & 0600) == 0600;
}

}  // namespace

Setting FileSetting(std::string name, std::string Config::*member, std::string help) {
  Setting setting = Text(std::move(name), "FILE|off", std::move(help));
  setting.set = [member](absl::string_view, const Values& values, Config* config) {
    config->*member = values[0] == kOff ? "" : values[0];
    return absl::OkStatus();
  };
  setting.get = [member](const Config& config) {
    return Values{(config.*member).empty() ? kOff : config.*member};
  };
  return setting;
}

Setting AllowSetting() {
  Setting setting = Text("allow", "ROLE=SUBJECT|none",
                         "Who has role user, admin or metrics: a certificate's NAME, *.SUFFIX, *, "
                         "uid:N, gid:N; repeatable");
  setting.repeats = true;
  setting.set = [](absl::string_view name, const Values& values, Config* config) {
    config->allow.clear();
    if (values == Values{kNobody}) return absl::OkStatus();
    for (const std::string& value : values) {
      if (const absl::Status status = ParseAccessRule(value).status(); !status.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(name, " ", value, " ", status.message()));
      }
    }
    config->allow = values;
    return absl::OkStatus();
  };
  setting.get = [](const Config& config) {
    return config.allow.empty() ? Values{kNobody} : config.allow;
  };
  return setting;
}

Setting SocketModeSetting() {
  Setting setting =
      Text("socket_mode", "0600|0660|OCTAL",
           "File permissions of Unix sockets; who may write to one may connect to it");
  setting.set = [](absl::string_view name, const Values& values, Config* config) {
    if (!ParseMode(values[0], &config->socket_mode)) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " ", values[0],
                       " is not an octal mode in [0600, 0777] that lets the"
                       " owner read and write"));
    }
    return absl::OkStatus();
  };
  setting.get = [](const Config& config) {
    return Values{absl::StrFormat("%04o", config.socket_mode)};
  };
  return setting;
}

absl::Status CheckSecurity(const Config& config) {
  const bool tls = !config.tls_cert.empty();
  const bool client_ca = !config.tls_client_ca.empty();
  BASEBAND_RETURN_IF_ERROR(
      Needs("tls_cert", tls, "tls_key", !config.tls_key.empty(), "the certificate's private key"));
  BASEBAND_RETURN_IF_ERROR(
      Needs("tls_key", !config.tls_key.empty(), "tls_cert", tls, "the certificate of that key"));
  BASEBAND_RETURN_IF_ERROR(
      Needs("tls_client_ca", client_ca, "tls_cert", tls, "clients are known by TLS only"));
  BASEBAND_RETURN_IF_ERROR(
      Needs("tls_client_ca", client_ca, "allow", config.access_is_limited(),
            "say whose certificates are welcome, allow user=* for all of that CA"));
  for (const std::string& text : config.allow) {
    BASEBAND_ASSIGN_OR_RETURN(const AccessRule rule, ParseAccessRule(text));
    if (rule.kind == AccessRule::Kind::kCertificate && !client_ca) {
      return absl::InvalidArgumentError(absl::StrCat(
          "allow ", text, " names a certificate: it needs tls_client_ca to know whose are true"));
    }
  }
  if (!config.admin_listen.empty()) {
    BASEBAND_ASSIGN_OR_RETURN(const Address address, ParseAddress(config.admin_listen));
    if (!address.is_local() && !client_ca) {
      return absl::InvalidArgumentError(
          absl::StrCat("admin_listen ", config.admin_listen,
                       " can be reached from other hosts: it needs tls_cert and tls_client_ca"));
    }
  }
  for (const std::string& text : config.listen) {
    BASEBAND_ASSIGN_OR_RETURN(const Address address, ParseAddress(text));
    if (address.is_local() || tls) continue;
    if (!config.tokens_file.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("listen ", text,
                       " would have tokens cross the network in clear text: it needs tls_cert"));
    }
    if (!config.allow_plaintext_network) {
      return absl::InvalidArgumentError(
          absl::StrCat("listen ", text,
                       " can be reached from other hosts, without encryption: give tls_cert and "
                       "tls_key, use a loopback address or unix:PATH, or say "
                       "allow_plaintext_network"));
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::server
