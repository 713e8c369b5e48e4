// What a job takes of the host's memory on its way to the dispatcher.
#include <memory>
#include <string>
#include <utility>

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
    environment_.staging = *HostPool::CreatePageable(1 << 20);
    environment_.reply = *HostPool::CreatePageable(1 << 20);
    requester_.caller.client = "client";
    requester_.cancellation = std::make_shared<Cancellation>();
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

  Metrics metrics_{"test", TestOperations().counted()};
  PuppetDevice device_{1};
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

}  // namespace
}  // namespace baseband::server
