// Whole files that a flag or a setting names: whatever the name leads to, no more of it than its
// reader has asked for, and an end.
#ifndef BASEBAND_COMMON_FILES_FILES_H_
#define BASEBAND_COMMON_FILES_FILES_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace baseband {

// What is asked of an open file before any of it is read.
using AdmitFile = std::function<absl::Status(int fd)>;

// All of a file, at most `max_bytes`. A pipe is read to its end, for which its writer has as long
// as it likes; one that nobody writes to within `wait_for_writer`, or whose writer went without a
// byte, is refused. Of a device no more than kMaxDeviceBytes are read.
//
// Statuses begin with `name`, what errors call the file. NotFound: "x cannot be read: No such file
// or directory", "..: it is a folder", "..: nobody writes to this pipe". InvalidArgument: "x has
// 2000 bytes: at most 1000 are taken", "x has more than 1000 bytes: ..". What `admit` says.
absl::StatusOr<std::string> ReadFileWithin(const std::string& path, absl::string_view name,
                                           int64_t max_bytes, const AdmitFile& admit = nullptr,
                                           absl::Duration wait_for_writer = absl::Seconds(2));
inline constexpr int64_t kMaxDeviceBytes = 1 << 20;
// The same of an open file, which stays open. A pipe may have no writer any more.
absl::StatusOr<std::string> ReadOpenFileWithin(int fd, absl::string_view name, int64_t max_bytes);

// `contents` of the file `name` as parsers of text want them: without the byte order mark that some
// editors put before UTF-8. InvalidArgument "x is UTF-16: save it as UTF-8", by its mark; "x is no
// text: its character N is 0", counted without the mark.
absl::StatusOr<std::string> TextOf(absl::string_view name, std::string contents);

}  // namespace baseband

#endif  // BASEBAND_COMMON_FILES_FILES_H_
