// Requests and answers over the ring, with servers that are as they should be and others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "client/c/basebandd.h"
#include "tests/unit/client/c/fake_ring_server.h"
#include "tests/unit/client/c/start_at.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSecond = 1000000000;

class RingTest : public ::testing::Test {
 protected:
  void Open(uint32_t entries, uint64_t spin_ns = 0) {
    basebandd_options options{};
    options.entries = entries;
    options.memory_bytes = 1 << 20;
    options.spin_ns = spin_ns;
    ASSERT_EQ(basebandd_open(server_.path().c_str(), &options, &client_), 0) << basebandd_error();
  }
  ~RingTest() override { basebandd_close(client_); }

  // Echoed by the server: 64 bytes of `id`. Loans are made as often as they are needed.
  basebandd_request Request(uint64_t id) {
    basebandd_request request{};
    request.id = id;
    request.header = "header";
    request.header_bytes = 6;
    request.operation = BASEBANDD_ENCODE;
    request.payload = basebandd_loan(client_, 64);
    request.payload_bytes = 64;
    request.reply = basebandd_loan(client_, 256);
    request.reply_bytes = 256;
    std::memset(const_cast<void*>(request.payload), static_cast<int>(id), 64);
    payloads_[id] = request.payload;
    return request;
  }

  void ExpectEchoed(const basebandd_answer& answer) {
    EXPECT_EQ(answer.code, 0U);
    ASSERT_EQ(answer.payload_bytes, 64U);
    EXPECT_EQ(answer.payload, answer.reply);
    EXPECT_EQ(*static_cast<const uint8_t*>(answer.payload), static_cast<uint8_t>(answer.id));
    EXPECT_EQ(basebandd_give_back(client_, const_cast<void*>(payloads_[answer.id])), 0);
    EXPECT_EQ(basebandd_give_back(client_, answer.reply), 0);
  }

  BasebandSubmission Take() {
    BasebandSubmission submission{};
    EXPECT_TRUE(server_.Take(&submission));
    return submission;
  }

  bool AllIsGivenBack() {
    const uint64_t lent =
        server_.region_bytes() - baseband_ring_bytes(server_.ring().header->entries);
    void* const all = basebandd_loan(client_, lent);
    (void)basebandd_give_back(client_, all);
    return all != nullptr;
  }

  FakeRingServer server_;
  basebandd_connection* client_ = nullptr;
  std::map<uint64_t, const void*> payloads_;
};

TEST_F(RingTest, ASubmissionSaysWhatTheRequestDid) {
  Open(4);
  basebandd_request request = Request(7);
  request.deadline_ns = 99;
  request.priority = BASEBANDD_PRIORITY_HIGH;
  ASSERT_EQ(basebandd_submit(client_, &request), 0);
  const BasebandSubmission seen = Take();
  EXPECT_EQ(seen.deadline_ns, 99U);
  EXPECT_EQ(seen.priority, 1);
  EXPECT_EQ(seen.kind, BASEBAND_RING_RUN);
  EXPECT_EQ(seen.operation, 11);
  EXPECT_EQ(seen.job, 0U);
  EXPECT_EQ(seen.reserved, 0);
  EXPECT_EQ(seen.payload_bytes, 64U);
  EXPECT_EQ(seen.reply_bytes, 256U);
  EXPECT_EQ(server_.region()[seen.payload_offset], 7);
  ASSERT_EQ(seen.header_bytes, 6U);
  EXPECT_EQ(std::memcmp(server_.region() + seen.header_offset, "header", 6), 0);
  for (const uint64_t offset : {seen.header_offset, seen.payload_offset, seen.reply_offset}) {
    EXPECT_EQ(offset % 64, 0U);
  }
  server_.Echo(seen);
  basebandd_answer answer;
  EXPECT_EQ(basebandd_in_flight(client_), 1U);
  ASSERT_EQ(basebandd_poll(client_, &answer, 1), 1);
  EXPECT_EQ(answer.id, 7U);
  ExpectEchoed(answer);
  EXPECT_EQ(basebandd_in_flight(client_), 0U);
  EXPECT_EQ(basebandd_poll(client_, &answer, 1), 0);
  EXPECT_TRUE(AllIsGivenBack());
}

