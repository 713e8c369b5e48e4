// Masks whose filters take long to design: who asks for one waits, and nobody else does.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "tests/support/downconvert_traffic.h"
#include "tests/support/server_process.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

// The server has one thread for gRPC: if that designs a filter, all others wait.
class DownconvertDesignTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = ServerProcess::Start({"--grpc-threads=1"});
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    stub_ = Connect(server_->target());
    quick_ = RequestOf(1);
  }
  void TearDown() override {
    if (server_ != nullptr) {
      EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
    }
  }

  static v1::DownconvertRequest RequestOf(int channels) {
    v1::DownconvertRequest request;
    *request.mutable_setup() = ChannelsOf(channels, 64, 8);
    request.set_payload(std::string(4 * 1000, '\1'));
    return request;
  }
  // Each channel with a mask of its own, which takes some 3000 equiripple taps and half a second.
  static v1::DownconvertRequest SlowRequest(int channels) {
    v1::DownconvertRequest request = RequestOf(channels);
    const double rate = request.setup().sample_rate_hz();
    for (int c = 0; c < channels; ++c) {
      v1::ChannelFilter& filter = *request.mutable_setup()->mutable_channels(c)->mutable_filter();
      filter.Clear();
      filter.mutable_mask()->set_pass_edge_hz((0.2091 + 0.001 * c) * rate);
      filter.mutable_mask()->set_stop_edge_hz((0.2109 + 0.001 * c) * rate);
      filter.mutable_mask()->set_ripple_db(0.002);
      filter.mutable_mask()->set_attenuation_db(90);
    }
    return request;
  }
  bool CallQuickly() {
    v1::DownconvertResponse response;
    return Call(*stub_, quick_, &response).ok();
  }

  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<v1::Baseband::Stub> stub_;
  v1::DownconvertRequest quick_;
};

TEST_F(DownconvertDesignTest, OthersAreServedMeanwhile) {
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  v1::DownconvertResponse slow_response;
  grpc::Status slow_status;
  const auto slow = stub_->AsyncDownconvert(&context, SlowRequest(1), &queue);
  slow->Finish(&slow_response, &slow_status, nullptr);
  int served = 0;
  void* tag = nullptr;
  bool ok = false;
  while (queue.AsyncNext(&tag, &ok, std::chrono::system_clock::now()) ==
         grpc::CompletionQueue::TIMEOUT) {
    ASSERT_TRUE(CallQuickly());
    ++served;
  }
  EXPECT_TRUE(slow_status.ok()) << slow_status.error_message();
  EXPECT_GE(served, 20);
}

TEST_F(DownconvertDesignTest, AStreamsFirstMessageMayTakeLong) {
  const v1::DownconvertRequest request = SlowRequest(1);
  const Converted converted = ConvertAsStream(*stub_, request, WidebandSignal(9000, 1), {3000});
  EXPECT_EQ(converted.responses, 3);
  // The filter is there by now, and the same.
  const Converted again = ConvertInPieces({stub_.get()}, request, WidebandSignal(9000, 1), {3000});
  EXPECT_TRUE(converted.channels == again.channels);
}

TEST_F(DownconvertDesignTest, WhatCannotBeDesignedIsRefusedByName) {
  v1::DownconvertRequest request = SlowRequest(2);
  request.mutable_setup()->mutable_channels(1)->mutable_filter()->mutable_mask()->set_pass_edge_hz(
      40e6);
  v1::DownconvertResponse response;
  const grpc::Status status = Call(*stub_, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(),
              HasSubstr("setup.channels[1].filter.mask.pass_edge_hz 4e+07 is not in (0, 3.2e+07)"));
}

// The designs of a call end with it: those that wait have their turn.
TEST_F(DownconvertDesignTest, NothingIsDesignedForACallThatIsGone) {
  v1::DownconvertResponse response;
  EXPECT_EQ(Call(*stub_, SlowRequest(200), &response, absl::Milliseconds(300)).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  v1::DownconvertRequest request = SlowRequest(1);
  request.mutable_setup()->mutable_channels(0)->mutable_filter()->mutable_mask()->set_ripple_db(1);
  const grpc::Status status = Call(*stub_, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

}  // namespace
}  // namespace baseband::testing
