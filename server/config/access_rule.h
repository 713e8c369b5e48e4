// Who may do what: the roles, and the rules of --allow.
#ifndef BASEBAND_SERVER_CONFIG_ACCESS_RULE_H_
#define BASEBAND_SERVER_CONFIG_ACCESS_RULE_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace baseband::server {

// None includes another.
enum class Role {
  kUser,     // may call baseband.v1.Baseband
  kAdmin,    // may call baseband.v1.Admin
  kMetrics,  // may read the metrics page; tokens only
};
inline constexpr std::array<const char*, 3> kRoleNames = {"user", "admin", "metrics"};

// InvalidArgument names the word that is none.
absl::StatusOr<Role> ParseRole(absl::string_view word);

// ROLE=SUBJECT: whoever proves to be SUBJECT has ROLE.
struct AccessRule {
  enum class Kind {
    kCertificate,  // by the subject of a verified client certificate
    kUid,          // uid:N, of the process at the other end of a Unix socket
    kGid,          // gid:N, a group of that process, primary or supplementary
  };
  Role role = Role::kUser;
  Kind kind = Kind::kCertificate;
  // kCertificate: "baseband-1.rack1.example", "spiffe://example/cell/7", "*.rack1.example" for
  // every name below rack1.example, or "*" for every certificate of the client CA.
  std::string subject;
  uint32_t id = 0;  // kUid, kGid

  // Whether a certificate of `name` is meant. Letters' case counts.
  bool MatchesCertificate(absl::string_view name) const;
};

// InvalidArgument says what is wrong with `text`; the caller names the setting.
absl::StatusOr<AccessRule> ParseAccessRule(absl::string_view text);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONFIG_ACCESS_RULE_H_
