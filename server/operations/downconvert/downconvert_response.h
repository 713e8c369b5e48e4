// The response to a down-conversion as it goes over the wire, shared by Downconvert and
// DownconvertStream.
#ifndef BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_RESPONSE_H_
#define BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_RESPONSE_H_

#include "absl/status/status.h"
#include "baseband/v1/baseband.pb.h"
#include "server/operations/downconvert/downconvert.h"
#include "server/operations/downconvert/downconvert_setup.h"

namespace baseband::server {

// Of a job that is done: InvalidArgument if its samples were none.
absl::Status CheckFinite(const DownconvertJob& job);
void DescribeChannels(const DownconvertSetup& setup, v1::DownconvertResponse* response);
// The response of a job that is done, but for what the caller knows better.
void FillResponse(const DownconvertJob& job, v1::DownconvertResponse* response);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_RESPONSE_H_
