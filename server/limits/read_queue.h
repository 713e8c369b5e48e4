// Which request messages are read, and when: admission and earliest deadline first for the way in,
// as batching/ has them for devices.
//
//   message.bytes = ...;                           // its headers are there
//   status = queue.Enter(&message, now);           // or it is refused unread
//   while ((turn = queue.Next(now)).message != nullptr) ...    // to be read now, or refused
//   ...
//   queue.Leave(&message, ReadQueue::End::kCame, now);         // and Next again
#ifndef BASEBAND_SERVER_LIMITS_READ_QUEUE_H_
#define BASEBAND_SERVER_LIMITS_READ_QUEUE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/limits/late_requests.h"
#include "server/limits/recent_least.h"
#include "server/metrics/metrics.h"
#include "server/metrics/rpc.h"

namespace baseband::server {

// A message whose size is known, from its headers until it is there. Stays where it is while a
// queue has it.
struct AnnouncedMessage {
  int64_t bytes = 0;  // at least 1
  std::string client;
  Priority priority = Priority::kNormal;
  absl::Time deadline = absl::InfiniteFuture();
  size_t method = 0;  // below ReadQueue::kMethods; what follows its reading is learned of each

 private:
  friend class ReadQueue;
  enum class State { kOutside, kWaits, kReads, kOverdue };

  State state = State::kOutside;
  bool is_try = false;  // it is not refused for being late: to see whether it is
  bool was_overdue = false;
  uint64_t number = 0;  // by arrival
  absl::Time entered;
  // From its turn on:
  absl::Time begin;
  double predicted_s = 0.0;  // until it is answered; 0 while nothing is known
  double expected_s = 0.0;   // of that, its reading
  double read_s = 0.0;
  double work_s = 0.0;          // of a device, that it should bring
  absl::Time due;               // afterwards nobody waits for it
  double readers_before = 0.0;  // see ReadQueue::Advance
  double came_before = 0.0;     // bytes, of all
};

// 1. Classes go before each other, strictly; in a class the earliest deadline goes first, and who
//    has none by arrival. Each kPatience-th turn is of who came first of all: nobody starves.
// 2. Those that are read share what the way in brings. As many begin as it brings in kAhead, or in
//    the time that one takes alone if that is longer, and a few more; and kLeastReading at least.
//    So it is never idle while somebody waits. Where nobody was in a hurry for a minute more begin,
//    up to what it brings in kMostAhead, for many together cost less: in an eighth of the shortest
//    time that anybody had for his answer, and might have had it in. The first who is in a hurry
//    again may be refused by them, and anybody may make it kAhead for all.
// 3. How many bytes a second all of them get together is learned from each that comes: its bytes,
//    times those that were read meanwhile, over the time that it took. Faster ones are followed
//    quickly, for there may be room that nobody used, as far as so many bytes came in that time,
//    and slower ones where many were read. Who would be late at that rate is refused: when it
//    enters, by what is read and what goes before it, and again when its turn has come; but for one
//    of kPatience now and then, and not while nothing is known, nor who has the way in for itself,
//    if it is not for the devices.
//    The more are late the more counts what others cost; what one takes alone counts once, for with
//    less beside it that would be the same. Where many of a client's, of a method, size and
//    timeout, were late in a row, or an idle server would be, they are tried now and then only.
// 4. Nor does one begin, but one in kTrickle, while devices have to do for kAhead longer than its
//    reading takes before they come to it, with what those that are read will bring them: it waits
//    better with its sender than read, and others, whom devices come to sooner, are read meanwhile.
//    Who would come to them too late is refused as in 3, if what they take is known.
// 5. While others wait nobody has more than half of what is read, nor does more of his count as
//    going before them. Who takes much longer than was expected, by a slow link or because nothing
//    is sent, is overdue: it may come still, but nobody waits for it any more, and it teaches
//    nothing of those that come. Its client is slow until it has, or while too many of his are
//    given up that should have come: one of his is read at a time, and others' before it.
// Times are the caller's clock's. Pure. Not thread-safe.
class ReadQueue {
 public:
  static constexpr size_t kMethods = kMaxRpcRows;
  static constexpr absl::Duration kAhead = absl::Milliseconds(1);
  static constexpr absl::Duration kMostAhead = absl::Milliseconds(4);
  // Who has so much time, and no high priority, is in no hurry; nor who has none left.
  static constexpr absl::Duration kNoHurry = absl::Milliseconds(32);
  static bool IsHurry(Priority priority, absl::Duration timeout) {
    return timeout > absl::ZeroDuration() && (timeout < kNoHurry || priority == Priority::kHigh);
  }
  static constexpr int kLeastReading = 12;
  static constexpr uint64_t kPatience = 16;
  // Of so many messages the rate is learned before anybody is refused by it.
  static constexpr int kLeastSeen = 8;
  // Where a client's messages are missed that much more often than one in kMissed, he is slow;
  // which is forgotten kSlow to twice that after the last one.
  static constexpr int kMissed = 16;
  static constexpr int kMostMissed = 2 * kMissed;
  static constexpr absl::Duration kSlow = absl::Seconds(1);

