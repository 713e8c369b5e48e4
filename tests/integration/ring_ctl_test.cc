// basebandctl over a ring, and its comparison of the ways to a server.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/ctl_test.h"
#include "tests/support/sharing_server.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

class RingCtlTest : public SharingServerTest {
 protected:
  Outcome Run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "--target=" + server_->target());
    ChildProcess process(ProgramPath("basebandctl"), arguments);
    Outcome outcome;
    outcome.exit_code = process.Wait(absl::Seconds(120)).value_or(-1);
    outcome.output = process.Output();
    return outcome;
  }
};

TEST_F(RingCtlTest, KnownAnswersAreTheSame) {
  Serve();
  for (const char* const name : {"nr_encode", "noisy_decode", "nr_tb_chain", "nr_tb_decode"}) {
    const Outcome verified =
        Run({"--ring", "verify", std::string(BASEBAND_TEST_DATA "/ldpc/") + name + ".jsonl"});
    EXPECT_EQ(verified.exit_code, 0) << verified.output;
    EXPECT_THAT(verified.output, HasSubstr(", 0 failed"));
  }
  EXPECT_GT(server_->Metric("baseband_shared_memory_bytes_total", {"direction=\"in\""}), 0);
}

TEST_F(RingCtlTest, EveryWayIsMeasuredInOneRun) {
  Serve();
  const Outcome outcome =
      Run({"--json", "load", "encode", "--blocks=2", "--zc=32", "--nr-bg=1", "--duration=200ms",
           "--warmup=50ms", "--transports=tcp,submit,shm,ring"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output;
  const auto json = nlohmann::json::parse(outcome.output.substr(outcome.output.find("{\n")));
  std::vector<std::string> names;
  for (const auto& row : json["transports"]) {
    names.push_back(row["transport"]);
    EXPECT_GT(row["good_per_s"], 0) << row;
    EXPECT_EQ(row["wrong"], 0) << row;
  }
  EXPECT_THAT(names, ::testing::ElementsAre("tcp", "submit", "shm", "ring"));
  const Outcome text = Run({"load", "decode", "--blocks=2", "--zc=32", "--nr-bg=1",
                            "--duration=100ms", "--warmup=0s", "--transports=ring"});
  EXPECT_EQ(text.exit_code, 0) << text.output;
  EXPECT_THAT(text.output, HasSubstr("transport"));
}

TEST_F(RingCtlTest, WhatCannotBeIsRefusedByName) {
  Serve();
  const auto refusal = [this](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"load", "encode", "--duration=100ms"});
    const Outcome outcome = Run(flags);
    EXPECT_EQ(outcome.exit_code, 1) << outcome.output;
    return outcome.output;
  };
  EXPECT_THAT(refusal({"--transports=pigeon"}), HasSubstr("'pigeon' is not one of tcp, uds"));
  EXPECT_THAT(refusal({"--transports=tcp,tcp"}), HasSubstr("names tcp twice"));
  EXPECT_THAT(refusal({"--transports=uds"}), HasSubstr("say uds=unix:PATH"));
  EXPECT_THAT(refusal({"--transports=ring", "--stream"}), HasSubstr("does not go with"));
}

TEST_F(RingCtlTest, AServerWithoutRingsSaysSo) {
  auto server = ServerProcess::Start();
  ASSERT_THAT(server, IsOk());
  server_ = *std::move(server);
  const Outcome outcome = Run({"--ring", "verify", BASEBAND_TEST_DATA "/ldpc/nr_encode.jsonl"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("the server has no rings (--shm-listen)"));
}

}  // namespace
}  // namespace baseband::testing
