// Requests whose headers come again, as the server sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "client/c/basebandd.h"
#include "tests/unit/client/c/fake_ring_server.h"

namespace baseband::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RepeatsTest : public ::testing::Test {
 protected:
  RepeatsTest() {
    basebandd_options options{};
    options.entries = 8;
    options.memory_bytes = 1 << 20;
    EXPECT_EQ(basebandd_open(server_.path().c_str(), &options, &client_), 0) << basebandd_error();
  }
  ~RepeatsTest() override { basebandd_close(client_); }

  void Submit(const std::string& header, size_t payload_bytes = 0,
              uint8_t operation = BASEBANDD_ENCODE) {
    basebandd_request request{};
    request.header = header.data();
    request.header_bytes = header.size();
    request.payload = payload_bytes == 0 ? nullptr : payload_;
    request.payload_bytes = payload_bytes;
    request.operation = operation;
    request.repeats = 1;
    ASSERT_EQ(basebandd_submit(client_, &request), 0) << basebandd_error();
  }
  // All that has been submitted, each answered: numbers as they are asked for.
  std::vector<BasebandSubmission> Serve(uint32_t code = 0) {
    std::vector<BasebandSubmission> all;
    BasebandSubmission submission;
    while (server_.Take(&submission)) {
      BasebandCompletion completion{};
      completion.id = submission.id;
      if (submission.kind == BASEBAND_RING_REGISTER) {
        completion.code = code;
        completion.value = code == 0 ? ++numbers_ : 0;
      }
      server_.Complete(completion);
      all.push_back(submission);
    }
    return all;
  }
  int Poll() {
    basebandd_answer answers[8];
    return basebandd_poll(client_, answers, 8);
  }
  // The number that a header is run by.
  uint32_t JobOf(const std::string& header) {
    Submit(header);
    const uint32_t job = Serve().front().job;
    EXPECT_EQ(Poll(), 1);
    return job;
  }

  FakeRingServer server_;
  basebandd_connection* client_ = nullptr;
  void* payload_ = nullptr;
  uint32_t numbers_ = 0;
};

TEST_F(RepeatsTest, AHeaderIsRegisteredWhenItComesAgainAndRunByItsNumber) {
  Submit("a slot");
  ASSERT_EQ(Serve().size(), 1U);
  EXPECT_EQ(Poll(), 1);
  Submit("a slot");
  const std::vector<BasebandSubmission> second = Serve();
  ASSERT_EQ(second.size(), 2U);
  EXPECT_EQ(second[0].kind, BASEBAND_RING_RUN);
  EXPECT_EQ(second[0].header_bytes, 6U);
  EXPECT_EQ(second[1].kind, BASEBAND_RING_REGISTER);
  EXPECT_EQ(second[1].operation, BASEBANDD_ENCODE);
  EXPECT_EQ(std::string(reinterpret_cast<char*>(server_.region()) + second[1].header_offset, 6),
            "a slot");
  EXPECT_EQ(Poll(), 1);  // nobody asked for the other answer
  EXPECT_EQ(basebandd_in_flight(client_), 0U);
  Submit("a slot");
  const std::vector<BasebandSubmission> third = Serve();
  ASSERT_EQ(third.size(), 1U);
  EXPECT_EQ(third[0].job, 1U);
  EXPECT_EQ(third[0].header_bytes, 0U);
  EXPECT_EQ(third[0].operation, 0);
}

TEST_F(RepeatsTest, AHeaderIsToldFromOthersByAllThatMakesItsJob) {
  payload_ = basebandd_loan(client_, 128);
  Submit("a slot", 64);
  Submit("a slot", 128);
  Submit("a slot", 64, BASEBANDD_DECODE);
  Submit("a slor", 64);
  for (const BasebandSubmission& seen : Serve()) EXPECT_EQ(seen.kind, BASEBAND_RING_RUN);
}

TEST_F(RepeatsTest, UntilTheNumberIsThereTheHeaderIsBroughtAlongAndAskedForOnce) {
  for (int i = 0; i < 4; ++i) Submit("a slot");
  const std::vector<BasebandSubmission> all = Serve();
  ASSERT_EQ(all.size(), 5U);
  int asked = 0;
  for (const BasebandSubmission& seen : all) {
    EXPECT_EQ(seen.job, 0U);
    asked += seen.kind == BASEBAND_RING_REGISTER;
  }
  EXPECT_EQ(asked, 1);
}

TEST_F(RepeatsTest, WhatWasRefusedIsNotAskedForAgain) {
  Submit("a slot");
  Submit("a slot");
  EXPECT_EQ(Serve(8).size(), 3U);
  EXPECT_EQ(Poll(), 2);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(JobOf("a slot"), 0U);
  EXPECT_EQ(numbers_, 0U);
}

TEST_F(RepeatsTest, WhileHalfOfTheEntriesAreInFlightNothingIsRegistered) {
  Submit("a slot");
  for (int i = 0; i < 3; ++i) Submit("another " + std::to_string(i));
  for (int i = 0; i < 4; ++i) Submit("a slot");
  EXPECT_EQ(Serve().size(), 8U);
  EXPECT_EQ(Poll(), 8);
}

TEST_F(RepeatsTest, WhatHasNotComeForALongTimeIsForgottenForWhatComesNow) {
  // Headers of a connection have 60 KiB together: of these there is room for ten.
  const auto header = [](int i) { return std::string(6000, static_cast<char>('a' + i)); };
  std::vector<uint32_t> forgotten;
  const auto come = [&](int i) {
    Submit(header(i));
    for (const BasebandSubmission& seen : Serve()) {
      if (seen.kind == BASEBAND_RING_FORGET) forgotten.push_back(seen.job);
    }
    EXPECT_EQ(Poll(), 1);
  };
  for (int times = 0; times < 4; ++times) {
    for (int i = 0; i < 11; ++i) come(i);
  }
  EXPECT_THAT(forgotten, IsEmpty());  // one too many pushes out none of those in use
  EXPECT_EQ(numbers_, 10U);
  EXPECT_EQ(JobOf(header(10)), 0U);
  for (int i = 0; i < 600; ++i) come(i % 4 == 1 ? 2 : i % 4);  // neither 1 nor those after 3
  for (int times = 0; times < 2; ++times) come(10);
  EXPECT_THAT(forgotten, ElementsAre(2U));
  EXPECT_EQ(JobOf(header(10)), 11U);
  EXPECT_EQ(JobOf(header(0)), 1U);
}

TEST_F(RepeatsTest, OnlyAHeaderThatIsRunRepeats) {
  basebandd_request request{};
  request.header = "header";
  request.header_bytes = 6;
  request.operation = BASEBANDD_ENCODE;
  request.kind = BASEBANDD_REGISTER;
  request.repeats = 1;
  EXPECT_EQ(basebandd_submit(client_, &request), -EINVAL);
  request.kind = BASEBANDD_RUN;
  request.repeats = 2;
  EXPECT_EQ(basebandd_submit(client_, &request), -EINVAL);
}

}  // namespace
}  // namespace baseband::testing
