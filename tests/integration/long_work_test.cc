// Requests that take long, in pieces or in one, against the real server: none of them is taken for
// a device that is stuck, and none holds the device when nobody waits for it, or while others do.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/server_process.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

// A client's own code that takes a CPU some 10 ms a block, of one byte each: `count` of them take
// that many times as long on one thread.
v1::DecodeRequest LongDecode(int count) {
  constexpr int kRows = 32;
  constexpr int kColumns = 63;
  constexpr int kZc = 512;
  std::mt19937 random(1);
  v1::DecodeRequest request;
  v1::DecodeGroup& group = *request.add_groups();
  v1::CustomCode& code = *group.mutable_code()->mutable_custom();
  code.set_rows(kRows);
  code.set_columns(kColumns);
  code.set_zc(kZc);
  code.set_punctured_columns(kColumns - kRows);
  group.mutable_code()->set_parity_rows(kRows);
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {  // every other one, 32 of a row
      const bool is_block = (row + column) % kColumns % 2 == 0;
      code.add_shifts(is_block ? static_cast<int>(random() % kZc) : -1);
    }
  }
  group.set_count(static_cast<uint32_t>(count));
  group.set_llr_count(1);
  group.set_n_filler((kColumns - kRows) * kZc - 1);
  group.set_max_iterations(100);
  group.set_fixed_iterations(true);
  request.set_payload(std::string(static_cast<size_t>(count), '\5'));
  return request;
}
constexpr int kMinutes = 16384;  // blocks, on one thread

class LongWorkTest : public ::testing::Test {
 protected:
  void Start(std::vector<std::string> flags) {
    flags.push_back("--cpu-threads=1");
    auto started = ServerProcess::Start(flags);
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = std::move(*started);
  }
  bool AwaitRunning(int requests) {
    return server_->WaitForMetric("baseband_requests_in_flight", {}, requests);
  }

  std::unique_ptr<ServerProcess> server_;
};

TEST_F(LongWorkTest, WorkWithoutAClientEndsLongBeforeItWouldBeDone) {
  Start({"--drain=600s"});
  const auto stub = Connect(server_->target());
  grpc::ClientContext context;
  std::thread client([&] {
    v1::DecodeResponse response;
    EXPECT_EQ(stub->Decode(&context, LongDecode(kMinutes), &response).error_code(),
              grpc::StatusCode::CANCELLED);
  });
  EXPECT_TRUE(AwaitRunning(1));
  context.TryCancel();
  client.join();
  // The drain waits for all that was accepted.
  EXPECT_EQ(server_->Terminate(absl::Seconds(40)), 0) << server_->process().Output();
}

TEST_F(LongWorkTest, LongRequestsOnAllLanesDoNotHoldAShortOneUp) {
  Start({"--drain=600s"});
  std::vector<std::unique_ptr<v1::Baseband::Stub>> stubs;
  std::vector<grpc::ClientContext> contexts(3);
  std::vector<std::thread> clients;
  for (grpc::ClientContext& context : contexts) {
    stubs.push_back(Connect(server_->target()));
    clients.emplace_back([&context, stub = stubs.back().get()] {
      v1::DecodeResponse response;
      EXPECT_EQ(stub->Decode(&context, LongDecode(kMinutes), &response).error_code(),
                grpc::StatusCode::CANCELLED);
    });
  }
  EXPECT_TRUE(AwaitRunning(3));
  v1::DecodeResponse response;
  const grpc::Status status = Call(*Connect(server_->target()), DecodeOfZeros(NrCode(2, 2), 1),
                                   &response, absl::Seconds(30));
  EXPECT_TRUE(status.ok()) << status.error_message();
  for (grpc::ClientContext& context : contexts) context.TryCancel();
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
}

// One frame is one piece of work: a sweep over thousands of candidates, in seconds.
TEST_F(LongWorkTest, APieceThatLastsManyTimesTheWatchdogIsNotTakenForAStuckDevice) {
  constexpr int kSymbols = 262144;
  Start({"--watchdog=2s", "--slow=1h"});
  std::mt19937 random(2);
  v1::RecoverCarrierRequest request;
  v1::CarrierGroup& group = *request.add_groups();
  group.mutable_constellation()->set_name("QPSK");
  group.set_count(1);
  group.set_frame_symbols(kSymbols);
  group.set_format(v1::SAMPLE_FORMAT_INT16);
  group.set_fine(v1::FINE_METHOD_SWEEP);
  group.mutable_sweep()->set_range(0.002);
  group.mutable_sweep()->set_step(1e-6);
  std::string& payload = *request.mutable_payload();
  for (int i = 0; i < 2 * kSymbols; ++i) {
    const auto value = static_cast<uint16_t>(random() % 16384);
    payload.push_back(static_cast<char>(value & 0xff));
    payload.push_back(static_cast<char>(value >> 8));
  }
  const auto stub = Connect(server_->target());
  grpc::ClientContext context;
  v1::RecoverCarrierResponse response;
  const grpc::Status status = stub->RecoverCarrier(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
}

// A point that is a sum is one piece, too.
TEST_F(LongWorkTest, AFmodOfFarApartNumbersIsNoMatterOfMinutes) {
  Start({"--watchdog=1s"});
  v1::MinimizeRequest request;
  request.mutable_expression()->set_text("sum(j, 0, 200000, fmod(x*1e300 + j*1e299, 3e-300))");
  v1::GridAxis& axis = *request.add_axes();
  axis.set_name("x");
  axis.set_begin(0.7);
  axis.set_step(0.1);
  axis.set_count(1);
  const auto stub = Connect(server_->target());
  grpc::ClientContext context;
  const auto reader = stub->Minimize(&context, request);
  v1::MinimizeResponse response;
  while (reader->Read(&response)) {
  }
  const grpc::Status status = reader->Finish();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
}

}  // namespace
}  // namespace baseband::testing
