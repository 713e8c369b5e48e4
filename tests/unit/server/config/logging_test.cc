// A line of the log is one line, whatever others have put into it; and what admins change is there
// whatever its level is.
#include "server/config/logging.h"

#include <spdlog/spdlog.h>

#include <string>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "server/config/quoted.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::StatusIs;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

class LoggingTest : public ::testing::Test {
 protected:
  ~LoggingTest() override { spdlog::drop_all(); }

  // What the log becomes by `write`.
  template <typename Write>
  static std::string Written(LogFormat format, const Write& write) {
    spdlog::drop_all();
    Config config;
    config.log_format = format;
    ::testing::internal::CaptureStderr();
    SetUpLogging(config);
    write();
    return ::testing::internal::GetCapturedStderr();
  }
  static std::string LevelBefore(const std::string& level) {
    const absl::StatusOr<std::string> before = SetLogLevel(level);
    return before.ok() ? *before : before.status().ToString();
  }
  static std::string Line(LogFormat format, const std::string& message) {
    return Written(format, [&message] { spdlog::info("{}", message); });
  }
};

// Line feed, escape, DEL, U+009B (a terminal's CSI in one character), U+2028, U+202E (right to
// left), no UTF-8 at all, half a character, an overlong slash, a surrogate.
constexpr const char* kHostile[][2] = {{"a\nb", R"(a\x0ab)"},
                                       {"a\x1b[2Jb", R"(a\x1b[2Jb)"},
                                       {"a\x7f", R"(a\x7f)"},
                                       {"a\xc2\x9b"
                                        "2Jb",
                                        R"(a\xc2\x9b2Jb)"},
                                       {"a\xe2\x80\xa8"
                                        "b",
                                        R"(a\xe2\x80\xa8b)"},
                                       {"a\xe2\x80\xae"
                                        "b",
                                        R"(a\xe2\x80\xaeb)"},
                                       {"a\xff", R"(a\xff)"},
                                       {"a\xe2\x82", R"(a\xe2\x82)"},
                                       {"a\xc0\xaf", R"(a\xc0\xaf)"},
                                       {"a\xed\xa0\x80", R"(a\xed\xa0\x80)"}};

TEST_F(LoggingTest, ATextLineIsOneLineOfPlainUtf8WhateverIsInIt) {
  for (const auto& [message, written] : kHostile) {
    EXPECT_THAT(Line(LogFormat::kText, message), EndsWith(std::string(" ") + written + "\n"));
  }
  EXPECT_THAT(Line(LogFormat::kText, "\"grün\" \xe2\x82\xac \xf0\x9f\x93\xa1"),
              EndsWith(" \"grün\" \xe2\x82\xac \xf0\x9f\x93\xa1\n"));
}

TEST_F(LoggingTest, AJsonLineIsAnObjectWithTheMessageWhateverIsInIt) {
  for (const std::string message :
       {"a\nb", "a\x1b[2Jb", "a\x7f", "a\xc2\x9b", "a\xe2\x80\xae", "\"grün\" \\ \xe2\x82\xac"}) {
    const std::string line = Line(LogFormat::kJson, message);
    EXPECT_EQ(nlohmann::json::parse(line)["msg"], message) << line;
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    EXPECT_THAT(line, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x7f")),
                            Not(HasSubstr("\xc2\x9b")), Not(HasSubstr("\xe2\x80\xae"))));
  }
  EXPECT_EQ(nlohmann::json::parse(Line(LogFormat::kJson, "a\xff\xe2\x82"))["msg"],
            R"(a\xff\xe2\x82)");
}

TEST_F(LoggingTest, SettingTheLevelTellsTheOneBeforeAndRefusesAnother) {
  const std::string log = Written(LogFormat::kText, [] {
    EXPECT_EQ(LevelBefore("warning"), "info");
    EXPECT_THAT(
        SetLogLevel("loud\n"),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 R"(level 'loud\n' is not one of trace, debug, info, warning, error, off)"));
    EXPECT_EQ(LevelBefore("warning"), "warning") << "it stays as it was";
    EXPECT_EQ(LevelBefore("off"), "warning");
    spdlog::critical("held back");
    LogAtAnyLevel("an admin's");
    EXPECT_EQ(LevelBefore("info"), "off");
  });
  EXPECT_THAT(log, AllOf(HasSubstr("warning an admin's\n"), Not(HasSubstr("held back"))));
}

TEST_F(LoggingTest, WhatOthersChoseIsQuotedSoThatItsEndIsPlain) {
  EXPECT_EQ(Quoted("uid:0"), "'uid:0'");
  EXPECT_EQ(Quoted("a' drains the server\n"), R"('a\' drains the server\n')");
  EXPECT_EQ(Quoted(std::string(1000, 'x')), "'" + std::string(128, 'x') + "'.. (1000 bytes)");
}

}  // namespace
}  // namespace baseband::server
