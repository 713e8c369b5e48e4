// Bearer tokens by their SHA-256, from a file that may change while the server runs.
#ifndef BASEBAND_SERVER_AUTH_TOKENS_H_
#define BASEBAND_SERVER_AUTH_TOKENS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "server/auth/role_set.h"

namespace baseband::server {

// One line of the file. The token itself is nowhere in the server.
struct TokenEntry {
  std::string name;
  Role role = Role::kUser;
  std::array<uint8_t, 32> sha256{};
};

// Reads the lines of a tokens file: NAME ROLE SHA256, the digest as 64 hexadecimal digits. A line
// may be empty or begin with #. The same digest in several lines has all their roles.
// InvalidArgument names the line and what is wrong with it, but repeats no digest.
absl::StatusOr<std::vector<TokenEntry>> ParseTokens(absl::string_view text);

// Thread-safe.
class Tokens {
 public:
  struct Holder {
    std::string name;
    RoleSet roles;
  };

  // An empty `path`: there are none. NotFound or InvalidArgument name the file.
  static absl::StatusOr<std::unique_ptr<Tokens>> Create(const std::string& path);

  // Who holds `token`. Takes as long whichever it is, and whether or not there is one.
  absl::optional<Holder> Find(absl::string_view token) const;

  bool AnyoneHas(Role role) const;

  // Reads the file again if it is another than before. An error leaves the old tokens in force, and
  // is returned once.
  absl::Status Reload();

 private:
  explicit Tokens(std::string path) : path_(std::move(path)) {}

  const std::string path_;
  mutable absl::Mutex mutex_;
  absl::optional<std::string> text_ ABSL_GUARDED_BY(mutex_);
  std::vector<TokenEntry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_AUTH_TOKENS_H_
