// basebandctl load against the real server, and its report in a real browser.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/load/totals.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/ctl_test.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class BasebandctlLoadTest : public CtlTest {
 protected:
  static Outcome Load(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"load", "--duration=1s", "--warmup=200ms"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }
  // The JSON object that follows the lines of progress.
  static nlohmann::json Report(const Outcome& outcome) {
    const size_t begin = outcome.output.find("{\n");
    EXPECT_NE(begin, std::string::npos) << outcome.output;
    return nlohmann::json::parse(outcome.output.substr(begin == std::string::npos ? 0 : begin));
  }
};

class BasebandctlLoadOperationTest : public BasebandctlLoadTest,
                                     public ::testing::WithParamInterface<const char*> {};

TEST_P(BasebandctlLoadOperationTest, EveryAnswerIsRight) {
  std::vector<std::string> arguments = SmallRequests(GetParam());
  arguments.insert(arguments.end(), {GetParam(), "--in-flight=2", "--json"});
  const Outcome outcome = Load(arguments);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json report = Report(outcome);
  EXPECT_GT(report["outcomes"]["good"], 0);
  EXPECT_EQ(report["outcomes"]["good"], report["outcomes"]["due"]) << outcome.output;
  EXPECT_EQ(report["wrong_answers"]["count"], 0);
  EXPECT_EQ(report["wrong_answers"]["example"], "");
}

INSTANTIATE_TEST_SUITE_P(Operations, BasebandctlLoadOperationTest,
                         ::testing::Values("encode", "decode", "encode-shared-channel",
                                           "decode-shared-channel", "recover", "downconvert",
                                           "minimize"),
                         [](const auto& test) {
                           return absl::StrReplaceAll(test.param, {{"-", "_"}});
                         });

