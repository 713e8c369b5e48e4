#include "server/config/access_rule.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "kernels/base/status_macros.h"

namespace baseband::server {

absl::StatusOr<Role> ParseRole(absl::string_view word) {
  for (size_t i = 0; i < kRoleNames.size(); ++i) {
    if (word == kRoleNames[i]) return static_cast<Role>(i);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("role '", word, "' is not one of ", absl::StrJoin(kRoleNames, ", ")));
}

bool AccessRule::MatchesCertificate(absl::string_view name) const {
  if (kind != Kind::kCertificate || name.empty()) return false;
  absl::string_view suffix = subject;
  if (!absl::ConsumePrefix(&suffix, "*")) return name == subject;
  // The star stands for labels of a host's name, never for the path of a URI.
  return suffix.empty() || (name.size() > suffix.size() && absl::EndsWith(name, suffix) &&
                            !absl::StrContains(name, '/'));
}

absl::StatusOr<AccessRule> ParseAccessRule(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('=', 1));
  AccessRule rule;
  const absl::StatusOr<Role> role = ParseRole(parts.first);
  if (!role.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("is refused: ", role.status().message()));
  }
  rule.role = *role;
  if (rule.role == Role::kMetrics) {
    return absl::InvalidArgumentError("is refused: the metrics page knows tokens only");
  }
  absl::string_view subject = parts.second;
  if (absl::ConsumePrefix(&subject, "uid:")) {
    rule.kind = AccessRule::Kind::kUid;
  } else if (absl::ConsumePrefix(&subject, "gid:")) {
    rule.kind = AccessRule::Kind::kGid;
  } else {
    const size_t star = subject.rfind('*');
    if (subject.empty() ||
        (star != absl::string_view::npos &&
         (star != 0 || (subject != "*" && (subject.size() < 3 || subject[1] != '.'))))) {
      return absl::InvalidArgumentError(
          "has no subject: expected NAME, *.SUFFIX, *, uid:N or gid:N after the role");
    }
    rule.subject = std::string(subject);
    return rule;
  }
  if (!absl::SimpleAtoi(subject, &rule.id)) {
    return absl::InvalidArgumentError(
        absl::StrCat("has id '", subject, "', not in [0, 4294967295]"));
  }
  return rule;
}

}  // namespace baseband::server
