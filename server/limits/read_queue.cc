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
// Of a lane, however slow its link.
constexpr double kLeastShare = 1.0 / 8.0;
// Of who waits, to find one of another client.
constexpr int kMaxLooks = 256;
// Of a client whose last one did not come, so many wait.
constexpr int64_t kMaxUnsure = 8;
// While nothing is known of how long messages take: who begins has so much of its time before it.
constexpr double kLeastLeft = 0.75;
constexpr absl::Duration kOverdueUnknown = absl::Milliseconds(100);
// Clients that are remembered: all are forgotten for one more.
constexpr size_t kMaxRecords = 4096;

const double kAheadS = absl::ToDoubleSeconds(ReadQueue::kAhead);

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
    for (const auto& [place, message] : waiting_) ++records_[message->client].waiting;
  }
  return records_[client];
}

const LinkLaw& ReadQueue::LinkOf(const AnnouncedMessage& message, absl::Time now) const {
  const auto found = records_.find(message.client);
  return found != records_.end() && found->second.link.IsKnown(now) ? found->second.link
                                                                    : law_.all();
}

double ReadQueue::RestOf(const AnnouncedMessage& message, absl::Time now) const {
  const auto bytes = static_cast<double>(message.bytes);
  const double seconds = ReadingOf(message, message.load, now);
  if (!(seconds > 0.0)) return bytes;
  return bytes * std::max(0.0, 1.0 - absl::ToDoubleSeconds(now - message.begin) / seconds);
}

double ReadQueue::LoadOf(const AnnouncedMessage& message, absl::Time now) const {
  const auto bytes = static_cast<double>(message.bytes);
  double load = bytes;
  for (const AnnouncedMessage* other : reading_) {
    if (other->is_sure) load += BesideOf(*other, bytes, now);
  }
  return load;
}

double ReadQueue::AfterOf(const AnnouncedMessage& message, absl::Time now) const {
  const LinkLaw& law = after_[message.method];
  return law.IsKnown(now) ? law.Of(static_cast<double>(message.bytes)) : 0.0;
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
  if (!IsKnown(now)) {
    // What has hardly any time left when it begins teaches nothing.
    const double all_s = absl::ToDoubleSeconds(message.deadline - message.entered);
    return left_s >= kLeastLeft * all_s ? absl::OkStatus()
                                        : TooMuch(kAhead, "an unknown time", left_s);
  }
  const auto bytes = static_cast<double>(message.bytes);
  const double after_s = AfterOf(message, now);
  const LinkLaw& link = LinkOf(message, now);
  // Of others' links nothing follows for good for one that has not been tried.
  const bool is_tried = &link != &law_.all();
  const double alone_s = (is_tried ? law_.Of(link, bytes, bytes) : 0.0) + after_s;
  if (alone_s > left_s) {
    return Because(UnservedReason::kDeadlineUnreachable,
                   absl::DeadlineExceededError(absl::StrCat(
                       "the request takes ", Text(alone_s), " of an idle server, to be read and ",
                       "worked on; its deadline is in ", Text(left_s))));
  }
  const double wait_s =
      bytes_before > 0.0 ? bytes_before / law_.RateOf(bytes, static_cast<double>(lanes_)) : 0.0;
  const double read_s = law_.Of(link, bytes, LoadOf(message, now));
  const double finish_s = wait_s + read_s + after_s;
  const double careful_s = finish_s + kCaution * (wait_s + read_s);
  if (careful_s <= left_s) return absl::OkStatus();
  return TooMuch(absl::Seconds(careful_s - left_s), Text(careful_s), left_s);
}

absl::Status ReadQueue::CheckRoom(const AnnouncedMessage& message) {
  if (waiting() >= max_waiting_) {
    return Because(UnservedReason::kQueueRequests,
                   absl::ResourceExhaustedError(absl::StrCat(waiting(), " of ", max_waiting_,
                                                             " requests are waiting to be read")));
  }
  const Record& record = RecordOf(message.client);
  const bool is_unsure = record.is_unsure();
  const int64_t most = is_unsure ? kMaxUnsure : std::max<int64_t>(1, max_waiting_ / 2);
  if (record.waiting < most) return absl::OkStatus();
  return Because(UnservedReason::kClientRequests,
                 absl::ResourceExhaustedError(absl::StrCat(
                     record.waiting, " requests of this client are waiting to be read, of ", most,
                     is_unsure ? ": its last one did not come" : "")));
}

