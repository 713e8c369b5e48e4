// The log: one line an event on standard error, as text or as JSON.
#ifndef BASEBAND_SERVER_CONFIG_LOGGING_H_
#define BASEBAND_SERVER_CONFIG_LOGGING_H_

#include "server/config/config.h"

namespace baseband::server {

// Sets up spdlog's default logger. Once, before any thread logs.
void SetUpLogging(const Config& config);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONFIG_LOGGING_H_
