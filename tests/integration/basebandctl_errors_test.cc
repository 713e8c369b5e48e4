// What basebandctl says when a server has an error and no word for it: each command names the code
// and what it means.
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/ctl_test.h"
#include "tests/support/fake_baseband.h"
#include "tests/support/server_process.h"
#include "tests/support/test_files.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* name;
  std::vector<std::string> arguments;  // FILE: one with some bytes
};

class WithoutAMessageTest : public ::testing::TestWithParam<Case> {};

TEST_P(WithoutAMessageTest, AnErrorSaysWhatItMeans) {
  // 32 blocks of information, 2 of LLRs.
  const std::string file = FolderOfTests() + "/file.cf32";
  WriteAll(file, std::string(4608, 'x'));
  const auto refuse = [](auto*, const auto&, auto*) {
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "");
  };
  FakeBaseband server;
  server.on_capabilities = refuse;
  server.on_encode = refuse;
  server.on_decode = refuse;
  server.on_encode_shared_channel = refuse;
  server.on_decode_shared_channel = refuse;
  server.on_recover_carrier = refuse;
  server.on_downconvert = refuse;
  server.on_downconvert_stream = [](auto*, auto*) {
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "");
  };
  server.Start();
  std::vector<std::string> arguments = {"--target=" + server.target(), "--timeout=20s"};
  for (const std::string& argument : GetParam().arguments) {
    arguments.push_back(argument == "FILE" ? file : argument);
  }
  ChildProcess client(ProgramPath("basebandctl"), arguments);
  EXPECT_EQ(client.Wait(absl::Seconds(60)), 3) << client.Output();
  EXPECT_THAT(client.Output(), HasSubstr("the server has no such call: it is of another version"));
  EXPECT_THAT(client.Output(), HasSubstr("--admin-listen"));
}

INSTANTIATE_TEST_SUITE_P(
    Commands, WithoutAMessageTest,
    ::testing::Values(Case{"info", {"info"}},
                      Case{"encode", {"encode", "FILE", "--wimax=1/2", "-o", "/dev/null"}},
                      Case{"decode", {"decode", "FILE", "--wimax=1/2", "-o", "/dev/null"}},
                      Case{"demo", {"demo", "FILE"}},
                      Case{"demo_nr", {"demo", "FILE", "--nr", "--prbs=10"}},
                      Case{"ber", {"ber", "--nr-bg=1", "--ebn0=1:1:2"}},
                      Case{"bler", {"bler", "--prbs=2", "--snr=10"}},
                      Case{"recover", {"recover", "FILE", "--constellation=QPSK"}},
                      Case{
                          "downconvert",
                          {"downconvert", "FILE", "--rate=1M", "--channel=0:8", "-o", "/dev/null"}},
                      Case{"minimize", {"minimize", "x^2", "--axis=x=-1:0.1:1"}},
                      Case{"load", {"load", "decode"}}, Case{"admin", {"admin", "config"}}),
    [](const auto& test) { return test.param.name; });

// Before anything is sent: what is wrong, by the name it was given under.
struct Refused {
  const char* name;
  std::vector<std::string> arguments;
  int exit_code;
  const char* message;
};

class RefusedTest : public ::testing::TestWithParam<Refused> {};

