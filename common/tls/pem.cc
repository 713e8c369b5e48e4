#include "common/tls/pem.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "absl/strings/str_cat.h"

namespace baseband {
namespace {

using Bio = std::unique_ptr<BIO, int (*)(BIO*)>;
using Certificate = std::unique_ptr<X509, void (*)(X509*)>;
using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;

Bio Open(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free);
}

// The next one; null: none, or one that cannot be read.
Certificate Next(BIO* bio) {
  return Certificate(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr), &X509_free);
}

absl::Time ToTime(const ASN1_TIME* time) {
  std::tm parts{};
  ASN1_TIME_to_tm(time, &parts);
  return absl::FromTM(parts, absl::UTCTimeZone());
}

int NoPassphrase(char*, int, int, void*) { return 0; }

}  // namespace

absl::StatusOr<Validity> CheckCertificates(const std::string& text) {
  const Bio bio = Open(text);
  Validity validity;
  int count = 0;
  ERR_clear_error();
  for (Certificate certificate = Next(bio.get()); certificate != nullptr;
       certificate = Next(bio.get())) {
    if (count++ > 0) continue;
    validity.begin = ToTime(X509_get0_notBefore(certificate.get()));
    validity.end = ToTime(X509_get0_notAfter(certificate.get()));
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (count == 0 && at_end) return absl::InvalidArgumentError("has no PEM certificate");
  if (!at_end) {
    return absl::InvalidArgumentError(
        absl::StrCat("has a certificate, number ", count + 1, ", that cannot be read"));
  }
  return validity;
}

absl::Status CheckKey(const std::string& key, const std::string& certificates,
                      const std::string& certificate_name) {
  const Key opened(PEM_read_bio_PrivateKey(Open(key).get(), nullptr, &NoPassphrase, nullptr),
                   &EVP_PKEY_free);
  const Certificate certificate = Next(Open(certificates).get());
  const bool fits = opened != nullptr && certificate != nullptr &&
                    X509_check_private_key(certificate.get(), opened.get()) == 1;
  ERR_clear_error();
  if (opened == nullptr) {
    return absl::InvalidArgumentError("has no PEM private key that opens without passphrase");
  }
  return fits ? absl::OkStatus()
              : absl::InvalidArgumentError(absl::StrCat("is not the key of ", certificate_name));
}

}  // namespace baseband
