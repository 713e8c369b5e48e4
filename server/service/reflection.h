// What a server says of its services (the standard gRPC reflection service).
#ifndef BASEBAND_SERVER_SERVICE_REFLECTION_H_
#define BASEBAND_SERVER_SERVICE_REFLECTION_H_

#include <grpcpp/support/byte_buffer.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace baseband::server {

// The answer, a ServerReflectionResponse, to a ServerReflectionRequest about `services`, from the
// descriptors of this program. What is not there is an error_response of NOT_FOUND. InvalidArgument
// if the request is none, or too long for a name.
absl::StatusOr<std::string> AnswerReflection(const std::vector<std::string>& services,
                                             const grpc::ByteBuffer& request);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_REFLECTION_H_
