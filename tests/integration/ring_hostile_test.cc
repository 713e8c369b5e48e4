// Clients that break a ring's rules: each is refused by name or loses what is its own, and nobody
// else notices.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "baseband/v1/baseband.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/raw_ring.h"
#include "tests/support/sharing_server.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

class HostileRingTest : public SharingServerTest {
 protected:
  void ExpectThatOthersAreServed() {
    RawRing other(socket_);
    other.Open();
    for (int i = 0; i < 20; ++i) EXPECT_EQ(other.Do(Encode(&other)).code, 0U);
  }
  // A request that is right, with its payload at `payload_offset`.
  static BasebandSubmission Encode(RawRing* ring) {
    v1::EncodeRequest request = EncodeOf(NrCode(2, 16), 1);
    BasebandSubmission submission{};
    submission.payload_offset = ring->free_offset();
    submission.payload_bytes = static_cast<uint32_t>(request.payload().size());
    ring->Put(submission.payload_offset, request.payload());
    request.clear_payload();
    const std::string header = request.SerializeAsString();
    submission.header_offset = submission.payload_offset + 4096;
    submission.header_bytes = static_cast<uint32_t>(header.size());
    ring->Put(submission.header_offset, header);
    submission.reply_offset = submission.header_offset + 4096;
    submission.reply_bytes = 4096;
    submission.operation = v1::SubmitRequest::kEncodeFieldNumber;
    return submission;
  }
};

TEST_F(HostileRingTest, WhatIsNoRingIsNotOpened) {
  Serve();
  RawRing ring(socket_, 16, 1 << 20);
  for (const uint64_t offset : {uint64_t{1}, uint64_t{63}, uint64_t{1} << 20, uint64_t{1} << 40,
                                ~uint64_t{0}, ~uint64_t{63}}) {
    const RawRegions::Answer answer = ring.Ask(offset);
    EXPECT_EQ(answer.code, kInvalidArgument);
    EXPECT_THAT(answer.message, HasSubstr(absl::StrCat("bytes ", offset)));
    EXPECT_EQ(answer.fd, -1);
  }
  EXPECT_THAT(ring.Ask(64).message, HasSubstr("version 0 is not 1")) << "zeros lie there";
  BasebandRingHeader& header = *ring.ring().header;
  for (const uint32_t entries : {0U, 3U, 12U, 8192U, 1U << 31, ~0U}) {
    header.entries = entries;
    EXPECT_THAT(ring.Ask().message, HasSubstr(absl::StrCat("entries ", entries)));
  }
  header.entries = 4096;
  EXPECT_EQ(ring.Ask().code, 0U);
  std::memcpy(ring.memory() + (900 << 10), &header, sizeof(header));
  EXPECT_THAT(ring.Ask(900 << 10).message, HasSubstr("the region has 126976"));
  RawRing other(socket_);
  EXPECT_EQ(other.Ask(0, ring.region()).code, kNotFound) << "another connection's";
  EXPECT_EQ(other.Ask(0, std::string(16, 'x')).code, kNotFound);
  ExpectThatOthersAreServed();
}

TEST_F(HostileRingTest, EveryFieldThatIsWrongIsRefusedByName) {
  Serve();
  RawRing ring(socket_);
  ring.Open();
  const BasebandSubmission right = Encode(&ring);
  ASSERT_EQ(ring.Do(right).code, 0U);
  const auto expect = [&](const std::string& text, auto change) {
    BasebandSubmission wrong = right;
    change(&wrong);
    const BasebandCompletion refused = ring.Do(wrong);
    EXPECT_NE(refused.code, 0U) << text;
    EXPECT_THAT(ring.Text(refused), HasSubstr(text));
  };
  const uint64_t size = ring.bytes();
  for (const uint64_t offset :
       {uint64_t{1}, size, size - 1, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{63}, size - 64}) {
    const std::string said = offset % 64 != 0 ? absl::StrCat("offset ", offset, " is not a multi")
                                              : absl::StrCat("from offset ", offset);
    expect(said, [&](auto* wrong) { wrong->payload_offset = offset, wrong->payload_bytes = 65; });
    expect(said, [&](auto* wrong) { wrong->header_offset = offset, wrong->header_bytes = 65; });
  }
  expect("payload_bytes 4294967295 is not in", [](auto* wrong) { wrong->payload_bytes = ~0U; });
  expect("header_bytes 4294967295 is not in", [](auto* wrong) { wrong->header_bytes = ~0U; });
  expect("header_bytes 65537 is not in", [](auto* wrong) { wrong->header_bytes = 65537; });
  EXPECT_LT(server_->Metric("baseband_request_bytes_total", {"rpc=\"Encode\""}), 1 << 20);
  expect("priority 4 is not in", [](auto* wrong) { wrong->priority = 4; });
  expect("operation is not set", [](auto* wrong) { wrong->operation = 0; });
  expect("operation is not set", [](auto* wrong) { wrong->operation = 255; });
  expect("kind 3 is not in [0, 2]", [](auto* wrong) { wrong->kind = 3; });
  expect("reserved 1 is not 0", [](auto* wrong) { wrong->reserved = 1; });
  expect("job 5 is none", [](auto* wrong) { wrong->job = 5; });
  expect("overlap the reply's ", [](auto* wrong) { wrong->payload_offset = wrong->reply_offset; });
  expect("payload", [](auto* wrong) { wrong->payload_bytes += 1; });
  expect("EncodeRequest", [&](auto* wrong) { wrong->header_offset = wrong->payload_offset; });
  // Of whom the answer cannot reach nothing but the code is told.
  BasebandSubmission mute = right;
  for (const uint64_t offset : {uint64_t{1}, size, ~uint64_t{63}}) {
    mute.reply_offset = offset;
    const BasebandCompletion refused = ring.Do(mute);
    EXPECT_EQ(refused.code, kInvalidArgument);
    EXPECT_EQ(refused.header_bytes, 0U);
  }
  mute = right;
  mute.reply_bytes = 65;
  EXPECT_EQ(ring.Do(mute).code, kInvalidArgument);
  EXPECT_EQ(ring.Do(right).code, 0U) << "after all that";
}

