// Where the server's settings come from, which wins, unknown names, and what is printed of them.
#include "server/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/matchers.h"
#include "tests/unit/server/config/parse_config.h"

namespace baseband::server {
namespace {

using ::testing::ContainsRegex;
using ::testing::MatchesRegex;

TEST(ConfigTest, DefaultsAreWhatTheHeaderSays) {
  const absl::StatusOr<Command> command = Parse({});

  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->action, Command::Action::kServe);
  EXPECT_THAT(command->config.listen, ElementsAre("127.0.0.1:50151"));
  EXPECT_EQ(command->config.metrics_listen, "127.0.0.1:9151");
  EXPECT_EQ(command->config.lanes, 4);
  EXPECT_EQ(command->config.max_queue_delay, absl::ZeroDuration());
  EXPECT_EQ(command->config.drain_timeout, absl::Seconds(30));
}

TEST(ConfigTest, FlagsWinOverEnvironmentOverFileOverDefault) {
  const TemporaryFile file("lanes = 1\nqueue_requests = 1\ngrpc_threads = 1\n");

  const absl::StatusOr<Command> command =
      Parse({"--lanes=3", file.flag()}, {"BASEBANDD_LANES=2", "BASEBANDD_QUEUE_REQUESTS=2"});

  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->config.lanes, 3);
  EXPECT_EQ(command->config.queue_requests, 2);
  EXPECT_EQ(command->config.grpc_threads, 1);
  EXPECT_EQ(command->config.cpu_threads, 0);
}

TEST(ConfigTest, EverySettingCanBeSetFromEachPlace) {
  for (const Setting& setting : Settings()) {
    const std::string value = setting.get(Config())[0];
    const std::string flag = FlagOf(setting) + "=" + value;
    std::string variable = "BASEBANDD_" + setting.name + "=" + value;
    for (char& c : variable) {
      if (&c < variable.data() + variable.find('=')) c = static_cast<char>(toupper(c));
    }
    const TemporaryFile file(setting.name + " = \"" + value + "\"\n");

    EXPECT_EQ(Refusal({flag.c_str()}), "accepted");
    EXPECT_EQ(Refusal({}, {variable.c_str()}), "accepted");
    EXPECT_EQ(Refusal({file.flag()}), "accepted");
  }
}

TEST(ConfigTest, ListenRepeatsAndComesWholeFromOnePlace) {
  const TemporaryFile file("listen = [\"127.0.0.1:1\", \"unix:/run/b.sock\"]\n");

  const auto by_flags = Parse({"--listen=127.0.0.1:5", "--listen", "[::1]:6", file.flag()});
  const auto by_environment = Parse({file.flag()}, {"BASEBANDD_LISTEN=127.0.0.1:7,unix:/x"});
  const auto by_file = Parse({file.flag()});

  ASSERT_TRUE(by_flags.ok()) << by_flags.status();
  EXPECT_THAT(by_flags->config.listen, ElementsAre("127.0.0.1:5", "[::1]:6"));
  ASSERT_TRUE(by_environment.ok()) << by_environment.status();
  EXPECT_THAT(by_environment->config.listen, ElementsAre("127.0.0.1:7", "unix:/x"));
  ASSERT_TRUE(by_file.ok()) << by_file.status();
  EXPECT_THAT(by_file->config.listen, ElementsAre("127.0.0.1:1", "unix:/run/b.sock"));
}

TEST(ConfigTest, UnknownNamesAreRefusedWithTheNearestKnownOne) {
  const TemporaryFile file("lane_input_mb = 9\n");
  const TemporaryFile section("[server]\nlanes = 2\n");

  EXPECT_EQ(Refusal({"--lane=2"}), "unknown flag --lane; did you mean --lanes?");
  EXPECT_EQ(Refusal({"--metrics_listen", "x"}),
            "unknown flag --metrics_listen; did you mean --metrics-listen?");
  EXPECT_EQ(Refusal({"serve"}), "unexpected argument 'serve': basebandd takes flags only");
  EXPECT_EQ(Refusal({}, {"BASEBANDD_LANE=2"}),
            "unknown environment variable BASEBANDD_LANE; did you mean BASEBANDD_LANES?");
  EXPECT_EQ(Refusal({}, {"BASEBANDD_lanes=2"}),
            "unknown environment variable BASEBANDD_lanes; did you mean BASEBANDD_LANES?");
  EXPECT_EQ(Refusal({file.flag()}),
            "unknown key lane_input_mb in " + file.path() + "; did you mean lane_input_mib?");
  EXPECT_THAT(Refusal({section.flag()}), HasSubstr("section [server] in "));
}

