// DecodeSharedChannel as the server knows it.
#ifndef BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_DECODE_SHARED_CHANNEL_OPERATION_H_
#define BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_DECODE_SHARED_CHANNEL_OPERATION_H_

#include <memory>

#include "server/jobs/operation.h"

namespace baseband::server {

std::unique_ptr<Operation> MakeDecodeSharedChannelOperation();

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_DECODE_SHARED_CHANNEL_OPERATION_H_
