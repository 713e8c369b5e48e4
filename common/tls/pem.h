// Certificates and keys as PEM text, looked at before they are given to gRPC: what is wrong with
// them it says in its log, in OpenSSL's words, and the handshakes that fail do not.
#ifndef BASEBAND_COMMON_TLS_PEM_H_
#define BASEBAND_COMMON_TLS_PEM_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace baseband {

// From when until when a certificate holds, by absl::Now().
struct Validity {
  absl::Time begin;
  absl::Time end;
};

// Of the first certificate in `text`, after which others may come. InvalidArgument without a name
// in front: "has no PEM certificate", "has a certificate, number 2, that cannot be read".
absl::StatusOr<Validity> CheckCertificates(const std::string& text);

// Whether `key` holds a private key that opens without passphrase, and is that of the first
// certificate in `certificates`, which CheckCertificates() has found right and which a refusal
// calls `certificate_name`. InvalidArgument as above: "is not the key of tls_cert".
absl::Status CheckKey(const std::string& key, const std::string& certificates,
                      const std::string& certificate_name);

}  // namespace baseband

#endif  // BASEBAND_COMMON_TLS_PEM_H_
