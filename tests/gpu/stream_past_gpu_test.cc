// DownconvertStreams whose past stays on the GPU between messages.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/device/cuda_device.h"
#include "server/jobs/stream_session.h"
#include "server/operations/downconvert/downconvert.h"
#include "tests/gpu/lanes.h"
#include "tests/support/convert_request.h"
#include "tests/support/gpu_test.h"
#include "tests/support/matchers.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

constexpr int kNumLanes = 2;
constexpr int kTaps = 40000;

class StreamPastGpuTest : public ::baseband::testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    with_ = Create(16 << 20);
    without_ = Create(0);
    pool_ = *CreatePinnedPool(64 << 20);
  }
  static std::unique_ptr<CudaDevice> Create(int64_t object_bytes) {
    CudaDeviceOptions options = OptionsOfLanes(kNumLanes);
    options.objects.max_bytes = options.objects.max_bytes_per_owner = object_bytes;
    auto device = CudaDevice::Create(options);
    EXPECT_THAT(device, IsOk());
    (*device)->set_healthy(true);
    return *std::move(device);
  }

  std::unique_ptr<StreamSession> NewStream() {
    return operation_.NewStream(RequestLimits(), metrics_.ResultsOf(operation_.rpc()));
  }
  static v1::DownconvertRequest First(int seed) {
    v1::DownconvertRequest request;
    request.mutable_setup()->set_sample_rate_hz(1e6);
    for (int c = 0; c < 3; ++c) {
      v1::DownconvertChannel& channel = *request.mutable_setup()->add_channels();
      channel.mutable_frequency()->set_hz(1e4 * (seed + 7 * c) + 0.1);
      for (int k = 0; k < kTaps; ++k) {
        channel.mutable_filter()->add_taps(static_cast<float>(k % 17 + c) / kTaps);
      }
      channel.mutable_filter()->set_down(static_cast<uint32_t>(40 + c));
    }
    return request;
  }
  // The job of a message with its memory in place.
  JobPtr JobOf(StreamSession& session, v1::DownconvertRequest message, std::string samples) {
    message.set_payload(std::move(samples));
    const Request request = RequestOf(std::move(message));
    auto conversion = session.Convert(request);
    EXPECT_THAT(conversion, IsOk());
    JobPtr job = std::move(conversion->job);
    job->caller = {"client", Priority::kNormal};
    HostLease input = *pool_->Lease(job->input_bytes());
    request.payload.CopyTo(job->WritePrefix(input.data()));
    job->SetInput(std::move(input));
    job->reply = *pool_->Lease(job->reply_bytes);
    return job;
  }
  static std::vector<JobPtr> Run(CudaDevice& device, int lane, std::vector<JobPtr> jobs) {
    const std::unique_ptr<Batch> batch = MakeBatch(std::move(jobs));
    EXPECT_THAT(RunOnLane(device, lane, batch.get()), IsOk());
    EXPECT_THAT(batch->Finish(), IsOk());
    return batch->TakeJobs();
  }
  std::string Noise(int64_t samples) {
    std::string text(static_cast<size_t>(4 * samples), '\0');
    for (char& c : text) c = static_cast<char>(random_());
    return text;
  }

  std::mt19937 random_{11};
  Operation& operation_ = TestOperation("Downconvert");
  Metrics metrics_{"test", TestOperations().counted()};
  std::shared_ptr<HostPool> pool_;
  std::unique_ptr<CudaDevice> with_;
  std::unique_ptr<CudaDevice> without_;
};

// Several streams at a time in one batch, messages of all lengths on either lane, and now and then
// an object that is gone: the outputs are those of streams whose past is sent along, to the bit.
TEST_F(StreamPastGpuTest, TheOutputsAreThoseOfAPastThatIsSentAlong) {
  constexpr int kStreams = 3;
  std::vector<std::unique_ptr<StreamSession>> kept;
  std::vector<std::unique_ptr<StreamSession>> sent;
  for (int s = 0; s < kStreams; ++s) {
    kept.push_back(NewStream());
    sent.push_back(NewStream());
  }
  int resident = 0;
  int again = 0;
  for (int message = 0; message < 30; ++message) {
    std::vector<JobPtr> with;
    std::vector<JobPtr> without;
    for (size_t s = 0; s < kStreams; ++s) {
      const v1::DownconvertRequest header =
          message == 0 ? First(static_cast<int>(s)) : v1::DownconvertRequest();
      const std::string samples =
          Noise(1 + static_cast<int64_t>(random_() % (1U << random_() % 17)));
      with.push_back(JobOf(*kept[s], header, samples));
      without.push_back(JobOf(*sent[s], header, samples));
      EXPECT_EQ(without.back()->resident_bytes, 0);
      const bool is_resident = with.back()->resident_bytes > 0;
      resident += is_resident;
      again += message > 10 && !is_resident;
      EXPECT_EQ(with.back()->device, is_resident ? with_.get() : nullptr);
    }
    const int lane = message % kNumLanes;
    with = Run(*with_, lane, std::move(with));
    without = Run(*without_, lane, std::move(without));
    for (size_t s = 0; s < kStreams; ++s) {
      const auto bytes = [](const Job& job) {
        return std::string(reinterpret_cast<const char*>(job.reply.data()),
                           static_cast<size_t>(job.reply_bytes));
      };
      EXPECT_TRUE(bytes(*with[s]) == bytes(*without[s])) << message << " of stream " << s;
      const KeptPast past = static_cast<const DownconvertJob&>(*with[s]).kept;
      EXPECT_THAT(kept[s]->ToReply(*with[s]), IsOk());
      EXPECT_THAT(sent[s]->ToReply(*without[s]), IsOk());
      if (message % 7 == 6 && s == 1 && past.device != nullptr) with_->objects()->Remove(past.key);
    }
  }
  EXPECT_GT(resident, 20);
  EXPECT_GT(again, 0);
  kept.clear();
  EXPECT_EQ(with_->objects()->usage().objects, 0);
}

TEST_F(StreamPastGpuTest, AResetTakesTheObjectsAndGivesRoomForOthers) {
  without_.reset();  // the reset is of the whole GPU
  const auto alone = [](const std::function<absl::Status()>& f) { return f(); };
  ASSERT_THAT(with_->objects()->Create({"client", "x"}, 1 << 20), IsOk());
  const ObjectPin pin = *with_->objects()->Create({"client", "y"}, 1 << 20);
  ASSERT_THAT(with_->Reset(alone), IsOk());
  EXPECT_TRUE(absl::IsNotFound(with_->objects()->Use({"client", "x"}).status()));
  EXPECT_THAT(with_->objects()->Create({"client", "z"}, 15 << 20), IsOk());
}

}  // namespace
}  // namespace baseband::server
