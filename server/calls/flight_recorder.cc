#include "server/calls/flight_recorder.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace baseband::server {
namespace {

// Any request takes longer.
constexpr int64_t kNone = std::numeric_limits<int64_t>::min();

int64_t MinuteOf(absl::Time time) { return absl::ToUnixSeconds(time) / 60; }

}  // namespace

absl::optional<FlightReason> FlightRecorder::Wants(const FlightEnd& end) const {
  switch (end.code) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kDataLoss:
      return FlightReason::kFailed;
    case absl::StatusCode::kDeadlineExceeded:
      return FlightReason::kLate;
    case absl::StatusCode::kOk:
    case absl::StatusCode::kCancelled:  // by its client, or by gRPC at its deadline
      break;
    default:
      return absl::nullopt;
  }
  if (end.finished >= end.deadline) return FlightReason::kLate;
  if (end.code != absl::StatusCode::kOk) return absl::nullopt;
  const absl::Duration time = TimeOf(end);
  const bool slow = slow_ > absl::ZeroDuration()
                        ? time > slow_
                        : minute_.load(std::memory_order_relaxed) != MinuteOf(end.finished) ||
                              absl::ToInt64Nanoseconds(time) >
                                  least_ns_[end.rpc.row].load(std::memory_order_relaxed);
  return slow ? absl::make_optional(FlightReason::kSlow) : absl::nullopt;
}

void FlightRecorder::Add(FlightRecord record) {
  absl::MutexLock lock(&mutex_);
  if (record.reason == FlightReason::kSlow && slow_ == absl::ZeroDuration()) {
    AddSlow(std::move(record));
    return;
  }
  last_.push_back(std::move(record));
  if (last_.size() > kMaxRecords) last_.pop_front();
}

void FlightRecorder::AddSlow(FlightRecord record) {
  const int64_t minute = MinuteOf(record.end.finished);
  if (minutes_.empty() || minutes_.back().number != minute) {
    minutes_.emplace_back();
    minutes_.back().number = minute;
    if (minutes_.size() > kMinutes) minutes_.pop_front();
    for (std::atomic<int64_t>& least_ns : least_ns_) least_ns = kNone;
    minute_ = minute;
  }
  const size_t rpc = record.end.rpc.row;
  std::vector<FlightRecord>& slowest = minutes_.back().slowest[rpc];  // the slowest first
  const auto slower = [](const FlightRecord& a, const FlightRecord& b) {
    return TimeOf(a.end) > TimeOf(b.end);
  };
  slowest.insert(std::upper_bound(slowest.begin(), slowest.end(), record, slower), record);
  if (slowest.size() > kSlowest) slowest.pop_back();
  if (slowest.size() == kSlowest) {
    least_ns_[rpc] = absl::ToInt64Nanoseconds(TimeOf(slowest.back().end));
  }
}

std::vector<FlightRecord> FlightRecorder::Records() const {
  std::vector<FlightRecord> all;
  {
    absl::MutexLock lock(&mutex_);
    all.assign(last_.begin(), last_.end());
    for (const Minute& minute : minutes_) {
      for (const std::vector<FlightRecord>& slowest : minute.slowest) {
        all.insert(all.end(), slowest.begin(), slowest.end());
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const FlightRecord& a, const FlightRecord& b) {
    return a.end.arrived < b.end.arrived;
  });
  return all;
}

}  // namespace baseband::server
