#include "server/process/cgroup_memory.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace baseband::server {
namespace {

// Version 1 says 2^63 less a page where there is no limit; nobody has an exbibyte.
constexpr int64_t kNoLimit = int64_t{1} << 60;

absl::optional<int64_t> ReadNumber(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  int64_t number = 0;
  if (!std::getline(file, text) || !absl::SimpleAtoi(text, &number)) return absl::nullopt;
  return number;
}

// The number behind `name` in a file of lines "name number"; 0: there is none.
int64_t ReadStat(const std::string& path, absl::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    absl::string_view rest = line;
    int64_t number = 0;
    if (absl::ConsumePrefix(&rest, name) && absl::SimpleAtoi(rest, &number)) return number;
  }
  return 0;
}

CgroupMemory Both(const CgroupMemory& a, const CgroupMemory& b) {
  const int64_t limit = std::min(a.limit, b.limit);
  return {limit, limit - std::min(a.limit - a.used, b.limit - b.used)};
}

struct Names {
  const char* folder;
  const char* limit;
  const char* used;
  std::array<const char*, 2> files;  // names in memory.stat: what the kernel gives back when needed
};
constexpr Names kVersion1 = {"sys/fs/cgroup/memory",
                             "memory.limit_in_bytes",
                             "memory.usage_in_bytes",
                             {"total_inactive_file ", "total_active_file "}};
constexpr Names kVersion2 = {
    "sys/fs/cgroup", "memory.max", "memory.current", {"inactive_file ", "active_file "}};

// What is known of `path`, which begins with '/'.
absl::optional<CgroupMemory> ReadGroup(const std::string& root, const Names& names,
                                       absl::string_view path) {
  const std::string folder = absl::StrCat(root, names.folder, path, "/");
  const auto limit = ReadNumber(folder + names.limit);
  const auto used = ReadNumber(folder + names.used);
  if (!limit.has_value() || !used.has_value() || *limit >= kNoLimit) return absl::nullopt;
  int64_t held = *used;
  for (const char* const name : names.files) held -= ReadStat(folder + "memory.stat", name);
  return CgroupMemory{*limit, held};
}

}  // namespace

absl::optional<CgroupMemory> ReadCgroupMemory(const std::string& root) {
  absl::optional<CgroupMemory> all;
  std::ifstream groups(root + "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // NUMBER:CONTROLLERS:PATH
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3 || !absl::StartsWith(parts[2], "/")) continue;
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    const bool is_version_1 =
        std::find(controllers.begin(), controllers.end(), "memory") != controllers.end();
    if (!is_version_1 && parts[0] != "0") continue;
    // In a container the path may be the host's, and its folder not there: the mount's own is.
    std::string path = parts[2] == "/" ? "" : parts[2];
    for (;;) {
      const auto group = ReadGroup(root, is_version_1 ? kVersion1 : kVersion2, path);
      if (group.has_value()) all = all.has_value() ? Both(*all, *group) : *group;
      if (path.empty()) break;
      path.resize(path.rfind('/'));
    }
  }
  return all;
}

}  // namespace baseband::server
