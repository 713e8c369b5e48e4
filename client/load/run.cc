#include "client/load/run.h"

#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cpp/submit_wire.h"
#include "client/cpp/target.h"
#include "client/load/worker.h"
#include "common/metric_names.h"
#include "kernels/base/steady_time.h"

namespace baseband::load {
namespace {

constexpr int kMaxConnections = 4096;
constexpr int kMaxWorkers = 64;
constexpr int64_t kMostIntervals = 60;

absl::Status Check(const LoadSpec& spec, const std::vector<Workload>& workloads) {
  if (absl::Status status = spec.pace.Check(); !status.ok()) return status;
  const auto in_range = [](const char* name, int64_t value, int64_t low, int64_t high) {
    return value >= low && value <= high
               ? absl::OkStatus()
               : absl::InvalidArgumentError(
                     absl::StrCat(name, " ", value, " is not in [", low, ", ", high, "]"));
  };
  absl::Status status = in_range("connections", spec.client.connections, 1, kMaxConnections);
  status.Update(in_range("threads", spec.workers, 0, kMaxWorkers));
  status.Update(in_range("max_in_flight", spec.max_in_flight, 1, 1 << 20));
  if (spec.in_place && spec.arena == nullptr && !spec.rings.has_value()) {
    status.Update(absl::InvalidArgumentError("payloads are in place in shared memory alone"));
  }
  for (const Workload& workload : workloads) {
    if ((spec.stream || spec.rings.has_value() || spec.in_place) &&
        !client::SubmitFieldsOf(workload.method).has_value()) {
      status.Update(absl::InvalidArgumentError(
          absl::StrCat(workload.name, ": ", workload.method,
                       " does not go through a stream or a ring, nor with payloads in place")));
    }
  }
  if (workloads.empty()) status.Update(absl::InvalidArgumentError("there is nothing to send"));
  if (spec.duration < absl::Milliseconds(10) || spec.duration > absl::Hours(24)) {
    status.Update(absl::InvalidArgumentError(
        absl::StrCat("duration ", absl::FormatDuration(spec.duration), " is not in [10ms, 24h]")));
  }
  if (spec.warm_up < absl::ZeroDuration() || spec.warm_up > absl::Hours(1)) {
    status.Update(absl::InvalidArgumentError(
        absl::StrCat("warm_up ", absl::FormatDuration(spec.warm_up), " is not in [0, 1h]")));
  }
  return status;
}

// No worker without a connection, a cell or a call of its own.
int Workers(const LoadSpec& spec, int cores) {
  int workers = spec.workers > 0 ? spec.workers : std::clamp(cores / 2, 1, 4);
  workers = std::min(workers, spec.client.connections);
  if (spec.pace.kind == Pace::Kind::kSlots) workers = std::min(workers, spec.pace.cells);
  return std::min(workers,
                  spec.pace.kind == Pace::Kind::kClosed ? spec.pace.in_flight : spec.max_in_flight);
}

// The `part`-th of `parts` shares of `whole`, which they add up to.
int Share(int whole, int part, int parts) { return whole / parts + (part < whole % parts ? 1 : 0); }

absl::Duration NiceInterval(absl::Duration duration) {
  for (absl::Duration decade = absl::Milliseconds(100);; decade *= 10) {
    for (const int factor : {1, 2, 5}) {
      if (duration <= kMostIntervals * factor * decade) return factor * decade;
    }
  }
}

double ProcessCpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return absl::ToDoubleSeconds(absl::DurationFromTimeval(usage.ru_utime) +
                               absl::DurationFromTimeval(usage.ru_stime));
}

WorkerSpec ToWorkerSpec(const LoadSpec& spec, int part, const Window& window) {
  WorkerSpec worker;
  worker.pace = spec.pace;
  worker.part = part;
  worker.parts = spec.workers;
  worker.in_flight =
      Share(spec.pace.kind == Pace::Kind::kClosed ? spec.pace.in_flight : spec.max_in_flight, part,
            spec.workers);
  worker.timeout = spec.timeout;
  worker.window = window;
  worker.seed = spec.seed;
  worker.stream = spec.stream;
  worker.arena = spec.arena;
  worker.rings = spec.rings;
  if (worker.rings.has_value()) {
    worker.rings->set_max_bytes(worker.rings->max_bytes() / static_cast<uint64_t>(spec.workers));
  }
  worker.in_place = spec.in_place;
  worker.can_cancel = spec.least_answered > 0;
  worker.client = spec.client;
  worker.client.connections = Share(spec.client.connections, part, spec.workers);
  worker.client.max_attempts = spec.attempts;
  return worker;
}

using WorkerList = std::vector<std::unique_ptr<Worker>>;

LatencyBudget BudgetOf(const Workload& workload, const Pace& pace) {
  const bool by_slot =
      workload.deadline == absl::InfiniteDuration() && pace.kind == Pace::Kind::kSlots;
  return {by_slot ? pace.slot : workload.deadline, by_slot};
}

// Intervals number begin .. end - 1 of all workers.
Interval MergedIntervals(const WorkerList& workers, size_t begin, size_t end) {
  Interval merged;
  for (const auto& worker : workers) {
    for (size_t i = begin; i < end; ++i) merged.Merge(worker->recorder().At(i));
  }
  return merged;
}

// Sleeps until `end`, telling about once a second of the intervals that are over; false if
// `progress` wants no more.
bool Watch(const WorkerList& workers, absl::Time begin, absl::Time end, const LoadResult& result,
           const OnLoadProgress& progress) {
  const absl::Duration step = std::max(result.interval, absl::Seconds(1));
  size_t told = 0;
  int64_t told_due = 0;
  for (absl::Time now = SteadyNow(); now < end; now = SteadyNow()) {
    absl::SleepFor(std::min(step, end - now));
    LoadProgress report;
    report.elapsed = SteadyNow() - begin;
    const auto over = static_cast<size_t>(std::clamp<int64_t>(
        report.elapsed / result.interval, 0, static_cast<int64_t>(result.totals.series.size())));
    report.covered = static_cast<int64_t>(over - told) * result.interval;
    report.last = MergedIntervals(workers, told, over);
    // After the outcomes: each of them is of a call that is counted here.
    int64_t due = 0;
    for (const auto& worker : workers) {
      report.so_far.Merge(worker->recorder().outcomes());
      due += worker->recorder().DueWithin(over);
      report.in_flight += worker->recorder().in_flight();
    }
    report.last.due = due - told_due;
    told = over;
    told_due = due;
    if (progress != nullptr && !progress(report)) return false;
  }
  return true;
}

// Once all is sent: ends what is in flight if too little is answered.
void CancelIfBehind(const WorkerList& workers, const LoadSpec& spec, size_t intervals) {
  int64_t due = 0;
  for (const auto& worker : workers) {
    worker->AwaitSent();
    due += worker->recorder().due();
  }
  const int64_t right = MergedIntervals(workers, 0, intervals).outcomes.right();
  if (static_cast<double>(right) >= spec.least_answered * static_cast<double>(due)) return;
  for (const auto& worker : workers) worker->Cancel();
}

}  // namespace