TEST_F(RingTest, AHeaderInTheRegionIsNotCopied) {
  Open(4);
  basebandd_request request = Request(1);
  auto* const header = static_cast<uint8_t*>(basebandd_loan(client_, 128));
  request.header = header;
  ASSERT_EQ(basebandd_submit(client_, &request), 0);
  header[3] = 0x5a;
  BasebandSubmission seen = Take();
  EXPECT_EQ(server_.region()[seen.header_offset + 3], 0x5a);
  request.header = header + 3;  // not at a multiple of 64
  ASSERT_EQ(basebandd_submit(client_, &request), 0);
  header[3] = 0;
  seen = Take();
  EXPECT_EQ(server_.region()[seen.header_offset], 0x5a);
}

TEST_F(RingTest, AnswersComeInAnyOrderAndManyTimesAroundTheRing) {
  Open(8);
  std::mt19937 random(5);
  std::vector<BasebandSubmission> jobs;
  std::vector<uint64_t> open_ids;
  uint64_t next_id = 1;
  uint64_t answered = 0;
  while (answered < 5000) {
    while (random() % 3 != 0 && basebandd_in_flight(client_) < 8) {
      const basebandd_request request = Request(next_id++);
      ASSERT_EQ(basebandd_submit(client_, &request), 0);
      open_ids.push_back(request.id);
    }
    BasebandSubmission submission;
    while (server_.Take(&submission)) jobs.push_back(submission);
    std::shuffle(jobs.begin(), jobs.end(), random);
    while (!jobs.empty() && random() % 4 != 0) {
      server_.Echo(jobs.back());
      jobs.pop_back();
    }
    basebandd_answer answers[3];
    const int count = basebandd_poll(client_, answers, 3);
    ASSERT_GE(count, 0);
    for (int i = 0; i < count; ++i) {
      ExpectEchoed(answers[i]);
      const auto found = std::find(open_ids.begin(), open_ids.end(), answers[i].id);
      ASSERT_NE(found, open_ids.end());
      open_ids.erase(found);
      ++answered;
    }
  }
}

TEST_F(RingTest, SequencesOf32BitsMayWrapAround) {
  Open(4);
  const uint64_t begin = (uint64_t{1} << 32) - 10;
  server_.StartAt(begin);
  StartAt(client_, begin);
  for (uint64_t id = 1; id <= 40; ++id) {
    const basebandd_request request = Request(id);
    ASSERT_EQ(basebandd_submit(client_, &request), 0);
    EXPECT_EQ(basebandd_wait(client_, 0), 0);  // the old sequences are no mistake
    server_.Echo(Take());
    basebandd_answer answer;
    ASSERT_EQ(basebandd_wait(client_, kSecond), 1);
    ASSERT_EQ(basebandd_poll(client_, &answer, 1), 1);
    EXPECT_EQ(answer.id, id);
    ExpectEchoed(answer);
  }
}

TEST_F(RingTest, AFullRingTakesNoMoreUntilAnAnswerWasPolled) {
  Open(2);
  const basebandd_request requests[] = {Request(1), Request(2), Request(3)};
  EXPECT_EQ(basebandd_submit_many(client_, requests, 3), 2);
  EXPECT_EQ(basebandd_submit(client_, &requests[2]), -EAGAIN);
  server_.Echo(Take());
  EXPECT_EQ(basebandd_submit(client_, &requests[2]), -EAGAIN);
  basebandd_answer answer;
  ASSERT_EQ(basebandd_poll(client_, &answer, 1), 1);
  EXPECT_EQ(basebandd_submit(client_, &requests[2]), 0);
  Take();
  EXPECT_EQ(Take().payload_bytes, 64U);
}

