// What a DownconvertStream remembers from message to message: no more than it has been sent, what
// its filters need and what is not over, shared with its jobs.
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/jobs/stream_session.h"
#include "server/operations/downconvert/downconvert.h"
#include "server/operations/downconvert/downconvert_setup.h"
#include "tests/support/convert_request.h"
#include "tests/support/fake_device.h"
#include "tests/support/run_on_cpu.h"
#include "tests/support/test_operations.h"

namespace baseband::testing {
namespace {

using server::DownconvertJob;
using server::JobPtr;
using server::Request;
using ::testing::HasSubstr;

class DownconvertStreamTest : public ::testing::Test {
 protected:
  DownconvertStreamTest() { Start(); }
  void Start() {
    session_ = operation_.NewStream(server::RequestLimits(), metrics_.ResultsOf(operation_.rpc()));
  }

  // Channels of 64 taps that divide the rate by 8.
  static v1::DownconvertSetup Setup(int channels, v1::WidebandFormat format) {
    v1::DownconvertSetup setup;
    setup.set_sample_rate_hz(1e6);
    setup.set_format(format);
    for (int c = 0; c < channels; ++c) {
      v1::DownconvertChannel& channel = *setup.add_channels();
      channel.mutable_frequency()->set_hz(1e5 + c);
      for (int k = 0; k < 64; ++k) channel.mutable_filter()->add_taps(1.0F / 64);
      channel.mutable_filter()->set_down(8);
    }
    return setup;
  }
  static v1::DownconvertRequest First(int channels = 1) {
    v1::DownconvertRequest request;
    *request.mutable_setup() = Setup(channels, v1::WIDEBAND_FORMAT_REAL_INT8);
    return request;
  }
  static void AddRetunes(v1::DownconvertRequest* request, int count, uint32_t channel,
                         uint64_t first) {
    for (int i = 0; i < count; ++i) {
      v1::Retune& retune = *request->add_retunes();
      retune.set_channel(channel);
      retune.set_index(first + static_cast<uint64_t>(i));
      retune.mutable_frequency()->set_hz(2e5);
    }
  }

  absl::StatusOr<JobPtr> Make(v1::DownconvertRequest request, const std::string& samples) {
    request.set_payload(samples);
    requests_.push_back(server::RequestOf(request));
    BASEBAND_ASSIGN_OR_RETURN(server::Conversion conversion, session_->Convert(requests_.back()));
    return std::move(conversion.job);
  }
  // A job that is not run: the samples do not matter.
  const DownconvertJob& MakeJob(const v1::DownconvertRequest& request, size_t samples = 100) {
    absl::StatusOr<JobPtr> job = Make(request, std::string(samples, '\1'));
    EXPECT_THAT(job, IsOk());
    jobs_.push_back(*std::move(job));
    return static_cast<const DownconvertJob&>(*jobs_.back());
  }

  server::Operation& operation_ = server::TestOperation("Downconvert");
  server::Metrics metrics_{"test", server::TestOperations().counted()};
  std::unique_ptr<server::StreamSession> session_;
  std::vector<Request> requests_;
  std::vector<JobPtr> jobs_;
};

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
  const Request request = server::RequestOf(whole);
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

class KeptPastTest : public DownconvertStreamTest {
 protected:
  KeptPastTest() {
    server::ObjectLimits limits;
    limits.max_bytes = limits.max_bytes_per_owner = 1 << 20;
    for (server::FakeDevice* device : {&device_, &other_}) {
      device->set_objects(std::make_shared<server::ObjectStore>(
          limits, *server::HostPool::CreatePageable(limits.max_bytes)));
      device->set_healthy(true);
    }
  }
  ~KeptPastTest() override {
    jobs_.clear();
    session_.reset();
  }
  // A message that is done, and the device, if it is one, has kept the last 63 samples.
  JobPtr Done(const v1::DownconvertRequest& request, server::FakeDevice* device,
              const std::string& samples = std::string(100, '\1')) {
    auto job = Make(request, samples);
    EXPECT_THAT(job, IsOk());
    JobPtr done = RunOnCpu(*std::move(job), requests_.back().payload);
    if (device != nullptr) {
      EXPECT_THAT(device->objects()->Create(key_, 63), IsOk());
      static_cast<DownconvertJob&>(*done).kept = {device, key_, 100, 63};
    }
    return done;
  }
  // The first message is answered, and the device has kept the last 63 of its 100 samples.
  void AnswerFirst() { ASSERT_THAT(session_->ToReply(*Done(First(), &device_)), IsOk()); }

