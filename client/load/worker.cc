#include "client/load/worker.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/to_status.h"

namespace baseband::load {
namespace {

constexpr int64_t kSecondNs = 1000000000;
// Clocks do not agree better on whose deadline passed first, the client's or the server's.
constexpr int64_t kDeadlineSlackNs = 100000;

std::vector<double> Weights(const std::vector<Workload>& workloads) {
  std::vector<double> weights;
  for (const Workload& workload : workloads) weights.push_back(workload.weight);
  return weights;
}

double ThreadCpuSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void RaiseTo(double value, std::atomic<double>* most) {
  for (double seen = *most; seen < value && !most->compare_exchange_weak(seen, value);) {
  }
}

}  // namespace

struct Worker::Call {
  grpc::ClientContext context;
  grpc::ByteBuffer reply;
  grpc::Status status;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
  client::PooledChannel* channel = nullptr;
  const Request* request = nullptr;
  size_t workload = 0;
  int64_t due_ns = 0;
};

Worker::Worker(const WorkerSpec& spec, const std::vector<Workload>* workloads)
    : spec_(spec),
      workloads_(*workloads),
      recorder_(spec.window, workloads->size()),
      channels_(spec.client),
      random_(spec.seed + 0x9e3779b97f4a7c15u * static_cast<uint64_t>(spec.part + 1)),
      turns_(workloads->size(), 0) {
  const std::vector<double> weights = Weights(*workloads);
  draw_ = std::discrete_distribution<size_t>(weights.begin(), weights.end());
}

void Worker::Start(Clock::time_point begin) {
  begin_ = begin;
  if (spec_.pace.kind == Pace::Kind::kClosed) {
    while (SleepUntil(0) && WaitForRoom(0)) Send(Draw(), NowNs());
  }
  receiver_ = std::thread([this] { ReceiveAll(); });
  sender_ = std::thread([this] { SendAll(); });
}

void Worker::Stop() {
  absl::MutexLock lock(&mutex_);  // wakes who waits for room
  stopped_ = true;
}

void Worker::Join() {
  sender_.join();
  receiver_.join();
}

int64_t Worker::NowNs() const { return std::chrono::nanoseconds(Clock::now() - begin_).count(); }

int64_t Worker::Deadline(const Workload& workload, int64_t due_ns) const {
  return due_ns + absl::ToInt64Nanoseconds(std::min(workload.deadline, spec_.timeout));
}

void Worker::SendAll() {
  prctl(PR_SET_TIMERSLACK, 1);  // wake when the time has come, not up to 50 us later
  const Clock::time_point begin = Clock::now();
  if (spec_.pace.kind != Pace::Kind::kClosed) {
    Arrivals arrivals(spec_.pace, spec_.part, spec_.parts, spec_.seed);
    for (;;) {
      const int64_t due = absl::ToInt64Nanoseconds(arrivals.Next());
      if (due >= spec_.window.end_ns || !SleepUntil(due)) break;
      const size_t workload = Draw();
      const int64_t lag = NowNs() - due;
      const bool waited = !WaitForRoom(0);
      if (waited &&
          !WaitForRoom(std::min(Deadline(workloads_[workload], due), spec_.window.end_ns))) {
        Skip(workload, due);
        continue;
      }
      recorder_.OnSend(due, lag, waited);
      Send(workload, due);
    }
  } else {
    SleepUntil(spec_.window.end_ns);
  }
  RaiseTo(ThreadCpuSeconds() / absl::ToDoubleSeconds(absl::FromChrono(Clock::now() - begin)),
          &busy_);
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
  const auto none_left = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return in_flight_ == 0; };
  mutex_.Await(absl::Condition(&none_left));
  queue_.Shutdown();
}

bool Worker::SleepUntil(int64_t due_ns) const {
  constexpr int64_t kLongestNs = 50000000;  // so that Stop() is noticed
  for (int64_t now = NowNs(); now < due_ns && !stopped_; now = NowNs()) {
    const auto until =
        (begin_ + std::chrono::nanoseconds(std::min(due_ns, now + kLongestNs))).time_since_epoch();
    const int64_t ns = std::chrono::nanoseconds(until).count();
    const timespec time = {ns / kSecondNs, ns % kSecondNs};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
  }
  return !stopped_;
}

