#include "server/device/cpu_device.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <fstream>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"

namespace baseband::server {
namespace {

constexpr int kNumLanes = 2;

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
  Task* task = nullptr;
  Lane::Done done;
  absl::Time start;
  int num_pieces = 0;
  std::atomic<int> next{0};
  std::atomic<int> left{0};

  int CountTaken() const { return std::min(next.load(std::memory_order_relaxed), num_pieces); }
};

class CpuDevice::Crew {
 public:
  Crew(int num_threads, bool background) {
    for (int i = 0; i < num_threads; ++i) {
      workers_.emplace_back([this, background] {
        if (background) GiveWay();
        Work();
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
  void Enqueue(std::shared_ptr<Run> run) {
    absl::MutexLock lock(&mutex_);
    runs_.push_back(std::move(run));
  }
  // Pieces of all runs so far that a worker has taken.
  int64_t CountTaken() const {
    absl::MutexLock lock(&mutex_);
    int64_t taken = taken_before_;
    for (const std::shared_ptr<Run>& run : runs_) taken += run->CountTaken();
    return taken;
  }

 private:
  void Work();

  mutable absl::Mutex mutex_;
  std::deque<std::shared_ptr<Run>> runs_ ABSL_GUARDED_BY(mutex_);
  int64_t taken_before_ ABSL_GUARDED_BY(mutex_) = 0;  // of runs that have left runs_
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
  // While pieces are left to take, that any of the crew's is taken: lanes share it, and go one
  // after the other. Then nothing changes until the end: each worker has one piece at most.
  int64_t progress() const override {
    std::shared_ptr<Run> run;
    {
      absl::MutexLock lock(&mutex_);
      run = run_.lock();
    }
    return run == nullptr || run->CountTaken() == run->num_pieces ? -1 : crew_->CountTaken();
  }
  void Start(Task* task, Done done) override {
    auto run = std::make_shared<Run>();
    run->task = task;
    run->done = std::move(done);
    run->start = SteadyNow();
    run->num_pieces = task->num_pieces();
    run->left = run->num_pieces;
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

// Takes pieces of the oldest run until none is left to take, then of the next. Whoever ends a run's
// last piece reports it.
void CpuDevice::Crew::Work() {
  for (;;) {
    std::shared_ptr<Run> run;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(
          +[](Crew* self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->mutex_) {
            return self->stopping_ || !self->runs_.empty();
          },
          this));
      if (runs_.empty()) {
        return;
      }
      run = runs_.front();
    }
    int piece;
    int ended = 0;
    while ((piece = run->next.fetch_add(1, std::memory_order_relaxed)) < run->num_pieces) {
      run->task->RunPiece(piece);
      ++ended;
    }
    {
      absl::MutexLock lock(&mutex_);
      if (!runs_.empty() && runs_.front() == run) {
        runs_.pop_front();
        taken_before_ += run->num_pieces;
      }
    }
    if (ended > 0 && run->left.fetch_sub(ended, std::memory_order_acq_rel) == ended) {
      StageTimes times;
      times.kernel = SteadyNow() - run->start;
      run->done(absl::OkStatus(), times);
    }
  }
}

}  // namespace baseband::server
