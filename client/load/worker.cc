#include "client/load/worker.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "client/load/worker_call.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"

namespace baseband::load {
namespace {

constexpr int64_t kSecondNs = 1000000000;
// Of shared memory: beside the payloads of a call and its answer, which together are so much larger
// than the former, at most, unless it is encoded at a very low rate; for a ring itself; and in all,
// for what is in flight when it serves well.
constexpr int64_t kLeastCallBytes = 16 << 10;
constexpr int64_t kMostGrowth = 5;
constexpr int64_t kRingBytes = 1 << 20;
constexpr int64_t kMostBytes = 256 << 20;
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

Worker::Worker(const WorkerSpec& spec, const std::vector<Workload>* workloads)
    : spec_(spec),
      workloads_(*workloads),
      recorder_(spec.window, workloads->size()),
      channels_(spec.client),
      retry_(spec.client),
      random_(spec.seed + 0x9e3779b97f4a7c15u * static_cast<uint64_t>(spec.part + 1)),
      turns_(workloads->size(), 0) {
  const std::vector<double> weights = Weights(*workloads);
  draw_ = std::discrete_distribution<size_t>(weights.begin(), weights.end());
}

absl::Status Worker::Connect(absl::Duration timeout, bool keep_trying) {
  BASEBAND_RETURN_IF_ERROR(channels_.Connect(timeout, keep_trying));
  if (spec_.rings.has_value()) return ConnectRing();
  return spec_.in_place ? PlaceInArena() : absl::OkStatus();
}

absl::Status Worker::ConnectRing() {
  client::RingOptions options;
  while (options.entries < spec_.rings->max_ring_entries() &&
         static_cast<int>(options.entries) < spec_.in_flight) {
    options.entries *= 2;
  }
  const int64_t in_flight = std::min<int64_t>(spec_.in_flight, options.entries);
  int64_t payload_bytes = 0;  // the most of a request
  for (const Workload& workload : workloads_) {
    for (const Request& request : workload.requests) {
      payload_bytes = std::max(payload_bytes, static_cast<int64_t>(request.payload.size()));
    }
  }
  const int64_t most_bytes =
      std::min(static_cast<int64_t>(spec_.rings->max_bytes()) - kRingBytes, kMostBytes);
  int64_t call_bytes = kLeastCallBytes + kMostGrowth * payload_bytes;
  int64_t placed_bytes = 0;
  if (spec_.in_place) {
    BASEBAND_ASSIGN_OR_RETURN(
        placed_, PlacedPayloads::Create(&workloads_, static_cast<int>(in_flight), most_bytes / 2));
    call_bytes -= payload_bytes;
    placed_bytes = placed_->bytes();
  }
  options.memory_bytes = std::min(most_bytes, placed_bytes + call_bytes * in_flight);
  BASEBAND_ASSIGN_OR_RETURN(ring_, client::Ring::Connect(*spec_.rings, options));
  if (!spec_.in_place) return absl::OkStatus();
  uint8_t* const memory = ring_->Loan(static_cast<size_t>(placed_bytes));
  if (memory == nullptr) return absl::InternalError("a new ring has no memory for payloads");
  placed_->Fill(memory);
  return absl::OkStatus();
}

absl::Status Worker::PlaceInArena() {
  const int64_t most_bytes = std::min(spec_.arena->max_bytes() / spec_.parts, kMostBytes);
  BASEBAND_ASSIGN_OR_RETURN(placed_,
                            PlacedPayloads::Create(&workloads_, spec_.in_flight, most_bytes / 2));
  BASEBAND_ASSIGN_OR_RETURN(placed_in_, spec_.arena->Loan(placed_->bytes()));
  placed_->Fill(placed_in_.data());
  return absl::OkStatus();
}

void Worker::Start(Clock::time_point begin) {
  begin_ = begin;
  for (int i = 0; spec_.stream && i < spec_.client.connections; ++i) {
    streams_.push_back(NewStream());
    streams_.back()->Start();
  }
  if (spec_.pace.kind == Pace::Kind::kClosed) {
    while (SleepUntil(0) && WaitForRoom(0)) Send(Draw(), NowNs());
  }
  receiver_ = std::thread([this] { ReceiveAll(); });
  sender_ = std::thread([this] { SendAll(); });
}

void Worker::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
  room_.NotifyAll();
}

void Worker::AwaitSent() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&sent_));
}

