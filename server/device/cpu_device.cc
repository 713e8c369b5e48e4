#include "server/device/cpu_device.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "kernels/base/work_steps.h"

namespace baseband::server {
namespace {

constexpr int kNumLanes = 2;
// After so much of one batch a worker turns to the lane's neighbour, if that has one: whoever comes
// while a batch of seconds runs waits for one of its pieces. Ordinary batches end sooner.
constexpr absl::Duration kTurn = absl::Milliseconds(1);

std::string ProcessorName() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("model name", 0) == 0) {
      const size_t colon = line.find(':');
      return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
    }
  }
  return "CPU";
}

// From now on other threads that want the core of this one go before, but for a tenth of its time:
// on a host that others keep busy, long work still ends, and lets go of what it holds. (SCHED_IDLE
// would leave it next to nothing there.)
void GiveWay() {
  constexpr int kLower = 10;
  (void)nice(kLower);  // of this thread alone, as Linux has it; needs no privilege
}

}  // namespace

struct CpuDevice::Run {
  Run(Task* its_task, Lane::Done its_done, int num_workers)
      : task(its_task),
        done(std::move(its_done)),
        start(SteadyNow()),
        num_pieces(its_task->num_pieces()),
        left(num_pieces),
        steps(static_cast<size_t>(num_workers)) {}

  bool has_pieces() const { return next.load(std::memory_order_relaxed) < num_pieces; }
  int64_t CountTaken() const { return std::min(next.load(std::memory_order_relaxed), num_pieces); }
  // Grows while anybody gets on with one of its pieces.
  int64_t CountSteps() const {
    int64_t count = 0;
    for (const WorkSteps& worker : steps) count += worker.count.load(std::memory_order_relaxed);
    return count;
  }

  Task* const task;
  const Lane::Done done;
  const absl::Time start;
  const int num_pieces;
  std::atomic<int> next{0};
  std::atomic<int> left;
  std::vector<WorkSteps> steps;  // by worker
};

class CpuDevice::Crew {
 public:
  Crew(int num_threads, bool background) : num_threads_(num_threads) {
    for (int i = 0; i < num_threads; ++i) {
      workers_.emplace_back([this, i, background] {
        pthread_setname_np(pthread_self(), background ? "cpu-background" : "cpu");
        if (background) GiveWay();
        Work(static_cast<size_t>(i));
      });
    }
  }
  ~Crew() {
    {
      absl::MutexLock lock(&mutex_);
      stopping_ = true;
    }
    for (std::thread& worker : workers_) {
      worker.join();
    }
  }
  int num_threads() const { return num_threads_; }
  void Enqueue(std::shared_ptr<Run> run) {
    absl::MutexLock lock(&mutex_);
    runs_.push_back(std::move(run));
    num_runs_.store(runs_.size(), std::memory_order_relaxed);
  }
  // Changes while a worker takes pieces or gets on with one.
  int64_t Progress() const {
    absl::MutexLock lock(&mutex_);
    int64_t count = before_;
    for (const std::shared_ptr<Run>& run : runs_) count += run->CountTaken() + run->CountSteps();
    return count;
  }

 private:
  void Work(size_t worker);
  // The first run with pieces to take, of those after `last` before the others; null: the end.
  std::shared_ptr<Run> AwaitRun(const Run* last);
  bool HasPieces() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::any_of(runs_.begin(), runs_.end(),
                       [](const std::shared_ptr<Run>& run) { return run->has_pieces(); });
  }
  void Remove(const std::shared_ptr<Run>& run);

  const int num_threads_;
  mutable absl::Mutex mutex_;
  std::vector<std::shared_ptr<Run>> runs_ ABSL_GUARDED_BY(mutex_);  // that have not ended
  std::atomic<size_t> num_runs_{0};                                 // a hint
  int64_t before_ ABSL_GUARDED_BY(mutex_) = 0;                      // progress of those that have
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> workers_;  // last: ends first
};

class CpuDevice::CpuLane final : public Lane {
 public:
  CpuLane(CpuDevice* device, int index, Crew* crew, bool background)
      : device_(device), index_(index), crew_(crew), background_(background) {}
  Device& device() override { return *device_; }
  int index() const override { return index_; }
  bool background() const override { return background_; }
  // While pieces are left to take, that of the crew, which lanes share and may all be elsewhere;
  // then that of the workers that have the last pieces in hand.
  int64_t progress() const override {
    std::shared_ptr<Run> run;
    {
      absl::MutexLock lock(&mutex_);
      run = run_.lock();
    }
    if (run == nullptr) return -1;
    return run->has_pieces() ? crew_->Progress() : run->CountSteps();
  }
  void Start(Task* task, Done done) override {
    auto run = std::make_shared<Run>(task, std::move(done), crew_->num_threads());
    {
      absl::MutexLock lock(&mutex_);
      run_ = run;
    }
    crew_->Enqueue(std::move(run));
  }

