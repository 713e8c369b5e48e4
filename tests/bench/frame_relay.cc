#include "tests/bench/frame_relay.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/bench/must.h"
#include "tests/support/loopback.h"

namespace baseband::bench {
namespace {

constexpr size_t kPreface = 24;
constexpr size_t kFrameHead = 9;
constexpr size_t kData = 0;
constexpr size_t kSettings = 4;
constexpr size_t kMaxFrameSize = 5;  // the setting

size_t BigEndian(const std::string& bytes, size_t at, size_t size) {
  size_t value = 0;
  for (size_t i = at; i < at + size; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

bool Pass(int from, int to, std::string* bytes) {
  for (size_t at = 0; at < bytes->size();) {
    const ssize_t n = recv(from, bytes->data() + at, bytes->size() - at, 0);
    if (n <= 0) return false;
    at += static_cast<size_t>(n);
  }
  return send(to, bytes->data(), bytes->size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes->size());
}

}  // namespace

FrameRelay::FrameRelay(const std::string& target) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in here = testing::Loopback(0);
  socklen_t size = sizeof(here);
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&here), size) != 0 ||
      listen(listener_, 1) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&here), &size) != 0) {
    Fail("the relay cannot listen");
  }
  address_ = absl::StrCat("127.0.0.1:", ntohs(here.sin_port));
  server_ = testing::ConnectTo(target);
  thread_ = std::thread([this] {
    client_ = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    std::thread back([this] { Pump(server_, client_, 0, &of_server_); });
    Pump(client_, server_, kPreface, &of_client_);
    back.join();
  });
}

FrameRelay::~FrameRelay() {
  Finish();
  for (const int fd : {listener_, client_, server_}) close(fd);
}

void FrameRelay::Finish() {
  if (!thread_.joinable()) return;
  shutdown(listener_, SHUT_RDWR);
  shutdown(server_, SHUT_RDWR);
  thread_.join();
}

void FrameRelay::Pump(int from, int to, size_t preface, Seen* seen) {
  std::string bytes(preface, '\0');
  bool open = Pass(from, to, &bytes);
  while (open) {
    std::string head(kFrameHead, '\0');
    if (!Pass(from, to, &head)) break;
    bytes.resize(BigEndian(head, 0, 3));
    open = Pass(from, to, &bytes);
    const size_t type = BigEndian(head, 3, 1);
    if (type == kData) seen->max_data = std::max(seen->max_data, bytes.size());
    for (size_t at = 0; type == kSettings && at + 6 <= bytes.size(); at += 6) {
      if (BigEndian(bytes, at, 2) == kMaxFrameSize) {
        seen->max_frame_setting = std::max(seen->max_frame_setting, BigEndian(bytes, at + 2, 4));
      }
    }
  }
  shutdown(from, SHUT_RDWR);
  shutdown(to, SHUT_RDWR);
}

}  // namespace baseband::bench
