// What gRPC holds a client to until it has acknowledged the server's SETTINGS.
//
// By HTTP/2 nothing but what both sides begin with (RFC 9113, 6.5.2): any number of calls.
// gRPC 1.51 takes those values, and 16 MiB of headers, from a table of its own, so that who never
// acknowledges anything has gigabytes of the server for kilobytes: 20 KB for a call's 15 bytes,
// 4000 bytes for each byte that recalls a long header. The table is gRPC's, but its shared library
// exports it.
#ifndef BASEBAND_SERVER_GRPC_FIRST_SETTINGS_H_
#define BASEBAND_SERVER_GRPC_FIRST_SETTINGS_H_

#include <cstdint>

namespace baseband::server {

// RFC 9113 recommends no fewer than 100 calls. A server says only what differs from these: its own
// limits have to be others.
inline constexpr uint32_t kFirstStreams = 256;
inline constexpr uint32_t kFirstMetadataBytes = 16 << 10;

// Of all servers of this process that are built later. False: this gRPC has no such table.
bool LimitFirstSettings();

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_GRPC_FIRST_SETTINGS_H_
