// gRPC's experiments, which its newer versions have switched on.
#ifndef BASEBAND_SERVER_GRPC_GRPC_EXPERIMENTS_H_
#define BASEBAND_SERVER_GRPC_GRPC_EXPERIMENTS_H_

namespace baseband::server {

// Switches off what we cannot have, in GRPC_EXPERIMENTS, besides what that says already. Before
// anything else of gRPC, and while there is one thread.
void ChooseGrpcExperiments();

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_GRPC_GRPC_EXPERIMENTS_H_
