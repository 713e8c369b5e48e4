#include "server/config/cpu_list.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace baseband::server {
namespace {

bool ParseCpu(absl::string_view text, int* cpu) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit) &&
         absl::SimpleAtoi(text, cpu) && *cpu <= kMaxCpu;
}

}  // namespace

absl::StatusOr<std::set<int>> ParseCpuList(absl::string_view text) {
  std::set<int> cpus;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(part, absl::MaxSplits('-', 1));
    const bool is_one = part.find('-') == absl::string_view::npos;
    int first = 0;
    int last = 0;
    if (!ParseCpu(ends.first, &first) || !ParseCpu(is_one ? ends.first : ends.second, &last) ||
        first > last) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", part, "' is no core, nor a range FIRST-LAST of cores, in [0, ", kMaxCpu,
                       "]; expected such as 0-7,16"));
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
  }
  return cpus;
}

std::string FormatCpuList(const std::set<int>& cpus) {
  std::vector<std::string> parts;
  for (auto cpu = cpus.begin(); cpu != cpus.end();) {
    const int first = *cpu;
    int last = first;
    while (++cpu != cpus.end() && *cpu == last + 1) ++last;
    parts.push_back(first == last ? absl::StrCat(first) : absl::StrCat(first, "-", last));
  }
  return absl::StrJoin(parts, ",");
}

}  // namespace baseband::server
