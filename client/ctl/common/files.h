// Whole files in, within a bound; "-" is standard input. What is written goes through outputs.h.
#ifndef BASEBAND_CLIENT_CTL_COMMON_FILES_H_
#define BASEBAND_CLIENT_CTL_COMMON_FILES_H_

#include <cstdint>
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

// `path` as messages call it: - is standard input.
std::string InputName(const std::string& path);

// For reading. NotFound with the system's reason and the path, for a folder too; InvalidArgument if
// the file is being written by this process.
absl::StatusOr<FilePointer> OpenInput(const std::string& path);

// What is taken of a file, bytes: of text that people write, of keys and tokens, of samples, soft
// bits and tables of numbers.
inline constexpr int64_t kMaxTextBytes = 16 << 20;
inline constexpr int64_t kMaxSecretBytes = 1 << 20;
inline constexpr int64_t kMaxDataBytes = int64_t{4} << 30;

// All of it. Statuses are those of common/files/files.h, and InvalidArgument if the file is being
// written by this process.
absl::StatusOr<std::string> ReadData(const std::string& path, int64_t max_bytes = kMaxDataBytes);
// The same as text, without a byte order mark.
absl::StatusOr<std::string> ReadText(const std::string& path, int64_t max_bytes = kMaxTextBytes);

// InvalidArgument if data that come in pieces, `bytes` of `path` by now, are more than are taken.
absl::Status CheckDataBytes(const std::string& path, int64_t bytes);

// NotFound "cannot open x: No such file or directory", from errno.
absl::Status FileError(absl::string_view what, absl::string_view path);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_FILES_H_