TEST_F(RingTest, TheBellIsRungOnceForABatchAndOnlyForASleeper) {
  Open(8);
  const BasebandRing ring = server_.ring();
  std::vector<basebandd_request> requests;
  for (uint64_t id = 1; id <= 6; ++id) requests.push_back(Request(id));
  ASSERT_EQ(basebandd_submit_many(client_, requests.data(), 2), 2);
  EXPECT_EQ(server_.BellCount(), 0U);
  Take();
  Take();
  ASSERT_EQ(baseband_ring_server_may_sleep(&ring, 2), 1);
  ASSERT_EQ(basebandd_submit_many(client_, requests.data() + 2, 4), 4);
  EXPECT_EQ(server_.BellCount(), 1U);
  EXPECT_EQ(ring.header->server_waits, 0U);
}

TEST_F(RingTest, FieldsOutOfRangeAreNamedAndNothingIsSubmitted) {
  Open(4);
  const basebandd_request good = Request(1);
  std::vector<char> outside(4096);
  const auto expect = [&](const char* field, void (*change)(basebandd_request*, char*)) {
    basebandd_request request = good;
    change(&request, outside.data());
    EXPECT_EQ(basebandd_submit(client_, &request), -EINVAL) << field;
    EXPECT_THAT(basebandd_error(), HasSubstr(field));
  };
  expect("kind 3", [](basebandd_request* r, char*) { r->kind = 3; });
  expect("priority 4", [](basebandd_request* r, char*) { r->priority = 4; });
  expect("repeats", [](basebandd_request* r, char*) { r->repeats = 2; });
  expect("operation 0", [](basebandd_request* r, char*) { r->operation = 0; });
  expect("job 5", [](basebandd_request* r, char*) { r->job = 5; });
  expect("header_bytes 0", [](basebandd_request* r, char*) { r->header_bytes = 0; });
  expect("header_bytes 0", [](basebandd_request* r, char*) {
    r->kind = BASEBANDD_REGISTER;
    r->header_bytes = 0;
    r->operation = 0;
  });
  expect("job 0", [](basebandd_request* r, char*) { r->kind = BASEBANDD_FORGET; });
  expect("header_bytes", [](basebandd_request* r, char*) { r->header_bytes = size_t{1} << 32; });
  expect("header is null", [](basebandd_request* r, char*) { r->header = nullptr; });
  expect("reply_bytes 255", [](basebandd_request* r, char*) { r->reply_bytes = 255; });
  expect("payload_bytes", [](basebandd_request* r, char*) { r->payload_bytes = size_t{1} << 32; });
  expect("payload", [](basebandd_request* r, char* o) { r->payload = o; });
  expect("payload", [](basebandd_request* r, char*) { r->payload = nullptr; });
  expect("payload", [](basebandd_request* r, char*) { r->payload_bytes = 2 << 20; });
  expect("payload", [](basebandd_request* r, char*) {
    r->payload = static_cast<const char*>(r->payload) + 1;
  });
  expect("reply", [](basebandd_request* r, char* o) { r->reply = o; });
  expect("reply", [](basebandd_request* r, char*) { r->reply_bytes = 2 << 20; });
  // The ring itself lies before what is lent.
  expect("reply",
         [](basebandd_request* r, char*) { r->reply = static_cast<char*>(r->reply) - 64 * 64; });
  basebandd_request huge = good;
  const std::vector<char> header(2 << 20);
  huge.header = header.data();
  huge.header_bytes = header.size();
  EXPECT_EQ(basebandd_submit(client_, &huge), -ENOMEM);
  BasebandSubmission submission;
  EXPECT_FALSE(server_.Take(&submission));
  EXPECT_EQ(basebandd_in_flight(client_), 0U);
  EXPECT_EQ(basebandd_submit(client_, &good), 0);
}

TEST_F(RingTest, ARefusalBringsItsTextAndValue) {
  Open(4);
  const basebandd_request request = Request(1);
  ASSERT_EQ(basebandd_submit(client_, &request), 0);
  const BasebandSubmission seen = Take();
  BasebandCompletion completion{};
  completion.id = seen.id;
  completion.code = 8;
  completion.value = 1500;
  completion.header_offset = seen.reply_offset + 192;
  completion.header_bytes = 4;
  std::memcpy(server_.region() + completion.header_offset, "full", 4);
  server_.Complete(completion);
  basebandd_answer answer;
  ASSERT_EQ(basebandd_poll(client_, &answer, 1), 1);
  EXPECT_EQ(answer.code, 8U);
  EXPECT_EQ(answer.value, 1500U);
  EXPECT_EQ(std::string(answer.text, answer.text_bytes), "full");
  EXPECT_EQ(answer.header, nullptr);
  EXPECT_EQ(answer.header_bytes, 0U);
  EXPECT_EQ(answer.payload, nullptr);
}