  // At most so often one begins although devices have enough to do.
  static constexpr absl::Duration kTrickle = absl::Milliseconds(100);
  // What devices have to do before they come to one like a message.
  struct Devices {
    double wait_s = 0.0;
    int count = 1;  // that share what those that are read will bring
    bool is_known = false;
  };
  // Asked when one enters or might begin. Null: there is nothing to do.
  using LookAtDevices = std::function<Devices(const AnnouncedMessage&)>;
  // Of `max_waiting`, at least 1, a client has half.
  explicit ReadQueue(int64_t max_waiting, LookAtDevices look_at_devices = nullptr);

  // OK: it waits for its turn. DeadlineExceeded: its deadline has passed, or not even alone it
  // would be in time; ResourceExhausted: not with what goes before it, which says when to come
  // back, or too many wait. Each with a reason (metrics/unserved.h). After Close: what it was
  // given.
  absl::Status Enter(AnnouncedMessage* message, absl::Time now);

  // Somebody has that priority, and so much time for his answer. For who enters it is called.
  void Hurry(Priority priority, absl::Duration timeout, absl::Time now);

  // The next message that waits no more: to be read, or with `status` to be refused, which is none
  // of the queue's any more. Null: there is none now.
  struct Turn {
    AnnouncedMessage* message = nullptr;
    absl::Status status;
  };
  Turn Next(absl::Time now);
  // One that was to be read has come, or, of another size than was said, teaches nothing; or it has
  // not by its deadline, or was given up before.
  enum class End { kCame, kCameOtherwise, kLate, kGivenUp };
  void Leave(AnnouncedMessage* message, End end, absl::Time now);
  // Nobody wants `message` any more. True: it waited, and is none of the queue's now.
  bool Abandon(AnnouncedMessage* message);
  // Nothing more is read: Next hands out all that wait, to be refused with `why`.
  void Close(absl::Status why) { closed_ = std::move(why); }
  // A message that came was answered `seconds` later, waiting for a device not counted, and had
  // `work_s` of a device, 0 if that is not known; or it was not by its deadline.
  void Answered(const AnnouncedMessage& message, double seconds, double work_s, bool in_time);

  // Who takes too long counts as overdue from now on.
  void DropOverdue(absl::Time now);

  int64_t waiting() const { return static_cast<int64_t>(waiting_.size()); }
  int64_t reading() const { return static_cast<int64_t>(reading_.size()); }
  int64_t overdue() const { return overdue_; }
  // Bytes a second; 0 while it is not known.
  double rate() const { return is_known() ? rate_ : 0.0; }
  // kAhead to kMostAhead: so many seconds of reading begin at a time.
  double ahead_s() const { return ahead_s_; }

 private:
  static inline const double kAheadS = absl::ToDoubleSeconds(kAhead);

  using Place = std::tuple<Priority, absl::Time, uint64_t>;  // class, deadline, number
  struct Client {
    std::map<Place, AnnouncedMessage*> waiting;
    std::map<uint64_t, AnnouncedMessage*> arrivals;  // the same by number
    int64_t reading = 0;                             // none of them overdue
    int64_t overdue = 0;
    double reading_bytes = 0.0;
    std::array<double, 3> work_s{};  // of those that are read, by class
    uint64_t shut_at = 0;            // the last look that found devices with enough to do for it
    int missed = 0;  // kMissed for each that should have come, less one for each that came
    absl::Time missed_at;
    bool is_remembered = false;  // in slow_

    bool is_slow() const { return overdue > 0 || missed > kMostMissed; }
  };

