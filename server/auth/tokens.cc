#include "server/auth/tokens.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "kernels/base/hex.h"
#include "kernels/base/status_macros.h"
#include "server/auth/small_file.h"

namespace baseband::server {
namespace {

constexpr size_t kMaxName = 64;

using Sha256 = std::array<uint8_t, 32>;

bool IsName(absl::string_view name) {
  for (const char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') {
      return false;
    }
  }
  return !name.empty() && name.size() <= kMaxName;
}

bool ReadDigest(absl::string_view hex, Sha256* digest) {
  if (hex.size() != 2 * digest->size()) return false;
  for (const char c : hex) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return false;
  }
  const std::string bytes = BytesOfHex(hex);
  std::copy(bytes.begin(), bytes.end(), digest->begin());
  return true;
}

absl::StatusOr<TokenEntry> ParseLine(absl::string_view line) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  TokenEntry entry;
  if (words.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", words.size(), " words; expected: NAME ROLE SHA256"));
  }
  if (!IsName(words[0])) {
    return absl::InvalidArgumentError(
        absl::StrCat("has no name of 1 to ", kMaxName, " letters, digits and -_."));
  }
  entry.name = std::string(words[0]);
  BASEBAND_ASSIGN_OR_RETURN(entry.role, ParseRole(words[1]));
  if (!ReadDigest(words[2], &entry.sha256)) {
    return absl::InvalidArgumentError(
        "has no digest of 64 hexadecimal digits: printf %s TOKEN | sha256sum prints it");
  }
  return entry;
}

}  // namespace

absl::StatusOr<std::vector<TokenEntry>> ParseTokens(absl::string_view text) {
  std::vector<TokenEntry> entries;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    absl::StatusOr<TokenEntry> entry = ParseLine(line);
    if (!entry.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, " ", entry.status().message()));
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

absl::StatusOr<std::unique_ptr<Tokens>> Tokens::Create(const std::string& path) {
  std::unique_ptr<Tokens> tokens(new Tokens(path));
  if (!path.empty()) BASEBAND_RETURN_IF_ERROR(tokens->Reload());
  return tokens;
}

absl::optional<Tokens::Holder> Tokens::Find(absl::string_view token) const {
  Sha256 digest;
  SHA256(reinterpret_cast<const uint8_t*>(token.data()), token.size(), digest.data());
  absl::optional<Holder> holder;
  absl::MutexLock lock(&mutex_);
  for (const TokenEntry& entry : entries_) {
    if (CRYPTO_memcmp(entry.sha256.data(), digest.data(), digest.size()) != 0) continue;
    if (!holder.has_value()) holder = Holder{entry.name, RoleSet()};
    holder->roles.Add(entry.role);
  }
  return holder;
}

bool Tokens::AnyoneHas(Role role) const {
  absl::MutexLock lock(&mutex_);
  return std::any_of(entries_.begin(), entries_.end(),
                     [role](const TokenEntry& entry) { return entry.role == role; });
}

absl::Status Tokens::Reload() {
  if (path_.empty()) return absl::OkStatus();
  absl::StatusOr<std::string> text = ReadSmallFile("tokens_file", path_);
  absl::MutexLock lock(&mutex_);
  // What cannot be read is remembered as empty, so that it is complained of once.
  const std::string now = text.ok() ? *text : std::string();
  if (text_ == now) return absl::OkStatus();
  text_ = now;
  BASEBAND_RETURN_IF_ERROR(text.status());
  absl::StatusOr<std::vector<TokenEntry>> entries = ParseTokens(*text);
  if (!entries.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tokens_file ", path_, " ", entries.status().message()));
  }
  entries_ = *std::move(entries);
  return absl::OkStatus();
}

}  // namespace baseband::server