absl::Status ReadQueue::Enter(AnnouncedMessage* message, absl::Time now) {
  BASEBAND_RETURN_IF_ERROR(closed_);
  DropOverdue(now);
  BASEBAND_RETURN_IF_ERROR(CheckRoom(*message));
  message->number = ++entered_;
  message->entered = now;
  const Place place = PlaceOf(*message);
  if (message->deadline < absl::InfiniteFuture()) {
    // So much before it, and it is refused however much more there is.
    const double most = absl::ToDoubleSeconds(message->deadline - now) / law_.shared();
    double before = 0.0;
    for (auto other = waiting_.begin();
         other != waiting_.end() && other->first < place && !(before > most); ++other) {
      if (!other->second->is_beside) before += static_cast<double>(other->second->bytes);
    }
    BASEBAND_RETURN_IF_ERROR(CheckInTime(*message, before, now));
  }
  message->state = AnnouncedMessage::State::kWaits;
  waiting_.emplace(place, message);
  arrivals_.emplace(message->number, message);
  Record& record = RecordOf(message->client);
  ++record.waiting;
  message->is_beside = record.is_unsure();
  return absl::OkStatus();
}

AnnouncedMessage* ReadQueue::Remove(AnnouncedMessage* message) {
  waiting_.erase(PlaceOf(*message));
  arrivals_.erase(message->number);
  message->state = AnnouncedMessage::State::kOutside;
  --RecordOf(message->client).waiting;
  return message;
}

bool ReadQueue::Abandon(AnnouncedMessage* message) {
  if (message->state != AnnouncedMessage::State::kWaits) return false;
  Remove(message);
  return true;
}

ReadQueue::Turn ReadQueue::Next(absl::Time now) {
  DropOverdue(now);
  if (waiting_.empty()) return {};
  if (!closed_.ok()) return {Remove(waiting_.begin()->second), closed_};
  // The earliest of each class may be late whoever's turn it is.
  for (const Priority priority : kClasses) {
    const auto first = waiting_.lower_bound({priority, absl::InfinitePast(), 0});
    if (first != waiting_.end() && first->second->deadline <= now) {
      AnnouncedMessage* const late = Remove(first->second);
      return {late, CheckInTime(*late, 0.0, now)};
    }
  }
  AnnouncedMessage* const message = First();
  if (message == nullptr) return {};
  if (absl::Status status = CheckInTime(*message, 0.0, now); !status.ok()) {
    return {Remove(message), std::move(status)};
  }
  if (!HasLaneFor(*message, now)) return {};
  if (WouldCrowd(*message, now)) {
    if (next_crowd_ == 0) next_crowd_ = turns_ + kPatience;
    if (turns_ < next_crowd_) return {};
    next_crowd_ = 0;
  }
  ++turns_;
  Begin(Remove(message), now);
  return {message, absl::OkStatus()};
}

bool ReadQueue::MayBeRead(const Record& record) const {
  return !record.is_unsure() || (record.reading == 0 && CountBeside() < lanes_);
}

int ReadQueue::CountBeside() const {
  return static_cast<int>(
      std::count_if(reading_.begin(), reading_.end(),
                    [](const AnnouncedMessage* message) { return message->is_beside; }));
}

AnnouncedMessage* ReadQueue::First() {
  if (turns_ % kPatience == kPatience - 1) {
    AnnouncedMessage* const oldest = arrivals_.begin()->second;
    if (MayBeRead(RecordOf(oldest->client))) return oldest;
  }
  AnnouncedMessage* first = nullptr;  // of those that have their part already
  int looks = kMaxLooks;
  for (const auto& [place, message] : waiting_) {
    const Record& record = RecordOf(message->client);
    if (MayBeRead(record)) {
      if (2 * record.reading < lanes_) return message;
      if (first == nullptr) first = message;
    }
    if (--looks == 0) break;
  }
  return first;
}

bool ReadQueue::HasLaneFor(const AnnouncedMessage& message, absl::Time now) const {
  const auto bytes = static_cast<double>(message.bytes);
  double in_flight = bytes;
  double lanes = 0.0;
  for (const AnnouncedMessage* other : reading_) {
    if (other->is_beside) continue;
    lanes += other->share;
    in_flight += other->share * RestOf(*other, now);
    if (other->is_sure && other->load + BesideOf(*other, bytes, now) > other->most_load) {
      return false;
    }
  }
  return lanes <= Lanes() - 1.0 || (IsKnown(now) && law_.shared() * in_flight <= kAheadS);
}

