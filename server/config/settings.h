// The table of settings: each one's name, help, range, and how it is read into a Config and
// printed. Knows nothing of where a value came from.
#ifndef BASEBAND_SERVER_CONFIG_SETTINGS_H_
#define BASEBAND_SERVER_CONFIG_SETTINGS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/config/config.h"

namespace baseband::server {

struct Setting {
  std::string name;   // "lanes"
  std::string value;  // what the help puts after the name: "1..32"
  std::string help;
  bool repeats = false;    // takes one value or more, else exactly one
  bool is_switch = false;  // --name alone means --name=true
  bool is_text = false;    // printed in quotes
  // Reads `values` (not empty) into the config. `name` is what an error calls the setting.
  std::function<absl::Status(absl::string_view name, const std::vector<std::string>& values,
                             Config* config)>
      set;
  std::function<std::vector<std::string>(const Config&)> get;
};

// All of them, in the order of the help.
const std::vector<Setting>& Settings();
std::vector<std::string> SettingNames();
// What ends the refusal of an unknown name: the known one that is near it, if one is, or where they
// are listed.
std::string WhereToLook(absl::string_view near);

// What no setting can say alone: limits that must fit into each other, addresses that must differ,
// plain TCP outside of this host.
absl::Status CheckTogether(const Config& config);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONFIG_SETTINGS_H_
