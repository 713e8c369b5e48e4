// What is said over the socket of --shm-listen, by which a client of the same host is granted
// memory that it shares with the server. client/shm/README.md states the same for other languages.
//
// A Unix socket of type SOCK_SEQPACKET: each message is one packet, numbers as this host has them.
// The client sends a RegionRequest, and reads a RegionAnswer before it sends another. Regions are
// the connection's: with its end they are freed, once nothing that is under way uses them.
#ifndef BASEBAND_COMMON_SHM_REGION_MESSAGES_H_
#define BASEBAND_COMMON_SHM_REGION_MESSAGES_H_

#include <cstddef>
#include <cstdint>

namespace baseband::shm {

inline constexpr uint32_t kRegionVersion = 1;
inline constexpr size_t kRegionNameBytes = 16;

// Ranges in a region begin, and those for replies end, at multiples of this.
inline constexpr int64_t kRegionAlignment = 64;
// Regions are granted in multiples of this.
inline constexpr int64_t kRegionPage = 4096;

constexpr int64_t RoundUp(int64_t bytes, int64_t step) { return (bytes + step - 1) / step * step; }

// What is added to MemoryHold.number, by whom; numbers are multiples of kHoldStates, but not 0,
// which lies in memory that is new.
inline constexpr uint64_t kTaken = 1;      // the server, for it has the request
inline constexpr uint64_t kReleased = 2;   // the server, for it uses the memory no more
inline constexpr uint64_t kWithdrawn = 3;  // the client, before the server has it
inline constexpr uint64_t kHoldStates = 4;

enum class RegionKind : uint32_t {
  kHello = 0,  // who is there: nothing but `server_id` is answered
  // `bytes` of memory, 1 ..: the answer brings its name, its size, which may be larger, and as
  // ancillary data (SCM_RIGHTS) the descriptor to map, MAP_SHARED, from offset 0 on.
  kGrant = 1,
  kFree = 2,  // the region `name` of this connection
  // The region `name` of this connection is mapped, and has to be before a request names it. From
  // now on nobody maps it for writing any more, writes to its file, or takes pages out of it: the
  // server, which touches it now, never waits for the client in that. It may be said again.
  kMapped = 4,
  // The ring that the client has made ready in the region `name` of this connection, from offset
  // `bytes`, a multiple of kRegionAlignment, on: ring.h. The answer brings, as ancillary data, the
  // server's bell: an eventfd, to which the client writes 1 when it has to be rung. The ring ends
  // with the region, or the connection. Says kMapped, too.
  kRing = 3,
};

struct RegionRequest {
  uint32_t version = kRegionVersion;
  RegionKind kind = RegionKind::kHello;
  uint64_t bytes = 0;
  uint8_t name[kRegionNameBytes] = {};
};
static_assert(sizeof(RegionRequest) == 32);

struct RegionAnswer {
  uint32_t version = kRegionVersion;
  // 0, or a canonical code of gRPC: 3 INVALID_ARGUMENT, 5 NOT_FOUND, 7 PERMISSION_DENIED, 8
  // RESOURCE_EXHAUSTED, 14 UNAVAILABLE, 16 UNAUTHENTICATED.
  uint32_t code = 0;
  uint64_t bytes = 0;
  uint8_t name[kRegionNameBytes] = {};
  // Of this process of the server, as SharedMemoryCapabilities.server_id has it.
  uint8_t server_id[kRegionNameBytes] = {};
  char message[208] = {};  // what is wrong, ends with a zero
};
static_assert(sizeof(RegionAnswer) == 256);

}  // namespace baseband::shm

#endif  // BASEBAND_COMMON_SHM_REGION_MESSAGES_H_
