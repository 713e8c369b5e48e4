// The command line as a whole: every option of every command, found in the tree of commands, takes
// numbers and times in the one way of options.h, and every help text is fit to be read.
#include "client/ctl/command_line.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/positionals.h"
#include "client/ctl/common/session.h"
#include "tests/support/matchers.h"
#include "tests/support/test_files.h"

namespace baseband::ctl {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::Le;

constexpr size_t kColumns = 100;

void ForEachApp(const CLI::App& app, const std::function<void(const CLI::App&)>& visit) {
  visit(app);
  for (const CLI::App* const below : app.get_subcommands([](const CLI::App*) { return true; })) {
    ForEachApp(*below, visit);
  }
}

// "basebandctl ber --frames".
void ForEachOption(const CLI::App& root,
                   const std::function<void(const std::string&, CLI::Option*)>& visit) {
  ForEachApp(root, [&](const CLI::App& app) {
    for (const CLI::Option* const option : app.get_options()) {
      const std::string name = absl::StrCat(&app == &root ? "" : root.get_name() + " ",
                                            app.get_name(), " ", option->get_name());
      visit(name, const_cast<CLI::Option*>(option));
    }
  });
}

bool Has(CLI::Option* option, const char* validator) {
  try {
    return option->get_validator(validator) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}
bool IsNumber(CLI::Option* option) { return Has(option, kNumberOption); }
bool IsTime(CLI::Option* option) { return Has(option, kTimeOption); }

// What the option says of `value`; empty if it takes it.
std::string Refusal(CLI::Option* option, const std::string& value) {
  option->clear();
  option->add_result(value);
  std::string refusal;
  try {
    option->run_callback();
  } catch (const CLI::Error& error) {
    refusal = error.what();
  }
  option->clear();
  return refusal;
}

class CommandLineTest : public ::testing::Test {
 protected:
  CommandLine line_{"1.2.3"};
};

TEST_F(CommandLineTest, TheTreeHasCommandsAndOptionsOfBothKinds) {
  int apps = 0;
  int numbers = 0;
  int times = 0;
  ForEachApp(line_.app(), [&](const CLI::App&) { ++apps; });
  ForEachOption(line_.app(), [&](const std::string&, CLI::Option* option) {
    numbers += IsNumber(option) ? 1 : 0;
    times += IsTime(option) ? 1 : 0;
  });
  EXPECT_GE(apps, 18);
  EXPECT_GE(numbers, 80);
  EXPECT_GE(times, 12);
}

// An option that reads numbers by itself refuses a word: it does not convert. Those of words take
// it, those of a list of names list them.
TEST_F(CommandLineTest, EveryOptionOfANumberOrATimeIsMadeByTheOneHelper) {
  ForEachOption(line_.app(), [](const std::string& name, CLI::Option* option) {
    if (option->get_expected_max() == 0 || IsNumber(option) || IsTime(option)) {
      return;
    }
    EXPECT_THAT(Refusal(option, "wrong"),
                AnyOf("", HasSubstr("'wrong' is not one of "), HasSubstr("{man,bash,zsh}")))
        << name;
    EXPECT_THAT(option->get_type_name(), Not(ContainsRegex("SECONDS|^(INT|UINT|FLOAT|MS)")))
        << name;
  });
}

TEST_F(CommandLineTest, EveryNumberTakesSuffixesAndSaysItsRange) {
  ForEachOption(line_.app(), [](const std::string& name, CLI::Option* option) {
    if (!IsNumber(option)) {
      return;
    }
    for (const char* value : {"1k", "0.1M", "2G", "1Ki", "1e3"}) {
      const std::string refusal = Refusal(option, value);
      EXPECT_TRUE(refusal.empty() || absl::StrContains(refusal, absl::StrCat(value, " is not ")))
          << name << ": " << refusal;
      // No range of a type, with hundreds of digits.
      EXPECT_THAT(refusal.size(), Le(80u)) << name << ": " << refusal;
    }
    for (const char* value : {"wrong", "1x", "5ms", "", "nan", "1m"}) {
      const std::string refusal = Refusal(option, value);
      EXPECT_THAT(refusal, StartsWith("--")) << name;
      EXPECT_THAT(refusal, HasSubstr(absl::StrCat("'", value, "' is not a number"))) << name;
    }
    EXPECT_THAT(Refusal(option, "1e300"),
                AnyOf("", HasSubstr("1e300 is not "), HasSubstr("'1e300' is not a whole number")))
        << name;
    EXPECT_THAT(option->get_description(),
                ContainsRegex("in [[(][-0-9e.kKMGTi]+, [-0-9e+.kKMGTi]+[])]|[>]=? 0|any number"))
        << name;
    EXPECT_THAT(option->get_type_name(), Not(AnyOf("", "INT", "UINT", "FLOAT", "TEXT"))) << name;
  });
}

TEST_F(CommandLineTest, EveryTimeWantsAUnitAndSaysItsRange) {
  ForEachOption(line_.app(), [](const std::string& name, CLI::Option* option) {
    if (!IsTime(option)) {
      return;
    }
    EXPECT_EQ(Refusal(option, "1s"), "") << name;
    for (const char* value : {"5", "0", "0.5", "60"}) {
      EXPECT_THAT(Refusal(option, value),
                  HasSubstr(absl::StrCat(" ", value, ": a duration needs a unit, as ", value,
                                         "s or ", value, "ms")))
          << name;
    }
    for (const char* value : {"soon", "-1s", "inf", "5 parsecs", ""}) {
      EXPECT_THAT(Refusal(option, value), HasSubstr("is not a duration, such as 500us")) << name;
    }
    EXPECT_THAT(option->get_description(),
                ContainsRegex("in [[(][0-9.a-z]+, [0-9.a-z]+]|[>]=? [0-9]+s"))
        << name;
    EXPECT_EQ(option->get_type_name(), "TIME") << name;
  });
}

TEST_F(CommandLineTest, EveryHelpFitsTheScreenAndHasAnExample) {
  ForEachApp(line_.app(), [](const CLI::App& app) {
    const std::string help = app.help();
    for (const std::string& text : std::vector<std::string>(absl::StrSplit(help, '\n'))) {
      EXPECT_THAT(text.size(), Le(kColumns)) << app.get_name() << ": " << text;
    }
    EXPECT_THAT(app.get_footer(), HasSubstr("\n  basebandctl ")) << app.get_name();
    EXPECT_THAT(help, HasSubstr(app.get_footer())) << app.get_name();
  });
}

// What `basebandctl ARGUMENTS` prints.
std::string Printed(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "basebandctl");
  CommandLine line("1.2.3");
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(line.Run(static_cast<int>(arguments.size()), arguments.data()), 0);
  return ::testing::internal::GetCapturedStdout();
}

TEST_F(CommandLineTest, HelpOfACommandIsWhatItsFlagPrints) {
  EXPECT_EQ(Printed({"help"}), Printed({"--help"}));
  for (const CLI::App* const command :
       line_.app().get_subcommands([](const CLI::App*) { return true; })) {
    const char* const name = command->get_name().c_str();
    const std::string help = Printed({"help", name});
    EXPECT_EQ(help, Printed({name, "--help"}));
    EXPECT_THAT(help, HasSubstr(absl::StrCat("basebandctl ", name))) << help;
  }
}

// What `basebandctl ARGUMENTS` is refused with.
std::string RefusalOf(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "basebandctl");
  CommandLine line("1.2.3");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(line.Run(static_cast<int>(arguments.size()), arguments.data()), kBadArguments);
  return ::testing::internal::GetCapturedStderr();
}

