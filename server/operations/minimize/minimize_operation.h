// Minimize as the server knows it: pieces of searches. Its requests are searches, which calls/
// serves by a call of their own.
#ifndef BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_OPERATION_H_
#define BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_OPERATION_H_

#include <memory>

#include "server/jobs/operation.h"

namespace baseband::server {

std::unique_ptr<Operation> MakeMinimizeOperation();

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_MINIMIZE_MINIMIZE_OPERATION_H_
