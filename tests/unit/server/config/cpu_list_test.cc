#include "server/config/cpu_list.h"

#include <set>
#include <string>

#include "tests/support/matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CpuListTest, IsReadAsLinuxWritesIt) {
  EXPECT_THAT(*ParseCpuList("0"), ElementsAre(0));
  EXPECT_THAT(*ParseCpuList("8,0-3"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(*ParseCpuList("4-4,2-5,3"), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(ParseCpuList("0-8191")->size(), 8192u);
}

TEST(CpuListTest, WhatIsNoneIsNamed) {
  for (const std::string text : {"", "a", "1-", "-1", "3-2", "8192", "0-99999999999", "0x1", " 1",
                                 "1 ", "+1", "1-2-3", "0,,1", "1,", "0-8191,8192", "1:2"}) {
    EXPECT_THAT(ParseCpuList(text), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("in [0, 8191]; expected such as 0-7,16")))
        << text;
  }
  EXPECT_THAT(ParseCpuList("0,7-5").status().message(), HasSubstr("'7-5'"));
}

TEST(CpuListTest, WrittenAndReadItIsTheSame) {
  EXPECT_EQ(FormatCpuList({}), "");
  EXPECT_EQ(FormatCpuList({5}), "5");
  EXPECT_EQ(FormatCpuList({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  for (const std::set<int>& cpus :
       {std::set<int>{1}, std::set<int>{0, 8191}, std::set<int>{4, 5, 6, 9, 11, 12}}) {
    EXPECT_EQ(*ParseCpuList(FormatCpuList(cpus)), cpus);
  }
}

}  // namespace
}  // namespace baseband::server
