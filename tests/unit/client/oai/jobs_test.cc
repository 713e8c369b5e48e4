#include <memory>
#include <string>

#include "gtest/gtest.h"

extern "C" {
#include "client/oai/jobs.h"
}

namespace baseband::testing {
namespace {

class OaiJobsTest : public ::testing::Test {
 protected:
  ~OaiJobsTest() override { bo_clear_jobs(jobs_.get()); }
  bo_job* Find(const std::string& header, uint64_t payload_bytes = 100, uint8_t operation = 16) {
    return bo_find_job(jobs_.get(), operation, header.data(), header.size(), payload_bytes,
                       &is_new_, &forgotten_);
  }
  // It has come before, and gets `number`.
  void Register(const std::string& header, uint32_t number) {
    bo_job* const job = Find(header);
    ASSERT_TRUE(bo_ask_job(jobs_.get(), job, &forgotten_));
    bo_answer_job(jobs_.get(), job, number);
  }

  std::unique_ptr<bo_jobs> jobs_ = std::make_unique<bo_jobs>();
  bool is_new_ = false;
  uint32_t forgotten_ = 0;
};

TEST_F(OaiJobsTest, ADescriptionIsKnownByAllThatMakesIt) {
  bo_job* const job = Find("a slot");
  EXPECT_TRUE(is_new_);
  EXPECT_EQ(Find("a slot"), job);
  EXPECT_FALSE(is_new_);
  EXPECT_NE(Find("a slot", 200), job);
  EXPECT_TRUE(is_new_);
  EXPECT_NE(Find("a slot", 100, 15), job);
  EXPECT_TRUE(is_new_);
  EXPECT_NE(Find("a slor"), job);
  EXPECT_TRUE(is_new_);
}

TEST_F(OaiJobsTest, ANumberIsThereOnceItWasAnswered) {
  bo_job* const job = Find("a");
  EXPECT_EQ(job->state, BO_JOB_SEEN);
  ASSERT_TRUE(bo_ask_job(jobs_.get(), job, &forgotten_));
  EXPECT_EQ(Find("a")->state, BO_JOB_ASKED);
  bo_answer_job(jobs_.get(), job, 77);
  EXPECT_EQ(Find("a")->state, BO_JOB_KNOWN);
  EXPECT_EQ(Find("a")->number, 77U);
}

TEST_F(OaiJobsTest, WhatWasRefusedIsNotAskedForAgain) {
  bo_job* const job = Find("a");
  ASSERT_TRUE(bo_ask_job(jobs_.get(), job, &forgotten_));
  bo_answer_job(jobs_.get(), job, 0);
  EXPECT_EQ(Find("a")->state, BO_JOB_REFUSED);
  EXPECT_EQ(jobs_->header_bytes, 0U);
}

TEST_F(OaiJobsTest, WhatHasNotComeForTheLongestTimeGivesItsPlace) {
  for (uint32_t i = 0; i < BO_JOBS; ++i) {
    Find("job " + std::to_string(i));
    Register("job " + std::to_string(i), 1 + i);
  }
  Find("job 0");
  Find("one more");
  EXPECT_TRUE(is_new_);
  EXPECT_EQ(forgotten_, 2U);  // that of job 1
  Find("job 0");
  EXPECT_FALSE(is_new_);
}

TEST_F(OaiJobsTest, AJobThatIsAskedForKeepsItsPlace) {
  bo_job* const asked = Find("asked");
  ASSERT_TRUE(bo_ask_job(jobs_.get(), asked, &forgotten_));
  for (uint32_t i = 0; i < 3 * BO_JOBS; ++i) Find("job " + std::to_string(i));
  EXPECT_EQ(Find("asked"), asked);
}

TEST_F(OaiJobsTest, HeadersTakeNoMoreThanARingHas) {
  size_t known = 0;
  for (uint32_t i = 0; i < 20; ++i) {
    std::string header(10000, static_cast<char>('a' + i));
    bo_job* job = Find(header);
    while (!bo_ask_job(jobs_.get(), job, &forgotten_)) {
      ASSERT_NE(forgotten_, 0U);  // room is made
      --known;
    }
    bo_answer_job(jobs_.get(), job, 1 + i);
    ++known;
    EXPECT_LE(jobs_->header_bytes, BO_JOB_BYTES);
  }
  EXPECT_EQ(known, BO_JOB_BYTES / 10000);
  bo_job* const huge = Find(std::string(50000, 'h'));
  EXPECT_FALSE(bo_ask_job(jobs_.get(), huge, &forgotten_));
  EXPECT_EQ(forgotten_, 0U);
}

}  // namespace
}  // namespace baseband::testing
