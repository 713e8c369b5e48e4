// Servers whose devices, batches and memory fail as a test says, and what clients see of that. With
// BASEBAND_TEST_DEVICE=cuda on a GPU.
#ifndef BASEBAND_TESTS_SUPPORT_FAULTS_TEST_H_
#define BASEBAND_TESTS_SUPPORT_FAULTS_TEST_H_

#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "client/cpp/admin_client.h"
#include "gtest/gtest.h"
#include "tests/support/administered_server.h"
#include "tests/support/server_process.h"
#include "tests/support/status_matchers.h"
#include "tests/support/traffic.h"

namespace baseband::testing {

class FaultsTest : public ::testing::Test {
 protected:
  using Fault = v1::InjectFaultRequest;
  static constexpr absl::Duration kTimeout = absl::Seconds(60);
  static constexpr uint32_t kForever = 600000;  // ms

  // The first device of the servers.
  static std::string Device() {
    const char* const device = std::getenv("BASEBAND_TEST_DEVICE");
    return device != nullptr && std::string(device) == "cuda" ? "cuda:0" : "cpu";
  }

  // How many bits are not the zeros that were sent.
  static int WrongBits(const v1::DecodeResponse& response) {
    int wrong = 0;
    for (const char byte : response.payload()) {
      wrong += __builtin_popcount(static_cast<unsigned char>(byte));
    }
    return wrong;
  }

  void StartServer(std::vector<std::string> flags) {
    auto started = StartAdministered(std::move(flags));
    ASSERT_THAT(started, IsOk());
    server_ = std::move(started->server);
    admin_ = std::move(started->admin);
    stub_ = Connect(server_->target());
  }

  absl::Status Inject(Fault::Kind kind, uint32_t count = 0, uint32_t stall_ms = 0,
                      const std::string& device = "") {
    Fault fault;
    fault.set_kind(kind);
    fault.set_count(count);
    fault.set_stall_ms(stall_ms);
    fault.set_device(device);
    return admin_->InjectFault(fault, kTimeout);
  }

  grpc::Status Decode(v1::DecodeResponse* response, grpc::ClientContext* context) {
    return stub_->Decode(context, DecodeOfZeros(NrCode(2, 16), 2), response);
  }
  grpc::Status Decode() {
    v1::DecodeResponse response;
    grpc::ClientContext context;
    const grpc::Status status = Decode(&response, &context);
    if (status.ok()) {
      EXPECT_EQ(WrongBits(response), 0);
    }
    return status;
  }

  // The records, once there are `at_least`: they come a moment after the answers.
  v1::GetFlightRecordsResponse Records(int at_least) {
    for (;;) {
      auto records = admin_->GetFlightRecords(kTimeout);
      EXPECT_THAT(records, IsOk());
      if (!records.ok() || records->records_size() >= at_least) return *std::move(records);
      absl::SleepFor(absl::Milliseconds(10));
    }
  }

  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<v1::Baseband::Stub> stub_;
  std::unique_ptr<client::AdminClient> admin_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_FAULTS_TEST_H_
