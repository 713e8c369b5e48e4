// What administration sends and receives, between the wire and the server's own.
#ifndef BASEBAND_SERVER_ADMIN_ADMIN_MESSAGES_H_
#define BASEBAND_SERVER_ADMIN_ADMIN_MESSAGES_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "baseband/v1/admin.pb.h"
#include "server/batching/quarantine.h"
#include "server/calls/flight_recorder.h"
#include "server/jobs/fault_injector.h"

namespace baseband::server {

// InvalidArgument names the field, its value and its range; `devices` are the ids that there are.
// Not for LOSE.
absl::StatusOr<Fault> FaultFromProto(const v1::InjectFaultRequest& request,
                                     absl::Span<const std::string> devices);
// LOSE: the device, which need not be one that there is. InvalidArgument likewise.
absl::StatusOr<std::string> DeviceToLose(const v1::InjectFaultRequest& request);
// For people: "STALL of 2s, for the next 3 batches of cuda:0".
std::string ToText(v1::InjectFaultRequest::Kind kind, const Fault& fault);

v1::FlightRecord ToProto(const FlightRecord& record);

v1::QuarantinedRequests ToProto(const Quarantine::Suspect& suspect, absl::Time now);
// InvalidArgument if it is no fingerprint.
absl::StatusOr<uint64_t> FingerprintFromText(const std::string& text);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_ADMIN_ADMIN_MESSAGES_H_