TEST_F(CommandLineTest, HelpOfWhatIsNoCommandIsRefusedHoweverItIsAskedFor) {
  for (const std::vector<const char*>& arguments : std::vector<std::vector<const char*>>{
           {"minimze"},
           {"minimze", "--help"},
           {"--help", "minimze"},
           {"minimze", "-h"},
           {"minimze", "--version"},
           {"help", "minimze"},
           {"help", "minimze", "--help"},
           {"--json", "minimze", "--axis", "x=0:1:2", "--help"}}) {
    EXPECT_THAT(RefusalOf(arguments), HasSubstr("'minimze' is no command; did you mean minimize?"))
        << absl::StrJoin(arguments, " ");
  }
  EXPECT_THAT(RefusalOf({"status", "--help"}),
              HasSubstr("'status' is no command; did you mean health, info, top?"));
}

// Behind an option of several values, too, which CLI11 lets a `--` end without more.
TEST_F(CommandLineTest, WhatIsBehindTwoDashesIsNoFlagToAnyCommand) {
  const auto parsed = [](std::vector<std::string> arguments) {
    CommandLine line("1.2.3");
    MarkPositionals(line.app(), &arguments);
    CLI::App* const command = line.app().get_subcommand(arguments[0]);
    std::reverse(arguments.begin(), arguments.end());
    try {
      line.app().parse(std::move(arguments));
    } catch (const CLI::ParseError&) {  // "--axis is required"
    }
    std::vector<std::string> found;
    for (const CLI::Option* const option : command->get_options()) {
      if (!option->get_positional()) continue;
      for (const std::string& result : option->results()) found.push_back(WithoutMark(result));
    }
    return found;
  };
  int commands = 0;
  for (const CLI::App* const command :
       line_.app().get_subcommands([](const CLI::App*) { return true; })) {
    if (!HasPositional(*command)) continue;
    ++commands;
    const std::string& name = command->get_name();
    EXPECT_THAT(parsed({name, "--", "-h"}), ElementsAre("-h")) << name;
    EXPECT_THAT(parsed({name, "--json", "--", "--help"}), ElementsAre("--help")) << name;
    for (const CLI::Option* const option : command->get_options()) {
      if (option->get_positional() || option->get_expected_max() == 0) continue;
      const std::string flag = option->get_name();
      EXPECT_THAT(parsed({name, flag, "1", "--", "-x"}), ElementsAre("-x")) << name << flag;
      EXPECT_THAT(parsed({name, flag + "=1", "--", "-x"}), ElementsAre("-x")) << name << flag;
    }
  }
  EXPECT_GE(commands, 10);
  EXPECT_THAT(parsed({"verify", "a", "--", "-b", "--c"}), ElementsAre("a", "-b", "--c"));
}