// Slots of cells, with the soft bits of first transmissions in some of them.
TEST_F(BasebandctlLoadTest, SlotsOfTransportBlocksGoThroughStreamsAndEveryAnswerIsRight) {
  WriteAll(Path("slots.json"), R"({"cells": 2, "slot": "50ms", "mix": [
      {"operation": "decode-shared-channel", "name": "uplink", "mcs": 20, "prbs": 10, "layers": 2,
       "blocks": 3, "harq": 0.3},
      {"operation": "decode-shared-channel", "mcs": 10, "prbs": 4, "input": "llr-int4",
       "blocks": 2, "harq": 0.3},
      {"operation": "decode-shared-channel", "mcs": 5, "prbs": 4, "input": "llr-int6", "blocks": 1},
      {"operation": "decode-shared-channel", "mcs": 5, "prbs": 4, "input": "llr-int8",
       "blocks": 1, "harq": 0.5},
      {"operation": "decode-shared-channel", "mcs": 5, "prbs": 4, "input": "int8", "blocks": 1},
      {"operation": "decode-shared-channel", "mcs": 5, "prbs": 4, "input": "float16",
       "blocks": 1, "harq": 0.5},
      {"operation": "decode-shared-channel", "mcs": 5, "prbs": 4, "input": "float32", "blocks": 1},
      {"operation": "encode-shared-channel", "qm": 4, "code_rate": 0.5, "prbs": 20, "blocks": 2,
       "tbs_lbrm": 20000}]})");
  const Outcome outcome = Load({"--scenario=" + Path("slots.json"), "--stream", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json report = Report(outcome);
  EXPECT_GT(report["outcomes"]["good"], 0);
  EXPECT_EQ(report["wrong_answers"]["count"], 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("uplink, 2nd transmission"));
  EXPECT_EQ(report["workloads"][0]["settings"]["input"], "int16");
  EXPECT_EQ(report["workloads"][2]["settings"]["input"], "llr-int4");
  for (const nlohmann::json& workload : report["workloads"]) {
    if (workload["settings"].contains("output")) continue;
    EXPECT_EQ(workload["settings"]["early_stop"], "parity");
    const bool is_taken_as_it_is = workload["settings"]["input"] == "llr-int8";
    EXPECT_EQ(workload["settings"].contains("llr_scale"), !is_taken_as_it_is);
    EXPECT_EQ(workload["settings"]["iterations"], 10);
  }
  EXPECT_EQ(report["shared_memory"], false);
}

// A sixth of the mix cannot be done in time: the budget says so, and a remark.
TEST_F(BasebandctlLoadTest, CallsThatAreAlwaysTooLateAreToldByTheBudgetAndARemark) {
  WriteAll(Path("late.json"), R"({"cells": 1, "slot": "20ms", "mix": [
      {"operation": "decode", "name": "hopeless", "nr_bg": 1, "zc": 384, "blocks": 64,
       "deadline": "1us", "variants": 1},
      {"operation": "encode", "name": "easy", "nr_bg": 2, "zc": 32, "blocks": 1, "weight": 5}]})");
  const Outcome outcome = Load({"--scenario=" + Path("late.json"), "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json report = Report(outcome);
  const nlohmann::json& hopeless = report["workloads"][0];
  ASSERT_GT(hopeless["outcomes"]["due"], 0);
  EXPECT_EQ(hopeless["outcomes"]["good"], 0);
  EXPECT_EQ(hopeless["untimed"]["calls"].get<int>() + hopeless["outcomes"]["late"].get<int>(),
            hopeless["outcomes"]["due"]);
  EXPECT_EQ(report["untimed"]["calls"], hopeless["untimed"]["calls"]);
  EXPECT_THAT(report["warnings"].dump(), HasSubstr("hopeless: none of its "));
  EXPECT_THAT(report["warnings"].dump(), Not(HasSubstr("easy")));
}

TEST_F(BasebandctlLoadTest, AMixGoesThroughStreamsAndEveryAnswerIsRight) {
  WriteAll(Path("mix.json"), R"({"mix": [
      {"operation": "decode", "nr_bg": 1, "zc": 32, "blocks": 2, "priority": "high"},
      {"operation": "encode", "wifi": "1/2", "blocks": 2, "priority": "low"},
      {"operation": "recover", "constellation": "QPSK", "frame_symbols": 500, "blocks": 1},
      {"operation": "recover", "samples_per_symbol": "5/2", "frame_symbols": 1000, "blocks": 2},
      {"operation": "downconvert", "samples": 1024}]})");
  for (const std::string pace : {"--in-flight=40", "--rate=200"}) {
    const Outcome outcome =
        Load({"--scenario=" + Path("mix.json"), pace, "--stream", "--connections=2", "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    const nlohmann::json report = Report(outcome);
    EXPECT_EQ(report["transport"], "stream");
    EXPECT_GT(report["outcomes"]["good"], 0);
    EXPECT_EQ(report["outcomes"]["good"], report["outcomes"]["due"]) << outcome.output;
  }
  EXPECT_GE(server_->Metric("baseband_requests_total", {"rpc=\"Submit\"", "code=\"OK\""}), 4);
  EXPECT_EQ(Load({"encode", "--stream", "--no-throttle"}).exit_code, 0);
  EXPECT_EQ(Load({"minimize", "--stream"}).exit_code, 1);
  for (const char* const other : {"--stream", "--shared-memory"}) {
    const Outcome outcome = RunAt(server_->target(), {"--ring", "load", "encode", other});
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.output, HasSubstr(absl::StrCat(other, " does not go with --ring")));
  }
  const Outcome unknown = Load({"recover", "--constellation=FOO"});
  EXPECT_EQ(unknown.exit_code, 1);
  EXPECT_THAT(unknown.output, HasSubstr("knows no constellation 'FOO'"));
  const Outcome attempts = Load({"encode", "--stream", "--attempts=2"});
  EXPECT_EQ(attempts.exit_code, 1);
  EXPECT_THAT(attempts.output, HasSubstr("--attempts goes with neither --stream nor --ring"));
  const Outcome ring = RunAt(server_->target(), {"--ring", "load", "encode", "--no-throttle"});
  EXPECT_EQ(ring.exit_code, 1);
  EXPECT_THAT(ring.output, HasSubstr("--no-throttle does not go with --ring"));
}

