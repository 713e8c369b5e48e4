#include "client/load/recorder.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace baseband::load {
namespace {

constexpr size_t kMaxCauses = 32;
constexpr size_t kMaxCauseLength = 120;

// Answers have a latency; so have calls that were waited for in vain.
bool HasLatency(Outcome outcome) {
  return outcome == Outcome::kGood || outcome == Outcome::kLate || outcome == Outcome::kExpired ||
         outcome == Outcome::kWrong;
}

bool IsRight(Outcome outcome) { return outcome == Outcome::kGood || outcome == Outcome::kLate; }

// In the order of kStageNames, nanoseconds. Of an answered call with a Timing.
std::array<int64_t, kStages> StagesOf(const Ended& call) {
  constexpr int64_t kUs = 1000;
  const v1::Timing& timing = *call.timing;
  std::array<int64_t, kStages> stages = {call.sent_ns - call.due_ns, kUs * timing.receive_us(),
                                         kUs * timing.queue_us(),    kUs * timing.copy_in_us(),
                                         kUs * timing.h2d_us(),      kUs * timing.kernel_us(),
                                         kUs * timing.d2h_us(),      0};
  const int64_t known = std::accumulate(stages.begin(), stages.end(), int64_t{0});
  stages.back() = std::max<int64_t>(0, call.end_ns - call.due_ns - known);
  return stages;
}

}  // namespace

size_t Window::intervals() const {
  return static_cast<size_t>((end_ns - begin_ns + interval_ns - 1) / interval_ns);
}

void Recorder::CountDue(int64_t due_ns) {
  if (!window_.Contains(due_ns)) return;
  ++due_;
  ++totals_.series[static_cast<size_t>((due_ns - window_.begin_ns) / window_.interval_ns)].due;
}

void Recorder::OnClosedSend(int64_t due_ns) {
  absl::MutexLock lock(&mutex_);
  CountDue(due_ns);
  ++in_flight_;
}

void Recorder::OnSend(int64_t due_ns, int64_t sent_ns, bool waited) {
  absl::MutexLock lock(&mutex_);
  CountDue(due_ns);
  ++in_flight_;
  // Until the sender has made up for the wait. One that never does is always busy, which is told.
  const bool held = waited || due_ns < held_until_ns_;
  if (held) held_until_ns_ = sent_ns;
  if (!window_.Contains(due_ns)) return;
  if (held) {
    ++totals_.cap_hits;
  } else {
    const int64_t lag_ns = sent_ns - due_ns;
    totals_.send_lag.Record(lag_ns);
    totals_.late_sends += lag_ns > Totals::kLateSendNs;
  }
}

void Recorder::OnEnd(const Ended& ended) {
  const bool answered = HasLatency(ended.outcome) && ended.outcome != Outcome::kExpired;
  const int64_t latency = ended.end_ns - ended.due_ns;
  absl::MutexLock lock(&mutex_);
  if (ended.outcome == Outcome::kSkipped) {
    held_until_ns_ = ended.end_ns;
    CountDue(ended.due_ns);
  } else {
    --in_flight_;
  }
  if (window_.Contains(ended.due_ns)) {
    Tally& tally = totals_.tallies[ended.workload];
    ++tally.outcomes[ended.outcome];
    tally.by_shared_memory += ended.by_shared_memory ? 1 : 0;
    if (HasLatency(ended.outcome)) tally.latency.Record(latency);
    if (answered && ended.timing != nullptr) {
      const std::array<int64_t, kStages> stages = StagesOf(ended);
      for (size_t i = 0; i < stages.size(); ++i) tally.stages[i].Record(stages[i]);
    }
    if (ended.outcome == Outcome::kRefused) {
      const bool full = totals_.refusals.size() >= kMaxCauses;
      const bool known = totals_.refusals.count(ended.explanation) > 0;
      ++totals_.refusals[full && !known ? "others" : ended.explanation];
    }
    if (IsRight(ended.outcome)) {
      tally.blocks.Merge(ended.blocks);
      if (ended.iterations != nullptr) tally.iterations.Merge(*ended.iterations);
    }
  }
  if (ended.outcome == Outcome::kWrong) {
    if (totals_.wrong_example.empty()) totals_.wrong_example = ended.explanation;
    totals_.wrong_in_warm_up += ended.due_ns < window_.begin_ns ? 1 : 0;
  }
  if (window_.Contains(ended.end_ns)) {
    const auto place = static_cast<size_t>((ended.end_ns - window_.begin_ns) / window_.interval_ns);
    Interval& interval = totals_.series[place];
    ++interval.outcomes[ended.outcome];
    if (HasLatency(ended.outcome)) interval.latency.Record(latency);
    if (answered) interval.message_bytes += ended.message_bytes;
    if (ended.outcome == Outcome::kGood) interval.info_bits += ended.info_bits;
    if (IsRight(ended.outcome)) interval.blocks.Merge(ended.blocks);
  }
}

void Recorder::Reject(const Ended& ended) {
  const Blocks blocks = {-ended.blocks.count, -ended.blocks.failed};
  absl::MutexLock lock(&mutex_);
  if (totals_.wrong_example.empty()) totals_.wrong_example = ended.explanation;
  totals_.wrong_in_warm_up += ended.due_ns < window_.begin_ns ? 1 : 0;
  if (window_.Contains(ended.due_ns)) {
    Tally& tally = totals_.tallies[ended.workload];
    --tally.outcomes[ended.outcome];
    ++tally.outcomes[Outcome::kWrong];
    tally.blocks.Merge(blocks);
    if (ended.iterations != nullptr) tally.iterations.Merge(*ended.iterations, -1);
  }
  if (window_.Contains(ended.end_ns)) {
    const auto place = static_cast<size_t>((ended.end_ns - window_.begin_ns) / window_.interval_ns);
    Interval& interval = totals_.series[place];
    --interval.outcomes[ended.outcome];
    ++interval.outcomes[Outcome::kWrong];
    interval.blocks.Merge(blocks);
    if (ended.outcome == Outcome::kGood) interval.info_bits -= ended.info_bits;
  }
}

int64_t Recorder::due() const {
  absl::MutexLock lock(&mutex_);
  return due_;
}

int64_t Recorder::DueWithin(size_t intervals) const {
  absl::MutexLock lock(&mutex_);
  int64_t due = 0;
  for (size_t i = 0; i < intervals; ++i) due += totals_.series[i].due;
  return due;
}

int64_t Recorder::in_flight() const {
  absl::MutexLock lock(&mutex_);
  return in_flight_;
}

Outcomes Recorder::outcomes() const {
  absl::MutexLock lock(&mutex_);
  Outcomes all;
  for (const Tally& tally : totals_.tallies) all.Merge(tally.outcomes);
  return all;
}

Interval Recorder::At(size_t interval) const {
  absl::MutexLock lock(&mutex_);
  return totals_.series[interval];
}

Totals Recorder::Take() {
  absl::MutexLock lock(&mutex_);
  return std::move(totals_);
}

std::string Cause(const char* code, const std::string& message) {
  std::string cause = absl::StrCat(code, ": ");
  for (const char c : message.substr(0, kMaxCauseLength)) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) {
      cause.push_back(absl::ascii_isprint(static_cast<unsigned char>(c)) ? c : ' ');
    } else if (cause.back() != '#') {
      cause.push_back('#');
    }
  }
  return cause;
}

}  // namespace baseband::load
