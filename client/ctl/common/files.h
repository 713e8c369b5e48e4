// Whole files in; "-" is standard input. What is written goes through outputs.h.
#ifndef BASEBAND_CLIENT_CTL_COMMON_FILES_H_
#define BASEBAND_CLIENT_CTL_COMMON_FILES_H_

#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace baseband::ctl {

// Leaves standard input and output open.
struct CloseFile {
  void operator()(std::FILE* file) const;
};
using FilePointer = std::unique_ptr<std::FILE, CloseFile>;

// For reading. NotFound with the system's reason and the path, for a folder too; InvalidArgument if
// the file is being written by this process.
absl::StatusOr<FilePointer> OpenInput(const std::string& path);

// All of it. Statuses are those of OpenInput, and NotFound if reading fails.
absl::StatusOr<std::string> ReadFile(const std::string& path);

// NotFound "cannot open x: No such file or directory", from errno.
absl::Status FileError(absl::string_view what, absl::string_view path);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_FILES_H_