TEST_F(BasebandctlLoadTest, APriorityIsThatOfEveryPartThatNamesNone) {
  WriteAll(Path("mix.json"), R"({"mix": [
      {"operation": "decode", "nr_bg": 1, "zc": 32, "blocks": 2, "priority": "high"},
      {"operation": "encode", "wifi": "1/2", "blocks": 2}]})");
  const auto seconds_of = [this](const std::string& priority) {
    return server_->Metric("baseband_device_seconds_total", {"priority=\"" + priority + "\""});
  };
  const double high = seconds_of("high");
  const double normal = seconds_of("normal");
  const double low = seconds_of("low");
  const std::vector<std::string> at = {"--priority=low", "load", "--scenario=" + Path("mix.json"),
                                       "--duration=500ms", "--warmup=0s"};
  ASSERT_EQ(RunAt(server_->target(), at).exit_code, 0);
  EXPECT_GT(seconds_of("high"), high);
  EXPECT_EQ(seconds_of("normal"), normal);
  EXPECT_GT(seconds_of("low"), low);
  ASSERT_EQ(Load({"encode", "--priority=low"}).exit_code, 0);
  EXPECT_EQ(seconds_of("normal"), normal);
}

TEST_F(BasebandctlLoadTest, AReportSaysWhetherPayloadsWentBySharedMemoryAndThroughRings) {
  const auto server = ServerProcess::Start({"--shm-listen=unix:" + Path("shm.sock")});
  ASSERT_THAT(server, IsOk());
  const auto report = [&](const std::vector<std::string>& by) {
    std::vector<std::string> arguments = {"load",        "decode",        "--duration=500ms",
                                          "--warmup=0s", "--in-flight=2", "--nr-bg=1",
                                          "--zc=384",    "--blocks=4",    "--json"};
    arguments.insert(arguments.end(), by.begin(), by.end());
    const Outcome outcome = RunAt((*server)->target(), arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
    return Report(outcome);
  };
  nlohmann::json of = report({});
  EXPECT_EQ(of["transport"], "unary");
  EXPECT_EQ(of["shared_memory"], false);
  EXPECT_EQ(of["shared_memory_calls"], 0);
  of = report({"--shared-memory", "--stream"});
  EXPECT_EQ(of["transport"], "stream");
  EXPECT_EQ(of["shared_memory"], true);
  EXPECT_GT(of["shared_memory_calls"], 0);
  of = report({"--ring"});
  EXPECT_EQ(of["transport"], "ring");
  EXPECT_EQ(of["shared_memory"], true);
  EXPECT_GT(of["outcomes"]["good"], 0);
  EXPECT_EQ(of["shared_memory_calls"], of["outcomes"]["due"]);
}

TEST_F(BasebandctlLoadTest, PayloadsInPlaceAreAnsweredRightlyByEveryWayThroughSharedMemory) {
  const auto server =
      ServerProcess::Start({"--shm-listen=unix:" + Path("shm.sock"), "--client-shm-mib=16"});
  ASSERT_THAT(server, IsOk());
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"load", "--in-place", "--duration=500ms", "--warmup=0s"});
    return RunAt((*server)->target(), arguments);
  };
  WriteAll(Path("slots.json"), R"({"mix": [
      {"operation": "decode", "nr_bg": 1, "zc": 384, "rows": 24, "harq": 0.3, "blocks": 2},
      {"operation": "decode-shared-channel", "mcs": 5, "prbs": 4, "blocks": 1, "variants": 2},
      {"operation": "encode", "wifi": "1/2", "blocks": 2}]})");
  for (const std::vector<std::string>& by :
       {std::vector<std::string>{"--ring"}, {"--shared-memory"}, {"--shared-memory", "--stream"}}) {
    for (const std::string pace : {"--in-flight=3", "--cells=2"}) {
      std::vector<std::string> arguments = {"--scenario=" + Path("slots.json"), pace, "--json"};
      if (pace == "--cells=2") arguments.emplace_back("--slot=20ms");
      arguments.insert(arguments.end(), by.begin(), by.end());
      const Outcome outcome = run(arguments);
      ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
      const nlohmann::json report = Report(outcome);
      EXPECT_EQ(report["in_place"], true);
      EXPECT_GT(report["outcomes"]["good"], 0);
      // While one thread asks for memory for answers, those of others come in messages.
      EXPECT_GT(report["shared_memory_calls"], 0);
      if (report["transport"] == "ring") {
        EXPECT_EQ(report["shared_memory_calls"], report["outcomes"]["due"]) << outcome.output;
      }
      EXPECT_EQ(report["wrong_answers"]["count"], 0) << outcome.output;
    }
  }
  const auto refusal = [&](const std::vector<std::string>& arguments) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
    return outcome.output;
  };
  const std::string of_unary = "--in-place goes with --shared-memory or --ring";
  EXPECT_THAT(refusal({"decode"}), HasSubstr(of_unary));
  EXPECT_THAT(refusal({"decode", "--stream"}), HasSubstr(of_unary));
  EXPECT_THAT(refusal({"decode", "--transports=ring,submit"}),
              HasSubstr("--in-place does not go with --transports=submit"));
  EXPECT_THAT(refusal({"minimize", "--shared-memory"}), HasSubstr("nor with payloads in place"));
  EXPECT_THAT(refusal({"decode", "--nr-bg=1", "--zc=384", "--blocks=128", "--ring"}),
              HasSubstr("of each sending thread's shared memory are for them"));
}

