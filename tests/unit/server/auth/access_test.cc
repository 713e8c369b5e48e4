// Rules, tokens and what they make of a caller.
#include "server/auth/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "server/auth/identity.h"
#include "server/auth/tokens.h"
#include "server/config/access_rule.h"
#include "server/config/log_limit.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsInvalid;
using testing::IsOk;
using ::testing::Not;
using testing::StatusIs;

// printf %s abc | sha256sum (FIPS 180-2, appendix B.1)
constexpr char kAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

AccessRule Rule(const std::string& text) {
  const absl::StatusOr<AccessRule> rule = ParseAccessRule(text);
  EXPECT_THAT(rule, IsOk()) << text;
  return rule.value_or(AccessRule());
}

std::string Refusal(const std::string& text) {
  return std::string(ParseAccessRule(text).status().message());
}

// A tokens file that is gone with the test.
class TokensFile {
 public:
  explicit TokensFile(const std::string& text) {
    close(mkstemp(path_.data()));
    Write(text);
    tokens_ = std::move(Tokens::Create(path_)).value();
  }
  ~TokensFile() { std::remove(path_.c_str()); }
  void Write(const std::string& text) {
    std::FILE* const file = std::fopen(path_.c_str(), "w");
    std::fputs(text.c_str(), file);
    std::fclose(file);
  }
  void Remove() { std::remove(path_.c_str()); }
  Tokens& tokens() { return *tokens_; }

 private:
  std::string path_ = ::testing::TempDir() + "access_test_XXXXXX";
  std::unique_ptr<Tokens> tokens_;
};

TEST(AccessRuleTest, ANameIsMatchedWholeAndAStarStandsForLabelsOfAHost) {
  EXPECT_TRUE(Rule("user=a.rack1.example").MatchesCertificate("a.rack1.example"));
  EXPECT_FALSE(Rule("user=a.rack1.example").MatchesCertificate("ba.rack1.example"));
  EXPECT_FALSE(Rule("user=a.rack1.example").MatchesCertificate("a.rack1.example.com"));
  EXPECT_TRUE(Rule("user=*.rack1.example").MatchesCertificate("a.rack1.example"));
  EXPECT_TRUE(Rule("user=*.rack1.example").MatchesCertificate("b.a.rack1.example"));
  EXPECT_FALSE(Rule("user=*.rack1.example").MatchesCertificate("rack1.example"));
  EXPECT_FALSE(Rule("user=*.rack1.example").MatchesCertificate(".rack1.example"));
  EXPECT_FALSE(Rule("user=*.rack1.example").MatchesCertificate("evilrack1.example"));
  EXPECT_FALSE(Rule("user=*.rack1.example").MatchesCertificate("spiffe://x/a.rack1.example"));
  EXPECT_TRUE(Rule("user=spiffe://x/cell/7").MatchesCertificate("spiffe://x/cell/7"));
  EXPECT_TRUE(Rule("user=*").MatchesCertificate("spiffe://x/cell/7"));
  EXPECT_FALSE(Rule("user=*").MatchesCertificate(""));
}

TEST(AccessRuleTest, IdsOfUnixAreNoNamesOfCertificates) {
  EXPECT_EQ(Rule("admin=uid:1000").id, 1000u);
  EXPECT_EQ(Rule("admin=gid:4294967295").kind, AccessRule::Kind::kGid);
  EXPECT_FALSE(Rule("user=uid:1000").MatchesCertificate("uid:1000"));
}

TEST(AccessRuleTest, WhatIsNoRuleIsRefused) {
  EXPECT_THAT(Refusal("root=x"), HasSubstr("role 'root' is not one of user, admin, metrics"));
  EXPECT_THAT(Refusal("metrics=x"), HasSubstr("tokens only"));
  EXPECT_THAT(Refusal("user=uid:-1"), HasSubstr("not in [0, 4294967295]"));
  for (const char* text :
       {"user", "user=", "user=a*", "user=a.*.b", "user=*a", "user=**", "user=*.", "user=*.*.b"}) {
    EXPECT_THAT(Refusal(text), HasSubstr("has no subject")) << text;
  }
}

TEST(TokensTest, ALineThatIsNoneIsNamedWithoutItsDigest) {
  const std::string good = std::string("bbu-1 user ") + kAbc;
  EXPECT_THAT(ParseTokens("# tokens\n\n" + good + "\r\n")->size(), 1u);
  EXPECT_THAT(ParseTokens(good + "\nx user"), IsInvalid("line 2 has 2 words"));
  EXPECT_THAT(ParseTokens(std::string("x root ") + kAbc),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("line 1 role 'root'"), Not(HasSubstr("ba78")))));
  EXPECT_THAT(ParseTokens("x user topsecret"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("64 hexadecimal"), Not(HasSubstr("topsecret")))));
  EXPECT_THAT(ParseTokens(std::string("a/b user ") + kAbc), IsInvalid("no name"));
}

TEST(TokensTest, AHolderHasTheRolesOfAllItsLines) {
  TokensFile file(std::string("x user ") + kAbc + "\nx metrics " + kAbc + "\n");

  const auto holder = file.tokens().Find("abc");
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->name, "x");
  EXPECT_TRUE(holder->roles.Has(Role::kUser));
  EXPECT_TRUE(holder->roles.Has(Role::kMetrics));
  EXPECT_FALSE(holder->roles.Has(Role::kAdmin));
  EXPECT_FALSE(file.tokens().Find("abd").has_value());
  EXPECT_FALSE(file.tokens().Find("").has_value());
}

