// How gRPC brings large messages over a connection, at either end.
#ifndef BASEBAND_COMMON_GRPC_FRAMES_H_
#define BASEBAND_COMMON_GRPC_FRAMES_H_

namespace baseband {

// The largest DATA frame that either end takes: a large message comes in few (of 16 KiB unless it
// is said).
inline constexpr int kMaxFrameBytes = 1 << 20;

}  // namespace baseband

#endif  // BASEBAND_COMMON_GRPC_FRAMES_H_