TEST_F(BasebandctlLoadTest, AScenarioOfSlotsIsMeasuredByWorkloadWithTheServersFigures) {
  WriteAll(Path("slots.json"), R"({"cells": 2, "slot": "20ms", "jitter": "1ms", "mix": [
      {"operation": "decode", "name": "uplink", "nr_bg": 1, "zc": 32, "rows": 24, "harq": 0.3,
       "deadline": "1s", "priority": "high", "weight": 2, "blocks": 2},
      {"operation": "encode", "name": "downlink", "wifi": "1/2", "blocks": 2}]})");
  const Outcome outcome =
      Load({"--scenario=" + Path("slots.json"), "--json", "--csv=" + Path("load.csv"),
            "--metrics=http://" + server_->metrics_address() + "/metrics"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json report = Report(outcome);
  ASSERT_EQ(report["workloads"].size(), 3);
  EXPECT_EQ(report["workloads"][0]["name"], "uplink");
  EXPECT_EQ(report["workloads"][1]["name"], "uplink, 2nd transmission");
  EXPECT_EQ(report["workloads"][2]["name"], "downlink");
  EXPECT_EQ(report["outcomes"]["due"], 100) << "2 cells in 50 slots";
  EXPECT_EQ(report["outcomes"]["wrong"], 0);
  EXPECT_GT(report["stages"]["kernel"]["mean_s"], 0);
  const nlohmann::json& uplink = report["workloads"][0];
  EXPECT_EQ(uplink["iterations"]["code_blocks"], uplink["blocks"]["count"]);
  EXPECT_GE(uplink["iterations"]["mean"], 1);
  EXPECT_EQ(uplink["budget"]["time_s"], 1) << "its deadline";
  EXPECT_EQ(report["workloads"][2]["iterations"], nullptr);
  EXPECT_EQ(report["workloads"][2]["budget"]["time_s"], 0.02) << "the slot";
  EXPECT_GT(report["workloads"][2]["stages"]["transport"]["p99_s"], 0);
  EXPECT_GT(report["server"]["cpu_s_per_gbit"], 0);
  EXPECT_GT(report["server"]["metrics"]["baseband_batches_total{rpc=\"Decode\"}"], 10);
  EXPECT_THAT(outcome.output, HasSubstr("{\"elapsed_s\":")) << "progress, a JSON object a line";
  EXPECT_THAT(ReadAll(Path("load.csv")),
              AllOf(HasSubstr("pace,workload,seconds"), HasSubstr("iterations_mean"),
                    HasSubstr("left_p99_ms"), HasSubstr("downlink"), HasSubstr("all")));
}

// At an Eb/N0 where blocks fail, what failed is no goodput, in whatever form the report is.
TEST_F(BasebandctlLoadTest, BlocksThatFailedMakeTheBlockErrorRateAndAreNoGoodput) {
  const std::vector<std::string> arguments = {"decode",     "--nr-bg=2",    "--zc=36",
                                              "--rows=10",  "--blocks=20",  "--variants=2",
                                              "--ebn0=1.2", "--in-flight=2"};
  std::vector<std::string> more = arguments;
  more.insert(more.end(), {"--json", "--html=" + Path("bler.html"), "--csv=" + Path("bler.csv")});
  const Outcome outcome = Load(more);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const nlohmann::json report = Report(outcome);
  const double bler = report["blocks"]["bler"];
  ASSERT_GT(bler, 0) << outcome.output;
  ASSERT_LT(bler, 1) << outcome.output;
  const nlohmann::json blocks = report["blocks"];
  EXPECT_EQ(blocks["count"].get<int64_t>(), 20 * (report["outcomes"]["good"].get<int64_t>() +
                                                  report["outcomes"]["late"].get<int64_t>()));
  EXPECT_DOUBLE_EQ(blocks["failed"].get<double>() / blocks["count"].get<double>(), bler);
  EXPECT_EQ(report["workloads"][0]["blocks"], blocks);
  // Of BG2, 10 columns of information; calls at the ends of the measurement count by their own
  // blocks.
  const double bits_a_call = 20 * 10 * 36;
  EXPECT_NEAR(report["info_bits_per_s"].get<double>(),
              (1 - bler) * bits_a_call * report["goodput_per_s"].get<double>(),
              0.1 * bits_a_call * report["goodput_per_s"].get<double>() * bler);
  EXPECT_GT(report["iterations"]["max"], 1) << outcome.output;
  EXPECT_THAT(ReadAll(Path("bler.html")),
              AllOf(HasSubstr("BLER, "), HasSubstr("iterations a code block"),
                    HasSubstr("Latency budget")));
  EXPECT_THAT(ReadAll(Path("bler.csv")), HasSubstr("blocks_failed"));

  const Outcome text = Load(arguments);
  EXPECT_THAT(text.output, AllOf(HasSubstr("BLER  "), HasSubstr(" blocks)")));
  more = arguments;
  more.push_back("--fail-above=bler=0");
  EXPECT_EQ(Load(more).exit_code, 4);
  EXPECT_THAT(Load({"encode", "--in-flight=2"}).output, Not(HasSubstr("BLER")));
}

// Calls that take longer than a line of progress: each of them was due before it ended.
TEST_F(BasebandctlLoadTest, ProgressHasNoMoreOutcomesThanCallsThatWereDue) {
  constexpr int kCallsASecond = 40;
  for (const std::string& pace :
       {absl::StrCat("--rate=", kCallsASecond), std::string("--in-flight=8")}) {
    const Outcome outcome =
        RunAt(server_->target(), {"load", "decode", "--nr-bg=1", "--zc=384", "--blocks=24", pace,
                                  "--warmup=0s", "--duration=4s", "--json"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
    int64_t due = 0;
    int64_t ended = 0;
    int64_t in_flight = 0;
    int lines = 0;
    for (const absl::string_view line : absl::StrSplit(outcome.output, '\n')) {
      if (!absl::StartsWith(line, "{\"elapsed_s\"")) continue;
      const auto progress = nlohmann::json::parse(line.begin(), line.end());
      due += progress["due"].get<int64_t>();
      for (const char* name : load::kOutcomeNames) ended += progress[name].get<int64_t>();
      in_flight = progress["in_flight"];
      EXPECT_GE(due, ended) << outcome.output;
      ++lines;
    }
    EXPECT_GE(lines, 3) << outcome.output;
    // What is told of the two is not of one instant: a second's calls may end between.
    EXPECT_LE(due - ended, in_flight + kCallsASecond) << outcome.output;
  }
}

TEST_F(BasebandctlLoadTest, LimitsDecideTheExitCode) {
  const Outcome within =
      Load({"encode", "--rate=50", "--fail-above=p99=30s", "--fail-above=wrong=0"});
  EXPECT_EQ(within.exit_code, 0) << within.output;
  EXPECT_THAT(within.output, AllOf(HasSubstr("goodput"), HasSubstr("p99.99"), HasSubstr("queue")));
  const Outcome over = Load({"encode", "--rate=50", "--fail-above=p50=1us"});
  EXPECT_EQ(over.exit_code, 4) << over.output;
  EXPECT_THAT(over.output, HasSubstr("over the limit p50=1us: "));
}

// What was waited for calls that expired was held against the limit, as if it were their latency.
TEST_F(BasebandctlLoadTest, WhereEveryCallExpiresNoLimitIsHeld) {
  // Work for milliseconds: gRPC ends a call only a while after its deadline. On a busy host an
  // answer may come first all the same.
  const std::vector<std::string> arguments = {"decode", "--rate=20", "--blocks=100",
                                              "--deadline=1us", "--fail-above=p99=10s"};
  Outcome outcome = Load(arguments);
  for (int i = 0; i < 20 && !absl::StrContains(outcome.output, "\"late\":0,"); ++i) {
    outcome = Load(arguments);
  }
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("over the limit p99=10s: nothing to take it from"));
  EXPECT_THAT(outcome.output, HasSubstr("no call was answered rightly and in time"));
}

// As of a server that dies in the warm-up.
TEST_F(BasebandctlLoadTest, AMeasurementWithoutACallIsWithinNoLimit) {
  for (const char* limit : {"p99=10s", "bler=100%"}) {
    const Outcome outcome =
        Load({"encode", "--rate=0.001", "--arrivals=constant", absl::StrCat("--fail-above=", limit),
              "--html=" + Path("no.html")});
    EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
    EXPECT_THAT(outcome.output,
                HasSubstr(absl::StrCat("over the limit ", limit, ": nothing to take it from")));
    EXPECT_THAT(outcome.output, Not(HasSubstr("0 us")));
    EXPECT_THAT(ReadAll(Path("no.html")), Not(HasSubstr("nan")));
  }
}

TEST_F(BasebandctlLoadTest, WithoutARateThatIsBorneTheProbesAreToldWithExitCode4) {
  const std::vector<std::string> arguments = {"encode",
                                              "--nr-bg=2",
                                              "--zc=64",
                                              "--blocks=1",
                                              "--rate=20k",
                                              "--knee-probe=50ms",
                                              "--knee-bound=p99=1ns",
                                              "--find-knee",
                                              "--csv=" + Path("none.csv"),
                                              "--html=" + Path("none.html")};
  const Outcome outcome = Load(arguments);
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("no rate is borne, not even 20 calls/s"), HasSubstr("too much:"),
                    HasSubstr("p99=1ns: "), HasSubstr("outcomes")));
  EXPECT_THAT(ReadAll(Path("none.csv")), HasSubstr("Poisson"));
  EXPECT_THAT(ReadAll(Path("none.html")), HasSubstr("no rate is borne"));
}

