#include "server/auth/tls.h"

#include <fcntl.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/version_info.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/tls/pem.h"
#include "kernels/base/status_macros.h"
#include "server/auth/small_file.h"

namespace baseband::server {
namespace {

constexpr unsigned kWatchIntervalS = 1;

absl::Status Refuse(const char* setting, const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(setting, " ", path, " ", why));
}

// A memory file of `text` takes the place of descriptor `*fd`, or becomes it. Its time of
// modification is `stamp`: gRPC reads again when that changes under its hands.
absl::Status Put(const std::string& text, int64_t stamp, int* fd) {
  const int fresh = memfd_create("baseband-tls", MFD_CLOEXEC);
  const timespec times[2] = {{static_cast<time_t>(stamp), 0}, {static_cast<time_t>(stamp), 0}};
  const bool filled = fresh >= 0 && fchmod(fresh, 0600) == 0 &&
                      write(fresh, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                      futimens(fresh, times) == 0;
  if (filled && *fd < 0) {
    *fd = fresh;
    return absl::OkStatus();
  }
  const bool replaced = filled && dup3(fresh, *fd, O_CLOEXEC) == *fd;
  const int error = errno;
  if (fresh >= 0) close(fresh);
  return replaced ? absl::OkStatus()
                  : absl::InternalError(
                        absl::StrCat("no memory file for certificates: ", std::strerror(error)));
}

std::string PathOf(int fd) { return fd < 0 ? "" : absl::StrCat("/proc/self/fd/", fd); }

// What a server shows, and with `has_roots` by whom clients are signed, is `provider`'s.
absl::StatusOr<grpc::experimental::TlsServerCredentialsOptions> OptionsOf(
    const std::shared_ptr<grpc::experimental::CertificateProviderInterface>& provider,
    bool has_roots) {
  using Options = grpc::experimental::TlsServerCredentialsOptions;
#if GRPC_CPP_VERSION_MAJOR > 1 || GRPC_CPP_VERSION_MINOR >= 80  // which deprecates the other form
  absl::StatusOr<Options> options = Options::Create(provider);
  if (options.ok() && has_roots) options->set_root_certificate_provider(provider);
  return options;
#else
  Options options(provider);
  options.watch_identity_key_cert_pairs();
  if (has_roots) options.watch_root_certs();
  return options;
#endif
}

}  // namespace

absl::StatusOr<TlsMaterial> ReadTlsFiles(const Config& config) {
  TlsMaterial material;
  BASEBAND_ASSIGN_OR_RETURN(const std::string chain, ReadSmallFile("tls_cert", config.tls_cert));
  BASEBAND_ASSIGN_OR_RETURN(const std::string key, ReadSmallFile("tls_key", config.tls_key));
  const absl::StatusOr<Validity> validity = CheckCertificates(chain);
  if (!validity.ok()) return Refuse("tls_cert", config.tls_cert, validity.status().message());
  if (absl::Status fits = CheckKey(key, chain, absl::StrCat("tls_cert ", config.tls_cert));
      !fits.ok()) {
    return Refuse("tls_key", config.tls_key, fits.message());
  }
  material.expiry = validity->end;
  if (const absl::Time now = absl::Now(); now < validity->begin || now >= validity->end) {
    return Refuse(
        "tls_cert", config.tls_cert,
        absl::StrCat("is valid from ", absl::FormatTime(validity->begin, absl::UTCTimeZone()),
                     " until ", absl::FormatTime(validity->end, absl::UTCTimeZone()), ", not now"));
  }
  material.identity = absl::StrCat(key, "\n", chain);
  if (!config.tls_client_ca.empty()) {
    BASEBAND_ASSIGN_OR_RETURN(material.client_ca,
                              ReadSmallFile("tls_client_ca", config.tls_client_ca));
    if (absl::Status status = CheckCertificates(material.client_ca).status(); !status.ok()) {
      return Refuse("tls_client_ca", config.tls_client_ca, status.message());
    }
  }
  return material;
}

absl::StatusOr<std::unique_ptr<Tls>> Tls::Create(const Config& config) {
  namespace tls = grpc::experimental;
  std::unique_ptr<Tls> self(new Tls(config));
  BASEBAND_ASSIGN_OR_RETURN(const TlsMaterial material, ReadTlsFiles(config));
  BASEBAND_RETURN_IF_ERROR(self->Publish(material));
  const std::string identity = PathOf(self->identity_fd_);
  const auto provider = std::make_shared<tls::FileWatcherCertificateProvider>(
      identity, identity, PathOf(self->client_ca_fd_), kWatchIntervalS);
  BASEBAND_ASSIGN_OR_RETURN(tls::TlsServerCredentialsOptions options,
                            OptionsOf(provider, /*has_roots=*/!config.tls_client_ca.empty()));
  if (!config.tls_client_ca.empty()) {
    options.set_cert_request_type(config.require_client_cert
                                      ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                      : GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  self->credentials_ = tls::TlsServerCredentials(options);
  return self;
}

Tls::~Tls() {
  for (const int fd : {identity_fd_, client_ca_fd_}) {
    if (fd >= 0) close(fd);
  }
}

absl::Status Tls::Publish(const TlsMaterial& material) {
  stamp_ = std::max(stamp_ + 1, absl::ToUnixSeconds(absl::Now()));
  BASEBAND_RETURN_IF_ERROR(Put(material.identity, stamp_, &identity_fd_));
  if (!material.client_ca.empty()) {
    BASEBAND_RETURN_IF_ERROR(Put(material.client_ca, stamp_, &client_ca_fd_));
  }
  material_ = material;
  return absl::OkStatus();
}

absl::Status Tls::Reload() {
  const absl::StatusOr<TlsMaterial> material = ReadTlsFiles(config_);
  absl::Status status = material.status();
  if (status.ok() && !(*material == material_)) status = Publish(*material);
  const std::string error(status.message());
  if (error == last_error_) return absl::OkStatus();
  last_error_ = error;
  return status;
}

}  // namespace baseband::server