absl::StatusOr<LoadResult> RunLoad(const LoadSpec& spec, const std::vector<Workload>& workloads,
                                   const OnLoadProgress& progress) {
  if (absl::Status status = Check(spec, workloads); !status.ok()) return status;
  LoadResult result;
  result.spec = spec;
  result.cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  result.spec.workers = Workers(spec, result.cores);
  result.interval = NiceInterval(spec.duration);
  for (const Workload& workload : workloads) {
    result.workloads.push_back(workload.name);
    result.settings.push_back(workload.settings);
    result.budgets.push_back(BudgetOf(workload, spec.pace));
  }
  Window window;
  window.begin_ns = absl::ToInt64Nanoseconds(spec.warm_up);
  window.end_ns = absl::ToInt64Nanoseconds(spec.warm_up + spec.duration);
  window.interval_ns = absl::ToInt64Nanoseconds(result.interval);
  result.totals = Totals(workloads.size(), window.intervals());

  MetricsPage before;
  const auto look = [&](MetricsPage* page) {
    if (spec.metrics_url.empty()) return absl::OkStatus();
    absl::StatusOr<MetricsPage> fetched = FetchMetrics(spec.metrics_url, absl::Seconds(5));
    if (fetched.ok()) *page = *std::move(fetched);
    return fetched.status();
  };
  if (absl::Status status = look(&before); !status.ok()) return status;

  WorkerList workers;
  for (int part = 0; part < result.spec.workers; ++part) {
    workers.push_back(
        std::make_unique<Worker>(ToWorkerSpec(result.spec, part, window), &workloads));
    absl::Status connected = workers.back()->Connect(spec.timeout, spec.wait_for_server);
    if (!connected.ok()) return connected;
  }
  const absl::Duration lead = absl::Milliseconds(20);  // for the threads to come up
  const Worker::Clock::time_point start = Worker::Clock::now() + absl::ToChronoMilliseconds(lead);
  const absl::Time begin = SteadyNow() + lead + spec.warm_up;
  result.begin = begin + SteadyToWall();
  for (const auto& worker : workers) worker->Start(start);

  bool go_on = Watch(workers, begin, begin, result, progress);
  const absl::Time looked = SteadyNow();
  (void)look(&before);  // it was there a moment ago; else the look before stands
  const double cpu = ProcessCpuSeconds();
  go_on = go_on && Watch(workers, begin, begin + spec.duration, result, progress);
  if (!go_on) {
    for (const auto& worker : workers) worker->Stop();
  }
  result.measured = std::clamp(SteadyNow() - begin, absl::Nanoseconds(1), spec.duration);
  result.client_cpu_seconds = ProcessCpuSeconds() - cpu;
  MetricsPage after;
  const absl::Status seen = look(&after);
  if (seen.ok() && !spec.metrics_url.empty()) {
    result.server = Since(before, after);
    result.server_measured = SteadyNow() - looked;
  }
  if (spec.least_answered > 0 && spec.pace.kind != Pace::Kind::kClosed) {
    CancelIfBehind(workers, spec, result.totals.series.size());
  }
  for (const auto& worker : workers) worker->Join();
  for (const Workload& workload : workloads) {
    for (const Request& request : workload.requests) {
      if (!request.answers->has_right()) continue;  // too few calls to tell
      for (const Ended& call : request.answers->Reject()) workers[0]->recorder().Reject(call);
    }
  }
  for (const auto& worker : workers) {
    result.totals.Merge(worker->recorder().Take());
    result.client_busy = std::max(result.client_busy, worker->busy());
  }
  return result;
}