TEST_F(BasebandctlLoadTest, WhatIsWrongIsSaidBeforeAnythingIsSent) {
  const auto refusal = [](const std::vector<std::string>& arguments, const std::string& message) {
    const Outcome outcome = Load(arguments);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(message));
  };
  refusal({}, "load needs an OPERATION or a --scenario, and not both");
  refusal({"sing"}, "operation 'sing' is not one of encode, decode");
  refusal({"encode", "--rate=5", "--cells=2"},
          "cells (--cells) and a rate (--rate) do not go together");
  refusal({"encode", "--rate=0"}, "--rate 0 is not in (0, 10M]");
  refusal({"encode", "--slot=soon"}, "'soon' is not a duration, such as 500us");
  refusal({"encode", "--fail-above=speed=1"}, "--fail-above 'speed=1': 'speed' is not");
  refusal({"encode", "--fail-above=missed=1"}, "'1' is not a share in [0%, 100%] with its %");
  refusal({"encode", "--harq=0.5"},
          "--harq goes with decode, decode-shared-channel, not with encode");
  refusal({"encode", "--find-knee", "--rate=0.3"}, "looks at rates from 0.333 calls/s on");
  refusal({"encode", "--find-knee", "--cells=2"}, "does not go with cells");
  refusal({"--scenario=" + Path("nowhere.json")}, "nowhere.json");
  refusal({"encode", "--find-cells", "--find-knee"}, "--find-cells does not go with --find-knee");
  refusal({"encode", "--find-cells", "--html=cells.html"}, "--find-cells does not go with");
  refusal({"encode", "--find-cells", "--rate=5"},
          "cells (--cells) and a rate (--rate) do not go together");
  refusal({"encode", "--find-cells", "--deadline=2ms"},
          "a deadline does not go with --find-cells, which has those of --cell-deadlines");
  refusal({"encode", "--find-cells", "--cells=4097"}, "--cells 4097 is not in [1, 4096]");
  refusal({"encode", "--find-cells", "--in-time=100"}, "--in-time 100 is not in [50, 99.9999]");
  refusal({"encode", "--find-cells", "--cell-deadlines", "1", "0"},
          "--cell-deadlines 0 is not in [1, 1000]");
  refusal({"encode", "--in-time=99"}, "--find-cells");
}

