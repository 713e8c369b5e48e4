// Rings in memory that the real server shares: that answers are the same as those of calls, to the
// bit, and that of many requests in flight each has its one answer.
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cpp/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/ring_requests.h"
#include "tests/support/carrier_traffic.h"
#include "tests/support/downconvert_traffic.h"
#include "tests/support/raw_ring.h"
#include "tests/support/shared_channel_traffic.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

TEST_F(RingTest, EveryOperationAnswersAsACallToTheBit) {
  Serve();
  const std::unique_ptr<client::Client> plain = NewClient();
  RawRing ring(socket_);
  ring.Open();
  EXPECT_EQ(server_->Metric("baseband_rings"), 1);
  std::mt19937 random(17);
  for (int i = 0; i < 5; ++i) {
    const v1::EncodeRequest encode = RandomEncode(&random);
    const auto words = plain->Encode(encode);
    EXPECT_TRUE(EssenceBy<v1::EncodeResponse>(&ring, encode) == Essence(words));
    const v1::DecodeRequest decode = DecodeOf(encode, *words);
    EXPECT_TRUE(EssenceBy<v1::DecodeResponse>(&ring, decode) == Essence(plain->Decode(decode)));
    const v1::EncodeSharedChannelRequest slot = RandomSlot(&random);
    const auto bits = plain->EncodeSharedChannel(slot);
    EXPECT_TRUE(EssenceBy<v1::EncodeSharedChannelResponse>(&ring, slot) == Essence(bits));
    const v1::DecodeSharedChannelRequest received = DecodeOf(slot, *bits);
    EXPECT_TRUE(EssenceBy<v1::DecodeSharedChannelResponse>(&ring, received) ==
                Essence(plain->DecodeSharedChannel(received)));
  }
  v1::RecoverCarrierRequest frames = RandomCarriers(&random).message;
  for (v1::CarrierGroup& group : *frames.mutable_groups()) group.set_corrected(true);
  EXPECT_TRUE(EssenceBy<v1::RecoverCarrierResponse>(&ring, frames) ==
              Essence(plain->RecoverCarrier(frames)));
  v1::DownconvertRequest wideband;
  *wideband.mutable_setup() = ChannelsOf(3, 64, 8);
  wideband.set_first_sample(0);
  wideband.set_payload(WidebandSignal(20'000, 1));
  EXPECT_TRUE(EssenceBy<v1::DownconvertResponse>(&ring, wideband) ==
              Essence(plain->Downconvert(wideband)));
  EXPECT_GT(server_->Metric("baseband_shared_memory_bytes_total", {"direction=\"in\""}), 80'000);
}

TEST_F(RingTest, ARegisteredJobIsNamedByItsNumber) {
  Serve();
  const std::unique_ptr<client::Client> plain = NewClient();
  RawRing ring(socket_);
  ring.Open();
  std::mt19937 random(3);
  std::map<uint32_t, v1::EncodeRequest> encodes;
  for (int i = 0; i < 4; ++i) {
    const v1::EncodeRequest request = RandomEncode(&random);
    BasebandSubmission submission = Put(&ring, request);
    submission.kind = BASEBAND_RING_REGISTER;
    submission.id = 77;
    const BasebandCompletion registered = ring.Do(submission);
    ASSERT_EQ(registered.code, kOk) << ring.Text(registered);
    EXPECT_EQ(registered.id, 77U);
    EXPECT_GT(registered.value, 0U);
    EXPECT_TRUE(encodes.emplace(registered.value, request).second) << "a number of its own";
  }
  const auto run = [&ring](uint32_t job, const auto& request) {
    BasebandSubmission submission = Put(&ring, request);
    submission.header_bytes = 0;
    submission.operation = 0;
    submission.job = job;
    return submission;
  };
  for (int round = 0; round < 3; ++round) {
    for (const auto& [job, request] : encodes) {
      EXPECT_TRUE(Essence(Read<v1::EncodeResponse>(ring, ring.Do(run(job, request)))) ==
                  Essence(plain->Encode(request)));
    }
  }
  // A filter takes long to make, and a described channel is no job that can be copied.
  v1::DownconvertRequest wideband;
  *wideband.mutable_setup() = ChannelsOf(3, 64, 8);
  wideband.set_payload(WidebandSignal(20'000, 1));
  BasebandSubmission filters = Put(&ring, wideband);
  filters.kind = BASEBAND_RING_REGISTER;
  const BasebandCompletion made = ring.Do(filters);
  ASSERT_EQ(made.code, kOk) << ring.Text(made);
  EXPECT_TRUE(Essence(Read<v1::DownconvertResponse>(
                  ring, ring.Do(run(static_cast<uint32_t>(made.value), wideband)))) ==
              Essence(plain->Downconvert(wideband)));

  const uint32_t job = encodes.begin()->first;
  const v1::EncodeRequest& request = encodes.begin()->second;
  BasebandSubmission other = run(job, request);
  other.payload_bytes -= 1;
  BasebandCompletion refused = ring.Do(other);
  EXPECT_EQ(refused.code, kInvalidArgument);
  EXPECT_EQ(ring.Text(refused),
            absl::StrCat("payload_bytes ", other.payload_bytes, " is not that of job ", job, ", ",
                         other.payload_bytes + 1));
  other = run(job, request);
  other.header_bytes = 8;
  EXPECT_THAT(ring.Text(ring.Do(other)), HasSubstr("header_bytes 8 is not 0"));

  BasebandSubmission forget{};
  forget.kind = BASEBAND_RING_FORGET;
  forget.job = job;
  EXPECT_EQ(ring.Do(forget).code, kOk);
  EXPECT_EQ(ring.Do(forget).code, kNotFound);
  EXPECT_EQ(ring.Do(run(job, request)).code, kNotFound);
  EXPECT_EQ(ring.Do(run(encodes.rbegin()->first, encodes.rbegin()->second)).code, kOk);
}

TEST_F(RingTest, WhatCannotBeMadeIsNotRegistered) {
  Serve();
  RawRing ring(socket_);
  ring.Open();
  v1::EncodeRequest request = EncodeOf(NrCode(1, 384), 1);
  request.mutable_groups(0)->mutable_code()->mutable_nr()->set_zc(383);
  BasebandSubmission submission = Put(&ring, request);
  submission.kind = BASEBAND_RING_REGISTER;
  const BasebandCompletion refused = ring.Do(submission);
  EXPECT_EQ(refused.code, kInvalidArgument);
  EXPECT_THAT(ring.Text(refused), HasSubstr("zc 383"));
}

TEST_F(RingTest, ManyAreInFlightAndEachIsAnsweredOnce) {
  Serve();
  constexpr uint32_t kEntries = 8;
  constexpr int kRequests = 2000;
  RawRing ring(socket_, kEntries);
  ring.Open();
  const v1::EncodeRequest encode = EncodeOf(NrCode(2, 16), 1);
  const std::string expected = EssenceBy<v1::EncodeResponse>(&ring, encode);
  constexpr uint64_t kRoom = 8192;
  std::map<uint64_t, uint64_t> in_flight;  // by id: where it lies
  std::set<uint64_t> places;
  for (uint32_t i = 0; i < kEntries; ++i) places.insert(ring.free_offset() + 2 * i * kRoom);
  for (int sent = 0, answered = 0; answered < kRequests;) {
    while (sent < kRequests && !places.empty()) {
      const uint64_t place = *places.begin();
      places.erase(places.begin());
      BasebandSubmission submission = Put(&ring, place, kRoom, encode);
      submission.id = static_cast<uint64_t>(sent++);
      in_flight[submission.id] = place;
      ring.Submit(submission);
    }
    const absl::optional<BasebandCompletion> completion = ring.Next();
    ASSERT_TRUE(completion.has_value());
    ASSERT_EQ(in_flight.count(completion->id), 1U) << "answered twice, or never sent";
    ASSERT_TRUE(Essence(Read<v1::EncodeResponse>(ring, *completion)) == expected);
    places.insert(in_flight[completion->id]);
    in_flight.erase(completion->id);
    ++answered;
    // Now and then both sides sleep.
    if (answered % 500 == 0) absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_FALSE(ring.Next(absl::Milliseconds(20)).has_value()) << "one too many";
}

// Which of them the server takes as one job is chance.
TEST_F(RingTest, SmallOnesThatComeTogetherAreAnsweredAsEachAlone) {
  Serve();
  const std::unique_ptr<client::Client> plain = NewClient();
  constexpr uint32_t kEntries = 256;
  constexpr uint64_t kRoom = 16 << 10;
  RawRing ring(socket_, kEntries);
  ring.Open();
  std::mt19937 random(11);
  const auto bytes = [&random](size_t count) {
    std::string text(count, 0);
    for (char& byte : text) byte = static_cast<char>(random());
    return text;
  };
  v1::EncodeRequest encode = EncodeOf(NrCode(2, 16), 2, 3);
  *encode.add_groups() = EncodeOf(NrCode(1, 7), 1).groups(0);
  encode.mutable_groups(1)->set_output(v1::ENCODE_OUTPUT_FULL_CODEWORD);
  encode.set_payload(bytes(2 * 20 + 20));
  v1::DecodeRequest decode = DecodeOfZeros(NrCode(2, 8), 3);
  decode.mutable_groups(0)->set_soft_output(true);
  const size_t llrs = decode.payload().size();
  const auto number = [&ring](BasebandSubmission submission) {
    submission.kind = BASEBAND_RING_REGISTER;
    const BasebandCompletion registered = ring.Do(submission);
    EXPECT_EQ(registered.code, kOk) << ring.Text(registered);
    return static_cast<uint32_t>(registered.value);
  };
  const uint32_t encoder = number(Put(&ring, ring.free_offset(), kRoom, encode));
  const uint32_t decoder = number(Put(&ring, ring.free_offset(), kRoom, decode));

  std::vector<BasebandSubmission> submissions;
  std::vector<std::string> expected;
  const auto add = [&](uint32_t job, const auto& request, const std::string& essence) {
    BasebandSubmission submission =
        Put(&ring, ring.free_offset() + submissions.size() * kRoom, kRoom / 2, request);
    submission.header_bytes = 0;
    submission.operation = 0;
    submission.job = job;
    submission.id = submissions.size();
    submissions.push_back(submission);
    expected.push_back(essence);
  };
  while (submissions.size() < 200) {
    const bool encodes = random() % 2 == 0;
    for (auto run = random() % 12; run > 0 && submissions.size() < 200; --run) {
      if (encodes) {
        encode.set_payload(bytes(encode.payload().size()));
        add(encoder, encode, Essence(plain->Encode(encode)));
      } else {
        decode.set_payload(bytes(llrs));
        add(decoder, decode, Essence(plain->Decode(decode)));
      }
    }
  }
  for (int round = 0; round < 5; ++round) {
    ring.Submit(submissions);
    std::set<uint64_t> ids;
    while (ids.size() < submissions.size()) {
      const absl::optional<BasebandCompletion> completion = ring.Next();
      ASSERT_TRUE(completion.has_value());
      ASSERT_TRUE(ids.insert(completion->id).second) << "answered twice";
      const std::string essence = submissions[completion->id].job == encoder
                                      ? Essence(Read<v1::EncodeResponse>(ring, *completion))
                                      : Essence(Read<v1::DecodeResponse>(ring, *completion));
      ASSERT_TRUE(essence == expected[completion->id]) << completion->id;
    }
  }
}

// Each job fills the ring, and lasts longer than the server looks on for: it goes to sleep with a
// full ring, and a completion may come at any moment of that.
TEST_F(RingTest, AFullRingIsNotForgotten) {
  Serve({"--ring-spin=0us"});
  RawRing ring(socket_, /*entries=*/1);
  ring.Open();
  const BasebandSubmission submission = Put(&ring, EncodeOf(NrCode(2, 16), 1));
  for (int i = 0; i < 20'000; ++i) ASSERT_EQ(ring.Do(submission).code, kOk) << i;
}

TEST_F(RingTest, CallbacksThatSendTheNextCallSurviveTheEndOfTheirRing) {
  Serve();
  std::unique_ptr<client::Client> client = NewClient();
  ASSERT_THAT(client->OpenRing(), IsOk());
  std::atomic<bool> goes_on{true};
  std::atomic<int> wrong{0};
  std::atomic<int> answered{0};
  std::function<void()> send = [&, calls = client.get()] {
    calls->Encode(EncodeOf(NrCode(2, 16), 1), client::CallOptions(),
                  [&](const absl::StatusOr<v1::EncodeResponse>& response) {
                    wrong += response.ok() || !goes_on.load() ? 0 : 1;
                    ++answered;
                    if (goes_on.load()) send();
                  });
  };
  for (int i = 0; i < 8; ++i) send();
  for (int i = 0; i < 5; ++i) {
    const int before = answered.load();
    while (answered.load() < before + 100) absl::SleepFor(absl::Milliseconds(1));
    EXPECT_THAT(client->OpenRing(), IsOk());
  }
  goes_on.store(false);
  client.reset();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(RingTest, ThreadsAndSpinsAreChosen) {
  for (const char* const spin : {"--ring-spin=0us", "--ring-spin=100ms"}) {
    Serve({"--ring-threads=2", spin});
    RawRing first(socket_, 1);
    RawRing second(socket_, 1);
    first.Open();
    second.Open();
    for (int i = 0; i < 50; ++i) {
      for (RawRing* ring : {&first, &second}) {
        EXPECT_EQ(ring->Do(Put(ring, EncodeOf(NrCode(2, 16), 1))).code, kOk);
      }
      if (i % 10 == 0) absl::SleepFor(absl::Milliseconds(3));
    }
    server_ = nullptr;
  }
}

}  // namespace
}  // namespace baseband::testing
