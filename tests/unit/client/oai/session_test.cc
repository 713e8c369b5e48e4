#include <cerrno>
#include <cstring>

#include "gtest/gtest.h"
#include "tests/unit/client/c/fake_ring_server.h"

extern "C" {
#include "client/oai/clock.h"
#include "client/oai/session.h"
}

namespace baseband::testing {
namespace {

constexpr uint64_t kMinuteNs = 60'000'000'000;

class OaiSessionTest : public ::testing::Test {
 protected:
  OaiSessionTest() {
    bo_settings settings{};
    server_.path().copy(settings.socket, sizeof(settings.socket) - 1);
    settings.memory_bytes = 1 << 20;
    EXPECT_EQ(bo_open_session(&session_, &settings, kMinuteNs), 0) << basebandd_error();
  }
  ~OaiSessionTest() override { bo_close_session(&session_); }

  int Run(uint64_t deadline_ns) {
    const bo_exchange exchange{BASEBANDD_ENCODE, 6, 64, 256, deadline_ns};
    char why[256];
    EXPECT_TRUE(bo_reserve(&session_, &exchange, 6, why, sizeof(why))) << why;
    std::memcpy(session_.header, "header", 6);
    basebandd_answer answer;
    return bo_run(&session_, &exchange, &answer, why, sizeof(why));
  }
  BasebandSubmission Take() {
    BasebandSubmission submission{};
    EXPECT_TRUE(server_.Take(&submission));
    return submission;
  }

  FakeRingServer server_;
  bo_session session_{};
};

TEST_F(OaiSessionTest, AnAnswerAfterTheDeadlineDoesNotEndTheConnection) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Run(1), -ETIMEDOUT);
    EXPECT_TRUE(session_.is_late);
    EXPECT_TRUE(session_.may_run_late);
    server_.Echo(Take());
    bo_settle(&session_, bo_now_ns() + kMinuteNs);
    EXPECT_FALSE(session_.is_late);
    EXPECT_FALSE(session_.may_run_late);
    EXPECT_FALSE(session_.is_broken);
  }
}

TEST_F(OaiSessionTest, WhatComesAgainIsSentByANumber) {
  for (const uint32_t number : {0U, 0U, 5U}) {
    EXPECT_EQ(Run(1), -ETIMEDOUT);
    const BasebandSubmission run = Take();
    EXPECT_EQ(run.job, number);
    BasebandSubmission registers;
    if (server_.Take(&registers)) {
      BasebandCompletion completion{};
      completion.id = registers.id;
      completion.value = 5;
      server_.Complete(completion);
    }
    server_.Echo(run);
    bo_settle(&session_, bo_now_ns() + kMinuteNs);
    ASSERT_FALSE(session_.is_broken);
  }
}

TEST_F(OaiSessionTest, AnAnswerThatDoesNotComeAtAllDoes) {
  EXPECT_EQ(Run(1), -ETIMEDOUT);
  EXPECT_FALSE(session_.is_broken);
  bo_settle(&session_, 1);
  EXPECT_TRUE(session_.is_broken);
}

TEST_F(OaiSessionTest, ALateAnswerOfALostDeviceDoes) {
  EXPECT_EQ(Run(1), -ETIMEDOUT);
  BasebandCompletion completion{};
  completion.id = Take().id;
  completion.code = 14;
  completion.value = 1;
  server_.Complete(completion);
  bo_settle(&session_, bo_now_ns() + kMinuteNs);
  EXPECT_TRUE(session_.is_broken);
}

}  // namespace
}  // namespace baseband::testing
