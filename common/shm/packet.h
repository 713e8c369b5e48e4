// Packets over a Unix socket of type SOCK_SEQPACKET, with descriptors passed on in them.
#ifndef BASEBAND_COMMON_SHM_PACKET_H_
#define BASEBAND_COMMON_SHM_PACKET_H_

#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>
#include <cstring>
#include <vector>

namespace baseband::shm {

// Sends `size` bytes in one packet, with `fds`, which remain the caller's; `flags` beside
// MSG_NOSIGNAL. False: it is not sent, and errno says why.
inline bool SendPacket(int socket, const void* bytes, size_t size, const std::vector<int>& fds = {},
                       int flags = 0) {
  iovec part{const_cast<void*>(bytes), size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  std::vector<char> control(CMSG_SPACE(fds.size() * sizeof(int)));
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  return sendmsg(socket, &message, flags | MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

}  // namespace baseband::shm

#endif  // BASEBAND_COMMON_SHM_PACKET_H_
