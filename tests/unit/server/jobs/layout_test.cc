#include "server/jobs/layout.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/no_batch.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

struct TestJob final : Job {
  TestJob() : Job(TestOperation("Decode")) {}
};

std::vector<JobPtr> Jobs(HostPool& pool, const std::vector<int64_t>& sizes) {
  std::vector<JobPtr> jobs;
  for (const int64_t size : sizes) {
    jobs.push_back(std::make_unique<TestJob>());
    jobs.back()->SetInput(*pool.Lease(size));
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
    int64_t at = layout.device_offset(j);
    EXPECT_EQ(at % kLaneAlignment, 0);
    for (const PayloadPiece& piece : jobs[j]->input.pieces()) {
      for (int64_t i = 0; i < piece.bytes; ++i, ++at) {
        ASSERT_EQ(came_from[static_cast<size_t>(at)], piece.data + i);
      }
    }
  }
}

TEST(InputLayoutTest, WhatIsOnTheDeviceGoesBeforeWhatIsSent) {
  const auto pool = *HostPool::CreatePageable(1 << 16);
  std::vector<JobPtr> jobs = Jobs(*pool, {64, 128, 64, 100});
  jobs[1]->resident_bytes = 1000;
  jobs[3]->resident_bytes = 1;
  const InputLayout layout(jobs, 1 << 16);
  int64_t end = 0;
  for (size_t j = 0; j < jobs.size(); ++j) {
    const Payload& input = jobs[j]->input;
    EXPECT_EQ(layout.device_offset(j) % kLaneAlignment, 0);
    EXPECT_GE(layout.device_offset(j), end) << "no two jobs share a byte";
    end = layout.device_offset(j) + jobs[j]->resident_bytes + input.bytes();
    bool is_copied = false;
    for (const CopyRun& run : layout.runs()) {
      const int64_t at = input.data() - run.host;
      is_copied |= at >= 0 && at + input.bytes() <= run.bytes &&
                   run.device_offset + at == end - input.bytes();
      // No copy touches what comes from the device.
      EXPECT_FALSE(run.device_offset < end - input.bytes() &&
                   run.device_offset + run.bytes > layout.device_offset(j) &&
                   jobs[j]->resident_bytes > 0);
    }
    EXPECT_TRUE(is_copied) << j;
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

TEST(InputLayoutTest, ScatteredPiecesOfAJobComeTogether) {
  const auto pool = *HostPool::CreatePageable(1 << 16);
  const HostLease memory = *pool->Lease(20000);
  const MemoryRegion other = {memory.data() + 10000, 10000, false};
  const auto piece = [&](int64_t offset, int64_t bytes) {
    return PayloadPiece{memory.data() + offset, bytes, &pool->region()};
  };
  std::vector<JobPtr> jobs = Jobs(*pool, {100, 100, 100});
  jobs[0]->input = Payload({piece(9000, 5), piece(1, 300), piece(5000, 64)});
  jobs[1]->input = Payload({piece(6000, 77)});
  jobs[2]->input = Payload({{memory.data() + 10001, 10, &other}, piece(6400, 3)});
  const InputLayout layout(jobs, 1 << 16);
  ExpectPayloadsInPlace(layout, jobs, 1 << 16);
}

TEST(InputLayoutTest, NoByteOutsideOfItsRegionIsRead) {
  const auto pool = *HostPool::CreatePageable(1 << 16);
  const HostLease memory = *pool->Lease(1000);
  const MemoryRegion mine = {memory.data(), 128, false};
  const MemoryRegion yours = {memory.data() + 128, 128, false};
  std::vector<JobPtr> jobs = Jobs(*pool, {1, 1});
  jobs[0]->input = Payload({{mine.base, 128, &mine}});
  jobs[1]->input = Payload({{yours.base + 64, 64, &yours}});
  const InputLayout layout(jobs, 1 << 16);
  EXPECT_EQ(layout.runs().size(), 2U);  // though the gap is small
  for (const CopyRun& run : layout.runs()) {
    EXPECT_TRUE(run.host + run.bytes <= mine.base + mine.bytes || run.host >= yours.base);
  }
}

TEST(InputLayoutTest, OnlySmallBatchesOfOnePageLockedPieceEachStayInPlace) {
  const auto pool = *HostPool::CreatePageable(1 << 20);
  const std::vector<JobPtr> jobs = Jobs(*pool, {100});
  const uint8_t* const data = jobs[0]->staging.data();
  const MemoryRegion locked = {jobs[0]->staging.data(), 100, /*is_page_locked=*/true};
  jobs[0]->footprint.input_bytes = kMaxInPlaceBytes - 10;
  jobs[0]->footprint.output_bytes = 10;
  EXPECT_FALSE(FitsInPlace(jobs));  // the pool is pageable
  jobs[0]->input = Payload({{data, 100, &locked}});
  EXPECT_TRUE(FitsInPlace(jobs));
  jobs[0]->input = Payload({{data, 50, &locked}, {data + 51, 49, &locked}});
  EXPECT_FALSE(FitsInPlace(jobs));
  jobs[0]->input = Payload({{data + 1, 99, &locked}});
  EXPECT_FALSE(FitsInPlace(jobs)) << "kernels read words";
  MemoryRegion shared = locked;
  shared.is_shared = true;
  jobs[0]->input = Payload({{data, 100, &shared}});
  EXPECT_TRUE(FitsInPlace(jobs)) << "what changes meanwhile spoils results only";
  jobs[0]->input = Payload({{data, 100, &locked}});
  jobs[0]->footprint.output_bytes = 11;
  EXPECT_FALSE(FitsInPlace(jobs));
}

TEST(JobTest, InputThatOthersMayChangeIsKeptAsItIs) {
  alignas(Payload::kAlignment) std::array<uint8_t, 200> memory;
  memory.fill(1);
  MemoryRegion region = {memory.data(), 200, /*is_page_locked=*/false};
  TestJob job;
  job.input = Payload({{memory.data(), 100, &region}});
  job.KeepInput();
  EXPECT_EQ(job.input.data(), memory.data()) << "nobody else writes to it";
  region.is_shared = true;
  job.input = Payload({{memory.data(), 100, &region}, {memory.data() + 100, 50, &region}});
  job.KeepInput();
  std::fill(memory.begin(), memory.end(), 2);
  ASSERT_EQ(job.input.bytes(), 150);
  ASSERT_TRUE(job.input.is_contiguous());
  for (const uint8_t byte : job.input.span()) EXPECT_EQ(byte, 1);
}

TEST(JobTest, ScatteredInputIsKeptInOnePieceThatIsAligned) {
  std::vector<uint8_t> memory(400);
  std::iota(memory.begin(), memory.end(), uint8_t{0});
  const MemoryRegion region = {memory.data(), 400, /*is_page_locked=*/true};
  TestJob job;
  job.input = Payload({{memory.data() + 3, 20, &region}, {memory.data() + 100, 30, &region}});
  job.KeepInput();
  std::vector<uint8_t> expected(memory.begin() + 3, memory.begin() + 23);
  expected.insert(expected.end(), memory.begin() + 100, memory.begin() + 130);
  ASSERT_TRUE(job.input.is_aligned());
  EXPECT_TRUE(job.input.span() == absl::MakeConstSpan(expected));
}

TEST(OutputLayoutTest, DirectPiecesGoToTheirRepliesAndTheRestLands) {
  const auto pool = *HostPool::CreatePageable(1 << 16);
  const HostLease a = *pool->Lease(128);
  const HostLease b = *pool->Lease(128);
  std::vector<uint8_t> output_staging(1024);
  OutputLayout layout;
  EXPECT_EQ(layout.Add(128, &a), 0);
  EXPECT_EQ(layout.Add(100, &b), 128);
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

TEST(OutputLayoutTest, WhereAClientSeesItNoMoreThanTheReplyIsWritten) {
  std::vector<uint8_t> memory(256);
  const MemoryRegion region = {memory.data(), 256, /*is_page_locked=*/true, /*is_shared=*/true};
  const HostLease a(region, absl::MakeSpan(memory).subspan(0, 100), nullptr);
  const HostLease b(region, absl::MakeSpan(memory).subspan(128, 70), nullptr);
  OutputLayout layout;
  EXPECT_EQ(layout.Add(104, &a), 0) << "as the kernels write it, in whole words";
  EXPECT_EQ(layout.Add(70, &b), 128);
  const std::vector<CopyRun> runs = layout.Runs(nullptr);
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].host, a.data());
  EXPECT_EQ(runs[0].bytes, 100);
  EXPECT_EQ(runs[1].host, b.data());
  EXPECT_EQ(runs[1].bytes, 70);
}

TEST(BatchTest, IsWireBoundWhereALargePayloadHadToBeBrought) {
  const auto pool = *HostPool::CreatePageable(1 << 20);
  constexpr int64_t kLarge = 128 << 10;
  EXPECT_FALSE(NoBatch(Jobs(*pool, {64, kLarge - 65})).is_wire_bound());
  EXPECT_TRUE(NoBatch(Jobs(*pool, {64, kLarge - 64})).is_wire_bound());
  EXPECT_FALSE(NoBatch(Jobs(*pool, {0})).is_wire_bound());
  EXPECT_FALSE(NoBatch(std::vector<JobPtr>()).is_wire_bound());

  std::vector<uint8_t> memory(kLarge);
  const auto of_region = [&](const MemoryRegion* region) {
    std::vector<JobPtr> jobs = Jobs(*pool, {64});
    jobs.front()->input.Add({memory.data(), kLarge, region});
    return jobs;
  };
  const MemoryRegion shared = {memory.data(), kLarge, false, /*is_shared=*/true};
  EXPECT_FALSE(NoBatch(of_region(&shared)).is_wire_bound()) << "with a prefix of the server's own";
  EXPECT_TRUE(NoBatch(of_region(nullptr)).is_wire_bound());
}

}  // namespace
}  // namespace baseband::server
