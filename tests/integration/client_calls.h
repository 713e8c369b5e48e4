// Calls of the client library to a server in this process. For the tests of this folder.
#ifndef BASEBAND_TESTS_INTEGRATION_CLIENT_CALLS_H_
#define BASEBAND_TESTS_INTEGRATION_CLIENT_CALLS_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "client/cpp/client.h"
#include "gtest/gtest.h"
#include "tests/support/fake_baseband.h"
#include "tests/support/status_matchers.h"

namespace baseband::client {

using ::baseband::testing::FakeBaseband;
using ::baseband::testing::IsOk;

inline std::unique_ptr<Client> Connect(const std::string& target, ClientOptions options = {}) {
  options.target = target;
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Create(options);
  EXPECT_THAT(client, IsOk());
  return *std::move(client);
}

inline CallOptions Within(absl::Duration timeout) {
  CallOptions options;
  options.timeout = timeout;
  return options;
}

// Answers with the payload it got.
inline grpc::Status Echo(grpc::ServerContext*, const v1::EncodeRequest& request,
                         v1::EncodeResponse* response) {
  response->set_payload(request.payload());
  return grpc::Status::OK;
}

// The first message of a Submit stream, which lets so many requests come.
inline v1::SubmitResponse CreditsFor(uint32_t requests) {
  v1::SubmitResponse response;
  response.mutable_credits()->set_requests(requests);
  response.mutable_credits()->set_bytes(1 << 20);
  return response;
}
// Answers `request`, and lets another come in its place.
inline v1::SubmitResponse AnswerTo(const v1::SubmitRequest& request) {
  v1::SubmitResponse response;
  response.set_id(request.id());
  response.mutable_credits()->set_requests(1);
  response.mutable_credits()->set_bytes(request.ByteSizeLong());
  return response;
}

// Waits until the call is cancelled or its deadline has passed.
inline grpc::Status Hang(grpc::ServerContext* context) {
  while (!context->IsCancelled()) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  return grpc::Status(grpc::StatusCode::CANCELLED, "gone");
}

inline v1::EncodeRequest RequestOf(const std::string& payload) {
  v1::EncodeRequest request;
  request.set_payload(payload);
  return request;
}
inline v1::EncodeRequest RequestOf(size_t payload_bytes) {
  return RequestOf(std::string(payload_bytes, 'b'));
}

// Far below the timeouts that must not pass.
inline constexpr absl::Duration kPatience = absl::Seconds(20);

}  // namespace baseband::client

#endif  // BASEBAND_TESTS_INTEGRATION_CLIENT_CALLS_H_
