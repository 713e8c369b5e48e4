// Lists of processor cores, as Linux writes them.
#ifndef BASEBAND_SERVER_CONFIG_CPU_LIST_H_
#define BASEBAND_SERVER_CONFIG_CPU_LIST_H_

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace baseband::server {

inline constexpr int kMaxCpu = 8191;  // Linux knows no more

// "0-3,8" are 0, 1, 2, 3 and 8. InvalidArgument, which says what is wrong and begins with the part
// that is: it is no such list, or one of them is not in [0, kMaxCpu].
absl::StatusOr<std::set<int>> ParseCpuList(absl::string_view text);

// The other way; empty: none.
std::string FormatCpuList(const std::set<int>& cpus);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONFIG_CPU_LIST_H_
