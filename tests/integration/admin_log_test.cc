// What the log says of what admins do: what has happened, or why it has not, and who wanted it.
#include <signal.h>

#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/administered_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Fault = v1::InjectFaultRequest;

constexpr absl::Duration kTimeout = absl::Seconds(60);

class AdminLogTest : public ::testing::Test {
 protected:
  void StartServer(std::vector<std::string> flags) {
    auto started = StartAdministered(std::move(flags));
    ASSERT_THAT(started, IsOk());
    told_ = 0;
    server_ = std::move(started->server);
    admin_ = std::move(started->admin);
  }

  // The lines about admins since the last time, from "admin: " on; a call's line is there before
  // its answer.
  std::vector<std::string> Lines() {
    std::vector<std::string> lines;
    for (const absl::string_view line : absl::StrSplit(server_->process().Output(), '\n')) {
      const size_t begin = line.find("admin: ");
      if (begin != absl::string_view::npos) lines.emplace_back(line.substr(begin));
    }
    std::vector<std::string> fresh(lines.begin() + static_cast<std::ptrdiff_t>(told_), lines.end());
    told_ = lines.size();
    return fresh;
  }

  absl::Status Inject(Fault::Kind kind, uint32_t count, uint32_t stall_ms,
                      const std::string& device) {
    Fault fault;
    fault.set_kind(kind);
    fault.set_count(count);
    fault.set_stall_ms(stall_ms);
    fault.set_device(device);
    return admin_->InjectFault(fault, kTimeout);
  }

  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<client::AdminClient> admin_;

 private:
  size_t told_ = 0;
};

