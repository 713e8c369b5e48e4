// A whole load: connections, warm-up, measurement, what the server says of itself meanwhile.
#ifndef BASEBAND_CLIENT_LOAD_RUN_H_
#define BASEBAND_CLIENT_LOAD_RUN_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "baseband/v1/baseband.pb.h"
#include "client/cpp/client.h"
#include "client/load/arrivals.h"
#include "client/load/metrics_page.h"
#include "client/load/totals.h"
#include "client/load/workload.h"

namespace baseband::load {

struct LoadSpec {
  client::ClientOptions client;  // target, connections (1 .. 4096)
  // How often a unary call is tried, 1 .. 5, with pauses and for errors as ClientOptions has them.
  int attempts = 1;
  int workers = 0;  // 1 .. 64, two threads each; 0: half the cores, 4 at most
  Pace pace;
  absl::Duration warm_up = absl::Seconds(1);    // >= 0; its calls are sent and not counted
  absl::Duration duration = absl::Seconds(10);  // > 0
  // Of calls without a deadline, and for connecting.
  absl::Duration timeout = absl::Seconds(60);
  bool wait_for_server = false;
  // One Submit stream a connection in place of unary calls; credits that are used up make requests
  // wait, and their latency with them.
  bool stream = false;
  // Payloads go through this memory, and large answers; null: through the calls' sockets. The
  // copies to it count.
  std::shared_ptr<client::SharedArena> arena;
  // Requests go through rings of a server that says this of itself, one of each worker's.
  absl::optional<v1::SharedMemoryCapabilities> rings;
  // With either: payloads lie in that memory before the load begins, and calls name them; no copy
  // counts.
  bool in_place = false;
  // Open loops: most calls in flight. A call that finds no room waits, and its latency with it.
  int max_in_flight = 4096;
  // Open loops: of the calls due, the share that must be answered rightly by the end of the
  // measurement. If less are, the load has told all that it can: what is in flight is cancelled,
  // and has expired. 0: everything is waited for.
  double least_answered = 0;
  uint64_t seed = 1;
  std::string metrics_url;  // empty: none
};

// What a call may take from when it was due.
struct LatencyBudget {
  absl::Duration time = absl::InfiniteDuration();  // infinite: nothing says
  bool is_slot = false;                            // else a deadline
};

struct LoadResult {
  LoadSpec spec;            // with the number of workers used
  absl::Time begin;         // by the host's clock
  absl::Duration measured;  // spec.duration, unless it was interrupted
  absl::Duration interval;  // of totals.series
  std::vector<std::string> workloads;
  std::vector<Settings> settings;  // of each workload
  // Of each workload: its deadline, or, of cells that have none, the slot.
  std::vector<LatencyBudget> budgets;
  Totals totals{0, 0};

  double client_cpu_seconds = 0;  // in the measurement, of this whole process
  double client_busy = 0;         // the busiest thread's share of its time on a processor
  int cores = 0;                  // of this machine

  // With a metrics_url: what the page counted between the two looks at it, that far apart.
  MetricsPage server;
  absl::Duration server_measured;

  // A second of the measurement: calls due; calls answered; calls answered well; the information
  // bits of their blocks that decoded.
  double Offered() const;
  double Throughput() const;
  double Goodput() const;
  double InfoBitRate() const;
  double MessageByteRate() const;
  // CPU seconds for 10^9 bits of messages, both ways; 0 where unknown.
  double ClientCpuPerGbit() const;
  double ServerCpuPerGbit() const;
  // Why these figures may rather be the client's than the server's, and which parts of a mix came
  // to nothing; one sentence each.
  std::vector<std::string> Warnings() const;
};

struct LoadProgress {
  absl::Duration elapsed;  // of the measurement; negative in the warm-up
  absl::Duration covered;  // by `last`; zero in the warm-up
  // What ended since the last report. Its `due` are the calls that have become due since, and those
  // due before that had still to be sent: all reports together have no fewer of them than outcomes
  // of calls due in the measurement.
  Interval last;
  int64_t in_flight = 0;  // calls that have been sent and not ended
  Outcomes so_far;        // of calls due in the measurement, those that have ended
};

// Called about once a second on the calling thread; false ends the load early.
using OnLoadProgress = std::function<bool(const LoadProgress&)>;

// Every answer is judged, those of the warm-up, too. One that nothing speaks against but the other
// answers to its request, see Answers, is found wrong at the end. Confirm() first, else a load of a
// few calls cannot tell. Blocks until the last call has ended. InvalidArgument names what is out of
// its range; Unavailable and DeadlineExceeded when there is no connection, Unavailable when there
// is no metrics page.
absl::StatusOr<LoadResult> RunLoad(const LoadSpec& spec, const std::vector<Workload>& workloads,
                                   const OnLoadProgress& progress = nullptr);

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_RUN_H_