bool ReadQueue::WouldCrowd(const AnnouncedMessage& message, absl::Time now) const {
  if (!IsKnown(now)) return false;
  const auto bytes = static_cast<double>(message.bytes);
  const Place place = PlaceOf(message);
  double rest = 0.0;
  for (const AnnouncedMessage* other : reading_) {
    if (other->is_sure && PlaceOf(*other) < place) rest += BesideOf(*other, bytes, now);
  }
  return law_.shared() * rest > kAheadS && !law_.HasRoom(LinkOf(message, now), bytes, rest + bytes);
}

void ReadQueue::Begin(AnnouncedMessage* message, absl::Time now) {
  const auto bytes = static_cast<double>(message->bytes);
  Record& record = RecordOf(message->client);  // first: it may count anew those that are read
  message->is_beside = record.is_unsure();
  message->is_sure = !message->is_beside && record.last == Last::kCame;
  message->load = LoadOf(*message, now);
  const double alone = LinkOf(*message, now).Of(bytes);
  message->share = alone > 0.0 ? std::clamp(law_.all().Of(bytes) / alone, kLeastShare, 1.0) : 1.0;
  if (message->is_sure) {
    for (AnnouncedMessage* other : reading_) {
      other->load += message->share * std::min(bytes, RestOf(*other, now));
    }
  }
  const double seconds = ReadingOf(*message, message->load, now);
  message->most_load = std::numeric_limits<double>::infinity();
  if (message->deadline < absl::InfiniteFuture() && IsKnown(now)) {
    const double left_s = absl::ToDoubleSeconds(message->deadline - now) - AfterOf(*message, now);
    message->most_load =
        std::max(message->load, law_.MostLoad(LinkOf(*message, now), left_s / kSlack));
  }
  message->begin = now;
  message->due =
      now + (IsKnown(now) ? absl::Seconds(kOverdue * seconds) + kAhead : kOverdueUnknown);
  message->state = AnnouncedMessage::State::kReads;
  ++record.reading;
  reading_.push_back(message);
}

void ReadQueue::TeachLate(const AnnouncedMessage& message, absl::Time now) {
  if (!message.is_sure) return;
  const auto bytes = static_cast<double>(message.bytes);
  law_.LearnLate(LinkOf(message, now), bytes, message.load,
                 absl::ToDoubleSeconds(now - message.begin));
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
    Record& record = RecordOf(message->client);
    const bool was_unsure = record.is_unsure();
    ++record.overdue;
    Mark(message->client, was_unsure);
    TeachLate(*message, now);
  }
}

void ReadQueue::Leave(AnnouncedMessage* message, End end, absl::Time now) {
  DropOverdue(now);
  const bool was_overdue = message->state == AnnouncedMessage::State::kOverdue;
  if (!was_overdue) EndReading(message);
  message->state = AnnouncedMessage::State::kOutside;
  Record& record = RecordOf(message->client);
  const bool was_unsure = record.is_unsure();
  if (was_overdue) record.overdue = std::max<int64_t>(0, record.overdue - 1);
  if (end == End::kCame) {
    const auto bytes = static_cast<double>(message->bytes);
    const double seconds = absl::ToDoubleSeconds(now - message->begin);
    // Who sends late says little of how long others take, and beside others little of himself.
    if (was_overdue && ReadLaw::IsAlone(bytes, message->load)) {
      record.link.Learn(bytes, seconds, now);
    }
    if (!was_overdue) law_.Learn(bytes, message->load, seconds, now, &record.link);
    record.last = Last::kCame;
  } else if (end == End::kDidNotCome) {
    if (!was_overdue) TeachLate(*message, now);
    record.last = Last::kDidNotCome;
  }
  Mark(message->client, was_unsure);
}

void ReadQueue::Mark(const std::string& client, bool was_unsure) {
  const Record& record = RecordOf(client);
  if (record.is_unsure() == was_unsure || record.waiting == 0) return;
  for (const auto& [place, message] : waiting_) {
    if (message->client == client) message->is_beside = !was_unsure;
  }
}

}  // namespace baseband::server
