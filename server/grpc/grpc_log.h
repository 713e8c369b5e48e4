// gRPC's own log lines, in ours.
#ifndef BASEBAND_SERVER_GRPC_GRPC_LOG_H_
#define BASEBAND_SERVER_GRPC_GRPC_LOG_H_

namespace baseband::server {

// From now on gRPC's lines go to spdlog's default logger, one a second at most, with the number of
// those in between: each broken handshake of a stranger makes one. gRPC's errors are warnings, for
// none of them ends anything of the server's. GRPC_VERBOSITY says, as ever, which there are.
void RouteGrpcLog();

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_GRPC_GRPC_LOG_H_