TEST_F(CommandLineTest, WhatIsNoFlagAndLooksLikeOneIsRefusedWithWhereItGoes) {
  for (const char* argument : {"-x^2", "--x", "-(x-1)^2"}) {
    EXPECT_THAT(RefusalOf({"minimize", argument, "--axis", "x=0:1:2"}),
                HasSubstr(absl::StrCat("unknown flag ", argument,
                                       "; what begins with - and is no flag goes to the end,"
                                       " behind --")));
  }
  EXPECT_THAT(RefusalOf({"info", "-x"}), HasSubstr("unknown flag -x\n"));
  EXPECT_THAT(RefusalOf({"info", "--", "-x"}), HasSubstr("unexpected argument -x\n"));
}

// One text in one line, without what marks words in a guide.
std::string Plain(const std::string& text) {
  return absl::StrJoin(absl::StrSplit(absl::StrReplaceAll(text, {{"*", ""}}),
                                      absl::ByAnyChar(" \n"), absl::SkipEmpty()),
                       " ");
}

TEST_F(CommandLineTest, TheGuideHasTheExitCodesOfTheHelp) {
  EXPECT_THAT(Plain(Printed({"help"})), HasSubstr(Plain(kExitCodes)));
  EXPECT_THAT(Plain(testing::ReadAll(BASEBAND_CTL_GUIDE)), HasSubstr(Plain(kExitCodes)));
  // Each with its meaning, and no other.
  std::string codes;
  for (const int code :
       {kOk, kBadArguments, kCannotConnect, kRpcFailed, kNegativeResult, kInterrupted}) {
    absl::StrAppend(&codes, codes.empty() ? "" : "[^0-9]*", code, " ");
  }
  EXPECT_THAT(Plain(kExitCodes), ContainsRegex("^Exit codes: " + codes + "[^0-9]*$"));
}

TEST_F(CommandLineTest, EveryOptionIsExplained) {
  ForEachOption(line_.app(), [](const std::string& name, CLI::Option* option) {
    EXPECT_THAT(option->get_description().size(), ::testing::Ge(5u)) << name;
  });
}

}  // namespace
}  // namespace baseband::ctl