namespace {

double ASecond(double count, absl::Duration time) { return count / absl::ToDoubleSeconds(time); }

double CpuPerGbit(double cpu_seconds, absl::Duration time, double bytes_a_second) {
  const double gbits = 8e-9 * bytes_a_second * absl::ToDoubleSeconds(time);
  return gbits > 0 ? cpu_seconds / gbits : 0;
}

}  // namespace

double LoadResult::Offered() const {
  return ASecond(static_cast<double>(totals.Window().due), measured);
}
double LoadResult::Throughput() const {
  return ASecond(static_cast<double>(totals.Window().outcomes.right()), measured);
}
double LoadResult::Goodput() const {
  return ASecond(static_cast<double>(totals.Window().outcomes[Outcome::kGood]), measured);
}
double LoadResult::InfoBitRate() const { return ASecond(totals.Window().info_bits, measured); }
double LoadResult::MessageByteRate() const {
  return ASecond(totals.Window().message_bytes, measured);
}
double LoadResult::ClientCpuPerGbit() const {
  return CpuPerGbit(client_cpu_seconds, measured, MessageByteRate());
}
double LoadResult::ServerCpuPerGbit() const {
  return CpuPerGbit(Sum(server, metric::kProcessCpu.name), server_measured, MessageByteRate());
}

std::vector<std::string> LoadResult::Warnings() const {
  std::vector<std::string> warnings;
  const bool here = client::ParseTarget(spec.client.target)->same_host;
  const double share = ASecond(client_cpu_seconds, measured) / cores;
  if (client_busy > 0.9) {
    warnings.push_back(absl::StrFormat(
        "the client's busiest thread ran %.0f %% of the time: more --threads, or a second client",
        100 * client_busy));
  }
  if (share > 0.8) {
    warnings.push_back(absl::StrFormat("the client took %.0f %% of all %d cores of its machine",
                                       100 * share, cores));
  } else if (here && share > 0.25) {
    warnings.push_back(
        absl::StrFormat("the server shares this machine, of whose %d cores the client took %.0f %%",
                        cores, 100 * share));
  }
  const int64_t lag = totals.send_lag.Quantile(0.99);
  const int64_t median = totals.All().latency.Quantile(0.5);
  if (lag > Totals::kLateSendNs || (lag > 100000 && lag > median / 4)) {
    warnings.push_back(absl::StrFormat(
        "1 %% of the calls were sent %.2f ms or more behind their time; latency counts from that"
        " time, and has this in it",
        1e-6 * static_cast<double>(lag)));
  }
  if (totals.cap_hits > 0) {
    warnings.push_back(absl::StrFormat(
        "%d calls found %d others in flight, the most allowed (--max-in-flight), and had to wait",
        totals.cap_hits, spec.max_in_flight));
  }
  for (size_t i = 0; i < workloads.size() && workloads.size() > 1; ++i) {
    const Outcomes& outcomes = totals.tallies[i].outcomes;
    if (outcomes.due() > 0 && outcomes[Outcome::kGood] == 0) {
      warnings.push_back(
          absl::StrFormat("%s: none of its %d calls was answered rightly and in time", workloads[i],
                          outcomes.due()));
    }
  }
  return warnings;
}

}  // namespace baseband::load