TEST_P(RefusedTest, TheMessageNamesWhatIsWrong) {
  const std::string folder = FolderOfTests();
  WriteAll(folder + "/tokens", "bbu8 user 0123\nbbu9 user 4567\n");
  WriteAll(folder + "/umlaut", "caf\xc3\xa9\n");
  std::vector<std::string> arguments = GetParam().arguments;
  for (std::string& argument : arguments) {
    absl::StrReplaceAll({{"DIR", folder}}, &argument);
  }
  ChildProcess client(ProgramPath("basebandctl"), arguments);
  EXPECT_EQ(client.Wait(absl::Seconds(60)), GetParam().exit_code) << client.Output();
  EXPECT_THAT(client.Output(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, RefusedTest,
    ::testing::Values(
        Refused{"scheme",
                {"--target=http://127.0.0.1:50151", "info"},
                1,
                "takes no http://, but HOST:PORT"},
        Refused{"port", {"--target=127.0.0.1:99999", "info"}, 1, "port 99999 is not in [1, 65535]"},
        Refused{"port_of_several",
                {"--target=127.0.0.1:1,127.0.0.1:0", "info"},
                1,
                "port 0 is not in [1, 65535]"},
        // No fault of the target's form: nobody is there.
        Refused{"ipv6", {"--target=[::1]:1", "info"}, 2, "cannot connect to [::1]:1"},
        Refused{"unix", {"--target=unix:DIR/99999", "info"}, 2, "No such file"},
        Refused{"tokens",
                {"--token-file=DIR/tokens", "info"},
                1,
                "tokens holds more than one word: it has to be the token alone"},
        Refused{"umlaut",
                {"--token-file=DIR/umlaut", "info"},
                1,
                "has a byte that is not printable ASCII, number 4"},
        Refused{"cert", {"--tls-cert=DIR/tokens", "info"}, 1, "--tls-cert needs --tls-key"},
        Refused{"key", {"--tls-key=DIR/tokens", "info"}, 1, "--tls-key needs --tls-cert"},
        Refused{"command", {"colour"}, 1, "'colour' is no command; the commands are info, health,"},
        Refused{"beginning", {"dem"}, 1, "'dem' is no command; did you mean demo?"},
        Refused{"several", {"carrier"}, 1, "did you mean carrier-signal, carrier-bench?"},
        Refused{"letters", {"minimise"}, 1, "did you mean minimize?"},
        // Which flags it would have, nobody knows.
        Refused{"command_with_flags",
                {"encod", "--wimax=1/2", "in.bin", "-o", "out.bin"},
                1,
                "'encod' is no command; did you mean encode?"},
        Refused{"word",
                {"recover", "a", "--constellation=QPSK", "--fine=swep"},
                1,
                "--fine 'swep' is not one of remodulate, interpolate, sweep, pll, none; did you"
                " mean sweep?"},
        Refused{"word_of_a_list",
                {"--priority=hig", "info"},
                1,
                "'hig' is not one of high, normal, low; did you mean high?"},
        Refused{"rate",
                {"decode", "a", "--wimax=1/3"},
                1,
                "--wimax '1/3' is not one of 1/2, 2/3A, 2/3B, 3/4A, 3/4B, 5/6\n"},
        Refused{"letter", {"info", "-x"}, 1, "unknown flag -x\n"},
        Refused{"help", {"help", "dem"}, 1, "'dem' is no command; did you mean demo?"},
        Refused{"flag", {"--colour"}, 1, "unknown flag --colour\n"},
        Refused{"flag_of_all", {"--taget=unix:a", "info"}, 1, "did you mean --target?"},
        Refused{"no_value", {"info", "--target"}, 1, "--target needs a value, ADDRESS\n"},
        Refused{"two_values",
                {"info", "--target=a:1", "--target=b:1"},
                1,
                "--target takes one value, and has 2\n"},
        Refused{"too_many", {"recover", "a", "b"}, 1, "unexpected argument b\n"},
        // CLI11 would rather tell that FILE and --constellation are required.
        Refused{"flag_of_command",
                {"recover", "--constelation=QPSK"},
                1,
                "unknown flag --constelation; did you mean --constellation?"}),
    [](const auto& test) { return test.param.name; });

// At a server's other addresses.
class OtherAddressTest : public CtlTest {};

TEST_F(OtherAddressTest, AWebPageIsCalledOne) {
  const Outcome outcome = RunAt(server_->metrics_address(), {"--timeout=10s", "info"});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("what answers there is a web page"));
}

TEST_F(OtherAddressTest, AFileThatHoldsNoKnownAnswersIsSaidToBeNoneOnce) {
  WriteAll(Path("LICENSE"), "a\n\nb\nc\n");
  const Outcome outcome = Run({"verify", Path("LICENSE")});
  EXPECT_EQ(outcome.exit_code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("is no file of known answers: none of its 4 lines"));
  EXPECT_THAT(outcome.output, HasSubstr("0 passed, 1 failed"));
}

}  // namespace
}  // namespace baseband::testing
