#include "server/limits/read_queue.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "kernels/base/status_macros.h"
#include "server/limits/retry_after.h"
#include "server/metrics/unserved.h"

namespace baseband::server {
namespace {

// Waits count so much more than predicted, as in Dispatcher::Admit.
constexpr double kCaution = 0.25;
constexpr double kOverdue = 2.0;
// Who is read is to be there so much earlier than it must.
constexpr double kSlack = 1.1;
// Of who waits, to find one of another client.
constexpr int kMaxLooks = 64;
// While nothing is known of how long messages take: who begins has so much of its time before it.
constexpr double kLeastLeft = 0.75;
constexpr absl::Duration kOverdueUnknown = absl::Milliseconds(100);
// Clients that are remembered: all are forgotten for one more.
constexpr size_t kMaxRecords = 4096;

constexpr Priority kClasses[] = {Priority::kHigh, Priority::kNormal, Priority::kLow};

std::string Text(double seconds) {
  return absl::StrCat(std::max<int64_t>(1, std::llround(seconds * 1e6)), " us");
}

absl::Status TooMuch(absl::Duration retry_after, absl::string_view time, double left_s) {
  absl::Status status =
      Because(UnservedReason::kBacklog,
              absl::ResourceExhaustedError(absl::StrCat(
                  "the request would be read and done in ", time,
                  ", with what is read before it; its deadline is in ", Text(left_s))));
  SetRetryAfter(&status, retry_after);
  return status;
}

}  // namespace

ReadQueue::Record& ReadQueue::RecordOf(const std::string& client) {
  const auto found = records_.find(client);
  if (found != records_.end()) return found->second;
  if (records_.size() >= kMaxRecords) {
    records_.clear();
    for (const AnnouncedMessage* message : reading_) ++records_[message->client].reading;
  }
  return records_[client];
}

double ReadQueue::RestOf(const AnnouncedMessage& message, absl::Time now) const {
  const auto bytes = static_cast<double>(message.bytes);
  const double seconds = law_.Of(bytes, message.load);
  if (!(seconds > 0.0)) return bytes;
  return bytes * std::max(0.0, 1.0 - absl::ToDoubleSeconds(now - message.begin) / seconds);
}

double ReadQueue::LoadOf(const AnnouncedMessage& message, absl::Time now) const {
  const auto bytes = static_cast<double>(message.bytes);
  double load = bytes;
  for (const AnnouncedMessage* other : reading_) load += std::min(bytes, RestOf(*other, now));
  return load;
}

double ReadQueue::AfterOf(const AnnouncedMessage& message, absl::Time now) const {
  const ReadLaw& law = after_[message.method];
  return law.IsKnown(now) ? law.Of(static_cast<double>(message.bytes), 0.0) : 0.0;
}

absl::Status ReadQueue::CheckInTime(const AnnouncedMessage& message, double bytes_before,
                                    absl::Time now) const {
  if (message.deadline == absl::InfiniteFuture()) return absl::OkStatus();
  const double left_s = absl::ToDoubleSeconds(message.deadline - now);
  if (left_s <= 0.0) {
    return Because(UnservedReason::kDeadlinePassed,
                   absl::DeadlineExceededError("the deadline passed before the message was read"));
  }
  const bool is_alone = reading_.empty() && bytes_before == 0.0;
  // Nobody waits for it: whether it is in time is seen then.
  if (is_alone) return absl::OkStatus();
  if (!law_.IsKnown(now)) {
    // What has hardly any time left when it begins teaches nothing.
    const double all_s = absl::ToDoubleSeconds(message.deadline - message.entered);
    return left_s >= kLeastLeft * all_s ? absl::OkStatus()
                                        : TooMuch(kAhead, "an unknown time", left_s);
  }
  const auto bytes = static_cast<double>(message.bytes);
  const double after_s = AfterOf(message, now);
  const double alone_s = law_.Of(bytes, bytes) + after_s;
  if (alone_s > left_s) {
    return Because(UnservedReason::kDeadlineUnreachable,
                   absl::DeadlineExceededError(absl::StrCat(
                       "the request takes ", Text(alone_s), " of an idle server, to be read and ",
                       "worked on; its deadline is in ", Text(left_s))));
  }
  const double wait_s =
      bytes_before > 0.0 ? bytes_before / law_.RateOf(bytes, static_cast<double>(lanes_)) : 0.0;
  const double read_s = law_.Of(bytes, LoadOf(message, now));
  const double finish_s = wait_s + read_s + after_s;
  const double careful_s = finish_s + kCaution * (wait_s + read_s);
  if (careful_s <= left_s) return absl::OkStatus();
  return TooMuch(absl::Seconds(careful_s - left_s), Text(careful_s), left_s);
}

absl::Status ReadQueue::Enter(AnnouncedMessage* message, absl::Time now) {
  DropOverdue(now);
  message->number = ++entered_;
  message->entered = now;
  if (waiting() >= max_waiting_) {
    return Because(UnservedReason::kQueueRequests,
                   absl::ResourceExhaustedError(absl::StrCat(waiting(), " of ", max_waiting_,
                                                             " requests are waiting to be read")));
  }
  const Place place = PlaceOf(*message);
  if (message->deadline < absl::InfiniteFuture()) {
    double before = 0.0;
    for (auto other = waiting_.begin(); other != waiting_.end() && other->first < place; ++other) {
      before += static_cast<double>(other->second->bytes);
    }
    BASEBAND_RETURN_IF_ERROR(CheckInTime(*message, before, now));
  }
  message->state = AnnouncedMessage::State::kWaits;
  waiting_.emplace(place, message);
  arrivals_.emplace(message->number, message);
  return absl::OkStatus();
}

AnnouncedMessage* ReadQueue::Remove(AnnouncedMessage* message) {
  waiting_.erase(PlaceOf(*message));
  arrivals_.erase(message->number);
  message->state = AnnouncedMessage::State::kOutside;
  return message;
}

ReadQueue::Turn ReadQueue::Next(absl::Time now) {
  DropOverdue(now);
  if (waiting_.empty()) return {};
  // The earliest of each class may be late whoever's turn it is.
  for (const Priority priority : kClasses) {
    const auto first = waiting_.lower_bound({priority, absl::InfinitePast(), 0});
    if (first != waiting_.end() && first->second->deadline <= now) {
      return {Remove(first->second), CheckInTime(*first->second, 0.0, now)};
    }
  }
  AnnouncedMessage* const message = First();
  if (absl::Status status = CheckInTime(*message, 0.0, now); !status.ok()) {
    return {Remove(message), std::move(status)};
  }
  if (!HasRoomFor(*message, now)) return {};
  ++turns_;
  Begin(Remove(message), now);
  return {message, absl::OkStatus()};
}

AnnouncedMessage* ReadQueue::First() {
  if (turns_ % kPatience == kPatience - 1) return arrivals_.begin()->second;
  AnnouncedMessage* const first = waiting_.begin()->second;
  const auto has_its_part = [this](const AnnouncedMessage& message) {
    return 2 * RecordOf(message.client).reading >= lanes_;
  };
  if (!has_its_part(*first)) return first;
  int looks = kMaxLooks;
  for (const auto& [place, message] : waiting_) {
    if (!has_its_part(*message)) return message;
    if (--looks == 0) break;
  }
  return first;
}

bool ReadQueue::HasRoomFor(const AnnouncedMessage& message, absl::Time now) const {
  const auto bytes = static_cast<double>(message.bytes);
  double in_flight = bytes;
  for (const AnnouncedMessage* other : reading_) in_flight += RestOf(*other, now);
  const bool is_ahead =
      law_.IsKnown(now) && law_.shared() * in_flight <= absl::ToDoubleSeconds(kAhead);
  if (reading() >= Lanes() && !is_ahead) return false;
  return std::all_of(reading_.begin(), reading_.end(), [&](const AnnouncedMessage* other) {
    return other->load + std::min(bytes, RestOf(*other, now)) <= other->most_load;
  });
}

void ReadQueue::Begin(AnnouncedMessage* message, absl::Time now) {
  const auto bytes = static_cast<double>(message->bytes);
  message->load = LoadOf(*message, now);
  for (AnnouncedMessage* other : reading_) other->load += std::min(bytes, RestOf(*other, now));
  const double seconds = law_.Of(bytes, message->load);
  message->most_load = std::numeric_limits<double>::infinity();
  if (message->deadline < absl::InfiniteFuture() && law_.IsKnown(now)) {
    const double left_s = absl::ToDoubleSeconds(message->deadline - now) - AfterOf(*message, now);
    message->most_load = std::max(message->load, law_.MostLoad(left_s / kSlack));
  }
  message->begin = now;
  message->due =
      now + (law_.IsKnown(now) ? absl::Seconds(kOverdue * seconds) + kAhead : kOverdueUnknown);
  message->state = AnnouncedMessage::State::kReads;
  ++RecordOf(message->client).reading;  // first: it may count anew those that are read
  reading_.push_back(message);
}

void ReadQueue::DidNotCome(const AnnouncedMessage& message, absl::Time now) {
  Record& record = RecordOf(message.client);
  if (!std::exchange(record.has_come, false) && last_came_ >= message.begin) return;
  const auto bytes = static_cast<double>(message.bytes);
  law_.LearnLate(bytes, message.load, absl::ToDoubleSeconds(now - message.begin), now);
}

void ReadQueue::EndReading(AnnouncedMessage* message) {
  reading_.erase(std::find(reading_.begin(), reading_.end(), message));
  --RecordOf(message->client).reading;
}

void ReadQueue::DropOverdue(absl::Time now) {
  for (size_t i = reading_.size(); i-- > 0;) {
    AnnouncedMessage* const message = reading_[i];
    if (message->due > now) continue;
    EndReading(message);
    message->state = AnnouncedMessage::State::kOverdue;
    DidNotCome(*message, now);
  }
}

void ReadQueue::Leave(AnnouncedMessage* message, bool came, absl::Time now) {
  DropOverdue(now);
  const bool was_overdue = message->state == AnnouncedMessage::State::kOverdue;
  if (!was_overdue) EndReading(message);
  message->state = AnnouncedMessage::State::kOutside;
  if (came) {
    law_.Learn(static_cast<double>(message->bytes), message->load,
               absl::ToDoubleSeconds(now - message->begin), now);
    RecordOf(message->client).has_come = true;
    last_came_ = now;
  } else if (!was_overdue) {
    DidNotCome(*message, now);
  }
}

absl::Time ReadQueue::NextWake() const {
  absl::Time wake = absl::InfiniteFuture();
  if (waiting_.empty()) return wake;
  for (const Priority priority : kClasses) {
    const auto first = waiting_.lower_bound({priority, absl::InfinitePast(), 0});
    if (first != waiting_.end()) wake = std::min(wake, first->second->deadline);
  }
  for (const AnnouncedMessage* message : reading_) wake = std::min(wake, message->due);
  return wake;
}

}  // namespace baseband::server
