#include "tests/support/random_schedule.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/no_batch.h"
#include "tests/support/small_dispatcher.h"

namespace baseband::server {
namespace {

using Limits = std::numeric_limits<double>;

constexpr std::array<double, 16> kUnits = {0.0,
                                           -0.0,
                                           -1.0,
                                           Limits::quiet_NaN(),
                                           Limits::infinity(),
                                           -Limits::infinity(),
                                           Limits::denorm_min(),
                                           Limits::min() / 3,
                                           1e-30,
                                           1e-9,
                                           1.0,
                                           1e3,
                                           1e9,
                                           1e18,
                                           1e300,
                                           Limits::max()};
const std::array<absl::Duration, 8> kTimes = {
    absl::ZeroDuration(),  absl::Nanoseconds(1), absl::Microseconds(1), absl::Microseconds(50),
    absl::Milliseconds(1), absl::Seconds(1),     absl::Hours(1),        absl::Hours(24 * 365)};

constexpr double kSteadyUnits = 1e6;
constexpr absl::Duration kSteadyTime = absl::Milliseconds(1);

}  // namespace

RandomSchedule::RandomSchedule(Draw draw) : draw_(std::move(draw)) {
  DispatcherOptions options = SmallDispatcher(/*queue_requests=*/1000);
  options.limits.max_requests = 8;
  options.low_share = 0.1;
  options.share_weights = {{"heavy", 1000.0}};
  options.clock = [this] { return now_; };
  options.make_batch = [this](std::vector<JobPtr> jobs, const Device&) {
    for (const JobPtr& job : jobs) CheckJob(*job);
    return std::make_unique<NoBatch>(std::move(jobs));
  };
  Device* const devices[] = {&device_};
  dispatcher_ = std::make_unique<Dispatcher>(options, devices, &metrics_);
}

RandomSchedule::~RandomSchedule() { Finish(); }

void RandomSchedule::Expect(bool holds, const std::string& what) {
  if (!holds && fault_.empty()) fault_ = what;
}

void RandomSchedule::CheckJob(const Job& job) {
  const JobSchedule& s = job.schedule;
  for (const double value : {s.cost_s, s.alone_s, s.wait_s, s.finish_s}) {
    Expect(std::isfinite(value) && value >= 0.0,
           absl::StrCat("a prediction of ", value, " s for ", job.work.units, " units"));
  }
  if (s.account == nullptr) return;
  for (const double value : {s.account->virtual_s, s.account->backlog_s}) {
    Expect(std::isfinite(value), absl::StrCat("a virtual time or backlog of ", value, " s"));
  }
}

JobPtr RandomSchedule::RandomJob() {
  static const std::array<const char*, 4> kClients = {"a", "b", "heavy", ""};
  const auto operations = TestOperations().all();
  auto job = std::make_unique<Job>(*operations[draw_(static_cast<uint32_t>(operations.size()))]);
  job->work.units = kUnits[draw_(kUnits.size())];
  if (draw_(16) == 0) job->work.guessed_unit_s = kUnits[draw_(kUnits.size())];
  job->work.shape = draw_(8) > 0 ? static_cast<int>(draw_(4)) : static_cast<int>(draw_(100)) - 10;
  job->caller = {kClients[draw_(kClients.size())], static_cast<Priority>(draw_(3))};
  job->background = draw_(4) == 0;
  if (draw_(2) == 0) {
    job->deadline = now_ + kTimes[draw_(kTimes.size())];
  } else if (draw_(16) == 0) {
    job->deadline = absl::InfinitePast();
  }
  job->footprint.blocks = draw_(4);
  job->footprint.input_bytes = job->payload_bytes = draw_(1 << 10);
  job->cancelled = std::make_shared<std::atomic<bool>>(draw_(16) == 0);
  return job;
}

bool RandomSchedule::Submit(JobPtr job, std::function<void(const Job&)> done) {
  absl::StatusOr<AdmissionTicket> ticket = dispatcher_->Admit(job.get());
  CheckJob(*job);
  if (!ticket.ok()) return false;
  const size_t number = answers_.size();
  answers_.push_back(0);
  job->done = [this, number, done = std::move(done)](const absl::Status&, JobPtr ended) {
    ++answers_[number];
    Expect(std::isfinite(ended->schedule.device_s), "a job's part of its batch is not finite");
    if (done) done(*ended);
  };
  const bool taken = dispatcher_->Submit(job, *std::move(ticket)).ok();
  Expect(taken, "an admitted job was refused");
  return taken;
}

void RandomSchedule::EndOne(int run, absl::Status status) { device_.End(std::move(status), run); }

void RandomSchedule::Step() {
  const uint32_t what = draw_(16);
  const auto running = static_cast<uint32_t>(device_.num_running());
  if (what < 8) {
    Submit(RandomJob());
  } else if (what < 11) {
    now_ += kTimes[draw_(draw_(8) == 0 ? kTimes.size() : 6)];
  } else if (what < 15 && running > 0) {
    const auto run = static_cast<int>(draw_(running));
    EndOne(run, draw_(8) == 0 ? absl::InternalError("so") : absl::OkStatus());
  } else if (what == 15) {
    const absl::Duration hint = dispatcher_->RetryHint();
    Expect(hint >= absl::Milliseconds(1) && hint <= absl::Seconds(1), "a hint out of bounds");
  }
}

void RandomSchedule::Finish() {
  while (device_.num_running() > 0) EndOne(0, absl::OkStatus());
  for (const int answers : answers_) {
    Expect(answers == 1, absl::StrCat("an accepted job had ", answers, " answers"));
  }
  CheckMetrics();
}

void RandomSchedule::CheckMetrics() {
  dispatcher_->SampleGauges();
  for (const absl::string_view line : absl::StrSplit(metrics_.Render(), '\n')) {
    if (line.empty() || line[0] == '#') continue;
    double value = 0.0;
    Expect(absl::SimpleAtod(line.substr(line.rfind(' ') + 1), &value) && std::isfinite(value),
           absl::StrCat("the page says ", line));
  }
}

JobPtr RandomSchedule::SteadyJob(const std::string& client) {
  auto job = std::make_unique<Job>(TestOperation("Encode"));
  job->work.units = kSteadyUnits;
  job->work.shape = 1;
  job->caller = {client, Priority::kNormal};
  job->footprint.blocks = 1;
  job->deadline = absl::InfiniteFuture();
  return job;
}

// Two clients that always have some jobs waiting; each job takes kSteadyTime of the device.
void RandomSchedule::CheckSteadyService() {
  constexpr int kWaiting = 32;  // some, whatever runs
  constexpr int kBatches = 400;
  now_ += absl::Hours(1);
  std::array<int, 2> waiting{};
  std::array<double, 2> served{};
  bool counts = false;
  for (int i = 0; i < kBatches; ++i) {
    counts = i >= kBatches / 2;
    for (const size_t client : {size_t{0}, size_t{1}}) {
      while (waiting[client] < kWaiting) {
        ++waiting[client];
        Expect(Submit(SteadyJob(client == 0 ? "a" : "new"),
                      [&, client](const Job& job) {
                        --waiting[client];
                        if (counts) served[client] += job.schedule.device_s;
                      }),
               "a job without a deadline was refused");
      }
    }
    const Task* const batch = device_.task(0);
    now_ += kSteadyTime * static_cast<int64_t>(static_cast<const NoBatch*>(batch)->jobs().size());
    EndOne(0, absl::OkStatus());
  }
  Expect(std::abs(std::log(served[0] / served[1])) < std::log(1.25),
         absl::StrCat("of two equal clients one had ", served[0], " s, the other ", served[1]));
  while (device_.num_running() > 0) {
    now_ += kSteadyTime;
    EndOne(0, absl::OkStatus());
  }
  JobPtr hopeless = SteadyJob("a");
  hopeless->deadline = now_ + kSteadyTime / 20;
  Expect(absl::IsDeadlineExceeded(dispatcher_->Admit(hopeless.get()).status()),
         absl::StrCat("what takes 1 ms was admitted with 50 us left, predicted as ",
                      hopeless->schedule.alone_s, " s, trusted ", hopeless->schedule.trusted));
  JobPtr easy = SteadyJob("a");
  easy->deadline = now_ + 20 * kSteadyTime;
  const absl::Status admitted = dispatcher_->Admit(easy.get()).status();
  Expect(admitted.ok(),
         absl::StrCat("what takes 1 ms was refused with 20 ms left: ", admitted.message()));
  CheckMetrics();
}

}  // namespace baseband::server
