// Flags and keys of `load` that are for some operations only: by the table of load_keys.h, over all
// operations and all flags.
#include "client/ctl/load/load_keys.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/ctl/load/load_flags.h"
#include "tests/support/matchers.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_files.h"

namespace baseband::ctl {
namespace {

using testing::IsInvalid;
using testing::IsOk;

constexpr const char* kOperations[] = {
    "encode",      "decode",  "encode-shared-channel", "decode-shared-channel", "recover",
    "downconvert", "minimize"};

// A command line of `load` by itself.
class Line {
 public:
  Line() { AddLoadFlags(&app_, &flags_); }

  CLI::App& app() { return app_; }
  absl::StatusOr<Scenario> Parse(std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());
    app_.parse(std::move(words));
    return ToScenario(flags_, app_, absl::nullopt);
  }

 private:
  CLI::App app_;
  LoadFlags flags_;
};

// What each flag of a key is given, one that its range or its list has.
std::string ValueFor(const std::string& flag) {
  static const std::vector<std::pair<std::string, std::string>> values = {
      {"--deadline", "5ms"},       {"--priority", "high"},    {"--wimax", "1/2"},
      {"--wifi", "1/2"},           {"--matrix", "none.txt"},  {"--algorithm", "spa"},
      {"--schedule", "flooding"},  {"--input", "int8"},       {"--early-stop", "crc"},
      {"--constellation", "QPSK"}, {"--frame-symbols", "64"}, {"--samples", "1k"},
      {"--code-rate", "0.5"}};
  for (const auto& [name, value] : values) {
    if (name == flag) return value;
  }
  return "1";
}

// The flags that have keys, those of switches with "" for their value.
std::vector<std::pair<std::string, std::string>> FlagsOfKeys() {
  Line line;
  std::vector<std::pair<std::string, std::string>> flags;
  for (const CLI::Option* const option : line.app().get_options()) {
    if (KeyOfFlag(option->get_name()) == nullptr) continue;
    const bool is_switch = option->get_expected_max() == 0;
    flags.emplace_back(option->get_name(), is_switch ? "" : ValueFor(option->get_name()));
  }
  return flags;
}

TEST(LoadKeysTest, EveryFlagOfCallsIsAKeyOfScenariosAndTheOtherWayRound) {
  Line line;
  std::vector<std::string> keys_with_flags;
  for (const CLI::Option* const option : line.app().get_options()) {
    const std::string& group = option->get_group();
    const TrafficKey* const key = KeyOfFlag(option->get_name());
    const bool is_of_the_load = group == "Report" || absl::StartsWith(group, "Pace");
    const bool says_what = option->get_name() == "OPERATION" ||
                           option->get_name() == "--scenario" ||
                           absl::StartsWith(option->get_name(), "--help");
    EXPECT_NE(key != nullptr, is_of_the_load || says_what) << option->get_name();
    if (key != nullptr) keys_with_flags.emplace_back(key->name);
  }
  for (const TrafficKey& key : TrafficKeys()) {
    EXPECT_NE(::testing::Value(keys_with_flags, ::testing::Contains(std::string(key.name))),
              ::testing::Value(std::string(key.name),
                               AnyOf("operation", "name", "weight", "frames", "priority")))
        << key.name;
  }
}

TEST(LoadKeysTest, AFlagOfAnotherOperationIsRefusedByNameAndNoneOfItsOwn) {
  int refused = 0;
  for (const auto& [flag, value] : FlagsOfKeys()) {
    const TrafficKey& key = *KeyOfFlag(flag);
    for (const char* const operation : kOperations) {
      const auto scenario =
          Line().Parse({operation, value.empty() ? flag : absl::StrCat(flag, "=", value)});
      const std::string message(scenario.status().message());
      if (key.IsFor(*ParseOperation(operation))) {
        EXPECT_THAT(message, Not(HasSubstr(" goes with "))) << operation << " " << flag;
      } else {
        EXPECT_THAT(message, StartsWith(absl::StrCat(flag, " goes with "))) << operation;
        EXPECT_THAT(message, EndsWith(absl::StrCat(", not with ", operation))) << flag;
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(LoadKeysTest, WhatTheRefusalSaysIsWhichOperationsTakeTheFlag) {
  EXPECT_THAT(Line().Parse({"decode", "--early-stop=crc"}),
              IsInvalid("--early-stop goes with decode-shared-channel, not with decode"));
  EXPECT_THAT(Line().Parse({"decode-shared-channel", "--llr-scale=6"}),
              IsInvalid("--llr-scale goes with decode, not with decode-shared-channel"));
  EXPECT_THAT(Line().Parse({"minimize", "--harq=0.5"}),
              IsInvalid("--harq goes with decode, decode-shared-channel, not with minimize"));
}

TEST(LoadKeysTest, FlagsOfOneKindOfLoadAreRefusedWithAnother) {
  EXPECT_THAT(Line().Parse({"encode", "--max-in-flight=9"}),
              IsInvalid("--max-in-flight goes with --rate and --cells"));
  EXPECT_THAT(Line().Parse({"encode", "--max-in-flight=9", "--rate=5"}), IsOk());
  for (const std::string flag : {"--knee-bound=p99=2ms", "--knee-probe=1s"}) {
    EXPECT_THROW((void)Line().Parse({"encode", flag}), CLI::RequiresError);
    EXPECT_THAT(Line().Parse({"encode", flag, "--find-knee"}), IsOk());
  }
}

TEST(LoadKeysTest, TheHelpOfAFlagBeginsWithItsOperations) {
  Line line;
  EXPECT_THAT(line.app().get_option("--llr-scale")->get_description(), StartsWith("decode: "));
  EXPECT_THAT(line.app().get_option("--layers")->get_description(),
              StartsWith("encode-shared-channel, decode-shared-channel: "));
  EXPECT_THAT(line.app().get_option("--deadline")->get_description(), StartsWith("a later answer"));
}

std::string ScenarioFlag(const std::string& text) {
  return "--scenario=" + testing::FileOfTest("scenario.json", text);
}

TEST(LoadKeysOfScenarioTest, AFlagBesideAScenarioIsForThoseOfItsPartsThatTakeIt) {
  const std::string mix = ScenarioFlag(R"({"mix": [{"operation": "decode"}, {"operation": "encode"},
                       {"operation": "recover"}, {"operation": "encode"}]})");
  const auto scenario = Line().Parse({mix, "--harq=0.25", "--iterations=7"});
  ASSERT_THAT(scenario, IsOk());
  EXPECT_EQ(scenario->mix[0].harq, 0.25);
  EXPECT_EQ(scenario->mix[0].decode.iterations, 7);
  EXPECT_EQ(scenario->mix[1].harq, 0) << "there is no second transmission to encode";
  EXPECT_EQ(scenario->mix[2].harq, 0);
  EXPECT_THAT(
      Line().Parse({mix, "--early-stop=crc"}),
      IsInvalid("--early-stop goes with decode-shared-channel, not with decode, encode, recover"));
}

TEST(LoadKeysOfScenarioTest, AKeyOfAnotherOperationIsRefusedByItsPlace) {
  EXPECT_THAT(
      Line().Parse({ScenarioFlag(R"({"mix": [{"operation": "recover", "mcs": 3}]})")}),
      IsInvalid("mix[0].mcs: goes with encode-shared-channel, decode-shared-channel, not with "
                "recover"));
}

}  // namespace
}  // namespace baseband::ctl