// ---- jobs that are registered

TEST_F(RingTest, AJobIsRegisteredWhileOtherAnswersComeAndForgotten) {
  Open(4);
  basebandd_request request = Request(1);
  ASSERT_EQ(basebandd_submit(client_, &request), 0);
  std::thread serving([this] {
    BasebandSubmission first;
    BasebandSubmission second;
    while (!server_.Take(&first)) std::this_thread::yield();
    while (!server_.Take(&second)) std::this_thread::yield();
    server_.Echo(first);
    EXPECT_EQ(second.kind, BASEBAND_RING_REGISTER);
    EXPECT_EQ(second.operation, 12);
    EXPECT_EQ(second.payload_bytes, 1056U);
    EXPECT_EQ(second.payload_offset, 0U);
    EXPECT_EQ(server_.region()[second.header_offset + 2], 'c');
    BasebandCompletion completion{};
    completion.id = second.id;
    completion.value = 77;
    server_.Complete(completion);
    while (!server_.Take(&first)) std::this_thread::yield();
    EXPECT_EQ(first.kind, BASEBAND_RING_FORGET);
    EXPECT_EQ(first.job, 77U);
    completion = BasebandCompletion();
    completion.id = first.id;
    completion.code = 5;
    completion.header_offset = first.reply_offset;
    completion.header_bytes = 6;
    std::memcpy(server_.region() + completion.header_offset, "job 77", 6);
    server_.Complete(completion);
  });
  uint32_t job = 0;
  ASSERT_EQ(basebandd_register(client_, BASEBANDD_DECODE, "abcd", 4, 1056, -1, &job), 0);
  EXPECT_EQ(job, 77U);
  EXPECT_EQ(basebandd_in_flight(client_), 1U);  // whose answer is kept
  EXPECT_EQ(basebandd_wait(client_, -1), 1);
  EXPECT_EQ(basebandd_forget(client_, job, -1), -ENOENT);
  EXPECT_THAT(basebandd_error(), HasSubstr("job 77"));
  serving.join();
  basebandd_answer answer;
  ASSERT_EQ(basebandd_poll(client_, &answer, 1), 1);
  EXPECT_EQ(answer.id, 1U);
  ExpectEchoed(answer);
  EXPECT_EQ(basebandd_in_flight(client_), 0U);
  EXPECT_TRUE(AllIsGivenBack());
}

TEST_F(RingTest, AnAnswerThatComesTooLateForItsCallIsDroppedOrPolled) {
  Open(4);
  uint32_t job = 0;
  EXPECT_EQ(basebandd_register(client_, BASEBANDD_DECODE, "abcd", 4, 1056, 1000, &job), -ETIMEDOUT);
  const basebandd_request request = Request(9);
  basebandd_answer answer;
  EXPECT_EQ(basebandd_call(client_, &request, &answer, 0), -ETIMEDOUT);
  EXPECT_FALSE(AllIsGivenBack());
  BasebandCompletion completion{};
  completion.id = Take().id;
  completion.value = 1;
  server_.Complete(completion);
  server_.Echo(Take());
  ASSERT_EQ(basebandd_poll(client_, &answer, 1), 1);
  EXPECT_EQ(answer.id, 9U);
  ExpectEchoed(answer);
  EXPECT_EQ(basebandd_poll(client_, &answer, 1), 0);
  EXPECT_EQ(basebandd_in_flight(client_), 0U);
  EXPECT_TRUE(AllIsGivenBack());
}

// ---- sleeping

