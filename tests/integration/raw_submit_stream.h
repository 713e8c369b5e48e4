// Submit streams of the real server, written message by message, and requests that are quick or
// slow. For the tests of this folder.
#ifndef BASEBAND_TESTS_INTEGRATION_RAW_SUBMIT_STREAM_H_
#define BASEBAND_TESTS_INTEGRATION_RAW_SUBMIT_STREAM_H_

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "tests/support/server_process.h"
#include "tests/support/traffic.h"

namespace baseband::testing {

inline const std::vector<std::string> kEncode = {"rpc=\"Encode\""};
inline const std::vector<std::string> kDecode = {"rpc=\"Decode\""};
inline const std::vector<std::string> kSubmit = {"rpc=\"Submit\""};

inline grpc::ByteBuffer ToBuffer(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

// One stream, whose messages are written as bytes.
class RawStream {
 public:
  explicit RawStream(const ServerProcess& server)
      : channel_(grpc::CreateChannel(server.target(), grpc::InsecureChannelCredentials())) {
    context_.set_deadline(
        absl::ToChronoTime(absl::Now() + absl::Seconds(200)));  // fails, not hangs
  }
  ~RawStream() { context_.TryCancel(); }

  grpc::ClientContext& context() { return context_; }
  // Begins, and reads the first credits.
  v1::SubmitCredits Open() {
    using Factory = grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>;
    stream_.reset(Factory::Create(channel_.get(), method_, &context_));
    v1::SubmitResponse grant;
    EXPECT_TRUE(Read(&grant));
    EXPECT_EQ(grant.id(), 0U);
    EXPECT_EQ(grant.result_case(), v1::SubmitResponse::RESULT_NOT_SET);
    return grant.credits();
  }
  bool Write(const std::string& bytes) { return stream_->Write(ToBuffer(bytes)); }
  bool Write(const v1::SubmitRequest& request) { return Write(request.SerializeAsString()); }
  bool Read(v1::SubmitResponse* response) {
    grpc::ByteBuffer bytes;
    grpc::Slice slice;
    if (!stream_->Read(&bytes)) return false;
    EXPECT_TRUE(bytes.DumpToSingleSlice(&slice).ok());
    EXPECT_TRUE(response->ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
    return true;
  }
  v1::SubmitResponse Ask(const v1::SubmitRequest& request) {
    v1::SubmitResponse response;
    EXPECT_TRUE(Write(request));
    EXPECT_TRUE(Read(&response));
    EXPECT_EQ(response.id(), request.id());
    return response;
  }
  void HalfClose() { stream_->WritesDone(); }
  void Cancel() { context_.TryCancel(); }
  // Reads what is left; how the stream ended.
  grpc::Status Finish() {
    v1::SubmitResponse response;
    while (Read(&response)) {
    }
    return stream_->Finish();
  }

 private:
  const std::shared_ptr<grpc::Channel> channel_;
  const grpc::internal::RpcMethod method_{"/baseband.v1.Baseband/Submit",
                                          grpc::internal::RpcMethod::BIDI_STREAMING};
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream_;
};

inline v1::SubmitRequest QuickOf(uint64_t id) {
  v1::SubmitRequest request;
  request.set_id(id);
  *request.mutable_encode() = EncodeOf(NrCode(2, 16), 1);
  return request;
}

// Takes some hundreds of milliseconds of a core with 100 blocks.
inline v1::SubmitRequest SlowOf(uint64_t id, int blocks = 100) {
  v1::SubmitRequest request;
  request.set_id(id);
  *request.mutable_decode() = DecodeOfZeros(NrCode(1, 384), blocks);
  request.mutable_decode()->mutable_groups(0)->set_max_iterations(100);
  request.mutable_decode()->mutable_groups(0)->set_fixed_iterations(true);
  return request;
}

class SubmitTest : public ::testing::Test {
 protected:
  void Start(std::vector<std::string> flags = {}) {
    auto started = ServerProcess::Start(std::move(flags));
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  void TearDown() override {
    if (server_ == nullptr) return;
    // Whatever the streams did, nothing of them is left.
    EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
    EXPECT_TRUE(server_->WaitForMetric("baseband_pool_used_bytes", {"reply"}, 0));
    EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
  }
  void ExpectEnd(RawStream& stream, grpc::StatusCode code, const std::string& message) {
    const grpc::Status status = stream.Finish();
    EXPECT_EQ(status.error_code(), code);
    EXPECT_THAT(status.error_message(), ::testing::HasSubstr(message));
  }

  std::unique_ptr<ServerProcess> server_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_INTEGRATION_RAW_SUBMIT_STREAM_H_
