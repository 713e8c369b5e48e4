// What settings.cc needs of the settings of security: their kinds, and what must hold of them
// together.
#ifndef BASEBAND_SERVER_CONFIG_SECURITY_SETTINGS_H_
#define BASEBAND_SERVER_CONFIG_SECURITY_SETTINGS_H_

#include <string>

#include "absl/status/status.h"
#include "server/config/settings.h"

namespace baseband::server {

// The path of a file, or off.
Setting FileSetting(std::string name, std::string Config::*member, std::string help);
Setting AllowSetting();
Setting SocketModeSetting();

// A certificate without its key, rules that nobody can meet, tokens in clear text on a network.
absl::Status CheckSecurity(const Config& config);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONFIG_SECURITY_SETTINGS_H_
