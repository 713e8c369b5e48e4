// Which requests are recorded, and which stay.
#include "server/calls/flight_recorder.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

using Code = absl::StatusCode;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const absl::Time kStart = absl::FromUnixSeconds(6000);  // a minute begins

FlightEnd End(Code code, absl::Time arrived, absl::Duration took,
              Rpc rpc = TestOperation("Decode").rpc()) {
  FlightEnd end;
  end.rpc = rpc;
  end.code = code;
  end.arrived = arrived;
  end.finished = arrived + took;
  return end;
}

// Offers a request as calls do.
void Offer(FlightRecorder& recorder, const FlightEnd& end, const std::string& id = "") {
  const absl::optional<FlightReason> reason = recorder.Wants(end);
  if (!reason.has_value()) return;
  FlightRecord record;
  record.end = end;
  record.reason = *reason;
  record.request_id = id;
  recorder.Add(std::move(record));
}

std::vector<std::string> Ids(const FlightRecorder& recorder) {
  std::vector<std::string> ids;
  for (const FlightRecord& record : recorder.Records()) ids.push_back(record.request_id);
  return ids;
}

TEST(FlightRecorderTest, TheServersFailuresAndMissedDeadlinesAreWantedByReason) {
  const FlightRecorder recorder(absl::Hours(1));
  const auto wants = [&](Code code) {
    return recorder.Wants(End(code, kStart, absl::Milliseconds(1)));
  };
  for (const Code code :
       {Code::kUnavailable, Code::kInternal, Code::kUnknown, Code::kAborted, Code::kDataLoss}) {
    EXPECT_EQ(wants(code), FlightReason::kFailed) << absl::StatusCodeToString(code);
  }
  EXPECT_EQ(wants(Code::kDeadlineExceeded), FlightReason::kLate);
  for (const Code code : {Code::kOk, Code::kCancelled, Code::kInvalidArgument, Code::kNotFound,
                          Code::kResourceExhausted, Code::kUnauthenticated, Code::kPermissionDenied,
                          Code::kFailedPrecondition}) {
    EXPECT_EQ(wants(code), absl::nullopt) << absl::StatusCodeToString(code);
  }
  for (const Code code : {Code::kOk, Code::kCancelled}) {
    FlightEnd late = End(code, kStart, absl::Milliseconds(2));
    late.deadline = kStart + absl::Milliseconds(2);
    EXPECT_EQ(recorder.Wants(late), FlightReason::kLate) << absl::StatusCodeToString(code);
    late.deadline += absl::Nanoseconds(1);
    EXPECT_EQ(recorder.Wants(late), absl::nullopt) << absl::StatusCodeToString(code);
  }
}

TEST(FlightRecorderTest, TheLastOnesStay) {
  FlightRecorder recorder(absl::ZeroDuration());
  for (size_t i = 0; i < FlightRecorder::kMaxRecords + 3; ++i) {
    Offer(recorder, End(Code::kInternal, kStart + absl::Seconds(i), absl::Seconds(1)),
          std::to_string(i));
  }
  const std::vector<std::string> ids = Ids(recorder);
  ASSERT_EQ(ids.size(), FlightRecorder::kMaxRecords);
  EXPECT_EQ(ids.front(), "3");
  EXPECT_EQ(ids.back(), std::to_string(FlightRecorder::kMaxRecords + 2));
}

TEST(FlightRecorderTest, WithALimitWhatTakesLongerIsSlow) {
  FlightRecorder recorder(absl::Milliseconds(10));
  Offer(recorder, End(Code::kOk, kStart, absl::Milliseconds(10)), "in time");
  Offer(recorder, End(Code::kOk, kStart, absl::Milliseconds(11)), "slow");
  EXPECT_THAT(Ids(recorder), ElementsAre("slow"));
  EXPECT_EQ(recorder.Records()[0].reason, FlightReason::kSlow);
}

TEST(FlightRecorderTest, WithoutALimitTheSlowestOfEachRpcAndMinuteAre) {
  FlightRecorder recorder(absl::ZeroDuration());
  // 1 to 100 ms in an order that mixes them; 37 is prime to 100.
  for (int i = 0; i < 100; ++i) {
    const int ms = i * 37 % 100 + 1;
    Offer(recorder, End(Code::kOk, kStart + absl::Milliseconds(i), absl::Milliseconds(ms)),
          std::to_string(ms));
  }
  EXPECT_THAT(Ids(recorder), ::testing::UnorderedElementsAre("97", "98", "99", "100"));
  Offer(recorder, End(Code::kOk, kStart, absl::Milliseconds(1), TestOperation("Encode").rpc()),
        "of another RPC");
  EXPECT_EQ(Ids(recorder).size(), 5U);
  const absl::Time next = kStart + absl::Minutes(1);
  Offer(recorder, End(Code::kOk, next, absl::Microseconds(1)), "of the next minute");
  EXPECT_EQ(Ids(recorder).size(), 6U);
  EXPECT_EQ(Ids(recorder).back(), "of the next minute");
}

TEST(FlightRecorderTest, MinutesAreForgottenAndFailuresPushNothingSlowOut) {
  FlightRecorder recorder(absl::ZeroDuration());
  for (size_t minute = 0; minute < FlightRecorder::kMinutes + 2; ++minute) {
    Offer(recorder, End(Code::kOk, kStart + absl::Minutes(minute), absl::Milliseconds(1)),
          std::to_string(minute));
  }
  EXPECT_EQ(Ids(recorder).size(), FlightRecorder::kMinutes);
  EXPECT_EQ(Ids(recorder).front(), "2");
  for (size_t i = 0; i < 2 * FlightRecorder::kMaxRecords; ++i) {
    Offer(recorder, End(Code::kInternal, kStart, absl::ZeroDuration()), "failed");
  }
  EXPECT_EQ(recorder.Records().size(), FlightRecorder::kMinutes + FlightRecorder::kMaxRecords);
}

TEST(FlightRecorderTest, RecordsComeByArrivalWhateverTheirReason) {
  FlightRecorder recorder(absl::ZeroDuration());
  EXPECT_THAT(Ids(recorder), IsEmpty());
  Offer(recorder, End(Code::kInternal, kStart + absl::Seconds(2), absl::Seconds(1)), "second");
  Offer(recorder, End(Code::kOk, kStart + absl::Seconds(3), absl::Seconds(1)), "third");
  Offer(recorder, End(Code::kDeadlineExceeded, kStart, absl::Seconds(9)), "first");
  EXPECT_THAT(Ids(recorder), ElementsAre("first", "second", "third"));
}

}  // namespace
}  // namespace baseband::server
