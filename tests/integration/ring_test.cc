// Rings in memory that the real server shares: that answers are the same as those of calls, to the
// bit, and that each request has its one answer whatever becomes of client and server.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <ctime>
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
#include "tests/support/carrier_traffic.h"
#include "tests/support/downconvert_traffic.h"
#include "tests/support/raw_ring.h"
#include "tests/support/shared_channel_traffic.h"
#include "tests/support/sharing_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

uint64_t MonotonicNs(absl::Duration from_now) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(
      absl::ToInt64Nanoseconds(absl::DurationFromTimespec(now) + from_now));
}

uint64_t Up(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

uint8_t OperationOf(const v1::EncodeRequest&) { return v1::SubmitRequest::kEncodeFieldNumber; }
uint8_t OperationOf(const v1::DecodeRequest&) { return v1::SubmitRequest::kDecodeFieldNumber; }
uint8_t OperationOf(const v1::EncodeSharedChannelRequest&) {
  return v1::SubmitRequest::kEncodeSharedChannelFieldNumber;
}
uint8_t OperationOf(const v1::DecodeSharedChannelRequest&) {
  return v1::SubmitRequest::kDecodeSharedChannelFieldNumber;
}
uint8_t OperationOf(const v1::RecoverCarrierRequest&) {
  return v1::SubmitRequest::kRecoverCarrierFieldNumber;
}
uint8_t OperationOf(const v1::DownconvertRequest&) {
  return v1::SubmitRequest::kDownconvertFieldNumber;
}

// A message by which an operation's answers are compared.
template <typename Message>
std::string Essence(absl::StatusOr<Message> message) {
  EXPECT_THAT(message, IsOk());
  if (!message.ok()) return "";
  message->clear_timing();
  return message->SerializeAsString();
}

// `request` from `offset` on in the ring's memory: its header, its payload, then `reply_bytes` of
// room.
template <typename Request>
BasebandSubmission Put(RawRing* ring, uint64_t offset, uint64_t reply_bytes, Request request) {
  BasebandSubmission submission{};
  const std::string payload = request.payload();
  request.clear_payload();
  const std::string header = request.SerializeAsString();
  submission.header_offset = offset;
  submission.header_bytes = static_cast<uint32_t>(header.size());
  submission.payload_offset = offset + Up(header.size());
  submission.payload_bytes = static_cast<uint32_t>(payload.size());
  submission.reply_offset = submission.payload_offset + Up(payload.size());
  submission.reply_bytes = static_cast<uint32_t>(reply_bytes);
  submission.operation = OperationOf(request);
  EXPECT_LE(submission.reply_offset + reply_bytes, ring->bytes());
  ring->Put(submission.header_offset, header);
  ring->Put(submission.payload_offset, payload);
  return submission;
}
template <typename Request>
BasebandSubmission Put(RawRing* ring, Request request) {
  return Put(ring, ring->free_offset(), 2 << 20, std::move(request));
}

// The response that a completion brings, as it would be from a call.
template <typename Response>
absl::StatusOr<Response> Read(const RawRing& ring, const BasebandCompletion& completion) {
  if (completion.code != kOk) {
    return absl::Status(static_cast<absl::StatusCode>(completion.code), ring.Text(completion));
  }
  Response response;
  EXPECT_TRUE(
      response.ParseFromString(ring.Get(completion.header_offset, completion.header_bytes)));
  bool is_first = true;
  for (const v1::PlacedField& placed : response.placed()) {
    const auto* const field =
        Response::descriptor()->FindFieldByNumber(static_cast<int>(placed.field()));
    Response::GetReflection()->SetString(&response, field,
                                         ring.Get(placed.offset(), placed.bytes()));
    if (is_first) {
      EXPECT_EQ(completion.payload_offset, placed.offset());
      EXPECT_EQ(completion.payload_bytes, placed.bytes());
    }
    is_first = false;
  }
  response.clear_placed();
  return response;
}

class RingTest : public SharingServerTest {
 protected:
  std::unique_ptr<client::Client> NewClient() const {
    client::ClientOptions options;
    options.target = server_->target();
    return *client::Client::Create(options);
  }
  bool WaitUntilNothingIsLeft() const {
    return WaitUntilNothingIsShared() && server_->WaitForMetric("baseband_rings", {}, 0) &&
           server_->WaitForMetric("baseband_requests_in_flight", {}, 0);
  }
  // That so many Decodes came, whether they are done or not.
  bool WaitUntilTaken(double decodes) const {
    const std::vector<std::string> decode = {"rpc=\"Decode\""};
    const absl::Time end = absl::Now() + absl::Seconds(60);
    while (server_->Metric("baseband_requests_in_flight", decode) +
               server_->Metric("baseband_requests_total", decode) <
           decodes) {
      if (absl::Now() > end) return false;
      absl::SleepFor(absl::Milliseconds(5));
    }
    return true;
  }
};

template <typename Response, typename Request>
std::string EssenceBy(RawRing* ring, const Request& request) {
  return Essence(Read<Response>(*ring, ring->Do(Put(ring, request))));
}

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

TEST_F(RingTest, WhatIsTooLateIsNotDone) {
  Serve();
  RawRing ring(socket_);
  ring.Open();
  BasebandSubmission submission = Put(&ring, EncodeOf(NrCode(1, 384), 1));
  submission.deadline_ns = MonotonicNs(-absl::Milliseconds(1));
  EXPECT_EQ(ring.Do(submission).code, kDeadlineExceeded);
  submission.deadline_ns = 1;
  EXPECT_EQ(ring.Do(submission).code, kDeadlineExceeded);
  submission.deadline_ns = MonotonicNs(absl::Seconds(60));
  EXPECT_EQ(ring.Do(submission).code, kOk);
  submission.deadline_ns = ~uint64_t{0};  // as a difference that became negative
  EXPECT_THAT(ring.Text(ring.Do(submission)),
              HasSubstr("deadline_ns 18446744073709551615 is not in [0, 9223372036854775807]"));
  EXPECT_EQ(server_->Metric("baseband_deadlines_total", {"outcome=\"met\""}), 1);
}

TEST_F(RingTest, WhoHasTooLittleRoomForTheAnswerIsToldHowMuchItTakes) {
  Serve();
  const std::unique_ptr<client::Client> plain = NewClient();
  RawRing ring(socket_);
  ring.Open();
  const v1::EncodeRequest request = EncodeOf(NrCode(1, 384), 3);
  BasebandSubmission submission = Put(&ring, request);
  submission.reply_bytes = 64;
  const BasebandCompletion refused = ring.Do(submission);
  EXPECT_EQ(refused.code, kOutOfRange);
  EXPECT_EQ(ring.Text(refused),
            absl::StrCat("reply_bytes 64 is less than the answer may take, ", refused.value));
  submission.reply_bytes = 0;
  EXPECT_EQ(ring.Do(submission).header_bytes, 0U);
  EXPECT_EQ(server_->Metric("baseband_batches_total"), 0) << "nothing was done";
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_unserved_total",
                                     {"rpc=\"Encode\"", "reason=\"reply_range\""}, 2));
  submission.reply_bytes = static_cast<uint32_t>(refused.value);
  EXPECT_TRUE(Essence(Read<v1::EncodeResponse>(ring, ring.Do(submission))) ==
              Essence(plain->Encode(request)));
}