TEST_F(BasebandctlLoadTest, TheKneeIsFoundWithinItsBounds) {
  const Outcome outcome =
      Load({"encode", "--find-knee", "--rate=4k", "--knee-probe=300ms", "--knee-bound=p99=20ms",
            "--json", "--csv=" + Path("knee.csv"), "--html=" + Path("knee.html")});
  const nlohmann::json report = Report(outcome);
  if (outcome.exit_code == 4) {  // beside other work it may be that no rate is held
    EXPECT_TRUE(report["knee_per_s"].is_null()) << outcome.output;
    EXPECT_THAT(ReadAll(Path("knee.html")), HasSubstr("no rate is borne"));
    return;
  }
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  bool borne_at_knee = false;
  for (const nlohmann::json& probe : report["probes"]) {
    if (probe["borne"]) {
      EXPECT_LE(probe["latency"]["p99_s"], 0.02);
      borne_at_knee |= probe["rate"] == report["knee_per_s"];
    }
  }
  // Lower where the whole measurement there broke the bound.
  EXPECT_TRUE(borne_at_knee || !report["knee"]["not_held_per_s"].empty()) << outcome.output;
  EXPECT_LE(report["latency"]["p99_s"], 0.02);
  EXPECT_EQ(report["knee"]["low_per_s"], report["knee_per_s"]);
  EXPECT_EQ(report["knee"]["loads"], report["probes"].size());
  if (report["knee"]["high_per_s"] > 0) {
    EXPECT_GT(report["knee"]["high_per_s"], report["knee_per_s"]);
  }
  EXPECT_THAT(ReadAll(Path("knee.html")), HasSubstr("the highest rate borne"));
}

