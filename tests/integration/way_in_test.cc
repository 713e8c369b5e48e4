// How large messages come in: announced by a call's headers, read in turn, or refused unread; and
// what comes of clients who announce what they do not send.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <openssl/sha.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/http2_frames.h"
#include "tests/support/loopback.h"
#include "tests/support/server_process.h"
#include "tests/support/test_files.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::AnyOf;
using ::testing::StartsWith;

constexpr int64_t kHuge = 60'000'000;  // less than the server's --max-request-mib
constexpr char kEncode[] = "/baseband.v1.Baseband/Encode";

// One Encode by hand: its headers are on their way, and its message is not.
class OpenCall {
 public:
  OpenCall(grpc::Channel& channel, const std::string& announced,
           absl::Duration timeout = absl::InfiniteDuration(), const std::string& token = "")
      : OpenCall(channel, std::vector<std::string>{announced}, timeout, token) {}
  OpenCall(grpc::Channel& channel, const std::vector<std::string>& announced,
           absl::Duration timeout = absl::InfiniteDuration(), const std::string& token = "") {
    using Factory = grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>;
    for (const std::string& word : announced) {
      context_.AddMetadata("baseband-request-bytes", word);
    }
    if (!token.empty()) context_.AddMetadata("authorization", "Bearer " + token);
    if (timeout < absl::InfiniteDuration()) {
      context_.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
    }
    stream_.reset(Factory::Create(&channel, method_, &context_));
  }
  ~OpenCall() { Cancel(); }

  void Send(const std::string& message) {
    const grpc::Slice slice(message);
    stream_->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions());
  }
  void Cancel() { context_.TryCancel(); }
  grpc::Status Finish() {
    grpc::ByteBuffer answer;
    while (stream_->Read(&answer)) {
    }
    return stream_->Finish();
  }

 private:
  const grpc::internal::RpcMethod method_{kEncode, grpc::internal::RpcMethod::BIDI_STREAMING};
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream_;
};

v1::EncodeRequest SmallRequest() { return EncodeOf(NrCode(2, 16), 1); }
v1::EncodeRequest LargeRequest() { return EncodeOf(NrCode(1, 384), 200); }  // 211 KB

class WayInTest : public ::testing::Test {
 protected:
  void Start(std::vector<std::string> flags = {}) {
    auto started = ServerProcess::Start(std::move(flags));
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    channel_ = OwnChannel(server_->target());
    stub_ = v1::Baseband::NewStub(channel_);
  }
  // Whatever clients did, nothing is left of it, and the server ends well.
  void TearDown() override {
    if (server_ == nullptr) return;
    EXPECT_TRUE(server_->WaitForMetric("baseband_message_reads", {}, 0));
    EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
    EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
  }

  grpc::Status Ask(const std::string& announced, const std::string& message) {
    OpenCall call(*channel_, announced, absl::Seconds(60));
    call.Send(message);
    return call.Finish();
  }
  // A right request, of whose size nothing is said.
  grpc::Status Encode(const v1::EncodeRequest& request) {
    v1::EncodeResponse response;
    return Call(*stub_, request, &response);
  }
  std::vector<std::unique_ptr<OpenCall>> NeverSending(
      int count, absl::Duration timeout = absl::InfiniteDuration()) {
    std::vector<std::unique_ptr<OpenCall>> calls;
    for (int i = 0; i < count; ++i) {
      calls.push_back(std::make_unique<OpenCall>(*channel_, absl::StrCat(kHuge), timeout));
    }
    return calls;
  }

  std::unique_ptr<ServerProcess> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Baseband::Stub> stub_;
};

TEST_F(WayInTest, AMessageHasToBeOfTheAnnouncedSize) {
  Start();
  for (const std::string& message :
       {SmallRequest().SerializeAsString(), LargeRequest().SerializeAsString()}) {
    const size_t size = message.size();
    EXPECT_TRUE(Ask(absl::StrCat(size), message).ok());
    for (const size_t announced : {size_t{0}, size - 1, size + 1, size_t{kHuge}}) {
      const grpc::Status status = Ask(absl::StrCat(announced), message);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
      EXPECT_EQ(status.error_message(),
                absl::StrCat("metadata baseband-request-bytes ", announced,
                             " is not what the request message has: ", size, " bytes"));
    }
  }
}