TEST_F(RingTest, ASleeperIsWokenByEachOfManyAnswers) {
  Open(2);
  std::atomic<bool> is_over{false};
  std::thread serving([&] {
    std::mt19937 random(3);
    while (!is_over) {
      BasebandSubmission submission;
      if (!server_.Take(&submission)) continue;
      for (volatile uint64_t turns = random() % 2000; turns > 0;) turns = turns - 1;
      server_.Echo(submission);
    }
  });
  for (uint64_t id = 1; id <= 1000; ++id) {
    const basebandd_request request = Request(id);
    ASSERT_EQ(basebandd_submit(client_, &request), 0);
    basebandd_answer answer;
    // A wake-up that is lost would show as a slice of 50 ms, many of them as a minute.
    ASSERT_EQ(basebandd_wait(client_, 10 * kSecond), 1);
    ASSERT_EQ(basebandd_poll(client_, &answer, 1), 1);
    ExpectEchoed(answer);
  }
  is_over = true;
  serving.join();
}

TEST_F(RingTest, WithoutAnAnswerAWaitEndsAfterItsTime) {
  Open(2);
  EXPECT_EQ(basebandd_wait(client_, 0), 0);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(basebandd_wait(client_, 3000000), 0);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(3));
  EXPECT_EQ(server_.ring().header->client_waits, 0U);
}

