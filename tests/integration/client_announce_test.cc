// What calls of the client library say of the size of their request, before it is sent, and of when
// its answer is wanted.
#include <atomic>
#include <future>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "tests/integration/client_calls.h"
#include "tests/support/matchers.h"

namespace baseband::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// All that the metadata of a call have of it.
std::vector<std::string> Announced(const grpc::ServerContext& context) {
  std::vector<std::string> found;
  const auto range = context.client_metadata().equal_range("baseband-request-bytes");
  for (auto entry = range.first; entry != range.second; ++entry) {
    found.emplace_back(entry->second.data(), entry->second.size());
  }
  return found;
}

// Fails the first `failures` calls as UNAVAILABLE, and notes what each announced.
class AnnounceTest : public ::testing::Test {
 protected:
  void Start(int failures = 0) {
    server_.on_encode = [=](grpc::ServerContext* context, const v1::EncodeRequest& request,
                            v1::EncodeResponse* response) {
      const absl::MutexLock lock(&mutex_);
      calls_.push_back(Announced(*context));
      if (static_cast<int>(calls_.size()) > failures) return Echo(context, request, response);
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "not now");
    };
    server_.Start();
  }
  std::vector<std::vector<std::string>> calls() {
    const absl::MutexLock lock(&mutex_);
    return calls_;
  }

  absl::Mutex mutex_;
  std::vector<std::vector<std::string>> calls_ ABSL_GUARDED_BY(mutex_);
  FakeBaseband server_;
};

TEST_F(AnnounceTest, ACallSaysHowManyBytesItsRequestHasIfMoreThan16Ki) {
  Start();
  const auto client = Connect(server_.target());
  // What is around a payload of this size takes 3 bytes, around 8 MiB 5.
  constexpr size_t kLargestUnannounced = (16 << 10) - 3;
  for (const size_t payload_bytes :
       {size_t{1000}, kLargestUnannounced, kLargestUnannounced + 1, size_t{8} << 20}) {
    EXPECT_THAT(client->Encode(RequestOf(payload_bytes)), IsOk());
  }
  EXPECT_THAT(calls(), ElementsAre(IsEmpty(), IsEmpty(), ElementsAre("16385"),
                                   ElementsAre(absl::StrCat((8 << 20) + 5))));
}

TEST_F(AnnounceTest, EachAttemptSaysSoOnce) {
  Start(/*failures=*/2);
  EXPECT_THAT(Connect(server_.target())->Encode(RequestOf(100000)), IsOk());
  EXPECT_THAT(calls(),
              ElementsAre(ElementsAre("100004"), ElementsAre("100004"), ElementsAre("100004")));
}

// gRPC's own timeout is a millisecond off.
TEST_F(AnnounceTest, ACallOfLessThanASecondSaysHowManyMicrosecondsItHas) {
  std::vector<int64_t> told;
  server_.on_encode = [&](grpc::ServerContext* context, const v1::EncodeRequest& request,
                          v1::EncodeResponse* response) {
    const absl::MutexLock lock(&mutex_);
    const auto& metadata = context->client_metadata();
    const auto found = metadata.find("baseband-timeout-us");
    int64_t us = -1;
    if (found != metadata.end()) {
      EXPECT_TRUE(absl::SimpleAtoi(std::string(found->second.data(), found->second.size()), &us));
    }
    told.push_back(us);
    return Echo(context, request, response);
  };
  server_.Start();
  const auto client = Connect(server_.target());
  EXPECT_THAT(client->Encode(RequestOf(10), Within(absl::Milliseconds(900))), IsOk());
  EXPECT_THAT(client->Encode(RequestOf(10), Within(absl::Seconds(20))), IsOk());
  EXPECT_THAT(client->Encode(RequestOf(10), Within(absl::InfiniteDuration())), IsOk());
  const absl::MutexLock lock(&mutex_);
  ASSERT_EQ(told.size(), 3U);
  EXPECT_GT(told[0], 1000);  // not milliseconds
  EXPECT_LE(told[0], 900'000);
  EXPECT_EQ(told[1], -1);
  EXPECT_EQ(told[2], -1);
}

TEST_F(AnnounceTest, ASearchSaysSoToo) {
  v1::MinimizeRequest request;
  request.set_payload(std::string(20000, 'b'));
  std::atomic<bool> said{false};
  server_.on_minimize = [&](grpc::ServerContext* context, const v1::MinimizeRequest& received,
                            FakeBaseband::SearchWriter* writer) {
    said = Announced(*context) == std::vector<std::string>{absl::StrCat(received.ByteSizeLong())};
    v1::MinimizeResponse response;
    response.mutable_answer();
    writer->Write(response);
    return grpc::Status::OK;
  };
  server_.Start();
  EXPECT_THAT(Connect(server_.target())->Minimize(request), IsOk());
  EXPECT_TRUE(said);
}

TEST_F(AnnounceTest, AStreamOfManyRequestsSaysNothing) {
  std::promise<std::vector<std::string>> announced;
  server_.on_submit = [&](grpc::ServerContext* context, FakeBaseband::SubmitStream* stream) {
    announced.set_value(Announced(*context));
    stream->Write(CreditsFor(1));
    for (v1::SubmitRequest request; stream->Read(&request);) {
      v1::SubmitResponse response = AnswerTo(request);
      response.mutable_encode();
      stream->Write(response);
    }
    return grpc::Status::OK;
  };
  server_.Start();
  const auto client = Connect(server_.target());
  const auto stream = *client->OpenSubmitStream();
  EXPECT_THAT(stream->Submit(RequestOf(100000), SubmitOptions(),
                             [](const absl::StatusOr<v1::EncodeResponse>&) {}),
              IsOk());
  EXPECT_THAT(stream->Finish(), IsOk());
  EXPECT_THAT(announced.get_future().get(), IsEmpty());
}

}  // namespace
}  // namespace baseband::client
