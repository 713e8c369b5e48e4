#include "client/ctl/load/load_scenario.h"

#include <string>

#include "client/ctl/load/load_charts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::ctl {
namespace {

using testing::IsInvalid;
using testing::IsOk;
using testing::StatusIs;

TEST(LoadScenarioTest, AFileSaysTheMixAndItsPace) {
  TrafficSpec common;
  common.blocks = 3;
  common.code.wifi_rate = "1/2";
  const auto scenario = ParseScenario(R"({
    "cells": 4, "slot": "1ms", "jitter": "50us", "duration": "2s", "warmup": "500ms", "mix": [
      {"operation": "decode", "name": "uplink", "nr_bg": 2, "zc": 52, "deadline": "2ms",
       "priority": "high", "weight": 3, "harq": 0.25, "ebn0": 4.5, "iterations": 20},
      {"operation": "encode"},
      {"operation": "recover", "constellation": "16QAM", "frames": 2, "frame_symbols": "1k",
       "samples_per_symbol": 2.5, "roll_off": 0.3}]})",
                                      common);
  ASSERT_THAT(scenario, IsOk());
  const auto pace = ToPace(scenario->pace);
  ASSERT_THAT(pace, IsOk());
  EXPECT_EQ(pace->offered(), 4000);
  EXPECT_EQ(pace->jitter, absl::Microseconds(50));
  EXPECT_EQ(scenario->pace.duration, absl::Seconds(2));
  EXPECT_EQ(scenario->pace.warm_up, absl::Milliseconds(500));

  ASSERT_EQ(scenario->mix.size(), 3);
  const TrafficSpec& uplink = scenario->mix[0];
  EXPECT_EQ(uplink.name, "uplink");
  EXPECT_EQ(uplink.code.nr_bg, 2);
  EXPECT_EQ(uplink.code.wifi_rate, "") << "a code of its own replaces the common one";
  EXPECT_EQ(uplink.deadline, absl::Milliseconds(2));
  EXPECT_EQ(uplink.decode.iterations, 20);
  EXPECT_EQ(uplink.ebn0_db, 4.5);
  EXPECT_EQ(scenario->mix[1].operation, Operation::kEncode);
  EXPECT_EQ(scenario->mix[1].code.wifi_rate, "1/2");
  EXPECT_EQ(scenario->mix[1].blocks, 3);
  EXPECT_EQ(scenario->mix[2].blocks, 2);
  EXPECT_EQ(scenario->mix[2].frame_symbols, 1000);
  EXPECT_EQ(scenario->mix[2].samples_per_symbol, "2.5");
  EXPECT_EQ(scenario->mix[2].roll_off, 0.3);
}

TEST(LoadScenarioTest, SlotsOfTransportBlocksSayPrbsMcsAndLayers) {
  TrafficSpec common;
  common.mcs = 5;
  common.format.prbs = 11;
  const auto scenario = ParseScenario(R"({"cells": 1, "mix": [
      {"operation": "decode-shared-channel", "layers": 2, "snr": 12.5},
      {"operation": "encode-shared-channel", "qm": 6, "code_rate": 0.7, "prbs": 20}]})",
                                      common);
  ASSERT_THAT(scenario, IsOk());
  EXPECT_EQ(scenario->mix[0].mcs, 5);
  EXPECT_EQ(scenario->mix[0].format.layers, 2);
  EXPECT_EQ(scenario->mix[0].format.prbs, 11);
  EXPECT_EQ(scenario->mix[0].snr_db, 12.5);
  EXPECT_FALSE(scenario->mix[1].mcs.has_value()) << "a modulation of its own replaces the MCS";
  EXPECT_EQ(scenario->mix[1].format.qm, 6);
  EXPECT_EQ(scenario->mix[1].format.prbs, 20);
}

