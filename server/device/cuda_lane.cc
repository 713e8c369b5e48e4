#include "server/device/cuda_lane.h"

#include <pthread.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kernels/base/pause.h"
#include "kernels/base/spinning_lock.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/device/device_queues.h"

namespace baseband::server {
namespace {

// To wake a sleeping thread takes tens of microseconds. Spin that long for the end of a task while
// no other lane is busy ..
constexpr absl::Duration kMaxSpinAlone = absl::Milliseconds(1);
// .. that long while cores have other work to do, and not at all for one that is wire-bound, whose
// successor needs the core ..
constexpr absl::Duration kMaxSpinAmongOthers = absl::Microseconds(30);
// .. and that long for one in place, which is small: it ends soon once its turn has come.
constexpr absl::Duration kMaxSpinInPlace = absl::Microseconds(200);
// Spin that long for the task after the last one: one lane of the device does, that which was busy
// last, for it is the next to get one. More would only take cores from those who bring the tasks,
// but for kMaxSpinInPlace after a task in place, whose sender waits for its answer to send the
// next. While the last one was wire-bound none does.
constexpr absl::Duration kMaxSpinForTask = absl::Milliseconds(1);
// Between two looks at a resident kernel's task that takes longer.
constexpr absl::Duration kNap = absl::Microseconds(50);
// Between two looks; 40 to 140 cycles each.
constexpr int kPauses = 4;
// Of tables that stay: those of 5G NR are 4 KB, with all rows 6 KB.
constexpr int64_t kTablesBytes = 2 << 20;

absl::Duration Between(const cuda::Event& begin, const cuda::Event& end) {
  float milliseconds = 0;
  if (cudaEventElapsedTime(&milliseconds, begin.get(), end.get()) != cudaSuccess) {
    (void)cudaGetLastError();
    return absl::ZeroDuration();
  }
  return absl::Milliseconds(milliseconds);
}

}  // namespace

absl::Status CudaLane::SetUp() {
  constexpr int64_t kReadAhead = 64;  // kernels may read a little past the last block
  const CudaDeviceOptions& options = device_->options_;
  const LaneCapacity& capacity = options.lane;
  BASEBAND_ASSIGN_OR_RETURN(stream_, cuda::Stream::Create(background_));
  for (cuda::Event& mark : marks_) {
    BASEBAND_ASSIGN_OR_RETURN(mark, cuda::Event::Create());
  }
  if (device_->options_.spin && !background_) {
    BASEBAND_ASSIGN_OR_RETURN(end_flag_, cuda::StreamFlag::Create());
  }
  BASEBAND_ASSIGN_OR_RETURN(control_host_,
                            cuda::CreatePinnedBuffer<uint8_t>(capacity.control_bytes));
  BASEBAND_ASSIGN_OR_RETURN(output_staging_,
                            cuda::CreatePinnedBuffer<uint8_t>(capacity.output_bytes));
  // Of scattered payloads, or all of a queue of small ones; what is longer is cut.
  const auto gather_pieces =
      std::max<int64_t>(2 * capacity.input_bytes / Payload::kMinMeanPiece, 1024);
  BASEBAND_ASSIGN_OR_RETURN(gather_host_,
                            cuda::CreatePinnedBuffer<cuda::GatherPiece>(gather_pieces));
  BASEBAND_ASSIGN_OR_RETURN(control_device_,
                            cuda::CreateDeviceBuffer<uint8_t>(capacity.control_bytes));
  BASEBAND_ASSIGN_OR_RETURN(lane_tables_, LaneTables::Create(kTablesBytes, stream_.get()));
  BASEBAND_ASSIGN_OR_RETURN(input_device_,
                            cuda::CreateDeviceBuffer<uint8_t>(capacity.input_bytes + kReadAhead));
  BASEBAND_ASSIGN_OR_RETURN(output_device_,
                            cuda::CreateDeviceBuffer<uint8_t>(capacity.output_bytes));
  if (device_->options_.resident && WhyNotResident().empty()) {
    BASEBAND_ASSIGN_OR_RETURN(resident_, cuda::ResidentKernel::Create());
  }
  view_.device = device_;
  view_.stream = stream_.get();
  view_.control_host = control_host_.data();
  view_.control_device = control_device_.data();
  view_.lane_tables = &lane_tables_;
  view_.input_device = input_device_.data();
  view_.output_device = output_device_.data();
  view_.output_staging_host = output_staging_.data();
  view_.gather_host = gather_host_.data();
  view_.max_gather_pieces = static_cast<int>(gather_pieces);
  view_.capacity = capacity;
  view_.workspace = device_->workspace_.data();
  view_.workspace_bytes = options.workspace_bytes;
  view_.with_workspace = [this](const std::function<absl::Status()>& enqueue) {
    return device_->WithWorkspace(stream_.get(), enqueue);
  };
  waiter_ = std::thread([this] { WaitForTasks(); });
  return absl::OkStatus();
}

CudaLane::~CudaLane() { TearDown(); }

void CudaLane::Stop() {
  {
    SpinningLock lock(&mutex_);
    stopping_ = true;
  }
  if (waiter_.joinable()) {
    waiter_.join();
    if (resident_.is_available()) (void)resident_.Leave();
  }
  SpinningLock lock(&mutex_);
  stopping_ = false;
}

void CudaLane::TearDown() {
  Stop();
  view_ = {};
  output_device_ = {};
  input_device_ = {};
  lane_tables_ = {};
  control_device_ = {};
  gather_host_ = {};
  output_staging_ = {};
  control_host_ = {};
  resident_ = {};
  end_flag_ = {};
  for (cuda::Event& mark : marks_) mark = {};
  stream_ = {};
}

Device& CudaLane::device() { return *device_; }

absl::string_view CudaLane::WhyNotResident() const {
  if (!end_flag_.is_available()) return "its driver raises no flags for the host";
  const int queues_left = kDeviceQueues - static_cast<int>(device_->lanes().size());
  if (index_ >= queues_left) return "a GPU has no more queues for their kernels";
  return "";
}

bool CudaLane::Spins() const { return device_->options_.spin && !background_; }

absl::Status CudaLane::Enqueue(Task* task, bool has_marks) {
  BASEBAND_RETURN_IF_ERROR(
      cuda::ToStatus(cudaSetDevice(device_->options_.ordinal), "cudaSetDevice"));
  const auto mark = [this](int i) {
    return cuda::ToStatus(cudaEventRecord(marks_[i].get(), stream_.get()), "cudaEventRecord");
  };
  // It has not read what was copied since.
  if (resident_.is_available() && lane_tables_.has_copied()) resident_.Retire();
  view_.resident = resident_.is_available() && !has_marks ? &resident_ : nullptr;
  view_.sharers = device_->busy_lanes_.load(std::memory_order_relaxed) + (background_ ? 1 : 0);
  lane_tables_.BeginTask();
  if (has_marks) BASEBAND_RETURN_IF_ERROR(mark(0));
  BASEBAND_RETURN_IF_ERROR(task->CudaCopyIn(view_));
  if (has_marks) BASEBAND_RETURN_IF_ERROR(mark(1));
  BASEBAND_RETURN_IF_ERROR(task->CudaRun(view_));
  if (has_marks) BASEBAND_RETURN_IF_ERROR(mark(2));
  BASEBAND_RETURN_IF_ERROR(task->CudaCopyOut(view_));
  if (resident_.has_task()) {
    device_->resident_tasks_.fetch_add(1, std::memory_order_relaxed);
    return absl::OkStatus();
  }
  // With marks the flag tells that the last can be read, without them that nothing is left to do.
  if (has_marks) BASEBAND_RETURN_IF_ERROR(mark(kNumMarks - 1));
  if (end_flag_.is_available()) (void)end_flag_.Raise(stream_.get());
  if (!has_marks) BASEBAND_RETURN_IF_ERROR(mark(kNumMarks - 1));
  return absl::OkStatus();
}

void CudaLane::Start(Task* task, Done done) {
  const absl::Time start = SteadyNow();
  const bool has_others =
      !background_ && device_->busy_lanes_.fetch_add(1, std::memory_order_relaxed) > 0;
  const bool is_in_place = task->is_in_place();
  const bool is_wire_bound = task->is_wire_bound();
  const bool has_marks = !is_in_place || !end_flag_.is_available();
  if (!is_in_place && Spins() && (has_others || spins_for_task_.load(std::memory_order_relaxed))) {
    SpinningLock lock(&mutex_);
    task_ = task;
    is_wire_bound_ = is_wire_bound;
    launched_ = absl::InfinitePast();
    done_ = std::move(done);
    busy_ = true;
    return;
  }
  absl::Status enqueued = Enqueue(task, has_marks);
  const absl::Time launched = SteadyNow();
  SpinningLock lock(&mutex_);
  enqueued_ = std::move(enqueued);
  copy_in_ = launched - start;
  is_wire_bound_ = is_wire_bound;
  launched_ = has_marks ? absl::InfinitePast() : launched;
  done_ = std::move(done);
  busy_ = true;
}

void CudaLane::WaitForTasks() {
  pthread_setname_np(pthread_self(),
                     absl::StrCat("lane-", device_->ordinal(), "-", index_).c_str());
  (void)cudaSetDevice(device_->options_.ordinal);
  bool was_in_place = false;
  bool was_wire_bound = false;
  for (;;) {
    absl::Status status;
    StageTimes times;
    absl::Time launched;
    Task* task = nullptr;
    Done done;
    if (was_wire_bound) {
      device_->last_spin_.fetch_add(1, std::memory_order_relaxed);  // no other spins in its place
    } else if (Spins()) {
      spins_for_task_.store(true, std::memory_order_relaxed);
      SpinForTask(was_in_place);
      spins_for_task_.store(false, std::memory_order_relaxed);
    }
    {
      SpinningLock lock(&mutex_);
      mutex_.Await(absl::Condition(
          +[](CudaLane* self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->mutex_) {
            return self->busy_ || self->stopping_;
          },
          this));
      if (!busy_) {
        return;
      }
      status = std::move(enqueued_);
      times.copy_in = copy_in_;
      launched = launched_;
      was_wire_bound = is_wire_bound_;
      task = std::exchange(task_, nullptr);
      done = std::move(done_);
      busy_ = false;
    }
    if (task != nullptr) {
      const absl::Time begin = SteadyNow();
      status = Enqueue(task, /*has_marks=*/true);
      times.copy_in = SteadyNow() - begin;
    }
    was_in_place = launched != absl::InfinitePast();
    absl::Status end;
    if (status.ok() && resident_.has_task()) {
      status = WaitForResident();
    } else if (status.ok()) {
      end = WaitForEnd(was_in_place, was_wire_bound);
    }
    // What was enqueued before an error still runs and uses the task's memory: wait in any case.
    if (!status.ok()) end = WaitForAll();
    if (status.ok() && end.ok()) {
      const absl::Duration copy_in = times.copy_in;
      if (was_in_place) {
        times.kernel = SteadyNow() - launched;
      } else {
        times = ReadTimes();
      }
      times.copy_in = copy_in;
    }
    if (!end.ok()) {  // an asynchronous error is sticky: the context is lost
      device_->set_healthy(false);
    }
    status.Update(end);
    if (!background_) device_->busy_lanes_.fetch_sub(1, std::memory_order_relaxed);
    done(std::move(status), times);
  }
}

void CudaLane::SpinForTask(bool was_in_place) const {
  std::atomic<uint64_t>& last = device_->last_spin_;
  const uint64_t own = last.fetch_add(1, std::memory_order_relaxed) + 1;
  const absl::Time begin = SteadyNow();
  while (!busy_.load(std::memory_order_acquire)) {
    const absl::Duration spun = SteadyNow() - begin;
    const bool is_last = last.load(std::memory_order_relaxed) == own;
    if (!(is_last && spun < kMaxSpinForTask) && !(was_in_place && spun < kMaxSpinInPlace)) return;
    for (int i = 0; i < kPauses; ++i) Pause();
  }
}

absl::Status CudaLane::WaitForEnd(bool is_in_place, bool is_wire_bound) {
  const cudaEvent_t end = marks_[kNumMarks - 1].get();
  const bool alone = device_->busy_lanes_.load(std::memory_order_relaxed) <= 1;
  if (Spins() && (alone || !is_wire_bound)) {
    const absl::Time give_up = SteadyNow() + (alone         ? kMaxSpinAlone
                                              : is_in_place ? kMaxSpinInPlace
                                                            : kMaxSpinAmongOthers);
    do {
      if (end_flag_.is_available()) {  // an error is the event's to tell: the flag stays down
        if (end_flag_.is_up()) return absl::OkStatus();
      } else if (const cudaError_t error = cudaEventQuery(end); error != cudaErrorNotReady) {
        return cuda::ToStatus(error, "cudaEventQuery");
      }
      for (int i = 0; i < kPauses; ++i) Pause();
    } while (SteadyNow() < give_up);
  }
  return cuda::ToStatus(cudaEventSynchronize(end), "cudaEventSynchronize");
}

absl::Status CudaLane::WaitForResident() {
  const absl::Time give_up = SteadyNow() + kMaxSpinInPlace;
  bool spins = true;
  for (;;) {
    BASEBAND_ASSIGN_OR_RETURN(const bool is_done, resident_.IsDone());
    if (is_done) return absl::OkStatus();
    if (spins) {
      for (int i = 0; i < kPauses; ++i) Pause();
      spins = SteadyNow() < give_up;
    } else {
      BASEBAND_RETURN_IF_ERROR(resident_.Check());
      absl::SleepFor(kNap);
    }
  }
}

absl::Status CudaLane::WaitForAll() {
  absl::Status status =
      cuda::ToStatus(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
  if (resident_.is_available()) status.Update(resident_.Leave());
  return status;
}

StageTimes CudaLane::ReadTimes() const {
  StageTimes times;
  times.h2d = Between(marks_[0], marks_[1]);
  times.kernel = Between(marks_[1], marks_[2]);
  times.d2h = Between(marks_[2], marks_[3]);
  return times;
}

}  // namespace baseband::server
