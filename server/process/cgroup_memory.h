// How much memory the control group of this process has, and may have.
#ifndef BASEBAND_SERVER_PROCESS_CGROUP_MEMORY_H_
#define BASEBAND_SERVER_PROCESS_CGROUP_MEMORY_H_

#include <cstdint>
#include <string>

#include "absl/types/optional.h"

namespace baseband::server {

// Of a control group, version 1 or 2.
struct CgroupMemory {
  int64_t limit = 0;
  // What the group has that the system cannot take back at once: without files' pages that nobody
  // has used for long, as Kubernetes counts it.
  int64_t used = 0;
};

// Of the group of this process or the tightest of those it is in; nothing: none has a limit, or it
// cannot be read. `root` is "/" but in tests.
absl::optional<CgroupMemory> ReadCgroupMemory(const std::string& root = "/");

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_PROCESS_CGROUP_MEMORY_H_
