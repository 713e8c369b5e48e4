#include "client/ctl/common/connect_errors.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace baseband::ctl {
namespace {

// A part of gRPC's messages and what it means. gRPC's own words where `reason` is null.
struct Known {
  const char* part;
  const char* reason;
  const char* advice;  // null: that of the caller
};

constexpr Known kKnown[] = {
    {"Connection refused", nullptr, nullptr},
    {"No such file or directory", nullptr, nullptr},
    {"Permission denied", nullptr, nullptr},
    {"No route to host", nullptr, nullptr},
    {"Network is unreachable", nullptr, nullptr},
    {"CERTIFICATE_VERIFY_FAILED",
     "certificate verify failed: no authority that is trusted here has signed the server's"
     " certificate",
     "Name the authority that has by --tls-ca=FILE."},
    {"certificate verify failed",
     "certificate verify failed: no authority that is trusted here has signed the server's"
     " certificate",
     "Name the authority that has by --tls-ca=FILE."},
    {"is not in peer certificate", "the server's certificate is for another name",
     "Say which by --tls-server-name=NAME, as the certificate has it."},
    {"wrong version number", "the server speaks no TLS there",
     "Leave --tls, --tls-ca, --tls-cert and --tls-key out, or name its TLS address by --target."},
    {"WRONG_VERSION_NUMBER", "the server speaks no TLS there",
     "Leave --tls, --tls-ca, --tls-cert and --tls-key out, or name its TLS address by --target."},
    {"certificate required", "the server wants a certificate of this client",
     "Name it by --tls-cert=FILE and --tls-key=FILE."},
    {"http1.x", "what answers there is a web page, such as a server's metrics",
     "Name the server's --listen by --target."},
    {"Connection reset", nullptr, nullptr},
    {"Socket closed", "the connection was closed at once", nullptr},
    {"DNS", "the host name is not known", nullptr},
};

constexpr char kWithoutTls[] =
    "If it speaks TLS: add --tls, or --tls-ca=FILE for an authority of your own.";
constexpr char kWithTls[] =
    "Perhaps it speaks no TLS there (leave --tls, --tls-ca, .. out), or it wants a certificate of"
    " this client\n(--tls-cert, --tls-key).";

const Known* Find(absl::string_view message) {
  for (const Known& known : kKnown) {
    if (absl::StrContains(message, known.part)) {
      return &known;
    }
  }
  return nullptr;
}

// Something is there, took the connection and ended it: the mark of another protocol.
bool IsClosed(absl::string_view message) {
  for (const char* part : {"Socket closed", "Connection reset", "Broken pipe", "handshake",
                           "Handshake", "Endpoint read failed", "recvmsg"}) {
    if (absl::StrContains(message, part) && !absl::StrContains(message, "Connection refused")) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string ReasonOf(absl::string_view message) {
  const Known* const known = Find(message);
  return known == nullptr           ? std::string(message)
         : known->reason != nullptr ? known->reason
                                    : known->part;
}

absl::Status CannotConnect(const GlobalFlags& flags, absl::string_view message,
                           absl::string_view otherwise) {
  const Known* const known = Find(message);
  const bool tls = flags.tls || !flags.tls_ca.empty() || !flags.tls_cert.empty();
  const absl::string_view advice = known != nullptr && known->advice != nullptr ? known->advice
                                   : IsClosed(message) ? (tls ? kWithTls : kWithoutTls)
                                                       : otherwise;
  return absl::UnavailableError(
      absl::StrCat("cannot connect to ", flags.target, ": ", ReasonOf(message), "\n", advice));
}

}  // namespace baseband::ctl
