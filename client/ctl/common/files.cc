#include "client/ctl/common/files.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/ctl/common/file_table.h"

namespace baseband::ctl {

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
  const std::string name = path == "-" ? "standard input" : path;
  if (S_ISDIR(status.st_mode)) {
    return absl::NotFoundError(absl::StrCat("cannot read ", name, ": it is a folder"));
  }
  if (absl::Status noted = NoteInput(fileno(file.get()), name); !noted.ok()) {
    return noted;
  }
  return file;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const absl::StatusOr<FilePointer> file = OpenInput(path);
  if (!file.ok()) {
    return file.status();
  }
  std::string contents;
  char buffer[1 << 16];
  size_t size = 0;
  while ((size = std::fread(buffer, 1, sizeof(buffer), file->get())) > 0) {
    contents.append(buffer, size);
  }
  if (std::ferror(file->get()) != 0) {
    return FileError("read", path == "-" ? "standard input" : path);
  }
  return contents;
}

}  // namespace baseband::ctl