TEST_F(RingTest, QuotasHoldAndSayWhenToComeBack) {
  Serve({"--client-requests=1", "--client-streams=2"});
  RawRing ring(socket_);
  ring.Open();
  v1::DecodeRequest decode = DecodeOfZeros(NrCode(1, 384), 40);
  decode.mutable_groups(0)->set_fixed_iterations(true);
  decode.mutable_groups(0)->set_max_iterations(50);
  const BasebandSubmission long_one = Put(&ring, ring.free_offset(), 1 << 20, decode);
  const BasebandSubmission short_one = Put(&ring, 6 << 20, 1 << 20, EncodeOf(NrCode(1, 384), 1));
  ring.Submit({long_one, short_one});
  int refused = 0;
  for (int i = 0; i < 2; ++i) {
    const absl::optional<BasebandCompletion> completion = ring.Next();
    ASSERT_TRUE(completion.has_value());
    if (completion->code == kOk) continue;
    ++refused;
    EXPECT_EQ(completion->code, kResourceExhausted);
    EXPECT_GT(completion->value, 0U) << "microseconds";
    EXPECT_THAT(ring.Text(*completion), HasSubstr("1 request"));
  }
  EXPECT_EQ(refused, 1);
  // A ring is a stream.
  RawRing second(socket_);
  second.Open();
  RawRing third(socket_);
  EXPECT_EQ(third.Ask().code, kResourceExhausted);
}

