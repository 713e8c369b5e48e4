// Which request messages are read, and when: admission and earliest deadline first for the way in,
// as batching/ has them for devices. No call goes through one yet.
//
//   message.bytes = ...;                           // its headers are there
//   status = queue.Enter(&message, now);           // or it is refused unread
//   while ((turn = queue.Next(now)).message != nullptr) ...    // to be read now, or refused
//   ...
//   queue.Leave(&message, /*came=*/true, now);     // and Next again
#ifndef BASEBAND_SERVER_LIMITS_READ_QUEUE_H_
#define BASEBAND_SERVER_LIMITS_READ_QUEUE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/limits/read_law.h"
#include "server/metrics/metrics.h"
#include "server/metrics/rpc.h"

namespace baseband::server {

// A message whose size its client has announced, from its headers until it is there. Stays where it
// is while a queue has it.
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
  uint64_t number = 0;  // by arrival
  absl::Time entered;
  // From its turn on:
  absl::Time begin;
  double load = 0.0;       // bytes read beside it, its own included, as is known by now
  double most_load = 0.0;  // with which it is still in time
  absl::Time due;          // afterwards it is overdue
};

// 1. Classes go before each other, strictly; in a class the earliest deadline goes first, and who
//    has none by arrival. Each kPatience-th turn is of who came first of all: nobody starves.
// 2. At a time as many are read as there are `lanes`, or what comes in kAhead if that is more, and
//    a message begins only if none of those is made late by it.
// 3. Who cannot be there, and be worked on, by its deadline is refused: when it enters, and again
//    when its turn has come; but not who has the way in for itself. Nothing is known of the way in
//    at first, so that one is read after the other; what was learned holds for ReadLaw::kFresh.
// 4. While others wait nobody has more than half of the lanes. Who announces and does not send is
//    overdue after twice its time and kAhead: it may come still, but takes no lane any more. What
//    did not come teaches that it would have taken longer only if its client's last one came, or
//    nobody's did meanwhile. So whoever never sends hardly holds up others.
// Times are the caller's clock's. Pure. Not thread-safe.
class ReadQueue {
 public:
  static constexpr size_t kMethods = kMaxRpcRows;
  static constexpr absl::Duration kAhead = absl::Milliseconds(1);
  static constexpr uint64_t kPatience = 16;

  // `lanes`, `max_waiting` at least 1.
  ReadQueue(int lanes, int64_t max_waiting) : lanes_(lanes), max_waiting_(max_waiting) {}

  // OK: it waits for its turn. DeadlineExceeded: not even alone it would be in time;
  // ResourceExhausted: not with what goes before it, or too many wait. Each with a reason
  // (metrics/unserved.h), and the second one with when to come back.
  absl::Status Enter(AnnouncedMessage* message, absl::Time now);

  // The next message that waits no more: to be read, or with `status` to be refused, which is none
  // of the queue's any more. Null: there is none now.
  struct Turn {
    AnnouncedMessage* message = nullptr;
    absl::Status status;
  };
  Turn Next(absl::Time now);
  // One that was to be read has come, or will not.
  void Leave(AnnouncedMessage* message, bool came, absl::Time now);
  // A message of that method that was there was answered after `seconds`, waiting for a device not
  // counted.
  void Served(size_t method, int64_t bytes, double seconds, absl::Time now) {
    after_[method].Learn(static_cast<double>(bytes), 0.0, seconds, now);
  }
  // When Next may have something although nobody enters or leaves; InfiniteFuture: not before.
  absl::Time NextWake() const;

  int64_t waiting() const { return static_cast<int64_t>(waiting_.size()); }
  int64_t reading() const { return static_cast<int64_t>(reading_.size()); }

 private:
  using Place = std::tuple<Priority, absl::Time, uint64_t>;  // class, deadline, number
  struct Record {                                            // of a client
    int reading = 0;
    bool has_come = false;  // since one did not
  };

  static Place PlaceOf(const AnnouncedMessage& message) {
    return {message.priority, message.deadline, message.number};
  }
  // What of a reading message is still to come, as far as anybody knows.
  double RestOf(const AnnouncedMessage& message, absl::Time now) const;
  // The load of one that began now.
  double LoadOf(const AnnouncedMessage& message, absl::Time now) const;
  double AfterOf(const AnnouncedMessage& message, absl::Time now) const;
  absl::Status CheckInTime(const AnnouncedMessage& message, double bytes_before,
                           absl::Time now) const;
  bool HasRoomFor(const AnnouncedMessage& message, absl::Time now) const;
  void Begin(AnnouncedMessage* message, absl::Time now);
  AnnouncedMessage* Remove(AnnouncedMessage* message);
  // One after the other until something is known: all together might all be late, and teach little.
  int Lanes() const { return law_.has_seen() ? lanes_ : 1; }
  AnnouncedMessage* First();
  void EndReading(AnnouncedMessage* message);
  void DidNotCome(const AnnouncedMessage& message, absl::Time now);
  void DropOverdue(absl::Time now);
  Record& RecordOf(const std::string& client);

  const int lanes_;
  const int64_t max_waiting_;
  ReadLaw law_;
  std::array<ReadLaw, kMethods> after_;
  std::map<Place, AnnouncedMessage*> waiting_;
  std::map<uint64_t, AnnouncedMessage*> arrivals_;  // the same by number
  std::vector<AnnouncedMessage*> reading_;
  std::unordered_map<std::string, Record> records_;
  uint64_t entered_ = 0;
  uint64_t turns_ = 0;
  absl::Time last_came_ = absl::InfinitePast();
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_READ_QUEUE_H_
