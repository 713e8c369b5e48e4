// The log: one line an event on standard error, as text or as JSON.
#ifndef BASEBAND_SERVER_CONFIG_LOGGING_H_
#define BASEBAND_SERVER_CONFIG_LOGGING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/config/config.h"

namespace baseband::server {

// Sets up spdlog's default logger. Once, before any thread logs. Whatever a message holds, its line
// is one line of UTF-8, or one JSON object, and commands no terminal.
void SetUpLogging(const Config& config);

// The words of --log-level.
const std::vector<std::string>& LogLevels();
// From now on; on any thread. The level before; InvalidArgument names a level that there is not.
absl::StatusOr<std::string> SetLogLevel(const std::string& level);

// A warning that is written whatever the level is, "off" too: what was done to the server, and by
// whom, is not for the level to hide that was set by it.
void LogAtAnyLevel(const std::string& line);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONFIG_LOGGING_H_
