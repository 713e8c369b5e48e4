#include "tests/bench/stranger.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "kernels/base/steady_time.h"
#include "tests/support/http2_frames.h"
#include "tests/support/loopback.h"

namespace baseband::bench {
namespace {

using namespace testing::http2;  // NOLINT

constexpr int kInitialWindow = 4;  // the setting
constexpr size_t kHead = 9;

uint32_t Number(const std::string& bytes, size_t at, size_t size) {
  uint32_t value = 0;
  for (size_t i = at; i < at + size; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

Stranger::Stranger(const std::string& target, Manner manner)
    : fd_(testing::ConnectTo(target)), manner_(manner) {
  Write(Preface() + Frame(kSettings, 0, 0, ""));
}

Stranger::~Stranger() { close(fd_); }

uint32_t Stranger::Open(const std::string& method) { return Begin(HeadersOf(method)); }

uint32_t Stranger::Begin(const std::string& headers) {
  const uint32_t stream = next_stream_;
  next_stream_ += 2;
  windows_[stream] = first_window_;
  Write(Frame(kHeaders, kEndHeaders, stream, headers));
  return stream;
}

void Stranger::Claim(uint32_t stream, uint32_t bytes) {
  windows_[stream] -= 5;
  window_ -= 5;
  Write(Frame(kData, 0, stream, std::string(1, '\0') + BigEndian(bytes, 4)));
}

bool Stranger::Send(uint32_t stream, size_t bytes, absl::Time end) {
  while (bytes > 0 && is_open_) {
    if (SteadyNow() > end) return false;
    const int64_t most = std::min(
        {window_, windows_[stream], static_cast<int64_t>(kMaxFrame), static_cast<int64_t>(bytes)});
    if (most > 0) {
      Write(Frame(kData, 0, stream, std::string(static_cast<size_t>(most), 'x')));
      window_ -= most;
      windows_[stream] -= most;
      bytes -= static_cast<size_t>(most);
    }
    Read(most > 0 ? absl::ZeroDuration() : absl::Milliseconds(20));
  }
  return bytes == 0;
}

int64_t Stranger::SendUntil(absl::Time end, const std::function<std::string()>& next) {
  int64_t sent = 0;
  while (is_open_ && SteadyNow() < end) {
    Write(unsent_.empty() ? next() : "");
    if (unsent_.empty()) ++sent;
    Read(absl::ZeroDuration());
  }
  return sent;
}

void Stranger::ReadUntil(absl::Time end) {
  while (is_open_ && SteadyNow() < end) Read(absl::Milliseconds(20));
}

void Stranger::Write(const std::string& bytes) {
  unsent_ += bytes;
  size_t at = 0;
  while (at < unsent_.size() && is_open_) {
    const ssize_t n =
        send(fd_, unsent_.data() + at, unsent_.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      at += static_cast<size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd writable{fd_, POLLOUT, 0};
      if (poll(&writable, 1, 100) == 0) break;  // who does not read gets the rest later
    } else {
      is_open_ = false;
    }
  }
  unsent_.erase(0, at);
}

void Stranger::Read(absl::Duration wait) {
  pollfd readable{fd_, POLLIN, 0};
  if (poll(&readable, 1, static_cast<int>(absl::ToInt64Milliseconds(wait))) <= 0) return;
  char bytes[1 << 16];
  const ssize_t n = recv(fd_, bytes, sizeof(bytes), MSG_DONTWAIT);
  if (n == 0 || (n < 0 && errno != EAGAIN)) is_open_ = false;
  if (n <= 0) return;
  unread_.append(bytes, static_cast<size_t>(n));
  while (unread_.size() >= kHead) {
    const size_t size = Number(unread_, 0, 3);
    if (unread_.size() < kHead + size) break;
    OnFrame(unread_[3], unread_[4], Number(unread_, 5, 4), unread_.substr(kHead, size));
    unread_.erase(0, kHead + size);
  }
}

void Stranger::OnFrame(int type, int flags, uint32_t stream, const std::string& payload) {
  if (type == kWindowUpdate) {
    (stream == 0 ? window_ : windows_[stream]) += Number(payload, 0, 4);
  } else if (type == kGoAway) {
    is_open_ = false;
  } else if ((flags & kAck) == 0 && type == kPing) {
    Write(Frame(kPing, kAck, 0, payload));
  } else if ((flags & kAck) == 0 && type == kSettings) {
    for (size_t at = 0; at + 6 <= payload.size(); at += 6) {
      if (Number(payload, at, 2) != kInitialWindow) continue;
      const int64_t more = Number(payload, at + 2, 4) - first_window_;
      first_window_ += more;
      for (auto& [number, window] : windows_) window += more;
    }
    if (manner_ == Manner::kPolite) Write(Frame(kSettings, kAck, 0, ""));
  }
}

}  // namespace baseband::bench