TEST_F(BasebandctlLoadTest, AsManyCellsAreFoundAsHaveTheirShareOfSlotsInTime) {
  const Outcome outcome = Load({"decode", "--blocks=64", "--find-cells", "--cells=8", "--slot=50ms",
                                "--cell-deadlines", "2", "10", "--in-time=90", "--json"});
  EXPECT_THAT(outcome.output, HasSubstr(R"("tried":"8 cells, 2 slots"})")) << "told while it looks";
  const nlohmann::json report = Report(outcome);
  EXPECT_EQ(report["in_time"], 0.9);
  EXPECT_EQ(report["least_slots"], 10);
  EXPECT_EQ(report["wrong_answers"]["count"], 0);
  ASSERT_EQ(report["cells"].size(), 2);
  EXPECT_EQ(report["cells"][0]["deadline_slots"], 2);
  EXPECT_EQ(report["cells"][1]["deadline_s"], 0.5);
  int most = 0;
  for (const nlohmann::json& found : report["cells"]) {
    const int carried = found["carried"];
    most = std::max(most, carried);
    EXPECT_EQ(found["too_many"], carried + 1) << "a server that carries 4096 of these cells?";
    for (const nlohmann::json& one : found["tries"]) {
      const double good = one["outcomes"]["good"];
      const double due = one["outcomes"]["due"];
      EXPECT_EQ(one["carried"], due > 0 && good >= 0.9 * due * (1 - 1e-9)) << one;
      EXPECT_EQ(one["carried"], one["cells"] <= carried) << one;
    }
  }
  EXPECT_EQ(outcome.exit_code, most > 0 ? 0 : 4) << outcome.output;  // beside other work
}