TEST_F(AdminLogTest, TheLogLevelIsSetFromWhatToWhatOrRefusedWhateverTheLevelIs) {
  StartServer({"--log-level=warning"});
  for (const char* level : {"off", "debug", "debug"}) {
    EXPECT_THAT(admin_->SetLogLevel(level, kTimeout), IsOk());
  }
  EXPECT_THAT(Lines(), ElementsAre("admin: '127.0.0.1' set the log level from warning to off",
                                   "admin: '127.0.0.1' set the log level from off to debug",
                                   "admin: '127.0.0.1' left the log level at debug"));
  EXPECT_THAT(admin_->SetLogLevel("loud\nadmin: 'root' drains the server", kTimeout),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_THAT(Lines(), ElementsAre("admin: '127.0.0.1' was refused SetLogLevel: INVALID_ARGUMENT: "
                                   R"(level 'loud\nadmin: \'root\' drains the server' is not one )"
                                   "of trace, debug, info, warning, error, off"));
  EXPECT_THAT(admin_->SetLogLevel("warning", kTimeout), IsOk());
  EXPECT_THAT(Lines(), ElementsAre(EndsWith("from debug to warning")));
}

TEST_F(AdminLogTest, AFaultIsArmedOrRefused) {
  StartServer({"--allow-fault-injection", "--standby-cpu"});
  EXPECT_THAT(Inject(Fault::STALL, 3, 2000, "cpu"), IsOk());
  EXPECT_THAT(Inject(Fault::STALL, 0, 2500, ""), IsOk());
  EXPECT_THAT(Inject(Fault::NO_MEMORY, 2, 0, ""), IsOk());
  EXPECT_THAT(Lines(), ElementsAre("admin: '127.0.0.1' armed STALL of 2s, for the next 3 batches "
                                   "of cpu",
                                   "admin: '127.0.0.1' armed STALL of 2.5s, for the next 1 "
                                   "batches, in place of 3 that were left",
                                   "admin: '127.0.0.1' armed NO_MEMORY, for the next 2 "
                                   "allocations"));
  EXPECT_FALSE(Inject(Fault::FAIL, 1001, 0, "").ok());
  EXPECT_FALSE(Inject(Fault::FAIL, 1, 0, "gpu\x1b[2J").ok());
  EXPECT_FALSE(Inject(Fault::LOSE, 0, 0, "").ok());
  EXPECT_FALSE(Inject(Fault::LOSE, 0, 0, "cuda:\n9").ok());
  EXPECT_THAT(
      Lines(),
      ElementsAre(
          "admin: '127.0.0.1' was refused InjectFault: INVALID_ARGUMENT: count 1001 is not in [1, "
          "1000]",
          R"(admin: '127.0.0.1' was refused InjectFault: INVALID_ARGUMENT: device 'gpu\x1b[2J' is )"
          "not one of cpu, cpu:standby",
          "admin: '127.0.0.1' was refused InjectFault: INVALID_ARGUMENT: device is not set: kind "
          "LOSE needs one",
          R"(admin: '127.0.0.1' was refused InjectFault: NOT_FOUND: device 'cuda:\n9' is not one )"
          "that is healthy: cpu, cpu:standby"));
}

TEST_F(AdminLogTest, WhatIsRefusedForGoodIsNotToldAsDone) {
  StartServer({});
  EXPECT_FALSE(Inject(Fault::LOSE, 0, 0, "cpu").ok());
  EXPECT_THAT(Lines(), ElementsAre(HasSubstr("was refused InjectFault: FAILED_PRECONDITION: this "
                                             "server injects no faults")));
  v1::LiftQuarantineRequest lift;
  lift.set_fingerprint("0123456789abcdef");
  EXPECT_FALSE(admin_->LiftQuarantine(lift, kTimeout).ok());
  EXPECT_THAT(Lines(), ElementsAre(EndsWith("was refused LiftQuarantine: NOT_FOUND: fingerprint "
                                            "0123456789abcdef is not in quarantine")));
  lift.set_all(true);
  EXPECT_THAT(admin_->LiftQuarantine(lift, kTimeout), IsOk());
  EXPECT_THAT(Lines(),
              ElementsAre("admin: '127.0.0.1' lifted the quarantine of all 0 kinds of request"));
}

TEST_F(AdminLogTest, QuestionsAreToldAtLevelInfo) {
  StartServer({"--log-level=info"});
  EXPECT_THAT(admin_->GetConfig(kTimeout), IsOk());
  EXPECT_THAT(Lines(), ElementsAre("admin: '127.0.0.1' asks: GetConfig"));
  EXPECT_THAT(admin_->SetLogLevel("warning", kTimeout), IsOk());
  (void)Lines();
  EXPECT_THAT(admin_->GetQuarantine(kTimeout), IsOk());
  EXPECT_THAT(Lines(), IsEmpty());
}

// A request in work keeps the server from its end, so that the second drain is asked of one that
// drains.
TEST_F(AdminLogTest, ADrainThatHasBegunGoesOnWhoeverAsksForOneMore) {
  for (const bool by_signal : {false, true}) {
    StartServer({"--allow-fault-injection", "--drain=280s"});
    ASSERT_THAT(Inject(Fault::STALL, 1, 5000, ""), IsOk());
    std::thread slow([target = server_->target()] {
      v1::DecodeResponse response;
      EXPECT_TRUE(Call(*Connect(target), DecodeOfZeros(NrCode(1, 384), 1), &response).ok());
    });
    EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {"rpc=\"Decode\""}, 1));
    (void)Lines();
    if (by_signal) {
      server_->process().Signal(SIGTERM);
      EXPECT_THAT(server_->process().OutputWith("draining"), HasSubstr("TERM: draining"));
    } else {
      EXPECT_THAT(admin_->Drain(kTimeout), IsOk());
      EXPECT_THAT(server_->process().OutputWith("draining"),
                  HasSubstr("an admin wants it so: draining, for at most 280 s"));
      EXPECT_THAT(Lines(), ElementsAre("admin: '127.0.0.1' began the drain"));
      server_->process().Signal(SIGTERM);  // of who stops the service then
      EXPECT_THAT(server_->process().OutputWith("already"),
                  HasSubstr("TERM: it drains already; one more ends it at once"));
    }
    EXPECT_THAT(admin_->Drain(kTimeout), IsOk());
    EXPECT_THAT(Lines(),
                ElementsAre("admin: '127.0.0.1' asked for a drain, which had begun before"));
    slow.join();
    EXPECT_EQ(server_->process().Wait(kTimeout), 0) << server_->process().Output();
  }
}

}  // namespace
}  // namespace baseband::testing
