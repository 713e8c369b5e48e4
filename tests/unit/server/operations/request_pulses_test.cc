// Requests of many pulses of their own: what is wrong with them is found before pulses are made,
// and what one client asks for pushes out nothing of another's.
#include "server/operations/recover_carrier/request_pulses.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/operations/operations.h"
#include "tests/support/convert_request.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_operations.h"
#include "tests/support/timing_frames.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

constexpr int kFrameSamples = 300;

// Group g has a roll-off of its own, from `rolloff` on.
v1::RecoverCarrierRequest RootRaisedCosines(int count, double rolloff, int samples_per_symbol) {
  v1::RecoverCarrierRequest request;
  for (int g = 0; g < count; ++g) {
    v1::CarrierGroup& group = *request.add_groups();
    group.mutable_constellation()->set_name("BPSK");
    group.set_count(1);
    group.set_frame_samples(kFrameSamples);
    v1::SymbolTiming& timing = *group.mutable_timing();
    timing.set_samples_per_symbol_numerator(static_cast<uint32_t>(samples_per_symbol));
    timing.set_roll_off(rolloff + 1e-7 * g);
  }
  request.set_payload(std::string(static_cast<size_t>(8 * kFrameSamples * count), '\0'));
  return request;
}

// The same pulses as taps; `reach` symbols.
v1::RecoverCarrierRequest Taps(int count, int reach) {
  v1::RecoverCarrierRequest request = RootRaisedCosines(count, 0.35, 2);
  const auto taps = testing::WindowedTaps(0.3, 2, reach);
  for (v1::CarrierGroup& group : *request.mutable_groups()) {
    v1::SymbolTiming& timing = *group.mutable_timing();
    timing.set_taps_per_symbol(static_cast<uint32_t>(taps->per_symbol));
    timing.mutable_taps()->Add(taps->values.begin(), taps->values.end());
  }
  return request;
}

class RequestPulsesTest : public ::testing::Test {
 protected:
  // A right request, or one that is not: how it ends, and how often it asks whether to go on.
  struct Outcome {
    absl::Status status;
    int asked = 0;
  };
  Outcome Send(const v1::RecoverCarrierRequest& message, const char* client = "a") {
    Request request = RequestOf(message);
    request.client = client;
    Outcome outcome;
    auto conversion = operation_->Convert(request, limits_);
    outcome.status = conversion.status();
    if (!conversion.ok() || conversion->job != nullptr) return outcome;
    outcome.status = conversion->preparation
                         ->Finish([&outcome] {
                           ++outcome.asked;
                           return absl::OkStatus();
                         })
                         .status();
    return outcome;
  }
  // Whether all that it needs is there.
  bool IsKnown(const v1::RecoverCarrierRequest& message, const char* client) {
    Request request = RequestOf(message);
    request.client = client;
    auto conversion = operation_->Convert(request, limits_);
    EXPECT_THAT(conversion.status(), IsOk());
    return conversion.ok() && conversion->job != nullptr;
  }

  RequestPulsesTest() { limits_.max_blocks_per_request = 1 << 20; }

  RequestLimits limits_;
  const OperationTable operations_ = MakeOperations();
  Operation* const operation_ = operations_.Find("RecoverCarrier");
};

// To check is a question a pulse; to make one takes several.
TEST_F(RequestPulsesTest, TapsThatAreNoPulseAreFoundBeforeAnyPulseIsMade) {
  constexpr int kCount = 200;
  v1::RecoverCarrierRequest request = Taps(kCount, 20);
  const Outcome right = Send(request);
  ASSERT_THAT(right.status, IsOk());
  EXPECT_GE(right.asked, 3 * kCount);

  request = Taps(kCount, 21);
  request.mutable_groups(kCount - 1)->mutable_timing()->set_roll_off(0.05);
  const Outcome wrong = Send(request);
  EXPECT_THAT(wrong.status, StatusIs(kInvalid, MatchesRegex("groups.199..timing.taps have .* of "
                                                            "their energy beyond.*")));
  EXPECT_LE(wrong.asked, kCount);
}

// As many as a request may have, none of which is designed: known at once by their roll-offs.
TEST_F(RequestPulsesTest, PulsesThatTakeMoreThanThereMayBeAreRefusedAtOnce) {
  Request request = RequestOf(RootRaisedCosines(4096, 0.05, 2));
  EXPECT_THAT(operation_->Convert(request, limits_).status(),
              StatusIs(kInvalid, MatchesRegex("groups.[0-9]+..timing: the pulses of the request "
                                              "take [0-9]+ bytes, more than 67108864: divide it, "
                                              "or ask for less")));
}

// And what only their taps tell, once all are laid out.
TEST_F(RequestPulsesTest, PulsesOfTapsThatTakeMoreThanThereMayBeAreRefusedBeforeOneIsMade) {
  constexpr int kCount = 1500;
  ASSERT_THAT(Send(Taps(1, 5)).status, IsOk());  // what is not there then is pulses
  v1::RecoverCarrierRequest request = Taps(kCount, 63);
  const Outcome outcome = Send(request);
  EXPECT_THAT(outcome.status, StatusIs(kInvalid, HasSubstr("the pulses of the request take")));
  EXPECT_FALSE(IsKnown(Taps(1, 63), "a"));
}

// Of one pulse, however many groups have it, there is one.
TEST_F(RequestPulsesTest, GroupsOfOnePulseCountItOnce) {
  v1::RecoverCarrierRequest request = RootRaisedCosines(4096, 0.05, 2);
  for (v1::CarrierGroup& group : *request.mutable_groups()) {
    group.mutable_timing()->set_roll_off(0.05);
  }
  EXPECT_THAT(Send(request).status, IsOk());
  EXPECT_TRUE(IsKnown(request, "a"));
}

TEST_F(RequestPulsesTest, WhoAsksForManyPushesOutNobodyElses) {
  const v1::RecoverCarrierRequest other = RootRaisedCosines(3, 0.35, 4);
  ASSERT_THAT(Send(other, "b").status, IsOk());
  const v1::RecoverCarrierRequest first = RootRaisedCosines(300, 0.05, 2);
  ASSERT_THAT(Send(first, "a").status, IsOk());
  ASSERT_THAT(Send(RootRaisedCosines(300, 0.051, 2), "a").status, IsOk());
  EXPECT_FALSE(IsKnown(first, "a"));  // there is no room for both
  EXPECT_TRUE(IsKnown(other, "b"));
}

}  // namespace
}  // namespace baseband::server
