#include "server/auth/small_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace baseband::server {

absl::StatusOr<std::string> ReadSmallFile(const char* setting, const std::string& path) {
  constexpr size_t kMaxBytes = 1 << 20;
  const auto refuse = [&] {
    return absl::NotFoundError(
        absl::StrCat(setting, " ", path, " cannot be read: ", std::strerror(errno)));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             &std::fclose);
  if (file == nullptr) return refuse();
  std::string text(kMaxBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return refuse();
  if (text.size() > kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(setting, " ", path, " has more than ", kMaxBytes, " bytes"));
  }
  return text;
}

}  // namespace baseband::server
