#include "server/auth/small_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "kernels/base/status_macros.h"

namespace baseband::server {

absl::StatusOr<std::string> ReadSmallFile(const char* setting, const std::string& path) {
  constexpr int64_t kMaxBytes = 1 << 20;
  const std::string name = absl::StrCat(setting, " ", path);
  BASEBAND_ASSIGN_OR_RETURN(std::string contents, ReadFileWithin(path, name, kMaxBytes));
  return TextOf(name, std::move(contents));
}

}  // namespace baseband::server
