#include "server/admin/admin_messages.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/config/quoted.h"
#include "server/converters/checks.h"

namespace baseband::server {
namespace {

using FaultRequest = v1::InjectFaultRequest;

constexpr int64_t kMaxCount = 1000;
constexpr int64_t kMaxStallMs = 600000;

absl::Status RefuseAsSet(absl::string_view field, absl::string_view value,
                         const FaultRequest& request) {
  return absl::InvalidArgumentError(absl::StrCat(
      field, " ", value, " is set: kind ", FaultRequest::Kind_Name(request.kind()), " has none"));
}

absl::Status CheckUnset(absl::string_view field, uint32_t value, const FaultRequest& request) {
  return value == 0 ? absl::OkStatus() : RefuseAsSet(field, absl::StrCat(value), request);
}

absl::StatusOr<Fault::Kind> KindFromProto(FaultRequest::Kind kind) {
  switch (kind) {
    case FaultRequest::STALL:
      return Fault::Kind::kStall;
    case FaultRequest::FAIL:
      return Fault::Kind::kFail;
    case FaultRequest::CORRUPT:
      return Fault::Kind::kCorrupt;
    case FaultRequest::NO_MEMORY:
      return Fault::Kind::kNoMemory;
    case FaultRequest::DEVICE_FAULT:
      return Fault::Kind::kDeviceFault;
    default:
      return CheckRange("kind", kind, FaultRequest::STALL, FaultRequest::DEVICE_FAULT);
  }
}

// What a fault of `kind` is of.
absl::string_view OfWhat(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::kCorrupt:
      return "replies";
    case Fault::Kind::kNoMemory:
      return "allocations";
    default:
      return "batches";
  }
}

// Of a SteadyNow() time by the host's clock; 0 if it never came.
int64_t Nanoseconds(absl::Time time, absl::Duration to_wall) {
  return time == absl::Time() ? 0 : absl::ToUnixNanos(time + to_wall);
}

v1::FlightRecord::Reason ToProto(FlightReason reason) {
  switch (reason) {
    case FlightReason::kFailed:
      return v1::FlightRecord::FAILED;
    case FlightReason::kLate:
      return v1::FlightRecord::LATE;
    case FlightReason::kSlow:
      break;
  }
  return v1::FlightRecord::SLOW;
}

}  // namespace

absl::StatusOr<Fault> FaultFromProto(const FaultRequest& request,
                                     absl::Span<const std::string> devices) {
  Fault fault;
  BASEBAND_ASSIGN_OR_RETURN(fault.kind, KindFromProto(request.kind()));
  if (request.count() != 0) {
    BASEBAND_RETURN_IF_ERROR(CheckRange("count", request.count(), 1, kMaxCount));
    fault.count = request.count();
  }
  if (fault.kind == Fault::Kind::kStall) {
    BASEBAND_RETURN_IF_ERROR(CheckRange("stall_ms", request.stall_ms(), 1, kMaxStallMs));
    fault.stall = absl::Milliseconds(request.stall_ms());
  } else {
    BASEBAND_RETURN_IF_ERROR(CheckUnset("stall_ms", request.stall_ms(), request));
  }
  if (fault.kind == Fault::Kind::kNoMemory && !request.device().empty()) {
    return RefuseAsSet("device", Quoted(request.device()), request);
  }
  if (!request.device().empty() &&
      std::find(devices.begin(), devices.end(), request.device()) == devices.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "device ", Quoted(request.device()), " is not one of ", absl::StrJoin(devices, ", ")));
  }
  fault.device = request.device();
  return fault;
}

absl::StatusOr<std::string> DeviceToLose(const FaultRequest& request) {
  BASEBAND_RETURN_IF_ERROR(CheckUnset("count", request.count(), request));
  BASEBAND_RETURN_IF_ERROR(CheckUnset("stall_ms", request.stall_ms(), request));
  if (request.device().empty()) {
    return absl::InvalidArgumentError("device is not set: kind LOSE needs one");
  }
  return request.device();
}

