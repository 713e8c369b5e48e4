// Decode as the server knows it.
#ifndef BASEBAND_SERVER_OPERATIONS_DECODE_DECODE_OPERATION_H_
#define BASEBAND_SERVER_OPERATIONS_DECODE_DECODE_OPERATION_H_

#include <memory>

#include "server/jobs/operation.h"
#include "server/operations/ldpc/ldpc_codes.h"

namespace baseband::server {

std::unique_ptr<Operation> MakeDecodeOperation(std::shared_ptr<LdpcCodes> codes);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_DECODE_DECODE_OPERATION_H_
