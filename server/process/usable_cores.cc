#include "server/process/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/config/cpu_list.h"
#include "server/process/cgroups.h"

namespace baseband::server {
namespace {

// As many as Linux knows: of a smaller one it would say that it is too small.
struct CpuSet {
  cpu_set_t bits[(kMaxCpu + 1) / CPU_SETSIZE] = {};
};

std::set<int> AllowedCpus() {
  CpuSet allowed;
  std::set<int> cpus;
  if (sched_getaffinity(0, sizeof(allowed), allowed.bits) != 0) return cpus;
  for (int cpu = 0; cpu <= kMaxCpu; ++cpu) {
    if (CPU_ISSET_S(cpu, sizeof(allowed), allowed.bits)) cpus.insert(cpu);
  }
  return cpus;
}

// The two numbers of a group's quota, microseconds of a period; false: it has none.
bool ReadQuota(const Cgroup& group, double* quota, double* period) {
  std::string words[2];
  if (group.is_version_1) {
    std::ifstream(group.folder + "cpu.cfs_quota_us") >> words[0];
    std::ifstream(group.folder + "cpu.cfs_period_us") >> words[1];
  } else {
    std::ifstream(group.folder + "cpu.max") >> words[0] >> words[1];
  }
  return absl::SimpleAtod(words[0], quota) && absl::SimpleAtod(words[1], period) && *quota > 0 &&
         *period > 0;
}

}  // namespace

absl::Status RunOn(const std::set<int>& cpus) {
  if (cpus.empty()) return absl::OkStatus();
  const auto refusal = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("cpus ", FormatCpuList(cpus), ": ", why));
  };
  const std::set<int> allowed = AllowedCpus();
  std::set<int> missing;
  std::set_difference(cpus.begin(), cpus.end(), allowed.begin(), allowed.end(),
                      std::inserter(missing, missing.end()));
  if (!missing.empty()) {
    return refusal(absl::StrCat("this process may not use ", FormatCpuList(missing), ", only ",
                                FormatCpuList(allowed)));
  }
  CpuSet set;
  for (const int cpu : cpus) CPU_SET_S(cpu, sizeof(set), set.bits);
  return sched_setaffinity(0, sizeof(set), set.bits) == 0 ? absl::OkStatus()
                                                          : refusal(std::strerror(errno));
}

int UsableCores(const std::string& root) {
  auto cores = static_cast<double>(AllowedCpus().size());
  for (const Cgroup& group : CgroupsOf("cpu", root)) {
    double quota = 0;
    double period = 0;
    if (ReadQuota(group, &quota, &period)) cores = std::min(cores, std::ceil(quota / period));
  }
  return std::max(1, static_cast<int>(cores));
}

}  // namespace baseband::server
