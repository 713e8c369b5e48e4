// Downconvert as the server knows it: alone, and as a stream.
#ifndef BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_OPERATION_H_
#define BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_OPERATION_H_

#include <memory>

#include "server/jobs/operation.h"
#include "server/jobs/stream_session.h"
#include "server/operations/downconvert/downconvert_filters.h"
#include "server/operations/downconvert/downconvert_metrics.h"

namespace baseband::server {

std::unique_ptr<Operation> MakeDownconvertOperation(std::shared_ptr<DownconvertFilters> filters);

// What a DownconvertStream remembers; its jobs are those of `operation`. All outlive it.
std::unique_ptr<StreamSession> NewDownconvertSession(const Operation& operation,
                                                     const RequestLimits& limits,
                                                     DownconvertFilters& filters,
                                                     DownconvertMetrics& metrics);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_DOWNCONVERT_DOWNCONVERT_OPERATION_H_
