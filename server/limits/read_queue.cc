#include "server/limits/read_queue.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/quantile.h"
#include "kernels/base/status_macros.h"
#include "server/limits/read_refusals.h"
#include "server/metrics/unserved.h"

namespace baseband::server {
namespace {

// What others that are read cost it counts so much more that so many take no longer than that times
// all that is predicted; learned in such steps.
constexpr double kQuantile = 0.9;
constexpr double kStep = 0.1;
constexpr double kMostCaution = 3.0;
// What many before it take is known better than what one takes.
constexpr double kQueueCaution = 1.25;
// The part of a difference that the rate follows.
constexpr double kUp = 0.1;
constexpr double kDown = 0.05;
constexpr double kFollowAfter = 0.1;
// The same of what one takes of a device: what some bring is not held against others.
constexpr double kWorkUp = 0.02;
constexpr double kWorkDown = 0.5;
// The same of the time that one takes alone: less than most, and longer ones among few only.
constexpr double kShorter = 0.2;
constexpr double kLonger = 0.05;
constexpr double kFewReaders = 2.0;
// More begin than come meanwhile: if they come as fast, there was room for them.
constexpr double kProbe = 1.15;
// While nothing is known: who begins has so much of its time before it.
constexpr double kLeastLeft = 0.75;
// Who takes so many times as long as alone has no room.
constexpr double kCrowded = 1.25;
// Who has not come would have taken so many times as long.
constexpr double kGivenUp = 1.5;
// A deadline comes with the headers, and counts from then on: what they took, and what the answer
// will take, nobody here knows. So much of its time is left for that.
constexpr double kTransit = 0.2;
constexpr absl::Duration kMostTransit = absl::Milliseconds(1);

// Who would be late is read all the same no more often than that.
constexpr absl::Duration kBetweenTries = absl::Milliseconds(3);
// Who was in a hurry is remembered so long, or twice that.
constexpr absl::Duration kRemembered = absl::Minutes(1);

}  // namespace

size_t ReadQueue::SizeClass(int64_t bytes) {
  return std::min<size_t>(31, static_cast<size_t>(std::ilogb(static_cast<double>(bytes))));
}

ReadQueue::ReadQueue(int64_t max_waiting, LookAtDevices look_at_devices)
    : max_waiting_(max_waiting),
      look_at_devices_(std::move(look_at_devices)),
      timeouts_(kRemembered),
      ahead_s_(absl::ToDoubleSeconds(kMostAhead)) {}

void ReadQueue::Hurry(Priority priority, absl::Duration timeout, absl::Time now) {
  if (IsHurry(priority, timeout)) {
    timeouts_.Add(priority == Priority::kHigh ? absl::ZeroDuration() : timeout, now);
  }
  ahead_s_ = absl::ToDoubleSeconds(
      std::clamp(timeouts_.Get(now) / (kNoHurry / kMostAhead), kAhead, kMostAhead));
}

void ReadQueue::Advance(absl::Time now) {
  readers_ += static_cast<double>(reading_.size()) * absl::ToDoubleSeconds(now - advanced_);
  advanced_ = now;
}

void ReadQueue::Learn(const AnnouncedMessage& message, bool came) {
  const double seconds = absl::ToDoubleSeconds(advanced_ - message.begin);
  if (!(seconds > 0.0)) return;
  const auto bytes = static_cast<double>(message.bytes);
  const double readers = std::max(1.0, (readers_ - message.readers_before) / seconds);
  double& least = least_[SizeClass(message.bytes)];
  const double seen = bytes * readers / (came ? seconds : kGivenUp * seconds);
  if (seen > rate_) {
    // Of those that are read some may bring nothing.
    const double sure = std::min(seen, (came_ - message.came_before) / seconds);
    if (came && sure > rate_) rate_ += (seen_ == 0 ? 1.0 : kUp) * (sure - rate_);
  } else if (seconds > kCrowded * least && bytes * readers >= FullLoad(message) / 2.0) {
    rate_ += kDown * (seen - rate_);
  }
  if (!came) {
    LearnCaution(message, seconds, /*in_time=*/false);
    return;
  }
  seen_ = std::min(seen_ + 1, kLeastSeen);
  if (least == 0.0) {
    least = seconds;
  } else if (seconds < least) {
    least += kShorter * (seconds - least);
  } else if (readers <= kFewReaders) {
    least += kLonger * (seconds - least);
  }
}

void ReadQueue::LearnCaution(const AnnouncedMessage& message, double seconds, bool in_time) {
  if (message.predicted_s == 0.0) return;
  const bool is_slower = !in_time || seconds > caution_ * message.predicted_s;
  caution_ *= QuantileStep(kQuantile, kStep, is_slower);
  caution_ = std::clamp(caution_, 1.0, kMostCaution);
}

void ReadQueue::Answered(const AnnouncedMessage& message, double seconds, double work_s,
                         bool in_time) {
  if (message.was_overdue) return;
  LearnCaution(message, message.read_s + seconds, in_time);
  late_.Add(KindOf(message), in_time);
  if (!in_time) return;
  double& after = after_[message.method][SizeClass(message.bytes)];
  after += (after == 0.0 ? 1.0 : kFollowAfter) * (seconds - after);
  if (!(work_s > 0.0)) return;
  double& work = work_[message.method][SizeClass(message.bytes)];
  work += (work == 0.0 ? 1.0 : work_s > work ? kWorkUp : kWorkDown) * (work_s - work);
}

double ReadQueue::WorkBefore(const AnnouncedMessage& message) const {
  const auto of = [&](const Client& client) {
    const auto last = static_cast<size_t>(message.priority);
    double work_s = client.work_s[last];
    for (size_t i = 0; i < last && message.priority != Priority::kLow; ++i) {
      work_s += client.work_s[i];
    }
    return work_s;
  };
  const auto found = clients_.find(message.client);
  const Client* const own = found == clients_.end() ? nullptr : &found->second;
  const double own_s = own == nullptr ? 0.0 : of(*own);
  double work_s = own_s;
  for (const Client* client : read_clients_) {
    if (client != own) work_s += std::min(of(*client), own_s + kAheadS);
  }
  return work_s;
}

ReadQueue::Devices ReadQueue::DevicesFor(const AnnouncedMessage& message) const {
  if (!look_at_devices_) return {};
  Devices devices = look_at_devices_(message);
  devices.wait_s += WorkBefore(message) / devices.count;
  return devices;
}

double ReadQueue::AfterOf(const AnnouncedMessage& message) const {
  return after_[message.method][SizeClass(message.bytes)];
}

double ReadQueue::ReadingOf(const AnnouncedMessage& message, double load) const {
  return std::max(least_[SizeClass(message.bytes)], load / rate_);
}

double ReadQueue::FullSeconds(const AnnouncedMessage& message) const {
  return kProbe * std::max(kAheadS, least_[SizeClass(message.bytes)]);
}

double ReadQueue::FullLoad(const AnnouncedMessage& message) const {
  return rate_ * FullSeconds(message);
}

double ReadQueue::WindowOf(const AnnouncedMessage& message) const {
  return std::max(FullLoad(message), kProbe * rate_ * ahead_s_);
}

double ReadQueue::LoadOf(double bytes) const {
  double load = bytes;
  for (const AnnouncedMessage* other : reading_) {
    load += std::min(bytes, static_cast<double>(other->bytes));
  }
  return load;
}

LateRequests::Kind ReadQueue::KindOf(const AnnouncedMessage& message) {
  return LateRequests::KindOf(message.client, message.method, SizeClass(message.bytes),
                              message.deadline - message.entered);
}

bool ReadQueue::Tries(AnnouncedMessage* message, absl::Time now) {
  message->is_try = late_.Tries(KindOf(*message), now);
  return message->is_try;
}

absl::Status ReadQueue::CheckInTime(AnnouncedMessage* waiting, double before_s,
                                    const Devices& devices, absl::Time now) {
  const AnnouncedMessage& message = *waiting;
  if (message.deadline == absl::InfiniteFuture()) return absl::OkStatus();
  const absl::Duration all = message.deadline - message.entered;
  const absl::Duration left = message.deadline - now;
  if (left <= absl::ZeroDuration()) {
    return Because(UnservedReason::kDeadlinePassed,
                   absl::DeadlineExceededError("the deadline passed before the message was read"));
  }
  if (!is_known()) {
    if (reading_.empty() && before_s == 0.0) return absl::OkStatus();
    // What has hardly any time left when it begins teaches nothing.
    return left >= kLeastLeft * all ? absl::OkStatus() : Backlog(all, left);
  }
  if (message.is_try) return absl::OkStatus();
  if (const int in_row = late_.InRow(KindOf(message)); in_row >= LateRequests::kHopeless) {
    if (Tries(waiting, now)) return absl::OkStatus();
    return LateInRow(in_row, left);
  }
  const absl::Duration here = left - std::min(kTransit * all, kMostTransit);
  const double devices_s = devices.is_known ? kQueueCaution * devices.wait_s : 0.0;
  // Nobody waits for who is alone: whether it is in time is seen then.
  if (reading_.empty() && before_s == 0.0 && absl::Seconds(devices_s) <= here) {
    return absl::OkStatus();
  }
  const auto bytes = static_cast<double>(message.bytes);
  const double after_s = AfterOf(message);
  const double reading_s = ReadingOf(message, bytes);
  if (const auto alone = absl::Seconds(reading_s + after_s); alone > here) {
    if (Tries(waiting, now)) return absl::OkStatus();
    return Unreachable(alone, left);
  }
  // Caution is about what others cost it: who is late alone would be with fewer others, too.
  const double others_s = ReadingOf(message, LoadOf(bytes)) - reading_s;
  const double ready_s = std::max(before_s + reading_s + caution_ * others_s, devices_s);
  const auto careful = absl::Seconds(ready_s + after_s);
  if (careful <= here) return absl::OkStatus();
  // There may be room by now that nobody tries.
  if (++refused_ >= kPatience && now - tried_ >= kBetweenTries) {
    refused_ = 0;
    tried_ = now;
    waiting->is_try = true;
    return absl::OkStatus();
  }
  return Backlog(careful, left);
}

absl::Status ReadQueue::CheckRoom(const AnnouncedMessage& message) const {
  if (waiting() >= max_waiting_) {
    return QueueFull(absl::StrCat(waiting(), " of ", max_waiting_));
  }
  const auto client = clients_.find(message.client);
  const int64_t most = std::max<int64_t>(1, max_waiting_ / 2);
  const int64_t has =
      client == clients_.end() ? 0 : static_cast<int64_t>(client->second.waiting.size());
  if (has < most) return absl::OkStatus();
  return QueueFull(absl::StrCat("of this client ", has, " of ", most));
}

double ReadQueue::BytesBefore(const AnnouncedMessage& message, double most) const {
  const Place place = PlaceOf(message);
  // Where several others are busy none of them has his part before he is passed.
  const double part = std::max(PartOf(message), most / 2.0);
  double before = 0.0;
  for (const auto& [name, client] : clients_) {
    const bool is_own = name == message.client;
    if (!is_own && client.is_slow()) continue;
    double bytes = 0.0;
    for (auto other = client.waiting.begin();
         other != client.waiting.end() && other->first < place && bytes <= (is_own ? most : part);
         ++other) {
      bytes += static_cast<double>(other->second->bytes);
    }
    before += is_own ? bytes : std::min(bytes, part);
    if (before > most) break;
  }
  return before;
}

double ReadQueue::SecondsBefore(const Place& place, absl::Time now) const {
  absl::Time last = now;
  for (auto end = waiting_.lower_bound(place); end != waiting_.begin();) {
    const Place& before = std::prev(end)->first;
    last = std::max(last, std::get<absl::Time>(before));
    end = waiting_.lower_bound({std::get<Priority>(before), absl::InfinitePast(), 0});
  }
  return absl::ToDoubleSeconds(last - now);
}

absl::Status ReadQueue::Enter(AnnouncedMessage* message, absl::Time now) {
  BASEBAND_RETURN_IF_ERROR(closed_);
  DropOverdue(now);
  BASEBAND_RETURN_IF_ERROR(CheckRoom(*message));
  message->number = ++entered_;
  message->entered = now;
  message->is_try = false;
  message->was_overdue = false;
  const Place place = PlaceOf(*message);
  const absl::Duration timeout = message->deadline - now;
  absl::Status status;
  if (message->deadline < absl::InfiniteFuture()) {
    // So much before it, and it is refused however much more there is.
    const double most = absl::ToDoubleSeconds(timeout) * rate_;
    const double before = BytesBefore(*message, most);
    const double last_s = before > 0.0 ? SecondsBefore(place, now) : 0.0;
    const double before_s = is_known() ? std::min(kQueueCaution * before / rate_, last_s) : last_s;
    status = CheckInTime(message, before_s, DevicesFor(*message), now);
  }
  // Who could not be in time on an idle server needs nobody's patience.
  if (!absl::IsDeadlineExceeded(status)) Hurry(message->priority, timeout, now);
  BASEBAND_RETURN_IF_ERROR(status);
  message->state = AnnouncedMessage::State::kWaits;
  waiting_.emplace(place, message);
  Client& client = clients_[message->client];
  client.waiting.emplace(place, message);
  client.arrivals.emplace(message->number, message);
  return absl::OkStatus();
}

AnnouncedMessage* ReadQueue::Remove(AnnouncedMessage* message) {
  waiting_.erase(PlaceOf(*message));
  message->state = AnnouncedMessage::State::kOutside;
  Client& client = clients_[message->client];
  client.waiting.erase(PlaceOf(*message));
  client.arrivals.erase(message->number);
  Tidy(message->client);
  return message;
}

void ReadQueue::Tidy(const std::string& client) {
  const auto found = clients_.find(client);
  const Client& one = found->second;
  if (one.waiting.empty() && one.reading + one.overdue == 0 && !one.is_remembered) {
    clients_.erase(found);
  }
}

bool ReadQueue::Abandon(AnnouncedMessage* message) {
  if (message->state != AnnouncedMessage::State::kWaits) return false;
  Remove(message);
  return true;
}

}  // namespace baseband::server
