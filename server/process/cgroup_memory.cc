#include "server/process/cgroup_memory.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "server/process/cgroups.h"

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
  const char* limit;
  const char* used;
  std::array<const char*, 2> files;  // names in memory.stat: what the kernel gives back when needed
};
constexpr Names kVersion1 = {"memory.limit_in_bytes",
                             "memory.usage_in_bytes",
                             {"total_inactive_file ", "total_active_file "}};
constexpr Names kVersion2 = {"memory.max", "memory.current", {"inactive_file ", "active_file "}};

absl::optional<CgroupMemory> ReadGroup(const Cgroup& group) {
  const Names& names = group.is_version_1 ? kVersion1 : kVersion2;
  const auto limit = ReadNumber(group.folder + names.limit);
  const auto used = ReadNumber(group.folder + names.used);
  if (!limit.has_value() || !used.has_value() || *limit >= kNoLimit) return absl::nullopt;
  int64_t held = *used;
  for (const char* const name : names.files) held -= ReadStat(group.folder + "memory.stat", name);
  return CgroupMemory{*limit, held};
}

}  // namespace

absl::optional<CgroupMemory> ReadCgroupMemory(const std::string& root) {
  absl::optional<CgroupMemory> all;
  for (const Cgroup& cgroup : CgroupsOf("memory", root)) {
    const auto group = ReadGroup(cgroup);
    if (group.has_value()) all = all.has_value() ? Both(*all, *group) : *group;
  }
  return all;
}

}  // namespace baseband::server
