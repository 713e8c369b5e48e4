// A client of --shm-listen that says what it likes: any bytes, any number of them.
#ifndef BASEBAND_TESTS_SUPPORT_RAW_REGIONS_H_
#define BASEBAND_TESTS_SUPPORT_RAW_REGIONS_H_

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "common/shm/packet.h"
#include "common/shm/region_messages.h"

namespace baseband::testing {

class RawRegions {
 public:
  struct Answer {
    uint32_t code = 0;
    uint64_t bytes = 0;
    std::string name;
    std::string message;
    int fd = -1;           // the caller's
    bool is_over = false;  // the server has ended the connection: there is no answer
  };

  explicit RawRegions(const std::string& path)
      : fd_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(path.begin(), path.end(), address.sun_path);
    is_connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    constexpr timeval kPatience = {60, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  }
  ~RawRegions() { close(fd_); }
  RawRegions(const RawRegions&) = delete;
  RawRegions& operator=(const RawRegions&) = delete;

  bool is_connected() const { return is_connected_; }

  bool Send(const void* bytes, size_t size) { return shm::SendPacket(fd_, bytes, size); }
  // With a descriptor passed on.
  bool SendWith(const void* bytes, size_t size, int passed) {
    return shm::SendPacket(fd_, bytes, size, {passed});
  }
  Answer Receive() {
    shm::RegionAnswer message;
    iovec part{&message, sizeof(message)};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    Answer answer;
    answer.is_over = recvmsg(fd_, &header, MSG_CMSG_CLOEXEC) != sizeof(message);
    if (answer.is_over) return answer;
    answer.code = message.code;
    answer.bytes = message.bytes;
    answer.name.assign(reinterpret_cast<const char*>(message.name), sizeof(message.name));
    answer.message = message.message;
    if (cmsghdr* const rights = CMSG_FIRSTHDR(&header); rights != nullptr) {
      std::memcpy(&answer.fd, CMSG_DATA(rights), sizeof(answer.fd));
    }
    return answer;
  }
  Answer Ask(const shm::RegionRequest& request) {
    Answer over;
    over.is_over = true;
    return Send(&request, sizeof(request)) ? Receive() : over;
  }
  Answer Grant(uint64_t bytes) {
    shm::RegionRequest request;
    request.kind = shm::RegionKind::kGrant;
    request.bytes = bytes;
    return Ask(request);
  }
  Answer Mapped(const std::string& name) { return AskOf(shm::RegionKind::kMapped, name); }
  Answer Free(const std::string& name) { return AskOf(shm::RegionKind::kFree, name); }

 private:
  Answer AskOf(shm::RegionKind kind, const std::string& name) {
    shm::RegionRequest request;
    request.kind = kind;
    std::copy_n(name.begin(), std::min(name.size(), sizeof(request.name)), request.name);
    return Ask(request);
  }

  const int fd_;
  bool is_connected_ = false;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_RAW_REGIONS_H_
