// The answers of a load, before it begins.
#ifndef BASEBAND_CLIENT_LOAD_CONFIRM_H_
#define BASEBAND_CLIENT_LOAD_CONFIRM_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/client.h"
#include "client/load/workload.h"

namespace baseband::load {

// Wrong answers that were found outside a measurement.
struct WrongAnswers {
  int64_t count = 0;
  std::string example;  // what the first one was

  void Add(int64_t more, const std::string& what) {
    if (count == 0 && more > 0) example = what;
    count += more;
  }
};

// Sends each request of `workloads` twice, the second time when all have been answered once, so
// that they go with other batches, and over connections in turn, so that they go to other servers
// where there are some; and again where answers differ. Two answers that agree, and against which
// nothing known of the request speaks, are right; others are counted as wrong. Blocks until all
// have ended; each call may take `timeout`. `go_on` is asked between them; false ends it with
// Cancelled. Errors: those of a call, after its retries; DataLoss where no two answers agree, or
// all are wrong; InvalidArgument says why a workload's blocks must not all fail.
absl::StatusOr<WrongAnswers> Confirm(const client::ClientOptions& client,
                                     const std::vector<Workload>& workloads, absl::Duration timeout,
                                     const std::function<bool()>& go_on = nullptr);

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_CONFIRM_H_