TEST(ConfigTest, AnUnknownNameThatIsNearNoneIsRefusedWithWhereToLook) {
  const TemporaryFile file("colour = 9\n");
  const TemporaryFile config("config = other\n");

  const std::string hint = "; basebandd --help lists them";
  EXPECT_EQ(Refusal({"--port=5"}), "unknown flag --port" + hint);
  EXPECT_EQ(Refusal({"-p"}), "unknown flag -p" + hint);
  EXPECT_EQ(Refusal({}, {"BASEBANDD_COLOUR=2"}),
            "unknown environment variable BASEBANDD_COLOUR" + hint);
  EXPECT_EQ(Refusal({file.flag()}), "unknown key colour in " + file.path() + hint);
  EXPECT_EQ(Refusal({config.flag()}), "unknown key config in " + config.path() + hint);
}

TEST(ConfigTest, ALineWithoutAnEqualsSignIsToldHowASettingIsWritten) {
  for (const char* line : {"lanes: 8", "lanes 8"}) {
    const TemporaryFile file(std::string(line) + "\n");
    EXPECT_EQ(Refusal({file.flag()}), "line '" + std::string(line) + "' in " + file.path() +
                                          " has no =: a setting is written NAME = VALUE");
  }
}

TEST(ConfigTest, OthersEnvironmentIsLeftAlone) {
  EXPECT_EQ(Refusal({}, {"PATH=/bin", "BASEBAND_REQUIRE_GPU=1", "BASEBANDD_SERVICE_HOST=10.0.0.1",
                         "BASEBANDD_PORT=tcp://10.0.0.1:50151",
                         "BASEBANDD_PORT_50151_TCP_ADDR=10.0.0.1"}),
            "accepted");
}

TEST(ConfigTest, ASettingGivenTwiceIsRefused) {
  const TemporaryFile file("lanes = 1\nqueue_mib = 64\nlanes = 2\n");

  EXPECT_THAT(Refusal({"--lanes=1", "--lanes=2"}), HasSubstr("--lanes has 2 values (1 2)"));
  EXPECT_THAT(Refusal({file.flag()}), HasSubstr("lanes has 2 values (1 2)"));
}

TEST(ConfigTest, AFileThatCannotBeReadIsAnError) {
  EXPECT_EQ(Refusal({"--config=/nonexistent/x"}),
            "config /nonexistent/x cannot be read: No such file or directory");
  EXPECT_EQ(Refusal({"--config=/"}), "config / cannot be read: it is a folder");
  EXPECT_EQ(Refusal({"--config=/dev/zero"}),
            "config /dev/zero has more than 1048576 bytes: at most 1048576 are taken");
  EXPECT_EQ(Refusal({}, {"BASEBANDD_CONFIG=/nonexistent/x"}),
            "config /nonexistent/x cannot be read: No such file or directory");
}

TEST(ConfigTest, AByteOrderMarkIsNoPartOfTheFirstKey) {
  const TemporaryFile file("\xef\xbb\xbflanes = 3\n");
  EXPECT_EQ(Refusal({file.flag()}), "accepted");
  const TemporaryFile wide("\xff\xfel");
  EXPECT_THAT(Refusal({wide.flag()}), HasSubstr("is UTF-16: save it as UTF-8"));
}

TEST(ConfigTest, AFileThatIsNoTextIsRefused) {
  const TemporaryFile file(std::string("lanes = 3\0000\n", 12));
  EXPECT_THAT(Refusal({file.flag()}), HasSubstr("is no text: its character 9 is 0"));
}

TEST(ConfigTest, AClientThatIsGivenTwoWeightsIsRefused) {
  EXPECT_EQ(Refusal({"--client-share=a=1", "--client-share=b=2", "--client-share=a=2"}),
            "--client-share a=2: a has a weight already");
}

TEST(ConfigTest, AnEmptyFileChangesNothing) {
  const TemporaryFile file("");
  EXPECT_EQ(Refusal({file.flag()}), "accepted");
}

TEST(ConfigTest, HelpNamesEverySettingWithItsRangeAndDefault) {
  const auto command = Parse({"--help"});

  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->action, Command::Action::kPrint);
  for (const Setting& setting : Settings()) {
    EXPECT_THAT(command->output, HasSubstr(FlagOf(setting) + "=" + setting.value));
  }
  EXPECT_THAT(command->output, HasSubstr("127.0.0.1:50151"));
}

TEST(ConfigTest, HelpSpellsFlagsWithDashesAndNamesNoKey) {
  const std::string help = Parse({"--help"})->output;
  EXPECT_THAT(help, Not(ContainsRegex("--[a-z-]*_")));
  EXPECT_THAT(help, HasSubstr("--max-streams is BASEBANDD_MAX_STREAMS"));
  for (const Setting& setting : Settings()) {
    EXPECT_THAT(setting.name, MatchesRegex("[a-z]+(_[a-z]+)*"));
    EXPECT_THAT(setting.help, Not(ContainsRegex("[a-z]_[a-z]"))) << "a flag is what is typed";
  }
}

