// How basebandd-ldpc-tool ends, and what it says then: pipes that are cut off, servers that go, and
// what it does not take.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/integration/ldpc_tool_test.h"
#include "tests/support/fake_baseband.h"

namespace baseband::testing {
namespace {

using LdpcToolEndsTest = LdpcToolTest;

constexpr int kBadArguments = 1;
constexpr int kCannotConnect = 2;
constexpr int kRpcFailed = 3;

// Answers as a decoder that finds no error: each LLR as it came.
grpc::Status Echo(grpc::ServerContext*, const v1::DecodeRequest& request,
                  v1::DecodeResponse* response) {
  const auto count = static_cast<int>(request.groups(0).count());
  const int64_t info = client::ShapeOf(request.groups(0).code())->k();
  response->set_soft(request.payload());
  response->set_payload(std::string(static_cast<size_t>(count * client::PackedBytes(info)), '\0'));
  for (int i = 0; i < count; ++i) {
    response->add_iterations(1);
    response->add_parity_ok(true);
  }
  return grpc::Status::OK;
}
grpc::Status NoLimits(grpc::ServerContext*, const v1::GetCapabilitiesRequest&,
                      v1::GetCapabilitiesResponse*) {
  return grpc::Status::OK;
}

// Frames that all differ.
std::string Numbered(const ToolCode& code, int frames) {
  std::string llr;
  for (int i = 0; i < frames; ++i) {
    std::string frame(code.frame_bytes(), static_cast<char>(i % 100 + 1));
    frame[0] = static_cast<char>(i / 100 + 1);
    llr += frame;
  }
  return llr;
}

TEST_F(LdpcToolEndsTest, AFrameThatTheInputsEndCutsOffIsNamedAndTheOthersAreWritten) {
  const ToolCode code = WifiCode();
  const PipeOutcome outcome = Run(code, std::string(5 * 648 + 100, 20));
  EXPECT_EQ(outcome.exit_code, kBadArguments);
  EXPECT_EQ(outcome.output.size(), 5 * 648U);
  EXPECT_EQ(outcome.errors,
            "basebandd-ldpc-tool: standard input ended within a frame, after 100 of its 648 bytes;"
            " 5 frames read, 5 written\n");
}

TEST_F(LdpcToolEndsTest, WhenNobodyReadsItsOutputItSaysSoAndEnds) {
  const ToolCode code = WifiCode();
  {
    SCOPED_TRACE("while it writes");
    const auto tool = Start(server_->target(), code);
    std::thread writer([&] {
      while (tool->Write(std::string(64 * 648, 20))) {
      }
    });
    EXPECT_EQ(tool->Read(10 * 648).size(), 10 * 648U);
    tool->CloseOutput();
    EXPECT_EQ(tool->Wait(), kBadArguments);
    writer.join();
    EXPECT_THAT(tool->Errors(), HasSubstr("basebandd-ldpc-tool: standard output"));
    EXPECT_THAT(tool->Errors(), HasSubstr(" frames read, "));
  }
  SCOPED_TRACE("while it waits for input");
  const auto tool = Start(server_->target(), code);
  ASSERT_TRUE(tool->Write(std::string(2 * 648, 20)));
  EXPECT_EQ(tool->Read(2 * 648).size(), 2 * 648U);
  tool->CloseOutput();
  EXPECT_EQ(tool->Wait(), kBadArguments);
  EXPECT_EQ(tool->Errors(),
            "basebandd-ldpc-tool: standard output was closed by whoever read it; 2 frames read, 2"
            " written\n");
}

TEST_F(LdpcToolEndsTest, WithoutAPipeItDoesNotTakeWhatElseHasItsNumber) {
  for (const auto& [closed, why] : std::vector<std::pair<std::string, std::string>>{
           {"<&-", "standard input is closed"}, {"</dev/null >&-", "standard output is closed"}}) {
    PipedProcess shell(
        "/bin/sh", {"-c", absl::StrCat("exec ", ProgramPath("basebandd-ldpc-tool"),
                                       " --wifi=1/2 --target=", server_->target(), " ", closed)});
    EXPECT_EQ(shell.Wait(), kBadArguments);
    EXPECT_EQ(shell.Errors(), absl::StrCat("basebandd-ldpc-tool: ", why, "\n"));
  }
}

TEST_F(LdpcToolEndsTest, AnswersThatComeInAnotherOrderAreWrittenInThatOfTheirFrames) {
  FakeBaseband server;
  std::atomic<int> calls{0};
  server.on_capabilities = NoLimits;
  server.on_decode = [&](grpc::ServerContext* context, const v1::DecodeRequest& request,
                         v1::DecodeResponse* response) {
    if (calls++ % 4 == 0) absl::SleepFor(absl::Milliseconds(20));
    return Echo(context, request, response);
  };
  server.Start();
  const ToolCode code = WifiCode();
  const std::string llr = Numbered(code, 400);
  const PipeOutcome outcome = Run(server.target(), code, llr, {"--batch-size=3"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_TRUE(outcome.output == llr);
  EXPECT_GE(calls, 400 / 3);
}

TEST_F(LdpcToolEndsTest, WhatCameBeforeAnErrorIsWrittenAndNothingBehindIt) {
  FakeBaseband server;
  server.on_capabilities = NoLimits;
  const ToolCode code = WifiCode();
  const std::string llr = Numbered(code, 400);
  const std::string bad = llr.substr(200 * code.frame_bytes(), code.frame_bytes());
  bool lies = false;
  server.on_decode = [&](grpc::ServerContext* context, const v1::DecodeRequest& request,
                         v1::DecodeResponse* response) {
    const grpc::Status status = Echo(context, request, response);
    if (request.payload() != bad) return status;
    response->mutable_soft()->pop_back();
    return lies ? status : grpc::Status(grpc::StatusCode::INTERNAL, "no device");
  };
  server.Start();
  for (const char* const why :
       {"the server answered INTERNAL: no device", "soft values; due are"}) {
    const PipeOutcome outcome = Run(server.target(), code, llr, {"--batch-size=1"});
    EXPECT_EQ(outcome.exit_code, kRpcFailed);
    EXPECT_TRUE(outcome.output == llr.substr(0, 200 * code.frame_bytes()));
    EXPECT_THAT(outcome.errors, HasSubstr(why));
    EXPECT_THAT(outcome.errors, HasSubstr(" frames read, 200 written"));
    lies = true;
  }
}

TEST_F(LdpcToolEndsTest, AServerThatIsStartedAnewLosesNoFrame) {
  const auto client = ClientOf(server_->target());
  const ToolCode code = WifiCode();
  Random random(6);
  const std::string some = Received(code, CodeWords(client.get(), code, 300, &random), 4, &random);
  const std::string expected = DecodeByLibrary(client.get(), code, some).soft;

  const Place place = {
      {}, absl::StrCat("127.0.0.1:", FreePort()), absl::StrCat("127.0.0.1:", FreePort())};
  auto server = ServerProcess::StartAt(place);
  ASSERT_THAT(server, IsOk());
  const auto tool = Start(place.target, code, {"--wait", "--batch-size=8"});
  for (const int signal : {SIGTERM, SIGKILL}) {
    std::thread writer([&] {
      for (int i = 0; i < 10; ++i) tool->Write(some);
    });
    EXPECT_TRUE(tool->Read(expected.size()) == expected);
    (*server)->process().Signal(signal);
    EXPECT_TRUE((*server)->process().Wait(absl::Seconds(60)).has_value());
    absl::SleepFor(absl::Seconds(2));  // longer than the library tries
    server = ServerProcess::StartAt(place);
    ASSERT_THAT(server, IsOk());
    for (int i = 1; i < 10; ++i) {
      EXPECT_TRUE(tool->Read(expected.size()) == expected) << i;
    }
    writer.join();
  }
  tool->CloseInput();
  EXPECT_EQ(tool->ReadAll(), "");
  EXPECT_EQ(tool->Wait(), 0) << tool->Errors();
}

TEST_F(LdpcToolEndsTest, WhileNobodyReadsItsOutputItsPatienceWithTheServerDoesNotEnd) {
  constexpr size_t kMostThatAPipeHolds = 1 << 20;  // what begins behind that waits for a reader
  const ToolCode code = WifiCode();
  const std::string llr = Numbered(code, 6000);
  FakeBaseband server;
  std::atomic<bool> is_away{true};
  std::atomic<int> refused{0};
  server.on_capabilities = NoLimits;
  server.on_decode = [&](grpc::ServerContext* context, const v1::DecodeRequest& request,
                         v1::DecodeResponse* response) {
    const std::string first = request.payload().substr(0, code.frame_bytes());
    if (is_away && llr.find(first) > kMostThatAPipeHolds) {
      ++refused;
      return grpc::Status(grpc::StatusCode::UNAVAILABLE, "away");
    }
    return Echo(context, request, response);
  };
  server.Start();
  const auto tool = Start(server.target(), code, {"--wait", "--timeout=2s", "--batch-size=256"});
  std::thread writer([&] {
    tool->Write(llr);
    tool->CloseInput();
  });
  for (int i = 0; i < 600 && refused == 0; ++i) absl::SleepFor(absl::Milliseconds(100));
  EXPECT_GT(refused, 0);
  absl::SleepFor(absl::Seconds(3));  // longer than --timeout
  std::thread back([&] {
    absl::SleepFor(absl::Milliseconds(500));
    is_away = false;
  });
  EXPECT_TRUE(tool->ReadAll() == llr);
  back.join();
  writer.join();
  EXPECT_EQ(tool->Wait(), 0) << tool->Errors();
}

TEST_F(LdpcToolEndsTest, AServerThatStaysAwayEndsItWithWhatWasDone) {
  const ToolCode code = WifiCode();
  auto server = ServerProcess::Start();
  ASSERT_THAT(server, IsOk());
  const auto tool = Start((*server)->target(), code);
  ASSERT_TRUE(tool->Write(std::string(3 * 648, 20)));
  EXPECT_EQ(tool->Read(3 * 648).size(), 3 * 648U);
  (*server)->process().Signal(SIGKILL);
  EXPECT_TRUE((*server)->process().Wait(absl::Seconds(60)).has_value());
  tool->Write(std::string(2 * 648, 20));
  EXPECT_EQ(tool->Wait(), kRpcFailed);  // its input is open
  EXPECT_THAT(tool->Errors(),
              HasSubstr("basebandd-ldpc-tool: the server went away or is stopping"));
  EXPECT_THAT(tool->Errors(), HasSubstr("--wait waits for one\n"));
  EXPECT_THAT(tool->Errors(), HasSubstr("basebandd-ldpc-tool: 5 frames read, 3 written\n"));
}

TEST_F(LdpcToolEndsTest, WithoutAServerItSaysWhereItLooked) {
  const PipeOutcome outcome = Run(absl::StrCat("127.0.0.1:", FreePort()), WifiCode(), "");
  EXPECT_EQ(outcome.exit_code, kCannotConnect);
  EXPECT_THAT(outcome.errors, HasSubstr("basebandd-ldpc-tool: cannot connect to 127.0.0.1:"));
}

// As leandvb calls it, and as people would.
TEST_F(LdpcToolEndsTest, CodesOfDvbS2AreRefusedByNameWithThoseThatAreServed) {
  for (const auto& [flags, asked] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--trials", "8", "--batch-size", "16", "--modcod", "4"}, " --modcod=4 asks"},
           {{"--trials", "8", "--batch-size", "16", "--modcod", "4", "--shortframes"},
            " --modcod=4 --shortframes asks"},
           {{"--standard", "DVB-S2", "--modcod", "11"}, " --standard=DVB-S2 --modcod=11 asks"},
           {{"--standard", "DVB-S2"}, " --standard=DVB-S2 asks"},
           {{"--modcod=1", "--wifi=1/2"}, " --modcod=1 asks"}}) {
    const PipeOutcome outcome = Run(ToolCode(), "", flags);
    EXPECT_EQ(outcome.exit_code, kBadArguments);
    EXPECT_THAT(outcome.errors,
                HasSubstr("basebandd-ldpc-tool: the codes of DVB-S2 are not served yet, and"));
    for (const std::string& part : {asked, std::string("--nr-bg=1"), std::string("--wimax=1/2"),
                                    std::string("--wifi=1/2"), std::string("--matrix=FILE")}) {
      EXPECT_THAT(outcome.errors, HasSubstr(part));
    }
  }
}

TEST_F(LdpcToolEndsTest, WhatIsNoCodeOrNoNumberIsRefused) {
  for (const auto& [flags, why] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "no code is given: use one of --nr-bg, --wimax, --wifi, --matrix"},
           {{"--wifi=1/2", "--rows=3"}, "--rows does not go with --wifi"},
           {{"--wifi=1/2", "--trials=101"}, "--trials 101 is not in [1, 100]"},
           {{"--wifi=1/2", "--batch-sise=4"},
            "unknown flag --batch-sise; did you mean --batch-size?"},
           {{"--wifi=1/2", "--timeout=5"}, "--timeout 5: a duration needs a unit, as 5s or 5ms"},
           {{"--wifi=1/2", "--batch-size=0"}, "--batch-size 0 is not in [1, 4096]"},
           {{"--wifi=1/2", "--llr-count=1945"}, "--llr-count 1945 is not in [1, 1944]"},
           {{"--wifi=1/2", "FILE"}, "FILE"}}) {
    const PipeOutcome outcome = Run(ToolCode(), "", flags);
    EXPECT_EQ(outcome.exit_code, kBadArguments);
    EXPECT_THAT(outcome.errors, HasSubstr("basebandd-ldpc-tool: "));
    EXPECT_THAT(outcome.errors, HasSubstr(why));
  }
}

}  // namespace
}  // namespace baseband::testing