std::string ToText(FaultRequest::Kind kind, const Fault& fault) {
  std::string text = FaultRequest::Kind_Name(kind);
  if (fault.stall > absl::ZeroDuration()) {
    absl::StrAppend(&text, " of ", absl::FormatDuration(fault.stall));
  }
  absl::StrAppend(&text, ", for the next ", fault.count, " ", OfWhat(fault.kind));
  if (!fault.device.empty()) absl::StrAppend(&text, " of ", fault.device);
  return text;
}

v1::FlightRecord ToProto(const FlightRecord& record) {
  v1::FlightRecord message;
  const absl::Duration to_wall = SteadyToWall();
  message.set_reason(ToProto(record.reason));
  message.set_rpc(record.end.rpc.name);
  message.set_client(absl::Utf8SafeCHexEscape(record.caller.client));
  message.set_priority(kPriorityNames[static_cast<size_t>(record.caller.priority)]);
  message.set_request_id(absl::Utf8SafeCHexEscape(record.request_id));
  message.set_code(absl::StatusCodeToString(record.end.code));
  message.set_message(record.message);
  message.set_arrived_ns(Nanoseconds(record.end.arrived, to_wall));
  message.set_answered_ns(Nanoseconds(record.answered, to_wall));
  message.set_finished_ns(Nanoseconds(record.end.finished, to_wall));
  if (record.end.deadline < absl::InfiniteFuture()) {
    message.set_deadline_ns(Nanoseconds(record.end.deadline, to_wall));
  }
  const JobTimes& times = record.times;
  message.set_received_ns(Nanoseconds(times.arrived, to_wall));
  message.set_submitted_ns(Nanoseconds(times.submitted, to_wall));
  message.set_started_ns(Nanoseconds(times.started, to_wall));
  message.set_ended_ns(Nanoseconds(times.ended, to_wall));
  if (times.lane != nullptr) {
    message.set_device(times.lane->device().id());
    message.set_lane(static_cast<uint32_t>(times.lane->index()));
  }
  message.set_batch_blocks(times.batch_blocks);
  message.set_batch_requests(times.batch_requests);
  message.set_copy_in_ns(absl::ToInt64Nanoseconds(times.stages.copy_in));
  message.set_h2d_ns(absl::ToInt64Nanoseconds(times.stages.h2d));
  message.set_kernel_ns(absl::ToInt64Nanoseconds(times.stages.kernel));
  message.set_d2h_ns(absl::ToInt64Nanoseconds(times.stages.d2h));
  return message;
}

v1::QuarantinedRequests ToProto(const Quarantine::Suspect& suspect, absl::Time now) {
  v1::QuarantinedRequests message;
  const absl::Duration to_wall = SteadyToWall();
  message.set_fingerprint(FingerprintText(suspect.fingerprint));
  message.set_rpc(suspect.operation->name());
  message.set_client(absl::Utf8SafeCHexEscape(suspect.client));
  message.set_device(suspect.device);
  message.set_faults(static_cast<uint32_t>(suspect.faults));
  message.set_last_fault_ns(Nanoseconds(suspect.last_fault, to_wall));
  if (suspect.refused_until > now) {
    message.set_refused_until_ns(Nanoseconds(suspect.refused_until, to_wall));
  }
  message.set_refused(static_cast<uint64_t>(suspect.refused));
  return message;
}

absl::StatusOr<uint64_t> FingerprintFromText(const std::string& text) {
  constexpr size_t kDigits = 16;
  uint64_t fingerprint = 0;
  if (text.size() != kDigits || !absl::SimpleHexAtoi(text, &fingerprint)) {
    return absl::InvalidArgumentError(
        absl::StrCat("fingerprint ", Quoted(text), " is not 16 hexadecimal digits"));
  }
  return fingerprint;
}

}  // namespace baseband::server