TEST(LoadScenarioTest, WhatIsWrongInAFileIsNamedByItsPlace) {
  const auto refusal = [](const std::string& text, const std::string& message) {
    EXPECT_THAT(ParseScenario(text, TrafficSpec()), IsInvalid(message)) << text;
  };
  const auto item = [](const std::string& keys) {
    return R"({"mix": [{"operation": "encode"}, {"operation": "decode", )" + keys + "}]}";
  };
  refusal("{\"mix\": [1,]}", "is not JSON: line 1, column 12: ");
  refusal(R"({"mix": []})", "is not a JSON object with a list \"mix\"");
  refusal(R"({"mix": [{"weight": 1}]})", "mix[0] is not an object with an \"operation\"");
  refusal(R"({"mix": [{"operation": "sing"}]})",
          "mix[0].operation: operation 'sing' is not one of");
  refusal(R"({"speed": 1, "mix": [{"operation": "encode"}]})",
          "the scenario: 'speed' is not one of");
  refusal(R"({"rate": "fast", "mix": [{"operation": "encode"}]})", "the scenario.rate: 'fast'");
  refusal(item(R"("blocks": 0)"), "mix[1]: blocks 0 is not in [1, 65536]");
  refusal(item(R"("blocks": 1.5)"), "mix[1].blocks: 1.5 is not a whole number");
  refusal(item(R"("colour": 1)"), "mix[1]: 'colour' is not one of operation, name");
  refusal(item(R"("deadline": "soon")"),
          "mix[1].deadline: 'soon' is not a duration, such as 500us");
  refusal(item(R"("deadline": "0s")"), "mix[1]: deadline is not > 0");
  refusal(item(R"("deadline": 5)"), "mix[1].deadline: 5: a duration needs a unit, as 5s or 5ms");
  refusal(item(R"("priority": "urgent")"), "mix[1]: priority 'urgent' is not one of high, normal");
  refusal(item(R"("weight": 0)"), "mix[1]: weight 0 is not > 0");
  refusal(item(R"("harq": 1.5)"), "mix[1]: harq 1.5 is not in [0, 1]");
  refusal(item(R"("harq": 0.1, "wifi": "1/2")"), "harq goes with decode of an NR code only");
  refusal(item(R"("nr_bg": 1, "zc": 17)"), "mix[1]: ");
  const auto shared = [](const std::string& keys) {
    return R"({"mix": [{"operation": "encode-shared-channel", )" + keys + "}]}";
  };
  refusal(shared(R"("mcs": 28)"), "mix[0]: mcs 28 is not in [0, 27] of MCS table 2");
  refusal(shared(R"("prbs": 276)"), "mix[0]: prbs 276 is not in [1, 275]");
  refusal(shared(R"("layers": 0)"), "mix[0]: layers 0 is not in [1, 4]");
  refusal(shared(R"("harq": 0.1)"),
          "mix[0].harq: goes with decode, decode-shared-channel, not with encode-shared-channel");
  refusal(item(R"("early_stop": "crc")"),
          "mix[1].early_stop: goes with decode-shared-channel, not with decode");
  const auto recover = [](const std::string& keys) {
    return R"({"mix": [{"operation": "recover", )" + keys + "}]}";
  };
  refusal(recover(R"("samples_per_symbol": 17)"),
          "mix[0]: samples_per_symbol 17 is not in [2, 16]");
  refusal(recover(R"("samples_per_symbol": true)"), "mix[0].samples_per_symbol: true");
  refusal(recover(R"("samples_per_symbol": 4, "roll_off": 0.01)"),
          "mix[0]: roll_off 0.01 is not in [0.05, 1]");
  refusal(recover(R"("roll_off": 0.2)"), "mix[0]: roll_off is of samples");
  refusal(shared(R"("prbs": 273, "blocks": 65536)"), "mix[0]: blocks 65536 is not in [1, ");
}

PaceSettings WithRate(double rate) {
  PaceSettings settings;
  settings.rate = rate;
  return settings;
}
PaceSettings WithCells(int cells) {
  PaceSettings settings;
  settings.cells = cells;
  settings.slot = absl::Milliseconds(1);
  return settings;
}

TEST(LoadScenarioTest, FlagsWinOverTheFileAndReplaceItsKindOfPace) {
  EXPECT_EQ(ToPace(Merge(WithRate(7), WithRate(9)))->rate, 7);
  EXPECT_EQ(ToPace(Merge(WithRate(7), WithCells(9)))->kind, load::Pace::Kind::kPoisson);
  EXPECT_EQ(ToPace(Merge(WithCells(9), WithRate(7)))->offered(), 9000);
  EXPECT_EQ(ToPace(Merge(PaceSettings(), WithCells(9)))->offered(), 9000);
  PaceSettings closed;
  closed.in_flight = 3;
  EXPECT_EQ(ToPace(Merge(closed, WithRate(7)))->kind, load::Pace::Kind::kClosed);
  EXPECT_EQ(ToPace(Merge(closed, WithCells(7)))->in_flight, 3);
  EXPECT_EQ(ToPace(PaceSettings())->kind, load::Pace::Kind::kClosed);
}

TEST(LoadScenarioTest, WhatDoesNotGoTogetherIsRefused) {
  PaceSettings both = WithRate(5);
  both.cells = 4;
  EXPECT_THAT(ToPace(both), StatusIs(absl::StatusCode::kInvalidArgument,
                                     "cells (--cells) and a rate (--rate) do not go together"));
  PaceSettings lone;
  lone.jitter = absl::Microseconds(1);
  EXPECT_THAT(ToPace(lone),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "slot and jitter (--slot, --jitter) go with cells (--cells) only"));
  for (PaceSettings open : {WithRate(5), WithCells(5)}) {
    open.in_flight = 7;
    EXPECT_THAT(
        ToPace(open),
        IsInvalid("in_flight (--in-flight) goes neither with a rate (--rate) nor with cells"));
  }
  PaceSettings odd = WithRate(5);
  odd.arrivals = "weibull";
  EXPECT_THAT(ToPace(odd), StatusIs(absl::StatusCode::kInvalidArgument,
                                    "arrivals 'weibull' is not one of poisson, constant"));
}

TEST(LoadChartsTest, AxesHoldTheirValuesAndHaveTicksToReadThemBy) {
  for (const double most : {1.0, 7.0, 999.0, 1000.0, 1001.0, 123456.0}) {
    const ChartAxis axis = LinearAxis("", most);
    EXPECT_GE(axis.high, most * (1 - 1e-9));
    EXPECT_LE(axis.high, most * 1.25);
    EXPECT_GE(axis.ticks.size(), 4);
  }
  for (const double least : {1e3, 5e4, 3e5, 2e7}) {
    for (const double ratio : {1.0, 3.0, 100.0, 1e5}) {
      const ChartAxis axis = TimeAxis(least, least * ratio);
      EXPECT_LE(axis.low, least);
      EXPECT_GE(axis.high, least * ratio);
      EXPECT_GE(axis.ticks.size(), 1) << least << " " << ratio;
    }
  }
}

}  // namespace
}  // namespace baseband::ctl