  server::FakeDevice device_{"fake"};
  server::FakeDevice other_{"other"};
  const server::ObjectKey key_ = {"client", "past"};
};

TEST_F(KeptPastTest, WhatADeviceHasIsNotSentThereAgain) {
  AnswerFirst();
  const DownconvertJob& job = MakeJob({});
  EXPECT_EQ(job.device, &device_);
  EXPECT_EQ(job.objects.size(), 1U);
  EXPECT_EQ(job.resident_bytes, 63);
  EXPECT_EQ(job.past_samples(), 63);
  EXPECT_EQ(job.block().num_samples, 163);
  EXPECT_EQ(job.input_bytes(), 100);
  EXPECT_EQ(job.footprint.input_bytes, server::DownconvertInputBytes(job.block()));
  // The next one comes before the answer: the device does not have its past yet.
  const DownconvertJob& ahead = MakeJob({});
  EXPECT_EQ(ahead.device, nullptr);
  EXPECT_EQ(ahead.prefix.size(), 63U);
}

TEST_F(KeptPastTest, WhatIsGoneFromTheDeviceIsSentAgain) {
  AnswerFirst();
  device_.objects()->Lose();
  const DownconvertJob& job = MakeJob({});
  EXPECT_EQ(job.device, nullptr);
  EXPECT_EQ(job.resident_bytes, 0);
  EXPECT_EQ(job.prefix.size(), 63U);
}

TEST_F(KeptPastTest, NothingIsSentToADeviceThatIsLost) {
  AnswerFirst();
  device_.set_healthy(false);
  EXPECT_EQ(MakeJob({}).device, nullptr);
}

TEST_F(KeptPastTest, AGapHasAPastOfItsOwn) {
  AnswerFirst();
  v1::DownconvertRequest message;
  message.set_first_sample(1000);
  const DownconvertJob& job = MakeJob(message);
  EXPECT_EQ(job.device, nullptr);
  EXPECT_EQ(job.prefix_zeros, 63);
}

TEST_F(KeptPastTest, TheEndOfTheStreamIsTheEndOfItsObjects) {
  AnswerFirst();
  session_.reset();
  EXPECT_EQ(device_.objects()->usage().objects, 0);
}

TEST_F(KeptPastTest, APastThatLiesElsewhereNowOrNowhereGoes) {
  AnswerFirst();
  v1::DownconvertRequest gap;
  gap.set_first_sample(1000);
  ASSERT_THAT(session_->ToReply(*Done(gap, &other_)), IsOk());
  EXPECT_EQ(device_.objects()->usage().objects, 0);
  EXPECT_EQ(other_.objects()->usage().objects, 1);
  ASSERT_THAT(session_->ToReply(*Done({}, nullptr)), IsOk());
  EXPECT_EQ(other_.objects()->usage().objects, 0);
}

TEST_F(KeptPastTest, WhatAMessageKeptThatNobodyAnswersGoesWithIt) {
  JobPtr job = Done(First(), &device_);
  EXPECT_EQ(device_.objects()->usage().objects, 1);
  job.reset();
  EXPECT_EQ(device_.objects()->usage().objects, 0);
}

TEST_F(KeptPastTest, WhatARefusedMessageKeptGoesWithTheStream) {
  v1::DownconvertRequest request;
  *request.mutable_setup() = Setup(1, v1::WIDEBAND_FORMAT_COMPLEX_FLOAT32);
  std::string samples(8 * 100, '\0');
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(samples.data(), &nan, sizeof(nan));
  const JobPtr job = Done(request, &device_, samples);
  EXPECT_THAT(session_->ToReply(*job), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("")));
  session_.reset();
  EXPECT_EQ(device_.objects()->usage().objects, 0);
}

class LongPastTest : public KeptPastTest {
 protected:
  static constexpr int kTaps = 40000;

  static v1::DownconvertRequest LongFirst() {
    v1::DownconvertRequest request;
    *request.mutable_setup() = Setup(1, v1::WIDEBAND_FORMAT_COMPLEX_INT16);
    v1::ChannelFilter& filter = *request.mutable_setup()->mutable_channels(0)->mutable_filter();
    filter.clear_taps();
    for (int k = 0; k < kTaps; ++k) filter.add_taps(1.0F / kTaps);
    return request;
  }
};

TEST_F(LongPastTest, OnlyALongPastIsWorthKeeping) {
  EXPECT_EQ(MakeJob(First()).keep_bytes(), 0);
  Start();
  const JobPtr small = Done(LongFirst(), nullptr, std::string(4 * 10000, '\1'));
  EXPECT_EQ(static_cast<DownconvertJob&>(*small).keep_bytes(), 0);
  ASSERT_THAT(session_->ToReply(*small), IsOk());
  const DownconvertJob& large = MakeJob({}, 4 * 35000);
  EXPECT_EQ(large.keep_bytes(), 4 * (kTaps - 1));
  EXPECT_EQ(large.keep_object_bytes(), 4 * (kTaps - 1));
}

TEST_F(LongPastTest, NothingIsKeptForWhoDoesNotWaitForAnswers) {
  const JobPtr first = Done(LongFirst(), nullptr, std::string(4 * 50000, '\1'));
  EXPECT_EQ(MakeJob({}, 4 * 50000).keep_bytes(), 0);
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
  EXPECT_THAT(answer({}), StatusIs(absl::StatusCode::kInvalidArgument,
                                   "payload: sample 7, at 107 of the signal, is not finite"));
}

}  // namespace
}  // namespace baseband::testing
