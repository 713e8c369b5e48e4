#include "server/process/cgroups.h"

#include <algorithm>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace baseband::server {

std::vector<Cgroup> CgroupsOf(absl::string_view controller, const std::string& root) {
  std::vector<Cgroup> all;
  std::ifstream groups(root + "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // NUMBER:CONTROLLERS:PATH
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3 || !absl::StartsWith(parts[2], "/")) continue;
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    const bool is_version_1 =
        std::find(controllers.begin(), controllers.end(), controller) != controllers.end();
    if (!is_version_1 && parts[0] != "0") continue;
    std::vector<std::string> mounts = {absl::StrCat(root, "sys/fs/cgroup")};
    // Of version 1 the folder has the names of all its controllers; most systems have one by each
    // name as well.
    if (is_version_1) {
      mounts = {absl::StrCat(mounts[0], "/", controller), absl::StrCat(mounts[0], "/", parts[1])};
      if (mounts[0] == mounts[1]) mounts.pop_back();
    }
    // In a container the path may be the host's, and its folder not there: the mount's own is.
    std::string path = parts[2] == "/" ? "" : parts[2];
    for (;;) {
      for (const std::string& mount : mounts) {
        all.push_back({is_version_1, absl::StrCat(mount, path, "/")});
      }
      if (path.empty()) break;
      path.resize(path.rfind('/'));
    }
  }
  return all;
}

}  // namespace baseband::server