TEST_F(RingTest, WhatAClientLeavesBehindGoesOnceItIsDone) {
  Serve();
  for (int i = 0; i < 3; ++i) {
    RawRing ring(socket_);
    ring.Open();
    for (int k = 0; k < 4; ++k) {
      ring.Submit(Put(&ring, ring.free_offset(), 1 << 20, DecodeOfZeros(NrCode(1, 384), 40)));
    }
  }
  EXPECT_TRUE(WaitUntilNothingIsLeft());
  // Freed, with its ring in it, while requests are under way.
  RawRing ring(socket_);
  ring.Open();
  ring.Submit(Put(&ring, ring.free_offset(), 1 << 20, DecodeOfZeros(NrCode(1, 384), 40)));
  EXPECT_EQ(ring.regions().Free(ring.region()).code, kOk);
  EXPECT_TRUE(WaitUntilNothingIsLeft());
}

TEST_F(RingTest, ADrainAnswersEveryRequest) {
  Serve();
  constexpr uint64_t kBefore = 8;
  RawRing ring(socket_, /*entries=*/64);
  ring.Open();
  // Long enough that none is done before the drain begins.
  v1::DecodeRequest decode = DecodeOfZeros(NrCode(1, 384), 100);
  decode.mutable_groups(0)->set_fixed_iterations(true);
  decode.mutable_groups(0)->set_max_iterations(100);
  BasebandSubmission submission = Put(&ring, ring.free_offset(), 1 << 20, decode);
  for (submission.id = 0; submission.id < kBefore; ++submission.id) ring.Submit(submission);
  ASSERT_TRUE(WaitUntilTaken(kBefore));
  server_->process().Signal(SIGTERM);
  std::set<uint64_t> answered;
  int refused = 0;
  const auto take = [&] {
    const absl::optional<BasebandCompletion> completion = ring.Next();
    if (!completion.has_value()) return false;
    refused += completion->code == kUnavailable;
    EXPECT_TRUE(answered.insert(completion->id).second);
    if (completion->id < kBefore) {
      EXPECT_EQ(completion->code, kOk) << "was accepted before";
    } else {
      EXPECT_THAT(completion->code, ::testing::AnyOf(kOk, kUnavailable));
    }
    return true;
  };
  for (; refused < 4; ++submission.id) {
    ring.Submit(submission);
    ASSERT_TRUE(take()) << answered.size() << " of " << submission.id + 1 << " were answered";
  }
  while (answered.size() < submission.id) ASSERT_TRUE(take());
  EXPECT_EQ(server_->process().Wait(absl::Seconds(30)), 0);
  EXPECT_TRUE(ring.regions().Receive().is_over);
}

TEST_F(RingTest, WhatOutlastsADrainIsAnsweredAsCancelled) {
  Serve({"--drain=1s", "--queue-mib=1024"});
  constexpr uint32_t kRequests = 64;
  RawRing ring(socket_, kRequests);
  ring.Open();
  // Ten times what two threads do while it drains.
  v1::DecodeRequest decode = DecodeOfZeros(NrCode(1, 384), 200);
  decode.mutable_groups(0)->set_fixed_iterations(true);
  decode.mutable_groups(0)->set_max_iterations(100);
  BasebandSubmission submission = Put(&ring, ring.free_offset(), 1 << 20, decode);
  for (submission.id = 0; submission.id < kRequests; ++submission.id) ring.Submit(submission);
  ASSERT_TRUE(WaitUntilTaken(kRequests));
  server_->process().Signal(SIGTERM);
  std::set<uint64_t> answered;
  std::map<uint32_t, int> codes;
  while (answered.size() < kRequests) {
    const absl::optional<BasebandCompletion> completion = ring.Next();
    ASSERT_TRUE(completion.has_value()) << answered.size() << " were answered";
    EXPECT_TRUE(answered.insert(completion->id).second);
    ++codes[completion->code];
  }
  EXPECT_GE(codes[kCancelled], 1);
  EXPECT_EQ(codes[kOk] + codes[kCancelled], static_cast<int>(kRequests));
  EXPECT_EQ(server_->process().Wait(absl::Seconds(30)), 0);
  EXPECT_THAT(server_->process().Output(), HasSubstr("drained")) << "nothing had to be cut off";
  EXPECT_TRUE(ring.regions().Receive().is_over);
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
