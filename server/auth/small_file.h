// Files of certificates, keys and tokens.
#ifndef BASEBAND_SERVER_AUTH_SMALL_FILE_H_
#define BASEBAND_SERVER_AUTH_SMALL_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace baseband::server {

// The text of a file of at most 1 MiB. NotFound or InvalidArgument say which `setting` named it and
// why it cannot be had (common/files/files.h).
absl::StatusOr<std::string> ReadSmallFile(const char* setting, const std::string& path);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_AUTH_SMALL_FILE_H_