TEST_F(BasebandctlLoadTest, WithoutACellThatIsCarriedWhatWasTriedIsToldWithExitCode4) {
  const Outcome outcome =
      Load({"encode", "--find-cells", "--cells=2", "--slot=10us", "--cell-deadlines", "1"});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("too many: "),
                                    HasSubstr("deadline of 1 slot, 10us: not even one cell is")));
}

TEST_F(BasebandctlLoadTest, TheReportNeedsNothingElseAndIsDrawnByABrowser) {
  const Outcome outcome = Load({"encode", "--rate=100", "--html=" + Path("report.html"),
                                "--metrics=" + server_->metrics_address()});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const std::string html = ReadAll(Path("report.html"));
  for (const char* outside :
       {"src=", "href=", "url(", "@import", "<script", "http://", "https://"}) {
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(html, Not(HasSubstr("nan")));

  const std::string browser = "/usr/bin/chromium";  // deploy/packages.sh browser
  if (access(browser.c_str(), X_OK) != 0) GTEST_SKIP() << "no " << browser;
  const std::vector<std::string> headless = {"--headless",
                                             "--no-sandbox",
                                             "--disable-gpu",
                                             "--user-data-dir=" + Path("profile"),
                                             "--virtual-time-budget=2000",
                                             "--window-size=1280,1500"};
  std::vector<std::string> arguments = headless;
  arguments.insert(arguments.end(), {"--dump-dom", "file://" + Path("report.html")});
  const Outcome dom = RunProgram(browser, arguments);
  EXPECT_EQ(dom.exit_code, 0) << dom.output;
  EXPECT_THAT(dom.output, AllOf(HasSubstr("Latency by percentile"), HasSubstr("99.9th percentile"),
                                HasSubstr("What became of the calls"), HasSubstr("</svg>"),
                                Not(HasSubstr("parsererror"))));
  arguments = headless;
  arguments.insert(arguments.end(),
                   {"--screenshot=" + Path("report.png"), "file://" + Path("report.html")});
  EXPECT_EQ(RunProgram(browser, arguments).exit_code, 0);
  const std::string png = ReadAll(Path("report.png"));
  EXPECT_EQ(png.substr(1, 3), "PNG");
  EXPECT_GT(png.size(), 20000) << "an empty page is smaller";
}

}  // namespace
}  // namespace baseband::testing
