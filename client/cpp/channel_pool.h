// Connections to one server. Internal to the client libraries.
#ifndef BASEBAND_CLIENT_CPP_CHANNEL_POOL_H_
#define BASEBAND_CLIENT_CPP_CHANNEL_POOL_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/cpp/client.h"
#include "client/cpp/throttle.h"
#include "common/grpc/steady_alarm.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"

namespace baseband::client {

// gRPC's service config for `options`. To several servers (`balanced`) calls go in turn, to those
// whose health is SERVING. Searches that get UNAVAILABLE before their first response are tried
// again, with backoff, honouring the server's push-back; unary calls are not by gRPC, but by
// UnaryCall. Nor are streams in both directions: gRPC 1.51 then ends the process now and then (a
// closure is used again while it still waits for a write) when the server of one goes.
std::string ServiceConfigJson(const ClientOptions& options, bool balanced);

// One connection of the pool, to each server of the target. `calls` counts those in flight on it.
struct PooledChannel {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<grpc::GenericStub> stub;
  std::atomic<int> calls{0};
};

// `options.connections` channels, each with a connection of its own, and the timer and the throttle
// of their calls.
// Thread-safe.
class ChannelPool {
 public:
  // `options` as CheckOptions has found them right.
  explicit ChannelPool(const ClientOptions& options);

  // The channel with the fewest calls in flight, the next in turn among equals.
  PooledChannel& Pick();

  // How many channels have no call in flight; 0 while not all are connected.
  int CountIdle() const;

  // Adds the token, if there is one.
  void Authorize(grpc::ClientContext* context) const;

  SteadyTimer* timer() { return &timer_; }
  ClientThrottle& throttle() { return throttle_; }
  const ClientThrottle& throttle() const { return throttle_; }

  // Whether the target does not say that it stands for several.
  bool is_one_server() const { return is_one_server_; }

  // Whether every channel is, to one server at least; those that are not try to be from now on.
  bool IsConnected() const;

  // Waits until every channel is connected, to one server at least. Unavailable as soon as one
  // attempt failed, unless `keep_trying`; DeadlineExceeded after `timeout`.
  absl::Status Connect(absl::Duration timeout, bool keep_trying);

 private:
  const std::string authorization_;  // "Bearer TOKEN"; empty: none
  bool is_one_server_ = false;
  std::vector<std::unique_ptr<PooledChannel>> channels_;
  std::atomic<unsigned> turn_{0};
  SteadyTimer timer_;
  ClientThrottle throttle_;
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_CHANNEL_POOL_H_