void Worker::Cancel() {
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
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
      const bool waited = !WaitForRoom(0);
      if (waited &&
          !WaitForRoom(std::min(Deadline(workloads_[workload], due), spec_.window.end_ns))) {
        Skip(workload, due);
        continue;
      }
      recorder_.OnSend(due, NowNs(), waited);
      Send(workload, due);
    }
  } else {
    SleepUntil(spec_.window.end_ns);
  }
  RaiseTo(ThreadCpuSeconds() / absl::ToDoubleSeconds(absl::FromChrono(Clock::now() - begin)),
          &busy_);
  bool cancels = false;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = sent_ = true;
    const auto ended = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return in_flight_ == 0 || cancelled_;
    };
    mutex_.Await(absl::Condition(&ended));
    cancels = in_flight_ > 0;
  }
  for (size_t i = 0; cancels && i < calls_.size(); ++i) {
    if (const auto call = calls_[i].lock()) call->Cancel();
  }
  {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](int* in_flight) { return *in_flight == 0; }, &in_flight_));
  }
  CloseStreams();
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
    if (wait <= 0 || !room_.AwaitUntil(mutex_, SteadyNow() + absl::Nanoseconds(wait), room)) {
      return false;
    }
  }
  if (stopped_) return false;
  ++in_flight_;
  return true;
}

void Worker::Send(size_t index, int64_t due_ns) {
  const Workload& workload = workloads_[index];
  auto call = std::make_unique<Call>();
  call->workload = index;
  const size_t turn = turns_[index]++;
  call->request = &workload.requests[turn % workload.requests.size()];
  call->payload = placed_.has_value() ? placed_->At(index, turn) : call->request->payload;
  call->due_ns = due_ns;
  call->sent_ns = NowNs();
  if (spec_.pace.kind == Pace::Kind::kClosed) recorder_.OnClosedSend(due_ns);
  const int64_t deadline_ns = Deadline(workload, due_ns);
  ring_ != nullptr ? SendOnRing(std::move(call), deadline_ns)
  : spec_.stream   ? SendOnStream(std::move(call), deadline_ns)
                   : SendUnary(std::move(call), deadline_ns);
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
    const std::unique_ptr<client::CallTag> event(static_cast<client::CallTag*>(tag));
    event->call->OnEvent(event->event, ok);
  }
  RaiseTo(ThreadCpuSeconds() / absl::ToDoubleSeconds(absl::FromChrono(Clock::now() - begin)),
          &busy_);
}

void Worker::OnEnd(const Call& call) {
  Count(call);
  if (spec_.pace.kind == Pace::Kind::kClosed && !stopped_) {
    if (absl::StartsWith(call.status.message(), "not sent: ")) {
      SendLater();
    } else {
      Send(Draw(), NowNs());
    }
    return;
  }
  LeaveRoom();
}

void Worker::LeaveRoom() {
  absl::MutexLock lock(&mutex_);
  --in_flight_;
  room_.NotifyAll();
}

void Worker::Count(const Call& call) {
  const Workload& workload = workloads_[call.workload];
  Ended ended;
  ended.workload = call.workload;
  ended.due_ns = call.due_ns;
  ended.sent_ns = call.sent_ns;
  ended.end_ns = NowNs();
  ended.by_shared_memory = call.by_ring || call.bulk != nullptr;
  const int64_t overdue = ended.end_ns - Deadline(workload, call.due_ns);
  Judgement judgement;
  if (call.status.ok()) {
    judgement = Judge(workload, *call.request, call.reply);
    if (judgement.has_timing) ended.timing = &judgement.timing;
    ended.outcome = !judgement.right.ok() ? Outcome::kWrong
                    : overdue > 0         ? Outcome::kLate
                                          : Outcome::kGood;
    ended.explanation = std::string(judgement.right.message());
    ended.blocks = {workload.blocks, judgement.failed_blocks};
    ended.iterations = judgement.iterations;
    ended.info_bits = workload.info_bits * (1 - ended.blocks.Bler());
    ended.message_bytes = static_cast<double>(call.request->message.Length() + call.reply.Length());
  } else if ((absl::IsDeadlineExceeded(call.status) && overdue > -kDeadlineSlackNs) ||
             (absl::IsCancelled(call.status) && cancelled_)) {
    ended.outcome = Outcome::kExpired;
  } else {
    ended.outcome = Outcome::kRefused;
    ended.explanation = Cause(absl::StatusCodeToString(call.status.code()).c_str(),
                              std::string(call.status.message()));
  }
  recorder_.OnEnd(ended);
  if (judgement.doubtful != nullptr) {
    ended.explanation = workload.name + ": differs from the other answers to the same request";
    call.request->answers->Note(judgement.doubtful, ended);
  }
}

}  // namespace baseband::load
