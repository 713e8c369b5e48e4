// Client of a server's administration, baseband.v1.Admin, at the address of --admin-listen.
#ifndef BASEBAND_CLIENT_CPP_ADMIN_CLIENT_H_
#define BASEBAND_CLIENT_CPP_ADMIN_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "baseband/v1/admin.pb.h"
#include "client/cpp/client.h"
#include "client/cpp/visibility.h"

namespace baseband::client {

// Calls block, for `timeout` at most. Thread-safe. Errors as those of Client.
class BASEBAND_PUBLIC AdminClient {
 public:
  // InvalidArgument names the option out of range. Does not connect yet.
  static absl::StatusOr<std::unique_ptr<AdminClient>> Create(ClientOptions options);
  ~AdminClient();

  // The settings that apply, as `basebandd --check-config` prints them.
  absl::StatusOr<std::string> GetConfig(absl::Duration timeout);
  // InvalidArgument names a level that there is not.
  absl::Status SetLogLevel(const std::string& level, absl::Duration timeout);
  // Begins what SIGTERM does; does not wait for its end.
  absl::Status Drain(absl::Duration timeout);
  // FailedPrecondition: the server runs without --allow-fault-injection.
  absl::Status InjectFault(const v1::InjectFaultRequest& request, absl::Duration timeout);
  absl::StatusOr<v1::GetFlightRecordsResponse> GetFlightRecords(absl::Duration timeout);
  absl::StatusOr<v1::GetQuarantineResponse> GetQuarantine(absl::Duration timeout);
  // How many kinds of request are let in again. NotFound: none has that fingerprint.
  absl::StatusOr<uint32_t> LiftQuarantine(const v1::LiftQuarantineRequest& request,
                                          absl::Duration timeout);

 private:
  class BASEBAND_PRIVATE Impl;
  explicit AdminClient(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_ADMIN_CLIENT_H_
