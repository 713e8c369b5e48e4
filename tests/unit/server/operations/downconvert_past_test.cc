// What of a DownconvertStream's past lies on a device: kept where the last message ran, not sent
// there again, and gone with the stream.
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "server/device/object_store.h"
#include "tests/support/fake_device.h"
#include "tests/support/run_on_cpu.h"
#include "tests/unit/server/operations/downconvert_stream_fixture.h"

namespace baseband::testing {
namespace {

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

}  // namespace
}  // namespace baseband::testing