 private:
  CpuDevice* const device_;
  const int index_;
  Crew* const crew_;
  const bool background_;
  mutable absl::Mutex mutex_;
  std::weak_ptr<Run> run_ ABSL_GUARDED_BY(mutex_);
};

CpuDevice::CpuDevice(int num_threads, bool standby, const ObjectLimits& objects)
    : Device(standby),
      object_bytes_(objects.max_bytes),
      id_(standby ? "cpu:standby" : "cpu"),
      name_(ProcessorName()),
      num_threads_(num_threads) {
  if (object_bytes_ > 0) set_objects(std::make_shared<ObjectStore>(objects, nullptr));
  (void)RenewObjects();  // without memory the store says so
  for (const bool background : {false, true}) {
    crews_.push_back(std::make_unique<Crew>(num_threads, background));
    for (int i = 0; i < kNumLanes; ++i) {
      lanes_.push_back(std::make_unique<CpuLane>(this, static_cast<int>(lanes_.size()),
                                                 crews_.back().get(), background));
    }
  }
}

CpuDevice::~CpuDevice() = default;

absl::Status CpuDevice::Reset(const Alone&) { return RenewObjects(); }

absl::Status CpuDevice::RenewObjects() {
  if (objects() == nullptr) return absl::OkStatus();
  BASEBAND_ASSIGN_OR_RETURN(std::shared_ptr<HostPool> memory,
                            HostPool::CreatePageable(object_bytes_));
  objects()->Renew(std::move(memory));
  return absl::OkStatus();
}

int64_t CpuDevice::memory_bytes() const {
  return int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
}

std::shared_ptr<CpuDevice::Run> CpuDevice::Crew::AwaitRun(const Run* last) {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](Crew* self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->mutex_) {
        return self->stopping_ || self->HasPieces();
      },
      this));
  const auto has_pieces = [](const std::shared_ptr<Run>& run) { return run->has_pieces(); };
  const auto place =
      std::find_if(runs_.begin(), runs_.end(),
                   [last](const std::shared_ptr<Run>& run) { return run.get() == last; });
  auto next = place == runs_.end() ? place : std::find_if(place + 1, runs_.end(), has_pieces);
  if (next == runs_.end()) next = std::find_if(runs_.begin(), runs_.end(), has_pieces);
  return next == runs_.end() ? nullptr : *next;
}

void CpuDevice::Crew::Remove(const std::shared_ptr<Run>& run) {
  absl::MutexLock lock(&mutex_);
  runs_.erase(std::find(runs_.begin(), runs_.end(), run));
  num_runs_.store(runs_.size(), std::memory_order_relaxed);
  before_ += run->CountTaken() + run->CountSteps();
}

// Takes pieces of the oldest run until none is left to take, or its turn is over while there is
// another; then of the next. Whoever ends a run's last piece reports it.
void CpuDevice::Crew::Work(size_t worker) {
  const Run* last = nullptr;
  for (;;) {
    const std::shared_ptr<Run> run = AwaitRun(last);
    if (run == nullptr) {
      absl::MutexLock lock(&mutex_);
      if (stopping_) return;
      continue;  // others have taken what was left
    }
    last = run.get();
    const absl::Time turn_ends = SteadyNow() + kTurn;
    int ended = 0;
    {
      const StepsScope steps(&run->steps[worker]);
      int piece;
      while ((piece = run->next.fetch_add(1, std::memory_order_relaxed)) < run->num_pieces) {
        run->task->RunPiece(piece);
        (void)CountStep();
        ++ended;
        if (num_runs_.load(std::memory_order_relaxed) > 1 && SteadyNow() > turn_ends) break;
      }
    }
    if (ended > 0 && run->left.fetch_sub(ended, std::memory_order_acq_rel) == ended) {
      Remove(run);
      StageTimes times;
      times.kernel = SteadyNow() - run->start;
      run->done(absl::OkStatus(), times);
    }
  }
}

}  // namespace baseband::server
