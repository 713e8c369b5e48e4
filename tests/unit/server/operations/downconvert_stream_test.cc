// What a DownconvertStream remembers from message to message: no more than it has been sent, what
// its filters need and what is not over, shared with its jobs.
#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/operations/downconvert/downconvert_setup.h"
#include "tests/support/run_on_cpu.h"
#include "tests/unit/server/operations/downconvert_stream_fixture.h"

namespace baseband::testing {
namespace {

std::string Noise(size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

// In pieces of all sizes, made one after the other or several before the first is run: the outputs
// are those of the signal at once.
TEST_F(DownconvertStreamTest, MessagesMayBeMadeBeforeTheLastOneIsAnswered) {
  const std::string signal = Noise(5000, 1);
  v1::DownconvertRequest whole = First(3);
  whole.set_payload(signal);
  AddRetunes(&whole, 3, 1, 777);
  const server::Request request = server::RequestOf(whole);
  auto at_once = server::ConvertRequest(operation_, request);
  ASSERT_THAT(at_once, IsOk());
  const JobPtr expected = RunOnCpu(*std::move(at_once), request.payload);
  const auto outputs = [](const server::Job& base, size_t c) {
    const auto& job = static_cast<const DownconvertJob&>(base);
    return std::string(reinterpret_cast<const char*>(job.reply.data()) + job.reply_offsets()[c],
                       static_cast<size_t>(job.output_bytes(c)));
  };
  for (const size_t ahead : {1, 2, 5}) {
    Start();
    std::mt19937 random(3);
    std::vector<std::string> got(3);
    size_t at = 0;
    v1::DownconvertRequest message = whole;
    while (at < signal.size()) {
      std::vector<std::pair<JobPtr, size_t>> waiting;  // and its request
      for (size_t i = 0; i < ahead && at < signal.size(); ++i) {
        const size_t size =
            std::min(signal.size() - at, 1 + random() % (size_t{1} << random() % 11));
        auto job = Make(message, signal.substr(at, size));
        ASSERT_THAT(job, IsOk());
        waiting.emplace_back(*std::move(job), requests_.size() - 1);
        at += size;
        message.Clear();
      }
      for (auto& [job, number] : waiting) {
        const JobPtr done = RunOnCpu(std::move(job), requests_[number].payload);
        for (size_t c = 0; c < 3; ++c) got[c] += outputs(*done, c);
        EXPECT_THAT(session_->ToReply(*done), IsOk());
      }
    }
    for (size_t c = 0; c < 3; ++c)
      EXPECT_TRUE(got[c] == outputs(*expected, c)) << ahead << " " << c;
  }
}

TEST_F(DownconvertStreamTest, ChannelsAreSharedWhileNothingChanges) {
  const auto* const first = MakeJob(First(5)).channels().data();
  EXPECT_EQ(MakeJob({}).channels().data(), first);
  v1::DownconvertRequest retune;
  AddRetunes(&retune, 1, 2, 1000);
  const DownconvertJob& retuned = MakeJob(retune);
  EXPECT_NE(retuned.channels().data(), first);
  // A channel that is not retuned is shared nonetheless.
  EXPECT_EQ(retuned.channels()[1].phase.segments().data(), first[1].phase.segments().data());
  for (int i = 0; i < 7; ++i) {  // up to sample 999
    EXPECT_EQ(MakeJob({}).channels().data(), retuned.channels().data());
  }
  EXPECT_EQ(retuned.channels()[2].phase.segments().size(), 2U);
}

TEST_F(DownconvertStreamTest, RetunesThatAreOverAreForgotten) {
  v1::DownconvertRequest message = First();
  for (int i = 0; i < 200; ++i) {
    AddRetunes(&message, 50, 0, static_cast<uint64_t>(100 * i) + 1);
    const DownconvertJob& job = MakeJob(message);
    // Those of this message and of the one before, which its filters still see.
    EXPECT_LE(job.channels()[0].phase.segments().size(), 102U);
    message.Clear();
  }
}

TEST_F(DownconvertStreamTest, RetunesToComeAreBoundedForAChannelAndForTheStream) {
  MakeJob(First(6));
  v1::DownconvertRequest message;
  for (uint32_t c = 0; c < 4; ++c) {
    for (int i = 0; i < 4; ++i) {
      message.Clear();
      AddRetunes(&message, server::kMaxRetunesOfChannel / 4, c,
                 1000000 + 10000 * static_cast<uint64_t>(i));
      MakeJob(message);
    }
  }
  message.Clear();
  AddRetunes(&message, 1, 0, 2000000);
  EXPECT_THAT(Make(message, "1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("retunes of channel 0 that are not over come to 4097")));
  message.mutable_retunes(0)->set_channel(5);
  EXPECT_THAT(Make(message, "1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("retunes of all channels that are not over come to 16385")));
}

TEST_F(DownconvertStreamTest, RetunesThatAreOverAlreadyAreRefused) {
  MakeJob(First());
  v1::DownconvertRequest message;
  AddRetunes(&message, 1, 0, 99);
  EXPECT_THAT(Make(message, "1"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "retunes[0].index 99 is over: the message begins at sample 100"));
}

// A place far into the signal makes zeros of the past, which take no memory until a job has some.
TEST_F(DownconvertStreamTest, AStreamKeepsNoMoreThanItWasSent) {
  v1::DownconvertRequest message = First();
  message.set_first_sample(uint64_t{1} << 40);
  const DownconvertJob& first = MakeJob(message, 10);
  EXPECT_EQ(first.prefix_zeros, 63);
  EXPECT_TRUE(first.prefix.empty());
  const DownconvertJob& second = MakeJob({}, 10);
  EXPECT_EQ(second.prefix_zeros, 53);
  EXPECT_EQ(second.prefix.size(), 10U);
  EXPECT_EQ(MakeJob({}, 1000).prefix.size(), 20U);
  EXPECT_EQ(MakeJob({}, 1).prefix.size(), 63U);
  message.Clear();
  message.set_first_sample((uint64_t{1} << 40) + 5000);
  EXPECT_EQ(MakeJob(message).prefix_zeros, 63);
}

TEST_F(DownconvertStreamTest, ASampleThatIsNotFiniteEndsTheStream) {
  v1::DownconvertRequest request;
  *request.mutable_setup() = Setup(1, v1::WIDEBAND_FORMAT_COMPLEX_FLOAT32);
  std::string samples(8 * 100, '\0');
  const auto answer = [&](const v1::DownconvertRequest& message) {
    auto job = Make(message, samples);
    EXPECT_THAT(job, IsOk());
    const JobPtr done = RunOnCpu(*std::move(job), requests_.back().payload);
    return session_->ToReply(*done).status();
  };
  EXPECT_THAT(answer(request), IsOk());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(&samples[8 * 7 + 4], &nan, 4);
  EXPECT_THAT(answer({}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "payload: sample 7, at 107 of the signal, is (0, nan): not finite"));
}

}  // namespace
}  // namespace baseband::testing
