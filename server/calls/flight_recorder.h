// Requests worth a second look: the last that failed for a reason of the server's, missed their
// deadline, or were slow, with the time of each stage.
#ifndef BASEBAND_SERVER_CALLS_FLIGHT_RECORDER_H_
#define BASEBAND_SERVER_CALLS_FLIGHT_RECORDER_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "server/jobs/job.h"

namespace baseband::server {

// How a request ended. Times are SteadyNow()'s.
struct FlightEnd {
  Rpc rpc;
  absl::StatusCode code = absl::StatusCode::kOk;
  absl::Time arrived;
  absl::Time deadline = absl::InfiniteFuture();
  absl::Time finished;  // gRPC had sent the answer
};

enum class FlightReason { kFailed, kLate, kSlow };

struct FlightRecord {
  FlightEnd end;
  FlightReason reason = FlightReason::kFailed;
  std::string message;  // of the status
  Caller caller;
  std::string request_id;  // the client's; empty: none
  absl::Time answered;     // handed over to gRPC
  JobTimes times;          // of a search: of its last piece. Default: it did not come that far
};

// Keeps two things, each bounded:
// - the last kMaxRecords requests that failed as Unavailable, Internal, Unknown, Aborted or
//   DataLoss, or that missed their deadline. Wrong requests, cancelled ones and refusals for want
//   of room are counted by cause in the metrics instead: under overload nothing else would be left;
// - slow ones. With a limit: among those kMaxRecords, each that took longer. Without: the
//   kSlowest slowest of each RPC in each of the last kMinutes minutes in which there were any.
// Thread-safe.
class FlightRecorder {
 public:
  static constexpr size_t kMaxRecords = 256;
  static constexpr size_t kSlowest = 4;
  static constexpr size_t kMinutes = 10;

  // `slow`: the limit; zero: none.
  explicit FlightRecorder(absl::Duration slow) : slow_(slow) {}

  // Why a request is to be recorded, if it is; for most a few comparisons say that it is not.
  absl::optional<FlightReason> Wants(const FlightEnd& end) const;
  // Records what Wants said yes to.
  void Add(FlightRecord record);

  // By arrival.
  std::vector<FlightRecord> Records() const;

 private:
  struct Minute {
    int64_t number = 0;
    std::array<std::vector<FlightRecord>, kMaxRpcRows> slowest;
  };
  static absl::Duration TimeOf(const FlightEnd& end) { return end.finished - end.arrived; }
  void AddSlow(FlightRecord record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const absl::Duration slow_;
  // Of the current minute: its number, and by RPC what a request must take to be among the slowest.
  std::atomic<int64_t> minute_{-1};
  std::array<std::atomic<int64_t>, kMaxRpcRows> least_ns_{};

  mutable absl::Mutex mutex_;
  std::deque<FlightRecord> last_ ABSL_GUARDED_BY(mutex_);
  std::deque<Minute> minutes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CALLS_FLIGHT_RECORDER_H_
