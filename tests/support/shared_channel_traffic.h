// Requests of shared channels for the real server.
#ifndef BASEBAND_TESTS_SUPPORT_SHARED_CHANNEL_TRAFFIC_H_
#define BASEBAND_TESTS_SUPPORT_SHARED_CHANNEL_TRAFFIC_H_

#include <random>

#include "absl/time/time.h"
#include "baseband/v1/baseband.grpc.pb.h"

namespace baseband::testing {

// 1 .. 4 groups of transport blocks of random size, modulation and rate, 1 .. 3 each; bits wanted.
v1::EncodeSharedChannelRequest RandomSlot(std::mt19937* random);
// The request that decodes `bits`, with which `slot` was answered, as received without noise: its
// payload must come back.
v1::DecodeSharedChannelRequest DecodeOf(const v1::EncodeSharedChannelRequest& slot,
                                        const v1::EncodeSharedChannelResponse& bits);

// Calls and waits.
grpc::Status Call(v1::Baseband::Stub& stub, const v1::EncodeSharedChannelRequest& request,
                  v1::EncodeSharedChannelResponse* response,
                  absl::Duration timeout = absl::Seconds(60));
grpc::Status Call(v1::Baseband::Stub& stub, const v1::DecodeSharedChannelRequest& request,
                  v1::DecodeSharedChannelResponse* response,
                  absl::Duration timeout = absl::Seconds(60));

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_SHARED_CHANNEL_TRAFFIC_H_
