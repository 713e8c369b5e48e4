// Settings from a file of lines NAME = VALUE, as --config names it and --check-config prints it.
#ifndef BASEBAND_SERVER_CONFIG_CONFIG_FILE_H_
#define BASEBAND_SERVER_CONFIG_CONFIG_FILE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace baseband::server {

// One place settings come from: what it gave for each setting, by the setting's name.
using Given = std::map<std::string, std::vector<std::string>>;

// Nothing, of no path. InvalidArgument: it cannot be read, is no text or too long, or as below.
absl::StatusOr<Given> ReadConfigFile(const std::string& path);

// Of `text`, which stands in `path`. InvalidArgument names the line or the key that is none.
absl::StatusOr<Given> ReadConfigText(const std::string& path, const std::string& text);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONFIG_CONFIG_FILE_H_