TEST_F(RingTest, WhoIsWokenForNothingAllTheTimeSleepsAllTheSame) {
  constexpr int64_t kMilliseconds = 100;
  Open(2);
  server_.Settle();
  uint32_t* const waits = &server_.ring().header->client_waits;
  std::atomic<bool> is_over{false};
  int64_t wakes = 0;
  std::thread waking([&] {
    while (!is_over) {
      if (baseband_ring_wakes(waits) == 0) continue;
      syscall(SYS_futex, waits, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
      ++wakes;
    }
  });
  EXPECT_EQ(basebandd_wait(client_, kMilliseconds * 1000000), 0);
  is_over = true;
  waking.join();
  EXPECT_LE(wakes, kMilliseconds + 100) << "a look each millisecond, after some at once";
  // Nothing of it is left.
  const basebandd_request request = Request(1);
  ASSERT_EQ(basebandd_submit(client_, &request), 0);
  server_.Echo(Take());
  EXPECT_EQ(basebandd_wait(client_, kSecond), 1);
}

TEST_F(RingTest, OneThreadSubmitsWhileAnotherPolls) {
  Open(16, 20000);
  constexpr uint64_t kRequests = 20000;
  std::atomic<bool> is_over{false};
  std::thread serving([&] {
    BasebandSubmission submission;
    while (!is_over) {
      if (server_.Take(&submission)) server_.Echo(submission);
    }
  });
  std::thread submitting([&] {
    for (uint64_t id = 1; id <= kRequests;) {
      basebandd_request request{};
      request.id = id;
      request.header = &id;
      request.header_bytes = sizeof(id);
      request.operation = BASEBANDD_ENCODE;
      auto* const payload = static_cast<uint8_t*>(basebandd_loan(client_, 64));
      request.payload = payload;
      request.payload_bytes = 8;
      request.reply = payload;
      request.reply_bytes = 64;
      std::memcpy(payload, &id, sizeof(id));
      int error = 0;
      while ((error = basebandd_submit(client_, &request)) == -EAGAIN) std::this_thread::yield();
      ASSERT_EQ(error, 0);
      ++id;
    }
  });
  std::vector<bool> seen(kRequests + 1);
  for (uint64_t answered = 0; answered < kRequests;) {
    ASSERT_EQ(basebandd_wait(client_, 10 * kSecond), 1);
    basebandd_answer answers[5];
    const int count = basebandd_poll(client_, answers, 5);
    for (int i = 0; i < count; ++i, ++answered) {
      uint64_t id = 0;
      std::memcpy(&id, answers[i].payload, sizeof(id));
      ASSERT_EQ(id, answers[i].id);
      ASSERT_FALSE(seen[id]);
      seen[id] = true;
      ASSERT_EQ(basebandd_give_back(client_, answers[i].reply), 0);
    }
  }
  submitting.join();
  is_over = true;
  serving.join();
  EXPECT_TRUE(AllIsGivenBack());
}

// ---- the server's end

TEST_F(RingTest, WhatAServerHasDoneBeforeItLeftIsPolledAndTheRestIsLost) {
  Open(8);
  for (uint64_t id = 1; id <= 3; ++id) {
    const basebandd_request request = Request(id);
    ASSERT_EQ(basebandd_submit(client_, &request), 0);
  }
  Take();
  server_.Echo(Take());
  server_.Leave();
  basebandd_answer answers[8];
  ASSERT_EQ(basebandd_poll(client_, answers, 8), 1);  // which does not look for the server
  EXPECT_EQ(answers[0].id, 2U);
  EXPECT_EQ(answers[0].code, 0U);
  EXPECT_EQ(basebandd_poll(client_, answers, 8), 0);
  EXPECT_EQ(basebandd_wait(client_, 0), 1);
  EXPECT_EQ(basebandd_wait(client_, -1), 1);
  ASSERT_EQ(basebandd_poll(client_, answers, 1), 1);
  ASSERT_EQ(basebandd_poll(client_, answers + 1, 7), 1);
  EXPECT_EQ(answers[0].id + answers[1].id, 1U + 3U);
  EXPECT_EQ(answers[0].code, 14U);
  EXPECT_EQ(answers[1].code, 14U);
  EXPECT_THAT(std::string(answers[0].text, answers[0].text_bytes), HasSubstr("has left"));
  EXPECT_EQ(basebandd_poll(client_, answers, 8), -EPIPE);
  EXPECT_EQ(basebandd_wait(client_, -1), -EPIPE);
  const basebandd_request request = Request(4);
  EXPECT_EQ(basebandd_submit(client_, &request), -EPIPE);
  EXPECT_EQ(basebandd_in_flight(client_), 0U);
  uint32_t job = 0;
  EXPECT_EQ(basebandd_register(client_, BASEBANDD_DECODE, "abcd", 4, 1056, -1, &job), -EPIPE);
}

TEST_F(RingTest, ASleeperSeesThatTheServerLeft) {
  Open(2);
  const basebandd_request request = Request(1);
  ASSERT_EQ(basebandd_submit(client_, &request), 0);
  std::thread leaving([this] {
    while (__atomic_load_n(&server_.ring().header->client_waits, __ATOMIC_SEQ_CST) == 0) {
      std::this_thread::yield();
    }
    server_.Leave();
  });
  EXPECT_EQ(basebandd_wait(client_, -1), 1);
  basebandd_answer answer;
  EXPECT_EQ(basebandd_poll(client_, &answer, 1), 1);
  EXPECT_EQ(answer.code, 14U);
  EXPECT_EQ(basebandd_wait(client_, -1), -EPIPE);
  leaving.join();
}

TEST_F(RingTest, WhoSpinsSeesThatTheServerLeft) {
  Open(2, UINT64_MAX);
  const basebandd_request request = Request(1);
  server_.BellCount();
  basebandd_answer answer;
  std::thread leaving([this] {
    BasebandSubmission submission;
    while (!server_.Take(&submission)) std::this_thread::yield();
    server_.Leave();
  });
  ASSERT_EQ(basebandd_call(client_, &request, &answer, -1), 0);
  EXPECT_EQ(answer.code, 14U);
  leaving.join();
}

// ---- servers that write what they must not

class BrokenRingTest : public RingTest {
 protected:
  // Whatever the server writes: the request is answered as lost, and the connection is over.
  void ExpectBroken(const std::string& what) {
    basebandd_answer answers[4];
    ASSERT_EQ(basebandd_wait(client_, 0), 1);
    ASSERT_EQ(basebandd_poll(client_, answers, 4), 1) << basebandd_error();
    EXPECT_EQ(answers[0].code, 14U);
    EXPECT_EQ(answers[0].id, 1U);
    EXPECT_EQ(answers[0].payload, nullptr);
    EXPECT_EQ(answers[0].header, nullptr);
    EXPECT_EQ(basebandd_poll(client_, answers, 4), -EPROTO);
    EXPECT_THAT(basebandd_error(), HasSubstr(what));
    EXPECT_EQ(basebandd_wait(client_, -1), -EPROTO);
    const basebandd_request request = Request(2);
    EXPECT_EQ(basebandd_submit(client_, &request), -EPROTO);
  }
  BasebandSubmission Submitted() {
    const basebandd_request request = Request(1);
    EXPECT_EQ(basebandd_submit(client_, &request), 0);
    return Take();
  }
};

TEST_F(BrokenRingTest, RangesOutsideOfTheReplyEndTheConnection) {
  struct Case {
    uint64_t from;  // of the reply's offset
    uint64_t bytes;
  };
  const Case cases[] = {{0, 257},          {256, 1},
                        {257, 0x10},       {0, UINT32_MAX},
                        {uint64_t(-1), 1}, {uint64_t(-64), 64},
                        {1, UINT64_MAX},   {UINT64_MAX / 2, 64},
                        {64, 193}};
  for (const Case& c : cases) {
    for (const bool is_header : {false, true}) {
      FakeRingServer server;
      basebandd_connection* client = nullptr;
      ASSERT_EQ(basebandd_open(server.path().c_str(), nullptr, &client), 0);
      basebandd_request request{};
      request.job = 1;
      request.reply = basebandd_loan(client, 256);
      request.reply_bytes = 256;
      ASSERT_EQ(basebandd_submit(client, &request), 0);
      BasebandSubmission seen;
      ASSERT_TRUE(server.Take(&seen));
      BasebandCompletion completion{};
      completion.id = seen.id;
      if (is_header) {
        completion.header_offset = seen.reply_offset + c.from;
        completion.header_bytes = static_cast<uint32_t>(std::min<uint64_t>(c.bytes, UINT32_MAX));
      } else {
        completion.payload_offset = seen.reply_offset + c.from;
        completion.payload_bytes = c.bytes;
      }
      server.Complete(completion);
      basebandd_answer answer;
      ASSERT_EQ(basebandd_poll(client, &answer, 1), 1);
      EXPECT_EQ(answer.code, 14U) << c.from << " " << c.bytes;
      EXPECT_EQ(basebandd_poll(client, &answer, 1), -EPROTO);
      basebandd_close(client);
    }
  }
}

TEST_F(BrokenRingTest, AnAnswerToWhatIsNotInFlightEndsTheConnection) {
  Open(4);
  BasebandCompletion completion{};
  completion.id = Submitted().id + 1;
  server_.Complete(completion);
  ExpectBroken("nothing in flight has id");
}

TEST_F(BrokenRingTest, AnIdOfZeroEndsTheConnection) {
  Open(4);
  Submitted();
  server_.Complete(BasebandCompletion());
  ExpectBroken("nothing in flight has id 0");
}

TEST_F(BrokenRingTest, ASecondAnswerEndsTheConnection) {
  Open(4);
  const basebandd_request request = Request(3);
  ASSERT_EQ(basebandd_submit(client_, &request), 0);
  const BasebandSubmission answered = Take();
  Submitted();
  server_.Echo(answered);
  basebandd_answer answer;
  ASSERT_EQ(basebandd_poll(client_, &answer, 1), 1);
  server_.Echo(answered);
  ExpectBroken("nothing in flight has id");
}

TEST_F(BrokenRingTest, ACodeThatThereIsNotEndsTheConnection) {
  Open(4);
  BasebandCompletion completion{};
  completion.id = Submitted().id;
  completion.code = 17;
  server_.Complete(completion);
  ExpectBroken("there is no code 17");
}

TEST_F(BrokenRingTest, ASequenceThatJumpsEndsTheConnection) {
  Open(4);
  Submitted();
  server_.ring().completions[0].sequence = 5;
  ExpectBroken("sequence 5");
}

TEST_F(BrokenRingTest, AnAnswerThatIsTakenBackEndsTheConnection) {
  Open(4);
  server_.Echo(Submitted());
  EXPECT_EQ(basebandd_wait(client_, 0), 1);
  server_.ring().completions[0].sequence = 0;
  basebandd_answer answer;
  ASSERT_EQ(basebandd_poll(client_, &answer, 1), 1);
  EXPECT_EQ(answer.code, 14U);
  EXPECT_EQ(basebandd_wait(client_, -1), -EPROTO);
  EXPECT_THAT(basebandd_error(), HasSubstr("was there, and its place has sequence 0"));
}

TEST_F(BrokenRingTest, AReplyThatNoMemoryHasRoomForEndsTheConnection) {
  for (const uint64_t value : {uint64_t{1} << 36, (uint64_t{1} << 36) + 1, UINT64_MAX - 63}) {
    FakeRingServer server;
    basebandd_connection* client = nullptr;
    ASSERT_EQ(basebandd_open(server.path().c_str(), nullptr, &client), 0);
    basebandd_request request{};
    request.job = 1;
    ASSERT_EQ(basebandd_submit(client, &request), 0);
    BasebandSubmission seen;
    ASSERT_TRUE(server.Take(&seen));
    BasebandCompletion completion{};
    completion.id = seen.id;
    completion.code = 11;
    completion.value = value;
    server.Complete(completion);
    basebandd_answer answer;
    ASSERT_EQ(basebandd_poll(client, &answer, 1), 1);
    // Another connection may have as much: an honest answer to a request that is too large here.
    const bool is_honest = value == uint64_t{1} << 36;
    EXPECT_EQ(answer.code, is_honest ? 11U : 14U);
    EXPECT_EQ(answer.value, is_honest ? value : 0);
    EXPECT_EQ(basebandd_poll(client, &answer, 1), is_honest ? 0 : -EPROTO);
    basebandd_close(client);
  }
}

TEST_F(BrokenRingTest, AJobWithoutNumberEndsTheConnection) {
  Open(4);
  basebandd_request request = Request(1);
  request.kind = BASEBANDD_REGISTER;
  ASSERT_EQ(basebandd_submit(client_, &request), 0);
  BasebandCompletion completion{};
  completion.id = Take().id;
  completion.value = uint64_t{1} << 32;
  server_.Complete(completion);
  ExpectBroken("a job has no number");
}

TEST_F(BrokenRingTest, RandomBytesInTheRingLeadNowhere) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937_64 random(seed);
    FakeRingServer server;
    basebandd_connection* client = nullptr;
    basebandd_options options{};
    options.entries = 4;
    options.memory_bytes = 1 << 16;
    ASSERT_EQ(basebandd_open(server.path().c_str(), &options, &client), 0);
    BasebandSubmission seen[4];
    for (BasebandSubmission& submission : seen) {
      basebandd_request request{};
      request.job = 1;
      request.reply = basebandd_loan(client, 128);
      request.reply_bytes = 128;
      ASSERT_EQ(basebandd_submit(client, &request), 0);
      ASSERT_TRUE(server.Take(&submission));
    }
    int answered = 0;
    for (int round = 0; round < 8; ++round) {
      BasebandCompletion completion{};
      const BasebandSubmission& about = seen[random() % 4];
      completion.id = random() % 4 == 0 ? random() : about.id;
      completion.code = static_cast<uint32_t>(random() % 20);
      completion.payload_offset = about.reply_offset + (random() % 260 - 64);
      completion.payload_bytes = random() % 160;
      completion.header_offset = random() % 4 == 0 ? random() : about.reply_offset;
      completion.header_bytes = static_cast<uint32_t>(random() % 140);
      completion.value = random();
      server.Complete(completion);
      basebandd_answer answers[4];
      const int count = basebandd_poll(client, answers, 4);
      for (int i = 0; i < count; ++i, ++answered) {
        const auto* const begin = static_cast<const uint8_t*>(answers[i].reply);
        uint32_t sum = 0;  // for the sanitizer
        if (answers[i].code == 0) {
          ASSERT_LE(answers[i].header_bytes, 128U);
          basebandd_code_block_result results[4];
          (void)basebandd_read_decode(&answers[i], results, 4);
        }
        for (size_t b = 0; b < answers[i].payload_bytes; ++b) {
          const auto* const at = static_cast<const uint8_t*>(answers[i].payload) + b;
          ASSERT_TRUE(at >= begin && at < begin + 128);
          sum += *at;
        }
        EXPECT_EQ(sum, 0U);
      }
      if (count < 0) break;
    }
    ASSERT_LE(answered, 4);
    basebandd_close(client);
  }
}

}  // namespace
}  // namespace baseband::testing
