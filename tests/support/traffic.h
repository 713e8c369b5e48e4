// Requests of mixed codes, and what their answers must be.
#ifndef BASEBAND_TESTS_SUPPORT_TRAFFIC_H_
#define BASEBAND_TESTS_SUPPORT_TRAFFIC_H_

#include <memory>
#include <random>
#include <string>

#include "absl/time/time.h"
#include "baseband/v1/baseband.grpc.pb.h"

namespace baseband::testing {

v1::LdpcCode NrCode(int base_graph, int zc, int parity_rows = 0);
v1::LdpcCode WimaxCode(v1::WimaxCode::Rate rate, int n);
v1::LdpcCode WifiCode(v1::WifiCode::Rate rate, int n);
// A triangular matrix that no standard has: 2 information columns, `rows` parity columns.
v1::LdpcCode CustomCode(int rows, int zc);

// One group of `count` blocks with random information, code words wanted.
v1::EncodeRequest EncodeOf(const v1::LdpcCode& code, int count, int n_filler = 0);
// The same with LLRs of the all-zero code word.
v1::DecodeRequest DecodeOfZeros(const v1::LdpcCode& code, int count);
// That of NR's longest code, which takes a core some milliseconds a block.
v1::DecodeRequest SlowDecode(int blocks);

// 1 .. 4 groups of random codes of all families, 1 .. 4 blocks each, some with fillers.
v1::EncodeRequest RandomEncode(std::mt19937* random);
// The request that decodes `words`, the code words that `request` was answered with, as received
// without noise: its payload must come back.
v1::DecodeRequest DecodeOf(const v1::EncodeRequest& request, const v1::EncodeResponse& words);

// A connection of its own to `target`, for messages of any size.
std::shared_ptr<grpc::Channel> OwnChannel(const std::string& target);
std::unique_ptr<v1::Baseband::Stub> Connect(const std::string& target);

// Calls and waits.
grpc::Status Call(v1::Baseband::Stub& stub, const v1::EncodeRequest& request,
                  v1::EncodeResponse* response, absl::Duration timeout = absl::Seconds(60));
grpc::Status Call(v1::Baseband::Stub& stub, const v1::DecodeRequest& request,
                  v1::DecodeResponse* response, absl::Duration timeout = absl::Seconds(60));

// Encodes a random request and decodes the answer; empty if all is as it must be, else what is not.
std::string RoundTrip(v1::Baseband::Stub& stub, std::mt19937* random);

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_TRAFFIC_H_
