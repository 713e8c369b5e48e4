// The control groups that this process is in.
#ifndef BASEBAND_SERVER_PROCESS_CGROUPS_H_
#define BASEBAND_SERVER_PROCESS_CGROUPS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace baseband::server {

struct Cgroup {
  bool is_version_1 = false;
  std::string folder;  // ends in '/'; need not be there
};

// Those that may limit what `controller`, such as "memory", distributes: of either version, each
// before the one that it is in. `root` is "/" but in tests.
std::vector<Cgroup> CgroupsOf(absl::string_view controller, const std::string& root);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_PROCESS_CGROUPS_H_
