// What a job takes of the host's memory on its way to the dispatcher.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/base/steady_time.h"
#include "kernels/minimize/schwefel.h"
#include "server/calls/request_context.h"
#include "server/operations/minimize/minimize.h"
#include "tests/support/minimize_search.h"
#include "tests/support/no_batch.h"
#include "tests/support/puppet_device.h"
#include "tests/support/small_dispatcher.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::testing::HasSubstr;

class SubmitJobTest : public ::testing::Test {
 protected:
  SubmitJobTest() {
    DispatcherOptions options = SmallDispatcher(/*queue_requests=*/10);
    options.make_batch = [](std::vector<JobPtr> jobs, Device&) {
      return std::make_unique<NoBatch>(std::move(jobs));
    };
    Device* const devices[] = {&device_};
    dispatcher_ = std::make_unique<Dispatcher>(options, devices, &metrics_);
    environment_.dispatcher = dispatcher_.get();
    environment_.metrics = &metrics_;
    environment_.devices = {&device_};
    environment_.staging = *HostPool::CreatePageable(1 << 20);
    environment_.reply = *HostPool::CreatePageable(1 << 20);
    requester_.caller.client = "client";
    requester_.cancellation = std::make_shared<Cancellation>();
  }
  // `bytes` in pieces of `piece`, each with one byte before it, in memory that GPUs reach; the last
  // `strange` bytes in memory that they do not.
  Payload Scattered(int64_t bytes, int64_t piece, int64_t strange = 0) {
    memory_.assign(static_cast<size_t>(2 * bytes), 'x');
    region_ = {memory_.data(), 2 * bytes, /*is_page_locked=*/true};
    Payload payload;
    const uint8_t* next = memory_.data();
    while (payload.bytes() < bytes) {
      const int64_t left = bytes - payload.bytes();
      const int64_t known = left > strange ? std::min(piece, left - strange) : left;
      payload.Add({next + 1, known, left > strange ? &region_ : nullptr});
      next += 1 + known;
    }
    return payload;
  }
  static JobPtr JobOf(int64_t bytes) {
    auto job = std::make_unique<Job>(TestOperation("Decode"));
    job->payload_bytes = bytes;
    return job;
  }
  ~SubmitJobTest() override {
    while (device_.num_running() > 0) device_.End();
  }
  // Staging memory that a job with that payload has while it runs.
  int64_t StagedFor(JobPtr job, const Payload& payload) {
    EXPECT_THAT(SubmitJob(environment_, requester_, SteadyNow(), payload, job,
                          [](const absl::Status&, JobPtr) {}),
                IsOk());
    const int64_t used = environment_.staging->used();
    while (device_.num_running() > 0) device_.End();
    EXPECT_EQ(environment_.staging->used(), 0);
    return used;
  }

  class PuppetGpu final : public PuppetDevice {
   public:
    PuppetGpu() : PuppetDevice(1) {}
    bool copies_payloads() const override { return is_gpu; }
    bool is_gpu = true;
  };

  Metrics metrics_{"test", TestOperations().counted()};
  std::vector<uint8_t> memory_;
  MemoryRegion region_;
  PuppetGpu device_;
  std::unique_ptr<Dispatcher> dispatcher_;
  CallEnvironment environment_;
  Requester requester_;
};

TEST_F(SubmitJobTest, APieceOfASearchTakesNoMemoryForThePayloadThatItDoesNotHave) {
  minimize::Settings settings;
  settings.functional = minimize::MakeSchwefel(1);
  settings.grid = testing::MakeGrid({{-500.0, 0.1, 10000}});
  auto plan = std::make_shared<SearchPlan>();
  plan->problem = testing::MakeProblem(settings);
  minimize::Piece piece;
  piece.count = 1000;
  EXPECT_EQ(StagedFor(std::make_unique<MinimizeJob>(TestOperation("Minimize"), plan, piece,
                                                    minimize::PieceLimits()),
                      Payload()),
            0);
}

TEST_F(SubmitJobTest, APayloadThatDevicesDoNotKnowIsBroughtWhereTheyDo) {
  const std::string bytes(1000, 'x');
  auto job = std::make_unique<Job>(TestOperation("Decode"));
  job->payload_bytes = 1000;
  EXPECT_EQ(StagedFor(std::move(job),
                      Payload({{reinterpret_cast<const uint8_t*>(bytes.data()), 1000, nullptr}})),
            1024);
}

constexpr int64_t kLarge = 100'000;
constexpr int64_t kFrame = 16'384;

TEST_F(SubmitJobTest, AGpuReadsAScatteredPayloadWhereItWasReceived) {
  EXPECT_EQ(StagedFor(JobOf(kLarge), Scattered(kLarge, kFrame)), 0);
  EXPECT_THAT(metrics_.Render(),
              HasSubstr("baseband_payload_bytes_total{way=\"in_place\"} 100000\n"));
  EXPECT_EQ(StagedFor(JobOf(kLarge), Scattered(kLarge, kFrame, /*strange=*/20)), 64)
      << "but for what it does not reach";
  EXPECT_THAT(metrics_.Render(), HasSubstr("baseband_payload_bytes_total{way=\"gathered\"} 20\n"));
}

TEST_F(SubmitJobTest, AJobsPrefixGoesBeforeAScatteredPayload) {
  const std::vector<uint8_t> past(100, 'p');
  JobPtr job = JobOf(kLarge);
  job->prefix = past;
  job->prefix_zeros = 28;
  Payload input;
  const Payload payload = Scattered(kLarge, kFrame);
  ASSERT_THAT(SubmitJob(environment_, requester_, SteadyNow(), payload, job,
                        [&](const absl::Status&, JobPtr done) { input = done->input.Copy(); }),
              IsOk());
  EXPECT_EQ(environment_.staging->used(), 128);
  device_.End();
  EXPECT_EQ(std::string(input.span().begin(), input.span().end()),
            std::string(28, '\0') + std::string(100, 'p') + std::string(kLarge, 'x'));
}

TEST_F(SubmitJobTest, ScatteredPayloadsAreBroughtTogetherWhereThatIsBetter) {
  EXPECT_GT(StagedFor(JobOf(10'000), Scattered(10'000, kFrame)), 0) << "it is small";
  EXPECT_GT(StagedFor(JobOf(kLarge), Scattered(kLarge, 1000)), 0) << "it is in crumbs";
  EXPECT_GT(StagedFor(JobOf(kLarge), Scattered(kLarge, kFrame, kLarge / 10)), kLarge)
      << "much of it is elsewhere";
  JobPtr job = JobOf(kLarge);
  job->host_reads_input = true;
  EXPECT_GT(StagedFor(std::move(job), Scattered(kLarge, kFrame)), kLarge);
  device_.is_gpu = false;
  EXPECT_GT(StagedFor(JobOf(kLarge), Scattered(kLarge, kFrame)), kLarge)
      << "the CPU reads it in one piece";
}

}  // namespace
}  // namespace baseband::server
