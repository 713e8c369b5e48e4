// The log: one line an event on standard error, as text or as JSON.
#ifndef BASEBAND_SERVER_CONFIG_LOGGING_H_
#define BASEBAND_SERVER_CONFIG_LOGGING_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/config/config.h"

namespace baseband::server {

// Sets up spdlog's default logger. Once, before any thread logs.
void SetUpLogging(const Config& config);

// The words of --log-level.
const std::vector<std::string>& LogLevels();
// From now on; on any thread. InvalidArgument names a level that there is not.
absl::Status SetLogLevel(const std::string& level);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONFIG_LOGGING_H_
