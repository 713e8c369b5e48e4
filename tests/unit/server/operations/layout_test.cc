#include "server/operations/layout.h"

#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace baseband::server {
namespace {

struct TestJob final : Job {
  TestJob() : Job(OperationKind::kDecode) {}
};

std::vector<JobPtr> Jobs(HostPool& pool, const std::vector<int64_t>& sizes) {
  std::vector<JobPtr> jobs;
  for (const int64_t size : sizes) {
    jobs.push_back(std::make_unique<TestJob>());
    jobs.back()->input = *pool.Lease(size);
  }
  return jobs;
}

// Every payload is where the layout says, whatever copies bring it there.
void ExpectPayloadsInPlace(const InputLayout& layout, absl::Span<const JobPtr> jobs,
                           int64_t capacity) {
  std::vector<const uint8_t*> came_from(static_cast<size_t>(capacity), nullptr);
  for (const CopyRun& run : layout.runs()) {
    ASSERT_LE(run.device_offset + run.bytes, capacity);
    for (int64_t i = 0; i < run.bytes; ++i) {
      const uint8_t*& cell = came_from[static_cast<size_t>(run.device_offset + i)];
      ASSERT_EQ(cell, nullptr) << "two copies meet";
      cell = run.host + i;
    }
  }
  for (size_t j = 0; j < jobs.size(); ++j) {
    EXPECT_EQ(layout.device_offset(j) % kLaneAlignment, 0);
    for (int64_t i = 0; i < jobs[j]->input.size(); ++i) {
      ASSERT_EQ(came_from[static_cast<size_t>(layout.device_offset(j) + i)],
                jobs[j]->input.data() + i);
    }
  }
}

TEST(InputLayoutTest, NeighboursInThePoolShareACopy) {
  const auto pool = *HostPool::CreatePageable(1 << 16);
  const std::vector<JobPtr> jobs = Jobs(*pool, {100, 64, 1000});
  const InputLayout layout(jobs, 1 << 16);
  EXPECT_EQ(layout.runs().size(), 1U);
  ExpectPayloadsInPlace(layout, jobs, 1 << 16);
}

TEST(InputLayoutTest, SmallGapsAreCopiedAlongWhileThereIsRoom) {
  const auto pool = *HostPool::CreatePageable(1 << 16);
  std::vector<JobPtr> jobs = Jobs(*pool, {640, 640, 640});
  jobs.erase(jobs.begin() + 1);
  const InputLayout roomy(jobs, 3 * 640);
  EXPECT_EQ(roomy.runs().size(), 1U);
  ExpectPayloadsInPlace(roomy, jobs, 3 * 640);
  const InputLayout tight(jobs, 2 * 640);
  EXPECT_EQ(tight.runs().size(), 2U);
  ExpectPayloadsInPlace(tight, jobs, 2 * 640);
}

TEST(InputLayoutTest, OrderOfJobsIsNotOrderOfMemory) {
  const auto pool = *HostPool::CreatePageable(1 << 16);
  std::vector<JobPtr> jobs = Jobs(*pool, {100, 200, 20000, 300});
  std::swap(jobs[0], jobs[3]);
  jobs.erase(jobs.begin() + 2);
  const InputLayout layout(jobs, 1 << 16);
  EXPECT_EQ(layout.runs().size(), 2U);
  ExpectPayloadsInPlace(layout, jobs, 1 << 16);
}

TEST(InputLayoutTest, InPlaceNothingIsCopiedAndOffsetsCountFromTheLowestPayload) {
  const auto pool = *HostPool::CreatePageable(1 << 20);
  std::vector<JobPtr> jobs = Jobs(*pool, {100, 200, 300});
  std::swap(jobs[0], jobs[2]);
  ASSERT_TRUE(FitsInPlace(jobs));
  const InputLayout layout = InputLayout::InPlace(jobs);
  EXPECT_TRUE(layout.runs().empty());
  for (size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_EQ(layout.base() + layout.device_offset(i), jobs[i]->input.data());
  }
  EXPECT_EQ(layout.base(), jobs[2]->input.data());
}

TEST(InputLayoutTest, OnlySmallBatchesStayInPlace) {
  const auto pool = *HostPool::CreatePageable(1 << 20);
  const std::vector<JobPtr> jobs = Jobs(*pool, {100});
  jobs[0]->footprint.input_bytes = kMaxInPlaceBytes - 10;
  jobs[0]->footprint.output_bytes = 10;
  EXPECT_TRUE(FitsInPlace(jobs));
  jobs[0]->footprint.output_bytes = 11;
  EXPECT_FALSE(FitsInPlace(jobs));
}

TEST(OutputLayoutTest, DirectPiecesGoToTheirRepliesAndTheRestLands) {
  const auto pool = *HostPool::CreatePageable(1 << 16);
  const HostLease a = *pool->Lease(128);
  const HostLease b = *pool->Lease(128);
  std::vector<uint8_t> output_staging(1024);
  OutputLayout layout;
  EXPECT_EQ(layout.Add(128, a.data()), 0);
  EXPECT_EQ(layout.Add(100, b.data()), 128);
  EXPECT_EQ(layout.Add(10, nullptr), 256);
  EXPECT_EQ(layout.Add(20, nullptr), 320);
  const std::vector<CopyRun> runs = layout.Runs(output_staging.data());
  ASSERT_EQ(runs.size(), 2U);  // the two replies are neighbours, and so are the output stagings
  EXPECT_EQ(runs[0].host, a.data());
  EXPECT_EQ(runs[0].bytes, 256);
  EXPECT_EQ(runs[1].host, output_staging.data() + 256);
  EXPECT_EQ(runs[1].bytes, 128);
  EXPECT_EQ(layout.size(), 384);
}

}  // namespace
}  // namespace baseband::server
