// What gRPC gets to read of a connection, and when.
//
// gRPC reads on for as long as something is there, on threads that its calls need as well, and 1.51
// makes 20 KB of 15 bytes: what a stranger sends is work and memory before the first of his calls
// is seen. Neither gRPC nor the kernel lets anybody slow one connection down. So the program has a
// recvmsg of its own, which gRPC calls like any other's: of a braked socket it gives no more than
// may be read, and then says that nothing is there (EAGAIN).
#ifndef BASEBAND_SERVER_SERVICE_READ_BRAKE_H_
#define BASEBAND_SERVER_SERVICE_READ_BRAKE_H_

#include <sys/types.h>

#include <cstdint>

// Of this process; thread-safe. A socket is told from a later one with the same descriptor by its
// inode: see InodeOf. Where the descriptor is that one's by now, its reads are not braked.
namespace baseband::server::read_brake {

// Sockets with larger descriptors are not braked. Each costs a byte of what was never touched.
inline constexpr int kMaxDescriptor = 1 << 20;

// Whether the program's recvmsg is this one: not where a linker hides it.
bool IsInPlace();

// `bytes` of this socket may be read from now on; before its reader gets it.
void Set(int fd, ino_t inode, int64_t bytes);
// So many more, but no more than `most` in all; its reader hears of it where it was told that
// nothing is there.
void Allow(int fd, ino_t inode, int64_t bytes, int64_t most);
// What was read of it; 0 if it is not braked.
int64_t TakenFrom(int fd, ino_t inode);
// Whether its reader was told so since.
bool IsHeld(int fd, ino_t inode);
// The socket is braked no more, or it is gone.
void Release(int fd, ino_t inode);

}  // namespace baseband::server::read_brake

#endif  // BASEBAND_SERVER_SERVICE_READ_BRAKE_H_
