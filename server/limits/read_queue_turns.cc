// ReadQueue's half that gives turns: what is read, and by whom others are waited for.
#include <algorithm>
#include <utility>

#include "server/limits/read_queue.h"

namespace baseband::server {
namespace {

// Overdue is who takes so many times as long as expected, and kOverdueLeast more; what more is read
// than comes in the time that one has alone, or in kAhead, counts kOverdueBeyond times.
constexpr double kOverdue = 4.0;
constexpr double kOverdueBeyond = 2.0;
constexpr absl::Duration kOverdueLeast = absl::Milliseconds(5);
constexpr absl::Duration kOverdueUnknown = absl::Milliseconds(100);
// Who has not come in so many times as long as expected should have.
constexpr double kShouldHaveCome = 1.5;

// So many clients are looked at, of whom devices have enough, before nobody begins.
constexpr int kMostShut = 8;

constexpr Priority kClasses[] = {Priority::kHigh, Priority::kNormal, Priority::kLow};

}  // namespace

ReadQueue::Turn ReadQueue::Next(absl::Time now) {
  DropOverdue(now);
  if (waiting_.empty()) return {};
  if (!closed_.ok()) return {Remove(waiting_.begin()->second), closed_};
  // The earliest of each class may be late whoever's turn it is.
  for (const Priority priority : kClasses) {
    const auto first = waiting_.lower_bound({priority, absl::InfinitePast(), 0});
    if (first != waiting_.end() && first->second->deadline <= now) {
      AnnouncedMessage* const late = Remove(first->second);
      return {late, CheckInTime(late, 0.0, Devices(), now)};
    }
  }
  ++looks_;
  for (int shut = 0; shut < kMostShut; ++shut) {
    AnnouncedMessage* const message = First();
    if (message == nullptr) return {};
    const Devices devices = DevicesFor(*message);
    if (absl::Status status = CheckInTime(message, 0.0, devices, now); !status.ok()) {
      return {Remove(message), std::move(status)};
    }
    if (!HasRoom(*message)) return {};
    if (!IsShut(*message, devices, now)) {
      ++turns_;
      Begin(Remove(message), now);
      return {message, absl::OkStatus()};
    }
    clients_[message->client].shut_at = looks_;
  }
  return {};
}

AnnouncedMessage* ReadQueue::First() {
  const bool by_arrival = turns_ % kPatience == kPatience - 1;
  const auto goes_before = [=](const AnnouncedMessage& a, const AnnouncedMessage& b) {
    return by_arrival ? a.number < b.number : PlaceOf(a) < PlaceOf(b);
  };
  AnnouncedMessage* first = nullptr;
  AnnouncedMessage* other = nullptr;  // of those whose client is slow, or has its part already
  for (const auto& [name, client] : clients_) {
    if (!MayBegin(client)) continue;
    AnnouncedMessage* const message =
        by_arrival ? client.arrivals.begin()->second : client.waiting.begin()->second;
    const bool goes_behind = client.is_slow() || HasPart(client, *message);
    AnnouncedMessage*& best = !by_arrival && goes_behind ? other : first;
    if (best == nullptr || goes_before(*message, *best)) best = message;
  }
  return first != nullptr ? first : other;
}

double ReadQueue::PartOf(const AnnouncedMessage& next) const {
  return std::max(WindowOf(next), kLeastReading * static_cast<double>(next.bytes)) / 2.0;
}

bool ReadQueue::HasPart(const Client& client, const AnnouncedMessage& next) const {
  return client.reading > 0 &&
         client.reading_bytes + static_cast<double>(next.bytes) > PartOf(next);
}

bool ReadQueue::HasRoom(const AnnouncedMessage& message) const {
  const auto bytes = static_cast<double>(message.bytes);
  return reading() < kLeastReading || (is_known() && LoadOf(bytes) - bytes <= WindowOf(message));
}

bool ReadQueue::IsShut(const AnnouncedMessage& message, const Devices& devices,
                       absl::Time now) const {
  if (!is_known() || now - begun_ >= kTrickle) return false;
  const double load = LoadOf(static_cast<double>(message.bytes));
  return devices.wait_s > kAheadS + ReadingOf(message, load);
}

void ReadQueue::Begin(AnnouncedMessage* message, absl::Time now) {
  Advance(now);
  begun_ = now;
  const auto bytes = static_cast<double>(message->bytes);
  message->begin = now;
  message->expected_s = is_known() ? ReadingOf(*message, LoadOf(bytes)) : 0.0;
  message->predicted_s = is_known() ? message->expected_s + AfterOf(*message) : 0.0;
  message->due = is_known() ? DueOf(*message, message->expected_s) : now + kOverdueUnknown;
  message->readers_before = readers_;
  message->came_before = came_;
  message->state = AnnouncedMessage::State::kReads;
  reading_.push_back(message);
  message->work_s = work_[message->method][SizeClass(message->bytes)];
  Client& client = clients_[message->client];
  if (++client.reading == 1) read_clients_.push_back(&client);
  client.reading_bytes += bytes;
  client.work_s[static_cast<size_t>(message->priority)] += message->work_s;
}

absl::Time ReadQueue::DueOf(const AnnouncedMessage& message, double expected_s) const {
  const double near_s = std::min(expected_s, FullSeconds(message));
  return message.begin + kOverdueLeast +
         absl::Seconds(kOverdue * near_s + kOverdueBeyond * (expected_s - near_s));
}

void ReadQueue::EndReading(AnnouncedMessage* message) {
  reading_.erase(std::find(reading_.begin(), reading_.end(), message));
  Client& client = clients_[message->client];
  client.reading_bytes -= static_cast<double>(message->bytes);
  client.work_s[static_cast<size_t>(message->priority)] -= message->work_s;
  if (--client.reading > 0) return;
  read_clients_.erase(std::find(read_clients_.begin(), read_clients_.end(), &client));
  client.work_s = {};  // sums of fractions leave some
}

void ReadQueue::CountMissed(const AnnouncedMessage& message, absl::Time now) {
  const double seconds = absl::ToDoubleSeconds(now - message.begin);
  const bool should_have_come = is_known() && seconds > kShouldHaveCome * message.expected_s;
  if (!message.was_overdue && !should_have_come) return;
  Client& client = clients_[message.client];
  client.missed = std::min(client.missed + kMissed, 2 * kMostMissed);
  client.missed_at = now;
  if (!std::exchange(client.is_remembered, true)) slow_.emplace_back(now + kSlow, message.client);
}

void ReadQueue::ForgetMissed(absl::Time now) {
  while (!slow_.empty() && slow_.front().first <= now) {
    const std::string name = std::move(slow_.front().second);
    slow_.pop_front();
    Client& client = clients_[name];
    if (now - client.missed_at < kSlow) {
      slow_.emplace_back(now + kSlow, name);
      continue;
    }
    client.missed = 0;
    client.is_remembered = false;
    Tidy(name);
  }
}

void ReadQueue::DropOverdue(absl::Time now) {
  Advance(now);
  ForgetMissed(now);
  for (size_t i = reading_.size(); i-- > 0;) {
    AnnouncedMessage* const message = reading_[i];
    if (message->due > now) continue;
    if (is_known()) {  // others may have begun since
      const auto bytes = static_cast<double>(message->bytes);
      message->due = DueOf(*message, ReadingOf(*message, LoadOf(bytes) - bytes));
      if (message->due > now) continue;
    }
    EndReading(message);
    message->state = AnnouncedMessage::State::kOverdue;
    message->was_overdue = true;
    ++overdue_;
    // Of who sends none of several the first one teaches, and no other.
    if (++clients_[message->client].overdue == 1) Learn(*message, /*came=*/false);
  }
}

void ReadQueue::Leave(AnnouncedMessage* message, End end, absl::Time now) {
  Advance(now);
  Client& client = clients_[message->client];
  if (end == End::kCame) came_ += static_cast<double>(message->bytes);
  if (message->state == AnnouncedMessage::State::kOverdue) {
    --client.overdue;
    --overdue_;
    // Where all are slow nothing else would ever be known.
    if (end == End::kCame && !is_known()) Learn(*message, /*came=*/true);
  } else {
    EndReading(message);
    if (end == End::kCame) {
      Learn(*message, /*came=*/true);
      client.missed = std::max(client.missed - 1, 0);
    } else if (end == End::kLate && client.overdue == 0) {
      Learn(*message, /*came=*/false);
    }
  }
  if (end != End::kCame) CountMissed(*message, now);
  message->read_s = absl::ToDoubleSeconds(now - message->begin);
  message->state = AnnouncedMessage::State::kOutside;
  Tidy(message->client);
  DropOverdue(now);
}

}  // namespace baseband::server
