// A registered job of Downconvert is copied for each request that names it.
#include <cstring>

#include "gtest/gtest.h"
#include "tests/unit/server/operations/downconvert_operation_fixture.h"

namespace baseband::testing {
namespace {

using server::JobPtr;

class DownconvertCopyTest : public DownconvertOperationTest {};

// A ring's registered job is copied for each request.
TEST_F(DownconvertCopyTest, ACopyAsksForTheSameAndAnswersTheSame) {
  AddChannel().mutable_frequency()->set_hz(-2e5);
  request_.set_first_sample(1000);
  request_.set_zero_history(true);
  for (const bool describe : {false, true}) {
    request_.set_describe(describe);
    JobPtr job = *Make();
    JobPtr copy = job->Copy();
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(copy->payload_bytes, job->payload_bytes);
    EXPECT_EQ(copy->prefix_zeros, job->prefix_zeros);
    EXPECT_EQ(copy->reply_bytes, job->reply_bytes);
    EXPECT_EQ(copy->footprint.input_bytes, job->footprint.input_bytes);
    EXPECT_EQ(copy->footprint.output_bytes, job->footprint.output_bytes);
    const server::Payload payload = server::RequestOf(request_).payload;
    JobPtr first = RunOnCpu(std::move(job), payload);
    JobPtr second = RunOnCpu(std::move(copy), payload);
    const auto a = operation_->ToReply(*first);
    const auto b = operation_->ToReply(*second);
    ASSERT_THAT(a, IsOk());
    ASSERT_THAT(b, IsOk());
    EXPECT_EQ(
        std::memcmp(a->memory.data(), b->memory.data(), static_cast<size_t>(a->memory.size())), 0);
    v1::DownconvertResponse header;
    ASSERT_TRUE(header.ParseFromString(b->header));
    EXPECT_EQ(header.descriptions_size(), describe ? 2 : 0);
    EXPECT_EQ(header.channels_size(), 2);
  }
}

// What is kept to be copied counts by what it has, not by how it was asked for.
TEST_F(DownconvertCopyTest, LongFiltersCountAmongWhatACopyKeeps) {
  const int64_t few = (*Make())->kept_bytes();
  for (int k = 0; k < 60'000; ++k) Filter().add_taps(1e-5F);
  request_.set_zero_history(true);
  EXPECT_GT((*Make())->kept_bytes(), few + 60'000 / 8 * 8);
}

}  // namespace
}  // namespace baseband::testing