  static Place PlaceOf(const AnnouncedMessage& message) {
    return {message.priority, message.deadline, message.number};
  }
  bool is_known() const { return seen_ >= kLeastSeen; }
  static size_t SizeClass(int64_t bytes);
  // What is read while one of `bytes` is: as much of each other, and its own.
  double LoadOf(double bytes) const;
  double AfterOf(const AnnouncedMessage& message) const;
  // What devices have to do before one like it, with what those that are read will bring them.
  Devices DevicesFor(const AnnouncedMessage& message) const;
  // Seconds of a device that those that are read bring before it: of its class and those that go
  // before that on the same lanes; of each other client as much as of its own and kAhead, at most.
  double WorkBefore(const AnnouncedMessage& message) const;
  // Devices have enough to do before it.
  bool IsShut(const AnnouncedMessage& message, const Devices& devices, absl::Time now) const;
  // What is read before it, up to `most` and some: all that goes before it of its client's, and
  // what each other one may have read meanwhile.
  double BytesBefore(const AnnouncedMessage& message, double most) const;
  // In so many those that wait before `place` are read, or late.
  double SecondsBefore(const Place& place, absl::Time now) const;
  absl::Status CheckRoom(const AnnouncedMessage& message) const;
  absl::Status CheckInTime(AnnouncedMessage* message, double before_s, const Devices& devices,
                           absl::Time now);
  static LateRequests::Kind KindOf(const AnnouncedMessage& message);
  // It is not expected in time whatever else is done: whether it is tried all the same.
  bool Tries(AnnouncedMessage* message, absl::Time now);
  // Seconds that its reading takes, with that load.
  double ReadingOf(const AnnouncedMessage& message, double load) const;
  // The load with which the way in is full, as far as is known, the time in which that comes, and
  // the load with which no more begin.
  double FullSeconds(const AnnouncedMessage& message) const;
  double FullLoad(const AnnouncedMessage& message) const;
  double WindowOf(const AnnouncedMessage& message) const;
  bool HasRoom(const AnnouncedMessage& message) const;
  // The one whose turn it is, but for clients that this look has found shut. Null: those that wait
  // have what is theirs.
  AnnouncedMessage* First();
  // What is a client's while others wait, in messages like `next`, and whether he has it with that.
  double PartOf(const AnnouncedMessage& next) const;
  bool HasPart(const Client& client, const AnnouncedMessage& next) const;
  bool MayBegin(const Client& client) const {
    return !client.waiting.empty() && client.shut_at != looks_ &&
           (!client.is_slow() || client.reading == 0);
  }
  void Begin(AnnouncedMessage* message, absl::Time now);
  // From when on one that is read, and is expected to take so long, is overdue.
  absl::Time DueOf(const AnnouncedMessage& message, double expected_s) const;
  AnnouncedMessage* Remove(AnnouncedMessage* message);
  void EndReading(AnnouncedMessage* message);
  // `message`, which is read, has come, or has taken too long.
  void Learn(const AnnouncedMessage& message, bool came);
  void LearnCaution(const AnnouncedMessage& message, double seconds, bool in_time);
  // Time goes on, with so many being read.
  void Advance(absl::Time now);
  // `message` did not come as it was announced: it is missed if it should have by now.
  void CountMissed(const AnnouncedMessage& message, absl::Time now);
  void ForgetMissed(absl::Time now);
  // Forgets a client of whom nothing is here, and nothing is known.
  void Tidy(const std::string& client);

  const int64_t max_waiting_;
  const LookAtDevices look_at_devices_;
  double rate_ = 0.0;
  double caution_ = 1.25;
  int seen_ = 0;
  // Seconds that one alone takes, by the size's power of two.
  std::array<double, 32> least_{};
  // Seconds from a message's coming to its answer, by method as well.
  std::array<std::array<double, 32>, kMethods> after_{};
  // Seconds of a device that it takes, likewise.
  std::array<std::array<double, 32>, kMethods> work_{};
  LateRequests late_;
  RecentLeast timeouts_;
  double ahead_s_;  // by them
  std::map<Place, AnnouncedMessage*> waiting_;
  std::vector<AnnouncedMessage*> reading_;
  std::unordered_map<std::string, Client> clients_;
  std::vector<const Client*> read_clients_;              // of whom some are read
  std::deque<std::pair<absl::Time, std::string>> slow_;  // who missed some, and when to look again
  absl::Status closed_;                                  // OK: it is not
  double readers_ = 0.0;                                 // how many were read, over time: seconds
  absl::Time advanced_ = absl::UnixEpoch();
  double came_ = 0.0;  // bytes, of all
  int64_t overdue_ = 0;
  uint64_t entered_ = 0;
  uint64_t turns_ = 0;
  uint64_t looks_ = 0;  // for a turn
  absl::Time begun_ = absl::InfinitePast();
  uint64_t refused_ = 0;  // since one that would have been was not
  absl::Time tried_ = absl::InfinitePast();
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_READ_QUEUE_H_
