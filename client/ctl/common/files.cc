#include "client/ctl/common/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/ctl/common/file_table.h"
#include "common/files/files.h"
#include "kernels/base/status_macros.h"

namespace baseband::ctl {
namespace {

absl::StatusOr<std::string> Read(const std::string& path, int64_t max_bytes) {
  const std::string name = InputName(path);
  const auto note = [&name](int fd) { return NoteInput(fd, name); };
  if (path != "-") return ReadFileWithin(path, name, max_bytes, note);
  BASEBAND_RETURN_IF_ERROR(note(STDIN_FILENO));
  return ReadOpenFileWithin(STDIN_FILENO, name, max_bytes);
}

}  // namespace

std::string InputName(const std::string& path) { return path == "-" ? "standard input" : path; }

void CloseFile::operator()(std::FILE* file) const {
  if (file != stdin && file != stdout) {
    std::fclose(file);
  }
}

absl::Status FileError(absl::string_view what, absl::string_view path) {
  return absl::NotFoundError(absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(errno)));
}

absl::StatusOr<FilePointer> OpenInput(const std::string& path) {
  FilePointer file(path == "-" ? stdin : std::fopen(path.c_str(), "rb"));
  struct stat status = {};
  if (file == nullptr || fstat(fileno(file.get()), &status) != 0) {
    return FileError("open", path);
  }
  const std::string name = InputName(path);
  if (S_ISDIR(status.st_mode)) {
    return absl::NotFoundError(absl::StrCat("cannot read ", name, ": it is a folder"));
  }
  if (absl::Status noted = NoteInput(fileno(file.get()), name); !noted.ok()) {
    return noted;
  }
  return file;
}

absl::StatusOr<std::string> ReadText(const std::string& path, int64_t max_bytes) {
  BASEBAND_ASSIGN_OR_RETURN(std::string contents, Read(path, max_bytes));
  return TextOf(InputName(path), std::move(contents));
}

absl::StatusOr<std::string> ReadData(const std::string& path, int64_t max_bytes) {
  return Read(path, max_bytes);
}

absl::Status CheckDataBytes(const std::string& path, int64_t bytes) {
  if (bytes <= kMaxDataBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, " has ", bytes, " bytes and more: at most ", kMaxDataBytes, " are taken"));
}

}  // namespace baseband::ctl
