// The trace is what Perfetto opens: its form by protobuf's JSON parser, its slices by their
// invariants.
#include "client/ctl/operate/flight_trace.h"

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"

namespace baseband::ctl {
namespace {

using google::protobuf::Struct;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kStart = 1700000000000000000;

// An event of the trace; its members checked for their types.
struct Event {
  explicit Event(const google::protobuf::Value& value) {
    const auto& fields = value.struct_value().fields();
    name = fields.at("name").string_value();
    phase = fields.at("ph").string_value();
    pid = fields.at("pid").number_value();
    tid = fields.at("tid").number_value();
    if (phase == "X") {
      ts = fields.at("ts").number_value();
      dur = fields.at("dur").number_value();
    }
    if (fields.count("args") > 0) args = fields.at("args").struct_value();
  }
  double end() const { return ts + dur; }
  std::string name, phase;
  double pid = 0, tid = 0, ts = -1, dur = -1;
  Struct args;
};

std::vector<Event> Parse(const v1::GetFlightRecordsResponse& records) {
  Struct trace;
  const auto status = google::protobuf::util::JsonStringToMessage(ToTrace(records), &trace);
  EXPECT_TRUE(status.ok()) << status.ToString();
  std::vector<Event> events;
  for (const auto& value : trace.fields().at("traceEvents").list_value().values()) {
    events.emplace_back(value);
  }
  return events;
}

// In order, none negative, on each track apart or nested, and each track named.
void CheckInvariants(const std::vector<Event>& events) {
  constexpr double kUs = 1e-3;  // the parser's doubles
  std::map<std::pair<double, double>, std::vector<const Event*>> open;
  std::map<std::pair<double, double>, std::string> names;
  double last = 0;
  for (const Event& event : events) {
    if (event.phase == "M") {
      if (event.name == "thread_name") {
        names[{event.pid, event.tid}] = event.args.fields().at("name").string_value();
      }
      continue;
    }
    ASSERT_EQ(event.phase, "X");
    EXPECT_GE(event.ts, last) << event.name;
    EXPECT_GE(event.dur, 0) << event.name;
    last = event.ts;
    EXPECT_NE((names[{event.pid, event.tid}]), "") << event.name;
    std::vector<const Event*>& stack = open[{event.pid, event.tid}];
    while (!stack.empty() && stack.back()->end() <= event.ts + kUs &&
           event.end() > stack.back()->end() + kUs) {
      stack.pop_back();
    }
    if (!stack.empty()) {
      EXPECT_LE(event.end(), stack.back()->end() + kUs)
          << event.name << " leaves " << stack.back()->name;
    }
    stack.push_back(&event);
  }
}

v1::FlightRecord Whole() {
  v1::FlightRecord record;
  record.set_reason(v1::FlightRecord::SLOW);
  record.set_rpc("Decode");
  record.set_client("bbu-7 \"quoted\"");
  record.set_priority("high");
  record.set_request_id("id-1");
  record.set_code("OK");
  record.set_arrived_ns(kStart);
  record.set_received_ns(kStart);
  record.set_submitted_ns(kStart + 10'000);
  record.set_started_ns(kStart + 30'000);
  record.set_ended_ns(kStart + 100'000);
  record.set_answered_ns(kStart + 110'000);
  record.set_finished_ns(kStart + 150'500);
  record.set_deadline_ns(kStart + 500'000);
  record.set_device("cuda:0");
  record.set_lane(2);
  record.set_batch_blocks(40);
  record.set_batch_requests(5);
  record.set_copy_in_ns(5'000);
  record.set_h2d_ns(15'000);
  record.set_kernel_ns(40'000);
  record.set_d2h_ns(9'000);
  return record;
}

TEST(FlightTraceTest, ARequestsStagesNestInItAndItsBatchIsOnItsLane) {
  v1::GetFlightRecordsResponse records;
  *records.add_records() = Whole();
  const std::vector<Event> events = Parse(records);
  CheckInvariants(events);
  std::map<std::string, std::pair<double, double>> slices;
  for (const Event& event : events) {
    if (event.phase == "X" && event.pid == 1) slices[event.name] = {event.ts, event.dur};
  }
  const std::map<std::string, std::pair<double, double>> expected = {
      {"Decode", {0, 150.5}},      {"receive", {0, 10}}, {"queue", {10, 20}},
      {"cuda:0 lane 2", {30, 70}}, {"copy in", {30, 5}}, {"h2d", {35, 15}},
      {"kernel", {50, 40}},        {"d2h", {90, 9}},     {"reply", {110, 40.5}}};
  EXPECT_EQ(slices, expected);
  int on_lane = 0;
  for (const Event& event : events) {
    on_lane += event.phase == "X" && event.pid == 2;
    if (event.name == "Decode") {
      EXPECT_EQ(event.args.fields().at("client").string_value(), "bbu-7 \"quoted\"");
      EXPECT_EQ(event.args.fields().at("request_id").string_value(), "id-1");
      EXPECT_EQ(event.args.fields().at("deadline_us").number_value(), 500);
    }
  }
  EXPECT_EQ(on_lane, 5) << "the batch and its four stages";
}

TEST(FlightTraceTest, RequestsOfOneBatchShowItOnce) {
  v1::GetFlightRecordsResponse records;
  for (int i = 0; i < 3; ++i) *records.add_records() = Whole();
  const std::vector<Event> events = Parse(records);
  CheckInvariants(events);
  std::vector<std::string> tracks;
  int batches = 0;
  for (const Event& event : events) {
    batches += event.name == "Decode batch";
    if (event.name == "thread_name") {
      tracks.push_back(event.args.fields().at("name").string_value());
    }
  }
  EXPECT_EQ(batches, 1);
  const std::string client = "bbu-7 \"quoted\" Decode";
  EXPECT_THAT(tracks, ElementsAre(client, client, client, "cuda:0 lane 2"));
}

TEST(FlightTraceTest, WhatNeverCameIsNotDrawn) {
  v1::GetFlightRecordsResponse records;
  v1::FlightRecord& refused = *records.add_records();
  refused.set_rpc("Encode");
  refused.set_reason(v1::FlightRecord::FAILED);
  refused.set_arrived_ns(kStart);
  refused.set_answered_ns(kStart + 1000);
  refused.set_finished_ns(kStart + 2000);
  refused.set_message("no device is healthy");
  const std::vector<Event> events = Parse(records);
  CheckInvariants(events);
  std::vector<std::string> names;
  for (const Event& event : events) {
    if (event.phase == "X") names.push_back(event.name);
  }
  EXPECT_THAT(names, ElementsAre("Encode", "reply"));
  EXPECT_TRUE(Parse({}).size() == 2) << "nothing but the processes' names";
}

// Moments in any order, as when the host's clock is set, overlaps and all.
TEST(FlightTraceTest, InvariantsHoldForWhateverMoments) {
  std::mt19937 random(4);
  for (int round = 0; round < 50; ++round) {
    v1::GetFlightRecordsResponse records;
    for (int i = 0; i < 20; ++i) {
      v1::FlightRecord& record = *records.add_records();
      record.set_rpc(random() % 2 == 0 ? "Encode" : "Decode");
      record.set_client(random() % 2 == 0 ? "a" : "b");
      const auto moment = [&] {
        return random() % 8 == 0 ? 0 : kStart + static_cast<int64_t>(random() % 1000000);
      };
      record.set_arrived_ns(kStart + static_cast<int64_t>(random() % 1000000));
      record.set_received_ns(moment());
      record.set_submitted_ns(moment());
      record.set_started_ns(moment());
      record.set_ended_ns(moment());
      record.set_answered_ns(moment());
      record.set_finished_ns(moment());
      if (random() % 4 != 0) record.set_device(random() % 2 == 0 ? "cpu" : "cuda:0");
      record.set_lane(random() % 2);
      record.set_kernel_ns(random() % 500000);
      record.set_d2h_ns(random() % 500000);
    }
    CheckInvariants(Parse(records));
  }
}

TEST(FlightTableTest, ALineARecordWithItsStages) {
  v1::GetFlightRecordsResponse records;
  *records.add_records() = Whole();
  EXPECT_THAT(ToTable(records),
              AllOf(HasSubstr("2023-11-14 22:13:20.000"), HasSubstr("id-1"), HasSubstr("SLOW"),
                    HasSubstr("cuda:0 2"), HasSubstr("  40 us  9 us  40.5 us  ")));
}

}  // namespace
}  // namespace baseband::ctl
