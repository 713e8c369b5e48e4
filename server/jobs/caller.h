// For whom a job is done, and how much it matters to them.
#ifndef BASEBAND_SERVER_JOBS_CALLER_H_
#define BASEBAND_SERVER_JOBS_CALLER_H_

#include <string>

#include "server/metrics/metrics.h"

namespace baseband::server {

struct Caller {
  std::string client;  // whom device time is shared between; any name
  Priority priority = Priority::kNormal;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_JOBS_CALLER_H_
