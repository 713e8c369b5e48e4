// A message as converters see it, and the job that becomes of it.
#ifndef BASEBAND_TESTS_SUPPORT_CONVERT_REQUEST_H_
#define BASEBAND_TESTS_SUPPORT_CONVERT_REQUEST_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/base/status_macros.h"
#include "server/jobs/operation.h"
#include "server/jobs/request.h"

namespace baseband::server {

// `message`, its field `payload` aside, which stays with the request.
template <typename Message>
Request RequestOf(Message message) {
  const auto payload = std::make_shared<const std::string>(std::move(*message.mutable_payload()));
  message.clear_payload();
  Request request;
  request.header = message.SerializeAsString();
  request.payload = Payload({{reinterpret_cast<const uint8_t*>(payload->data()),
                              static_cast<int64_t>(payload->size()), nullptr}},
                            payload);
  return request;
}

// The job of `request`, prepared on this thread however long that takes.
inline absl::StatusOr<JobPtr> ConvertRequest(Operation& operation, const Request& request,
                                             int64_t max_blocks = 1 << 20) {
  RequestLimits limits;
  limits.max_blocks_per_request = max_blocks;
  BASEBAND_ASSIGN_OR_RETURN(Conversion conversion, operation.Convert(request, limits));
  if (conversion.job != nullptr) return std::move(conversion.job);
  return conversion.preparation->Finish(ContinueCheck());
}
template <typename Message>
absl::StatusOr<JobPtr> ConvertRequest(Operation& operation, const Message& message) {
  return ConvertRequest(operation, RequestOf(message));
}

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_SUPPORT_CONVERT_REQUEST_H_
