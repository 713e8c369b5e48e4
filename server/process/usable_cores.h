// The processor cores that this process runs on.
#ifndef BASEBAND_SERVER_PROCESS_USABLE_CORES_H_
#define BASEBAND_SERVER_PROCESS_USABLE_CORES_H_

#include <set>
#include <string>

#include "absl/status/status.h"

namespace baseband::server {

// Lets this thread, and those that it starts from then on, run on `cpus` only, or as before if
// there are none; what memory they touch first is that of these cores' NUMA nodes. InvalidArgument
// names `cpus` and those that the process may not use; then nothing is changed.
absl::Status RunOn(const std::set<int>& cpus);

// So many threads can run at a time: no more than this thread may use cores, and than its control
// groups have processor time for, of which a begun core counts. At least 1. `root` is "/" but in
// tests.
int UsableCores(const std::string& root = "/");

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_PROCESS_USABLE_CORES_H_
