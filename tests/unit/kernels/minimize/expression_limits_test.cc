// What an expression may be at most: each limit at, below and above it, and how it is said.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/minimize/expression.h"
#include "tests/support/status_matchers.h"

namespace baseband::minimize {
namespace {

using ::baseband::testing::IsOk;
using ::testing::AllOf;
using ::testing::HasSubstr;

const Names& LimitNames() {
  static const auto* const kNames = new Names{{"x", "y"}, {}, {{"a", 5}}};
  return *kNames;
}

absl::Status StatusOf(const std::string& text) {
  return Expression::Parse(text, LimitNames()).status();
}

std::string RefusalOf(const std::string& text, const Names& names = LimitNames()) {
  const auto expression = Expression::Parse(text, names);
  EXPECT_EQ(expression.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(expression.status().message());
}

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(MinimizeExpressionLimitsTest, Bytes) {
  for (const int bytes : {kMaxTextBytes - 1, kMaxTextBytes}) {
    EXPECT_THAT(StatusOf("x" + Repeated(" ", bytes - 1)), IsOk()) << bytes;
  }
  EXPECT_EQ(RefusalOf("x" + Repeated(" ", kMaxTextBytes)),
            "expression: its text has 65537 bytes, more than 65536");
}

// A deep tree, but no deep text.
TEST(MinimizeExpressionLimitsTest, OperatorsNumbersNamesAndCalls) {
  const std::string sum = "x" + Repeated("+y", 2046);  // 4093 of them
  for (const char* const more : {"+y", "+-y", "+-(+y)"}) {
    EXPECT_THAT(StatusOf(sum + more), IsOk()) << more;
  }
  const std::string refusal =
      absl::StrCat("more than ", kMaxNodes, " operators, numbers, names and calls");
  EXPECT_EQ(RefusalOf(sum + "+y+y"), "expression, column 4097: " + refusal);
  for (const char* const more : {"+--y", "+sin(-y)", "+min(1,2)", "+a[0]-1", "+y^2", "+size(a)-1",
                                 "+select(x<y,1,2)", "+sum(j,0,1,j)"}) {
    EXPECT_THAT(RefusalOf(sum + more), HasSubstr(refusal)) << more;
  }
}

// x is 1 deep; brackets, arguments, indices, signs and exponents around it make it deeper.
TEST(MinimizeExpressionLimitsTest, Depth) {
  struct Nest {
    const char* before;
    const char* after;
  };
  for (const auto& [before, after] : std::vector<Nest>{{"(", ")"},
                                                       {"-", ""},
                                                       {"+", ""},
                                                       {"sin(", ")"},
                                                       {"2^", ""},
                                                       {"min(1,", ")"},
                                                       {"select(1<2,", ",3)"},
                                                       {"1+(", ")"}}) {
    const auto nested = [&](int depth) {
      return Repeated(before, depth - 1) + "x" + Repeated(after, depth - 1);
    };
    for (const int depth : {1, kMaxTextDepth - 1, kMaxTextDepth}) {
      EXPECT_THAT(StatusOf(nested(depth)), IsOk()) << before << " " << depth;
    }
    for (const int depth : {kMaxTextDepth + 1, 1000}) {
      EXPECT_THAT(RefusalOf(nested(depth)),
                  HasSubstr("nested deeper than 64 operators and brackets"))
          << before << " " << depth;
    }
  }
  EXPECT_THAT(StatusOf(Repeated("(", 62) + "a[1]" + Repeated(")", 62)), IsOk());
  EXPECT_THAT(RefusalOf(Repeated("(", 63) + "a[1]" + Repeated(")", 63)),
              HasSubstr("deeper than 64"));
  // What is merely long is not deep.
  EXPECT_THAT(StatusOf("x" + Repeated("*y", 1000) + Repeated("+(x)", 300)), IsOk());
}

TEST(MinimizeExpressionLimitsTest, SumsInSums) {
  EXPECT_THAT(StatusOf("sum(h,0,1,sum(i,0,1,sum(j,0,1,h+i+j)))"), IsOk());
  EXPECT_EQ(RefusalOf("sum(h,0,1,sum(i,0,1,sum(j,0,1,sum(k,0,1,1))))"),
            "expression, column 31: sums nested deeper than 3");
}

TEST(MinimizeExpressionLimitsTest, Work) {
  EXPECT_THAT(StatusOf("sum(i, 1, 10000000, i*x)"), IsOk());
  EXPECT_THAT(StatusOf("sum(i, 1, 50000000, i*x)"), IsOk());  // 1e8: the sum's step, the index
  EXPECT_EQ(RefusalOf("sum(i, 1, 100000000, i*x)"),
            "expression: about 2e+08 operations for each point, more than 1e+08");
  EXPECT_THAT(RefusalOf("sum(i,0,1000000,sum(j,0,1000000,sum(k,0,1000000,i*j*k)))"),
              HasSubstr("operations for each point"));
}

TEST(MinimizeExpressionLimitsTest, NamesAndElements) {
  const auto refusal = [](const Names& names) { return RefusalOf("1", names); };
  EXPECT_EQ(refusal({{}, {}, {}}), "variables: 0 names are not in [1, 4]");
  EXPECT_EQ(refusal({{"a", "b", "c", "d", "f"}, {}, {}}), "variables: 5 names are not in [1, 4]");
  EXPECT_EQ(refusal({{"x"}, {"sin"}, {}}),
            "scalars[0], name 'sin': is a word of the expression language");
  EXPECT_EQ(refusal({{"e"}, {}, {}}),
            "variables[0], name 'e': is a word of the expression language");
  EXPECT_EQ(refusal({{"x"}, {"y", "x"}, {}}), "scalars[1], name 'x': is there twice");
  EXPECT_EQ(refusal({{"x"}, {}, {{"x", 1}}}), "arrays[0], name 'x': is there twice");
  for (const char* const name : {"", "1x", "x y", "x\n", "\xc3\xa4", "x-y"}) {
    EXPECT_THAT(refusal({{name}, {}, {}}), HasSubstr("is not a letter or '_', then letters"));
  }
  EXPECT_THAT(Expression::Parse("1", {{std::string(64, 'x')}, {}, {}}), IsOk());
  EXPECT_THAT(refusal({{std::string(65, 'x')}, {}, {}}), HasSubstr("at most 64"));
  EXPECT_THAT(refusal({{"x"}, {}, {{"a", 0}}}), HasSubstr("size 0 is not in [1, 4194304]"));
  EXPECT_THAT(refusal({{"x"}, {}, {{"a", 4194304}, {"b", 1}}}),
              AllOf(HasSubstr("arrays[1], name 'b'"), HasSubstr("size 1 is not in [1, 0]")));
  const auto many = [](int scalars, int arrays) {
    Names names{{"x"}, {}, {}};
    for (int i = 0; i < scalars; ++i) names.scalars.push_back(absl::StrCat("s", i));
    for (int i = 0; i < arrays; ++i) names.arrays.push_back({absl::StrCat("a", i), 1});
    return names;
  };
  EXPECT_THAT(Expression::Parse("1", many(kMaxScalars, kMaxArrays)), IsOk());
  EXPECT_THAT(refusal(many(257, 0)), HasSubstr("scalars: 257 names are not in [0, 256]"));
  EXPECT_THAT(refusal(many(0, 17)), HasSubstr("arrays: 17 names are not in [0, 16]"));
  EXPECT_THAT(Expression::Parse("1", {{"x"}, {}, {{"a", kMaxArrayElements}}}), IsOk());
}

// Beyond 2^30, integers are reals.
TEST(MinimizeExpressionLimitsTest, Indices) {
  EXPECT_THAT(StatusOf("sum(i, 1073741823, 1073741824, i)"), IsOk());
  EXPECT_THAT(StatusOf("sum(i, -1073741824, -1073741823, i)"), IsOk());
  EXPECT_THAT(RefusalOf("sum(i, 0, 1073741825, i)"), HasSubstr("must be an integer constant"));
  EXPECT_THAT(RefusalOf("sum(i, 0, 1073741824 + 1, i)"), HasSubstr("must be an integer constant"));
}

}  // namespace
}  // namespace baseband::minimize
