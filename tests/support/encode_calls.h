// Encode calls for load tests, whose right answers begin with "right", and loads of them.
#ifndef BASEBAND_TESTS_SUPPORT_ENCODE_CALLS_H_
#define BASEBAND_TESTS_SUPPORT_ENCODE_CALLS_H_

#include <string>
#include <utility>
#include <vector>

#include "client/load/run.h"
#include "client/load/workload.h"
#include "grpcpp/grpcpp.h"
#include "tests/support/fake_baseband.h"

namespace baseband::testing {

inline std::vector<load::Workload> Calls(absl::Duration deadline = absl::InfiniteDuration()) {
  std::vector<load::Workload> workloads(1);
  workloads[0].name = "encode";
  workloads[0].method = "/baseband.v1.Baseband/Encode";
  workloads[0].deadline = deadline;
  v1::EncodeRequest message;
  message.set_payload("sent");
  const grpc::Slice slice(message.SerializeAsString());
  load::Request request;
  request.message = grpc::ByteBuffer(&slice, 1);
  request.check = [](const grpc::ByteBuffer& reply) -> absl::StatusOr<int64_t> {
    v1::EncodeResponse response;
    load::ReplyView view(reply);
    v1::Timing timing;
    view.ReadTiming(&timing);
    if (response.ParseFromString(view.Rest()) && response.payload().substr(0, 5) == "right")
      return 0;
    return absl::DataLossError("not right");
  };
  workloads[0].requests.push_back(std::move(request));
  return workloads;
}

// A load of those at `server`.
inline load::LoadSpec SpecOf(const FakeBaseband& server, load::Pace::Kind kind, double rate,
                             absl::Duration duration) {
  load::LoadSpec spec;
  spec.client.target = server.target();
  spec.client.connections = 2;
  spec.pace.kind = kind;
  spec.pace.rate = rate;
  spec.warm_up = absl::Milliseconds(200);
  spec.duration = duration;
  spec.timeout = absl::Minutes(2);
  return spec;
}

// Of all calls, that quantile of their latencies.
inline double Milliseconds(const load::LoadResult& result, double quantile) {
  return 1e-6 * static_cast<double>(result.totals.All().latency.Quantile(quantile));
}

// What a server answers.
inline grpc::Status AnswerRight(v1::EncodeResponse* response) {
  response->mutable_timing()->set_kernel_us(7);
  response->set_payload("right");
  return grpc::Status::OK;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_ENCODE_CALLS_H_