TEST_F(WayInTest, AWordThatIsNoSizeIsRefused) {
  Start({"--max-request-mib=4", "--lane-input-mib=4"});
  // 4 MiB of payload and 4 MiB around it.
  for (const char* const word :
       {"", "x", "-1", "1.5", "1e3", "0x10", "12 13", "8388609", "9223372036854775808"}) {
    const grpc::Status status = Ask(word, SmallRequest().SerializeAsString());
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << word;
    EXPECT_EQ(status.error_message(),
              absl::StrCat("metadata baseband-request-bytes ", word, " is not in [0, 8388608]"));
  }
  const grpc::Status status = Ask(std::string(5000, '9'), SmallRequest().SerializeAsString());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_LT(status.error_message().size(), 100U);
}

TEST_F(WayInTest, TwoSizesAreRefused) {
  Start();
  const std::string message = SmallRequest().SerializeAsString();
  OpenCall call(*channel_, {absl::StrCat(message.size()), absl::StrCat(message.size())});
  call.Send(message);
  const grpc::Status status = call.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "metadata baseband-request-bytes is there more than once");
}

TEST_F(WayInTest, LargeMessagesNeedNotBeAnnounced) {
  Start();
  EXPECT_EQ(server_->Metric("baseband_read_bytes_per_second"), 0);
  // Of the first one the size is not known before it is there; the others have their turns.
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Encode(LargeRequest()).ok());
  EXPECT_GT(server_->Metric("baseband_read_bytes_per_second"), 0);
  // Another size than the last one's is no mistake.
  EXPECT_TRUE(Encode(SmallRequest()).ok());
  EXPECT_TRUE(Encode(LargeRequest()).ok());
}

// They teach that such requests are in time.
TEST_F(WayInTest, WhoIsAnsweredInTimeGoesOnToBe) {
  Start();
  const std::string large = LargeRequest().SerializeAsString();
  for (int i = 0; i < 200; ++i) {
    OpenCall call(*channel_, absl::StrCat(large.size()), absl::Seconds(60));
    call.Send(large);
    const grpc::Status status = call.Finish();
    ASSERT_TRUE(status.ok()) << i << ": " << status.error_message();
  }
}

TEST_F(WayInTest, WhatWouldBeLateIsRefusedUnread) {
  Start();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Encode(LargeRequest()).ok());
  // Nobody reads so much within 2 ms; and the first one is being read for a while.
  grpc::Status status;
  const absl::Time end = absl::Now() + absl::Seconds(60);
  do {
    const auto first = NeverSending(1);
    status = OpenCall(*channel_, absl::StrCat(kHuge), absl::Milliseconds(2)).Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  } while (server_->Metric("baseband_unread_requests_total") == 0 && absl::Now() < end);
  const double unread = server_->Metric("baseband_unread_requests_total");
  EXPECT_GT(unread, 0);
  EXPECT_EQ(server_->Metric("baseband_unread_request_bytes_total"), unread * kHuge);
  EXPECT_EQ(server_->Metric("baseband_request_bytes_in_vain_total"), 0);
}

TEST_F(WayInTest, WhoAnnouncesAndNeverSendsHoldsNobodyUp) {
  Start();
  const auto calls = NeverSending(20);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(Encode(SmallRequest()).ok());
    const std::string large = LargeRequest().SerializeAsString();
    EXPECT_TRUE(Ask(absl::StrCat(large.size()), large).ok());
  }
  for (const auto& call : calls) call->Cancel();
  for (const auto& call : calls) {
    EXPECT_EQ(call->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
}

TEST_F(WayInTest, WhoNeverSendsIsGoneAtItsDeadline) {
  Start();
  constexpr absl::Duration kTimeout = absl::Milliseconds(300);
  EXPECT_EQ(NeverSending(1, kTimeout)[0]->Finish().error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  // Of many some have waited for the others for so long that they are refused before.
  for (const auto& call : NeverSending(20, kTimeout)) {
    EXPECT_THAT(call->Finish().error_code(),
                AnyOf(grpc::StatusCode::DEADLINE_EXCEEDED, grpc::StatusCode::RESOURCE_EXHAUSTED));
  }
  EXPECT_TRUE(server_->WaitForMetric("baseband_message_reads", {}, 0));
  EXPECT_TRUE(Encode(LargeRequest()).ok());
}

// Neither with a deadline nor by going away do they end themselves.
TEST_F(WayInTest, WhoNeverSendsIsCutOff) {
  // Of who does not say it takes as long as the largest message would: 8 MiB.
  Start({"--stall=1s", "--max-request-mib=4", "--lane-input-mib=4"});
  for (const std::vector<std::string>& announced :
       {std::vector<std::string>{}, {"1000"}, {absl::StrCat(2 << 20)}}) {
    const grpc::Status status = OpenCall(*channel_, announced).Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), StartsWith("the request message has not come within "));
  }
  EXPECT_TRUE(server_->WaitForMetric("baseband_message_reads", {}, 0));
  EXPECT_TRUE(Encode(LargeRequest()).ok());
}

