// How much memory the control group of this process has, and may have.
#ifndef BASEBAND_SERVER_PROCESS_CGROUP_MEMORY_H_
#define BASEBAND_SERVER_PROCESS_CGROUP_MEMORY_H_

#include <cstdint>
#include <string>

#include "absl/types/optional.h"

namespace baseband::server {

// Of the control groups, version 1 or 2, that a process is in.
struct CgroupMemory {
  int64_t limit = 0;  // the smallest
  // So much that `limit` less this is what is left in the group that has least. Pages of files do
  // not count, for the system takes them back before it ends a process.
  int64_t used = 0;
};

// Of this process; nothing: no group has a limit, or none can be read. `root` is "/" but in tests.
absl::optional<CgroupMemory> ReadCgroupMemory(const std::string& root = "/");

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_PROCESS_CGROUP_MEMORY_H_