// Takes a place among the calls in flight.
bool Worker::WaitForRoom(int64_t give_up_ns) {
  absl::MutexLock lock(&mutex_);
  const auto room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopped_ || in_flight_ < spec_.in_flight;
  };
  if (!room()) {
    const int64_t wait = give_up_ns - NowNs();
    if (wait <= 0 || !mutex_.AwaitWithTimeout(absl::Condition(&room), absl::Nanoseconds(wait))) {
      return false;
    }
  }
  if (stopped_) return false;
  ++in_flight_;
  return true;
}

void Worker::Send(size_t index, int64_t due_ns) {
  const Workload& workload = workloads_[index];
  auto* const call = new Call();  // deleted by the receiver
  call->workload = index;
  call->request = &workload.requests[turns_[index]++ % workload.requests.size()];
  call->due_ns = due_ns;
  call->channel = &channels_.Pick();
  call->channel->calls.fetch_add(1, std::memory_order_relaxed);
  call->context.set_deadline(std::chrono::system_clock::now() +
                             std::chrono::nanoseconds(Deadline(workload, due_ns) - NowNs()));
  if (!workload.priority.empty()) {
    call->context.AddMetadata("baseband-priority", workload.priority);
  }
  call->reader = call->channel->stub->PrepareUnaryCall(&call->context, workload.method,
                                                       call->request->message, &queue_);
  call->reader->StartCall();
  call->reader->Finish(&call->reply, &call->status, call);
}

void Worker::Skip(size_t workload, int64_t due_ns) {
  Ended ended;
  ended.workload = workload;
  ended.outcome = Outcome::kSkipped;
  ended.due_ns = due_ns;
  ended.end_ns = NowNs();
  recorder_.OnEnd(ended);
}

void Worker::ReceiveAll() {
  const Clock::time_point begin = Clock::now();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
    const std::unique_ptr<Call> call(static_cast<Call*>(tag));
    call->channel->calls.fetch_sub(1, std::memory_order_relaxed);
    OnEnd(*call);
    const bool next = spec_.pace.kind == Pace::Kind::kClosed && !stopped_;
    if (next) {
      Send(Draw(), NowNs());
    } else {
      absl::MutexLock lock(&mutex_);
      --in_flight_;
    }
  }
  RaiseTo(ThreadCpuSeconds() / absl::ToDoubleSeconds(absl::FromChrono(Clock::now() - begin)),
          &busy_);
}

void Worker::OnEnd(const Call& call) {
  const Workload& workload = workloads_[call.workload];
  Ended ended;
  ended.workload = call.workload;
  ended.due_ns = call.due_ns;
  ended.end_ns = NowNs();
  const int64_t overdue = ended.end_ns - Deadline(workload, call.due_ns);
  v1::Timing timing;
  if (call.status.ok()) {
    ReplyView reply(call.reply);
    if (workload.has_timing && reply.ReadTiming(&timing)) ended.timing = &timing;
    absl::Status right;
    if (!workload.has_timing || !call.request->known->Is(reply)) {
      right = call.request->check(call.reply);
      if (right.ok() && workload.has_timing) call.request->known->Set(reply.Rest());
    }
    ended.outcome = !right.ok() ? Outcome::kWrong : overdue > 0 ? Outcome::kLate : Outcome::kGood;
    ended.explanation = std::string(right.message());
    ended.info_bits = workload.info_bits;
    ended.message_bytes = static_cast<double>(call.request->message.Length() + call.reply.Length());
  } else if (call.status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED &&
             overdue > -kDeadlineSlackNs) {
    ended.outcome = Outcome::kExpired;
  } else {
    ended.outcome = Outcome::kRefused;
    const absl::Status status = client::ToStatus(call.status);
    ended.explanation =
        Cause(absl::StatusCodeToString(status.code()).c_str(), std::string(status.message()));
  }
  recorder_.OnEnd(ended);
}

}  // namespace baseband::load