TEST(TokensTest, AChangedFileTakesEffectAndAWrongOneIsComplainedOfOnce) {
  TokensFile file(std::string("x user ") + kAbc);

  file.Write("nonsense");
  EXPECT_THAT(file.tokens().Reload(), Not(IsOk()));
  EXPECT_THAT(file.tokens().Reload(), IsOk());
  EXPECT_TRUE(file.tokens().Find("abc").has_value());
  file.Remove();
  EXPECT_THAT(file.tokens().Reload(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("tokens_file")));
  EXPECT_TRUE(file.tokens().Find("abc").has_value());
  file.Write("# nobody\n");
  EXPECT_THAT(file.tokens().Reload(), IsOk());
  EXPECT_FALSE(file.tokens().Find("abc").has_value());
}

TEST(IdentityTest, TheStrongestProofNamesAndAllProofsGiveRoles) {
  TokensFile file(std::string("t admin ") + kAbc);
  const std::vector<AccessRule> rules = {Rule("user=a.example"), Rule("user=uid:7"),
                                         Rule("admin=gid:9")};
  Proof proof;
  proof.address = "192.0.2.1";
  EXPECT_EQ(Identify(proof, rules, file.tokens()).name, "192.0.2.1");
  EXPECT_FALSE(Identify(proof, rules, file.tokens()).is_known);

  proof.unix_peer = UnixPeer{7, {8, 9}};
  Identity identity = Identify(proof, rules, file.tokens());
  EXPECT_EQ(identity.name, "uid:7");
  EXPECT_TRUE(identity.roles.Has(Role::kUser));
  EXPECT_TRUE(identity.roles.Has(Role::kAdmin));

  proof.unix_peer = UnixPeer{0, {}};
  proof.token = "abc";
  identity = Identify(proof, rules, file.tokens());
  EXPECT_EQ(identity.name, "t");
  EXPECT_FALSE(identity.roles.Has(Role::kUser));
  EXPECT_TRUE(identity.roles.Has(Role::kAdmin));

  proof.certificate = "a.example";
  identity = Identify(proof, rules, file.tokens());
  EXPECT_EQ(identity.name, "a.example");
  EXPECT_TRUE(identity.roles.Has(Role::kUser));
  EXPECT_TRUE(identity.roles.Has(Role::kAdmin));
}

TEST(IdentityTest, AWrongTokenTakesEveryRole) {
  TokensFile file(std::string("t admin ") + kAbc);
  Proof proof;
  proof.certificate = "a.example";
  proof.token = "abd";
  const Identity identity = Identify(proof, {Rule("user=*")}, file.tokens());
  EXPECT_TRUE(identity.bad_token);
  EXPECT_TRUE(identity.roles.empty());
}

TEST(LogLimitTest, ALineASecondSaysHowManyWereLeftOut) {
  LogLimit limit;
  const absl::Time start = absl::UnixEpoch();
  EXPECT_EQ(limit.Pass(start), 0);
  EXPECT_EQ(limit.Pass(start + absl::Milliseconds(1)), absl::nullopt);
  EXPECT_EQ(limit.Pass(start + absl::Milliseconds(999)), absl::nullopt);
  EXPECT_EQ(limit.Pass(start + absl::Seconds(1)), 2);
  EXPECT_EQ(limit.Pass(start + absl::Seconds(3)), 0);
}

TEST(AccessTest, AUnixSocketsProcessWithoutARoleIsAStranger) {
  Config config;
  config.allow = {"user=uid:7", "admin=gid:8"};
  const auto access = Access::Create(config);
  ASSERT_THAT(access, IsOk());
  UnixPeers& peers = (*access)->unix_peers();
  peers.Add(3, {7, {}});
  peers.Add(4, {9, {8}});
  peers.Add(5, {9, {7}});
  for (const char* const one : {"fd:3", "fd:4", "fd:5"}) (*access)->strangers().Add(one);
  EXPECT_FALSE((*access)->IsStranger("fd:3"));
  EXPECT_FALSE((*access)->IsStranger("fd:4"));
  EXPECT_TRUE((*access)->IsStranger("fd:5"));
  (*access)->strangers().LetIn("fd:5");  // with a token
  EXPECT_FALSE((*access)->IsStranger("fd:5"));
}

TEST(AccessTest, WhereEverybodyMayCallAStrangerIsWhoHasNotYet) {
  const auto access = Access::Create(Config());
  ASSERT_THAT(access, IsOk());
  (*access)->unix_peers().Add(5, {9, {7}});
  EXPECT_FALSE((*access)->IsStranger("fd:5"));
  (*access)->strangers().Add("192.0.2.7:50000");
  EXPECT_TRUE((*access)->IsStranger("ipv4:192.0.2.7:50000"));
  (*access)->strangers().LetIn("192.0.2.7:50000");
  EXPECT_FALSE((*access)->IsStranger("ipv4:192.0.2.7:50000"));
}

}  // namespace
}  // namespace baseband::server
