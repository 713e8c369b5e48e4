#include "common/files/files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"

namespace baseband {
namespace {

constexpr int kPollMs = 20;
constexpr size_t kPiece = 1 << 16;

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

absl::Status CannotRead(absl::string_view name, absl::string_view why) {
  return absl::NotFoundError(absl::StrCat(name, " cannot be read: ", why));
}

absl::Status TooLarge(absl::string_view name, absl::string_view size, int64_t max_bytes) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has ", size, " bytes: at most ", max_bytes, " are taken"));
}

// Waits until there is something to read, or the other end is closed.
void AwaitInput(int fd) {
  pollfd waiting = {fd, POLLIN, 0};
  (void)poll(&waiting, 1, -1);
}

// `writer_by`: an end of file before anything was read is none until then, for whoever will write
// to the pipe has not opened it yet.
absl::StatusOr<std::string> ReadAll(int fd, absl::string_view name, int64_t max_bytes,
                                    absl::Time writer_by) {
  struct stat status = {};
  if (fstat(fd, &status) != 0) return CannotRead(name, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return CannotRead(name, "it is a folder");
  if (S_ISREG(status.st_mode) && status.st_size > max_bytes) {
    return TooLarge(name, absl::StrCat(status.st_size), max_bytes);
  }
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) {
    max_bytes = std::min(max_bytes, kMaxDeviceBytes);
  }
  std::string contents;
  if (S_ISREG(status.st_mode)) contents.reserve(static_cast<size_t>(status.st_size) + kPiece);
  for (;;) {
    const size_t size = contents.size();
    // One more than there may be: that is what too much is known by.
    const auto most = static_cast<size_t>(max_bytes) + 1 - size;
    contents.resize(size + std::min(kPiece, most));
    const ssize_t got = read(fd, &contents[size], contents.size() - size);
    const int error = errno;
    contents.resize(size + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (static_cast<int64_t>(contents.size()) > max_bytes) {
      return TooLarge(name, absl::StrCat("more than ", max_bytes), max_bytes);
    }
    if (got > 0) continue;
    if (got == 0) {
      if (size > 0 || !S_ISFIFO(status.st_mode) || writer_by == absl::InfinitePast()) {
        return contents;
      }
      if (SteadyNow() >= writer_by) return CannotRead(name, "nobody writes to this pipe");
      (void)poll(nullptr, 0, kPollMs);
    } else if (error == EAGAIN) {
      AwaitInput(fd);
      writer_by = absl::InfinitePast();  // there is one: an end is the end
    } else if (error != EINTR) {
      return CannotRead(name, std::strerror(error));
    }
  }
}

}  // namespace

absl::StatusOr<std::string> ReadFileWithin(const std::string& path, absl::string_view name,
                                           int64_t max_bytes, const AdmitFile& admit,
                                           absl::Duration wait_for_writer) {
  // Without waiting for a writer, or for a terminal.
  const OpenFile file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.fd() < 0) return CannotRead(name, std::strerror(errno));
  if (admit) BASEBAND_RETURN_IF_ERROR(admit(file.fd()));
  return ReadAll(file.fd(), name, max_bytes, SteadyNow() + wait_for_writer);
}

absl::StatusOr<std::string> ReadOpenFileWithin(int fd, absl::string_view name, int64_t max_bytes) {
  return ReadAll(fd, name, max_bytes, absl::InfinitePast());
}

absl::StatusOr<std::string> TextOf(absl::string_view name, std::string contents) {
  if (absl::StartsWith(contents, "\xff\xfe") || absl::StartsWith(contents, "\xfe\xff")) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is UTF-16: save it as UTF-8"));
  }
  if (absl::StartsWith(contents, "\xef\xbb\xbf")) contents.erase(0, 3);
  if (const size_t at = contents.find('\0'); at != std::string::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is no text: its character ", at, " is 0"));
  }
  return contents;
}

}  // namespace baseband