TEST_F(WayInTest, ADeadlineMayBeAYearAway) {
  Start();
  constexpr absl::Duration kYear = absl::Hours(365 * 24);
  const std::string large = LargeRequest().SerializeAsString();
  OpenCall call(*channel_, absl::StrCat(large.size()), kYear);
  call.Send(large);
  EXPECT_TRUE(call.Finish().ok());
  const auto calls = NeverSending(1, kYear);
  EXPECT_TRUE(Encode(LargeRequest()).ok());
}

TEST_F(WayInTest, ADeadlineOfZeroIsOver) {
  using namespace http2;
  Start();
  // No library sends such a call.
  const int fd = ConnectTo(server_->target());
  const std::string bytes = Preface() + Frame(kSettings, 0, 0, "") +
                            Frame(kHeaders, kEndHeaders, 1,
                                  HeadersOf(kEncode) + Header("grpc-timeout", "0n") +
                                      Header("baseband-request-bytes", absl::StrCat(kHuge)));
  send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_total",
                                     {"rpc=\"Encode\"", "code=\"DEADLINE_EXCEEDED\""}, 1));
  close(fd);
  EXPECT_TRUE(Encode(LargeRequest()).ok());
}

TEST_F(WayInTest, ADrainEndsWhoWaitsAndWhoNeverSends) {
  Start();
  const auto calls = NeverSending(40);
  EXPECT_TRUE(Encode(LargeRequest()).ok());  // those have come before
  EXPECT_EQ(server_->Terminate(), 0) << server_->process().Output();
  for (const auto& call : calls) {
    EXPECT_EQ(call->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  }
  server_.reset();
}

// Clients by their tokens.
TEST_F(WayInTest, ManyClientsWhoAnnounceMuchAndNeverSendHoldNobodyUp) {
  constexpr int kClients = 64;
  constexpr char kRight[] = "right";
  const TemporaryFolder folder;
  const auto line = [](const std::string& token) {
    std::string digest(SHA256_DIGEST_LENGTH, '\0');
    SHA256(reinterpret_cast<const uint8_t*>(token.data()), token.size(),
           reinterpret_cast<uint8_t*>(digest.data()));
    return absl::StrCat(token, " user ", absl::BytesToHexString(digest), "\n");
  };
  std::string tokens = line(kRight);
  for (int i = 0; i < kClients; ++i) tokens += line(absl::StrCat("silent-", i));
  std::ofstream(folder.path() + "/tokens") << tokens;
  Start({"--tokens-file=" + folder.path() + "/tokens"});

  std::atomic<bool> stop{false};
  std::atomic<int> ended{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&, token = absl::StrCat("silent-", i)] {
      while (!stop) {
        OpenCall call(*channel_, absl::StrCat(kHuge), absl::Milliseconds(100), token);
        EXPECT_FALSE(call.Finish().ok());
        ++ended;
      }
    });
  }
  const std::string large = LargeRequest().SerializeAsString();
  int served = 0;
  int asked = 0;
  while (asked < 100 || ended < 4 * kClients) {
    OpenCall call(*channel_, absl::StrCat(large.size()), absl::Seconds(20), kRight);
    call.Send(large);
    ++asked;
    const grpc::Status status = call.Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    served += status.ok() ? 1 : 0;
  }
  stop = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(served, asked);
}

}  // namespace
}  // namespace baseband::testing
