// A load of one kind of call whose answers are easily checked: words of zeros, decoded.
#ifndef BASEBAND_TESTS_BENCH_ZEROS_LOAD_H_
#define BASEBAND_TESTS_BENCH_ZEROS_LOAD_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "baseband/v1/baseband.pb.h"
#include "client/load/workload.h"

namespace baseband::bench {

// The word of zeros, without noise, decodes to zeros: no block fails.
inline absl::StatusOr<int64_t> CheckZeros(const grpc::ByteBuffer& reply) {
  grpc::Slice slice;
  v1::DecodeResponse response;
  if (!reply.DumpToSingleSlice(&slice).ok() ||
      !response.ParseFromArray(slice.begin(), static_cast<int>(slice.size()))) {
    return absl::DataLossError("no DecodeResponse");
  }
  const std::string& bits = response.payload();
  const bool right = !bits.empty() && bits == std::string(bits.size(), '\0');
  if (!right) return absl::DataLossError("not zeros");
  return 0;
}

// Calls of `method` (Decode, or one that does not exist) with `request`, of words without noise
// that are all zero.
inline std::vector<load::Workload> ZerosLoad(const v1::DecodeRequest& request,
                                             const std::string& method = "Decode") {
  const grpc::Slice slice(request.SerializeAsString());
  load::Request sent;
  sent.message = grpc::ByteBuffer(&slice, 1);
  sent.check = CheckZeros;
  std::vector<load::Workload> workloads(1);
  workloads[0].method = "/baseband.v1.Baseband/" + method;
  workloads[0].requests.push_back(std::move(sent));
  return workloads;
}

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_ZEROS_LOAD_H_
