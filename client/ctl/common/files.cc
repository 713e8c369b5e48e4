#include "client/ctl/common/files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace baseband::ctl {
namespace {

absl::Status SystemError(absl::string_view what, const std::string& path) {
  return absl::NotFoundError(absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(errno)));
}

absl::StatusOr<std::string> ReadAll(std::FILE* file, const std::string& path) {
  std::string contents;
  char buffer[1 << 16];
  size_t size = 0;
  while ((size = std::fread(buffer, 1, sizeof(buffer), file)) > 0) {
    contents.append(buffer, size);
  }
  if (std::ferror(file) != 0) {
    return SystemError("read", path);
  }
  return contents;
}

bool WriteAll(std::FILE* file, absl::string_view contents) {
  return std::fwrite(contents.data(), 1, contents.size(), file) == contents.size() &&
         std::fflush(file) == 0;
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  if (path == "-") {
    return ReadAll(stdin, "standard input");
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  return file == nullptr ? SystemError("open", path) : ReadAll(file.get(), path);
}

absl::Status WriteFile(const std::string& path, absl::string_view contents) {
  if (path == "-") {
    return WriteAll(stdout, contents) ? absl::OkStatus() : SystemError("write", "standard output");
  }
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    return SystemError("create", path);
  }
  const bool written = WriteAll(file, contents);
  const bool closed = std::fclose(file) == 0;
  return written && closed ? absl::OkStatus() : SystemError("write", path);
}

}  // namespace baseband::ctl
