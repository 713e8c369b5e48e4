// What ends a Submit stream: more than its credits, ids that cannot be, bytes that are no message,
// a client that goes or does not read, a drain; and that each id is answered once all the same.
#include <signal.h>

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/raw_submit_stream.h"

namespace baseband::testing {
namespace {

// Writes `of`(id) for each id from `id` on, until the stream ends: one or the other comes while
// those before it are at work, however slow this machine is.
void WriteUntilItEnds(RawStream& stream, uint64_t id,
                      const std::function<v1::SubmitRequest(uint64_t)>& of) {
  for (const uint64_t end = id + 1000; id < end && stream.Write(of(id)); ++id) {
  }
}

TEST_F(SubmitTest, MoreRequestsThanCreditsEndTheStreamByName) {
  Start({"--device=cpu", "--cpu-threads=1", "--submit-requests=4"});
  RawStream stream(*server_);
  EXPECT_EQ(stream.Open().requests(), 4U);
  for (uint64_t id = 1; id <= 4; ++id) stream.Write(SlowOf(id, 40));  // 4 MB
  WriteUntilItEnds(stream, 5, &QuickOf);
  ExpectEnd(stream, grpc::StatusCode::RESOURCE_EXHAUSTED,
            "is beyond the credits: 4 requests are in flight on this stream, of 4");
}

TEST_F(SubmitTest, MoreBytesThanCreditsEndTheStreamButOneLargeRequestGoesAlone) {
  Start({"--device=cpu", "--cpu-threads=1", "--submit-mib=1"});
  RawStream stream(*server_);
  EXPECT_EQ(stream.Open().bytes(), 1U << 20);
  EXPECT_EQ(stream.Ask(SlowOf(1)).code(), 0);  // 2.5 MB of LLRs
  WriteUntilItEnds(stream, 2, [](uint64_t id) { return SlowOf(id); });
  ExpectEnd(stream, grpc::StatusCode::RESOURCE_EXHAUSTED, "is beyond the credits: ");
}

TEST_F(SubmitTest, AnIdInFlightOrNoneEndsTheStreamByName) {
  Start({"--device=cpu", "--cpu-threads=1"});
  RawStream twice(*server_);
  twice.Open();
  WriteUntilItEnds(twice, 1, [](uint64_t) { return SlowOf(77); });
  ExpectEnd(twice, grpc::StatusCode::INVALID_ARGUMENT, "id 77 is in flight already");
  RawStream none(*server_);
  none.Open();
  none.Write(QuickOf(0));
  ExpectEnd(none, grpc::StatusCode::INVALID_ARGUMENT, "id 0 is not in [1, ");
}

TEST_F(SubmitTest, BytesThatAreNoMessageEndTheStream) {
  Start();
  for (const std::string& bytes : {std::string("\x5a\x7f"), std::string("\xff\xff\xff"),
                                   QuickOf(2).SerializeAsString() + "\x7a"}) {
    RawStream stream(*server_);
    stream.Open();
    EXPECT_EQ(stream.Ask(QuickOf(1)).code(), 0);
    stream.Write(bytes);
    ExpectEnd(stream, grpc::StatusCode::INVALID_ARGUMENT, "not a well-formed protobuf message");
  }
}

TEST_F(SubmitTest, EachIdIsAnsweredOnceHoweverAndWheneverTheStreamEnds) {
  Start();
  std::vector<std::thread> clients;
  for (unsigned seed = 0; seed < 4; ++seed) {
    clients.emplace_back([this, seed] {
      std::mt19937 random(seed);
      for (int round = 0; round < 25; ++round) {
        RawStream stream(*server_);
        stream.Open();
        const auto count = random() % 60;
        const bool cancel = random() % 2 == 0;
        const auto reads = random() % (count + 1);
        std::map<uint64_t, int> answers;
        for (uint64_t id = 1; id <= count; ++id) {
          ASSERT_TRUE(stream.Write(random() % 8 == 0 ? SlowOf(id, 1) : QuickOf(id)));
        }
        v1::SubmitResponse response;
        for (unsigned i = 0; i < reads; ++i) {
          ASSERT_TRUE(stream.Read(&response));
          ++answers[response.id()];
        }
        cancel ? stream.Cancel() : stream.HalfClose();
        while (stream.Read(&response)) {
          EXPECT_EQ(response.code(), 0) << response.message();
          ++answers[response.id()];
        }
        for (const auto& [id, times] : answers) {
          EXPECT_TRUE(id >= 1 && id <= count) << id;
          EXPECT_EQ(times, 1) << id;
        }
        if (!cancel) {
          EXPECT_EQ(answers.size(), count);
          EXPECT_TRUE(stream.Finish().ok());
        }
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

TEST_F(SubmitTest, AClientThatDoesNotReadHoldsItsCreditsAndIsCutOff) {
  constexpr int kRequests = 32;
  Start({"--submit-requests=32"});
  RawStream stream(*server_);
  stream.Open();
  // 300 KiB of code words each.
  v1::SubmitRequest request;
  *request.mutable_encode() = EncodeOf(NrCode(1, 384), 100);
  for (uint64_t id = 1; id <= kRequests; ++id) {
    request.set_id(id);
    ASSERT_TRUE(stream.Write(request));
  }
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", kSubmit, 0, absl::Seconds(60)));
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", kEncode, 0));
  // What had been answered when it was cut off is all there, and no more than was asked for.
  int answers = 0;
  v1::SubmitResponse response;
  while (stream.Read(&response)) ++answers;
  EXPECT_LT(answers, kRequests);
  EXPECT_FALSE(stream.Finish().ok());
}

TEST_F(SubmitTest, ADrainAnswersWhatIsInFlightRefusesWhatIsNewAndEndsTheStream) {
  Start({"--device=cpu", "--cpu-threads=1", "--drain=300s"});
  RawStream stream(*server_);
  stream.Open();
  constexpr int kBlocks = 150;
  ASSERT_TRUE(stream.Write(SlowOf(1, kBlocks)));
  ASSERT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", kDecode, 1));
  server_->process().Signal(SIGTERM);
  std::map<uint64_t, v1::SubmitResponse> answers;
  bool refused = false;
  for (uint64_t id = 2; !refused && id < 100; ++id) {
    stream.Write(QuickOf(id));
    while (answers.count(id) == 0) {
      v1::SubmitResponse response;
      ASSERT_TRUE(stream.Read(&response));
      ASSERT_EQ(answers.count(response.id()), 0U);
      answers[response.id()] = response;
    }
    refused = answers[id].code() == grpc::StatusCode::UNAVAILABLE;
    EXPECT_TRUE(refused || answers[id].code() == 0) << answers[id].message();
  }
  EXPECT_TRUE(refused);
  v1::SubmitResponse response;
  while (stream.Read(&response)) answers[response.id()] = response;
  EXPECT_EQ(answers[1].code(), 0) << answers[1].message();
  EXPECT_EQ(answers[1].decode().payload(), std::string(kBlocks * 1056, '\0'));
  ExpectEnd(stream, grpc::StatusCode::UNAVAILABLE, "shutting down");
  EXPECT_EQ(server_->process().Wait(absl::Seconds(60)), 0) << server_->process().Output();
  server_.reset();
}

}  // namespace
}  // namespace baseband::testing