TEST_F(HostileRingTest, AnyBytesAreSurvived) {
  Serve();
  std::mt19937_64 random(5);
  for (int round = 0; round < 10; ++round) {
    RawRing ring(socket_, 64);
    ring.Open();
    const BasebandSubmission right = Encode(&ring);
    for (int i = 0; i < 2000; ++i) {
      BasebandSubmission wrong = right;
      auto* const bytes = reinterpret_cast<uint8_t*>(&wrong);
      for (unsigned k = 0; k < 1 + random() % 4; ++k) {
        bytes[random() % sizeof(wrong)] = static_cast<uint8_t>(random());
      }
      ring.Submit(wrong);
      if (i % 8 == 0) {
        // Anywhere in the ring, also into what the server writes.
        ring.memory()[random() % ring.free_offset()] = static_cast<uint8_t>(random());
      }
      if (i % 64 == 0) absl::SleepFor(absl::Microseconds(100));
    }
  }
  ExpectThatOthersAreServed();
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
}

TEST_F(HostileRingTest, WhoSubmitsMoreThanItsRingHoldsHarmsNobody) {
  Serve();
  RawRing ring(socket_, 4);
  ring.Open();
  const BasebandSubmission right = Encode(&ring);
  for (int i = 0; i < 10'000; ++i) ring.Submit(right);
  ExpectThatOthersAreServed();
}

TEST_F(HostileRingTest, ABellIsRungInVain) {
  Serve();
  RawRing ring(socket_);
  ring.Open();
  for (int i = 0; i < 10'000; ++i) ring.RingTheBell();
  // Full, and set to make whoever writes or reads it wait.
  ASSERT_EQ(fcntl(ring.bell(), F_SETFL, O_NONBLOCK), 0);
  const uint64_t most = ~uint64_t{0} - 1 - 10'000;
  EXPECT_EQ(write(ring.bell(), &most, sizeof(most)), static_cast<ssize_t>(sizeof(most)));
  ASSERT_EQ(fcntl(ring.bell(), F_SETFL, 0), 0);
  ExpectThatOthersAreServed();
  uint64_t count = 0;
  EXPECT_EQ(read(ring.bell(), &count, sizeof(count)), static_cast<ssize_t>(sizeof(count)));
  EXPECT_EQ(ring.Do(Encode(&ring)).code, 0U);
  ExpectThatOthersAreServed();
}

TEST_F(HostileRingTest, AClientIsKilledAtAnyMoment) {
  Serve();
  std::mt19937 random(9);
  for (int i = 0; i < 40; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      RawRing ring(socket_, 16);
      ring.Open();
      const BasebandSubmission right = Encode(&ring);
      for (;;) {
        for (int k = 0; k < 8; ++k) ring.Submit(right);
        for (int k = 0; k < 8; ++k) (void)ring.Next();
      }
    }
    absl::SleepFor(absl::Microseconds(random() % 20'000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  EXPECT_TRUE(WaitUntilNothingIsShared());
  EXPECT_TRUE(server_->WaitForMetric("baseband_rings", {}, 0));
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
  ExpectThatOthersAreServed();
}

}  // namespace
}  // namespace baseband::testing