TEST(ConfigTest, AnAddressThatTwoSettingsNameIsRefusedByBothNamesHoweverItIsWritten) {
  const std::string why = ": each of them needs an address of its own";
  EXPECT_EQ(Refusal({"--listen=unix:/a", "--shm-listen=unix:/a"}),
            "listen unix:/a is taken by shm_listen" + why);
  EXPECT_EQ(Refusal({"--admin-listen=unix:a", "--shm-listen=unix:./b/../a"}),
            "shm_listen unix:./b/../a is taken by admin_listen" + why);
  EXPECT_EQ(Refusal({"--listen=unix:/a", "--listen=unix:///a"}),
            "listen unix:///a is taken by listen" + why);
  EXPECT_EQ(Refusal({"--admin-listen=127.0.0.1:7", "--metrics-listen=127.0.0.1:7"}),
            "admin_listen 127.0.0.1:7 is taken by metrics_listen" + why);
  EXPECT_EQ(Refusal({"--admin-listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0",
                     "--listen=127.0.0.1:0", "--listen=127.0.0.1:0"}),
            "accepted");
}

TEST(ConfigTest, AFlagWithUnderscoresIsRefusedWithTheRightOne) {
  EXPECT_EQ(Refusal({"--object_mib=3"}), "unknown flag --object_mib; did you mean --object-mib?");
  const TemporaryFile file("object-mib = 3\n");
  EXPECT_THAT(Refusal({file.flag()}), HasSubstr("did you mean object_mib?"));
}

TEST(ConfigTest, VersionPrintsTheVersion) {
  const auto command = Parse({"--version"});

  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_EQ(command->action, Command::Action::kPrint);
  EXPECT_EQ(command->output, "basebandd " + std::string(Version()) + "\n");
}

TEST(ConfigTest, CheckConfigPrintsAFileThatRepeatsTheConfiguration) {
  const auto first =
      Parse({"--check-config", "--device=cuda:1,0", "--listen=unix:/a", "--listen=127.0.0.1:1",
             "--tls-cert=c", "--tls-key=k", "--allow=user=uid:1", "--allow=admin=gid:2",
             "--metrics-listen=", "--lanes=7", "--max-queue-delay=250us", "--log-format=json",
             "--tokens-file=/it's, a [file] \\ = \xc3\xa9;"});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->action, Command::Action::kCheck);
  EXPECT_THAT(first->output, HasSubstr("# from flag --lanes\nlanes = 7\n"));

  const TemporaryFile file(first->output);
  const auto second = Parse({file.flag()});

  ASSERT_TRUE(second.ok()) << second.status();
  for (const Setting& setting : Settings()) {
    EXPECT_EQ(setting.get(second->config), setting.get(first->config)) << setting.name;
  }
}

// What a file cannot hold is refused where it would be printed, and where it would be cut short.
TEST(ConfigTest, AValueThatNoFileCanHoldIsNotPrintedAndNotReadAsAnother) {
  for (const char* const listen : {"--listen=unix:/a # b", "--listen=unix:/a\"b",
                                   "--listen=unix:/a\nlanes = 3", "--listen=unix:/a \\"}) {
    EXPECT_EQ(Refusal({listen}), "accepted");
    EXPECT_THAT(Refusal({listen, "--check-config"}),
                AnyOf(HasSubstr("listen"), HasSubstr("that would be printed")));
  }
  const TemporaryFile cut("lanes = 2\nlisten = \"unix:/a b # c\"\n");
  EXPECT_THAT(Refusal({cut.flag()}),
              HasSubstr(": line 2, listen = \"unix:/a b # c\", has a # within quotes, which no "));
  const TemporaryFile single("tls_cert = '/a # b'\n");
  EXPECT_THAT(Refusal({single.flag()}),
              HasSubstr(": line 1, tls_cert = '/a # b', has a # within quotes"));
  const TemporaryFile apostrophe("tokens_file = /it's  # ours\n");
  EXPECT_EQ(Refusal({apostrophe.flag()}), "accepted");
  const TemporaryFile comment("lanes = 2  # a \"remark\" of two lanes\n");
  EXPECT_EQ(Refusal({comment.flag()}), "accepted");
}

TEST(ConfigTest, CheckConfigReportsWhatIsWrong) {
  EXPECT_EQ(Refusal({"--check-config", "--lanes=0"}), "--lanes 0 is not in [1, 32]");
}

}  // namespace
}  // namespace baseband::server
