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
#include <utility>
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
  bool is_beside = false;  // its client's last one did not come: it is read beside the others
  // From its turn on:
  absl::Time begin;
  double share = 1.0;      // of a lane: less by a link that is slower than others
  double load = 0.0;       // bytes read beside it, its own included, as is known by now
  double most_load = 0.0;  // with which it is still in time
  bool is_sure = false;    // its client's last one came
  absl::Time due;          // afterwards it is overdue
};

// 1. Classes go before each other, strictly; in a class the earliest deadline goes first, and who
//    has none by arrival. Each kPatience-th turn is of who came first of all: nobody starves.
// 2. At a time as many are read as there are `lanes`, or what comes in kAhead if that is more; by a
//    link that is slower than others one takes a part of a lane only, an eighth at least. A message
//    begins only if none of those is made late by it. Where all share what there is, it waits until
//    no more than kAhead is left of those that go before it: the sum takes as long, and all but the
//    last are there sooner. Each kPatience-th turn tries whether there is room.
// 3. Who cannot be there, and be worked on, by its deadline is refused: when it enters, and again
//    when its turn has come; but not who has the way in for itself. Nothing is known of the way in
//    at first, so that one is read after the other; what was learned holds for LinkLaw::kFresh.
//    How long a client's message takes alone is learned of each; what all others' take is expected
//    of one of whom nothing is known, but is no reason to refuse it for good.
// 4. While others wait nobody has more than half of the lanes. Who announces and does not send is
//    overdue after twice its time and kAhead: it may come still, but takes no lane any more. Of a
//    client whose last one did not come, or that has two overdue, one is read at a time, beside the
//    others, and few wait; nobody waits for it, and it teaches nothing.
// Times are the caller's clock's. Pure. Not thread-safe.
class ReadQueue {
 public:
  static constexpr size_t kMethods = kMaxRpcRows;
  static constexpr absl::Duration kAhead = absl::Milliseconds(1);
  static constexpr uint64_t kPatience = 16;

  // `lanes`, `max_waiting` at least 1.
  ReadQueue(int lanes, int64_t max_waiting) : lanes_(lanes), max_waiting_(max_waiting) {}

  // OK: it waits for its turn. DeadlineExceeded: not even alone it would be in time;
  // ResourceExhausted: not with what goes before it, which says when to come back, or too many
  // wait. Each with a reason (metrics/unserved.h). After Close: what it was given.
  absl::Status Enter(AnnouncedMessage* message, absl::Time now);

  // The next message that waits no more: to be read, or with `status` to be refused, which is none
  // of the queue's any more. Null: there is none now.
  struct Turn {
    AnnouncedMessage* message = nullptr;
    absl::Status status;
  };
  Turn Next(absl::Time now);
  // One that was to be read has come, or will not; or nobody wants it any more, which says nothing
  // of its client.
  enum class End { kCame, kDidNotCome, kNotWanted };
  void Leave(AnnouncedMessage* message, End end, absl::Time now);
  // Nobody wants `message` any more. True: it waited, and is none of the queue's now.
  bool Abandon(AnnouncedMessage* message);
  // Nothing more is read: Next hands out all that wait, to be refused with `why`.
  void Close(absl::Status why) { closed_ = std::move(why); }
  // A message of that method that was there was answered after `seconds`, waiting for a device not
  // counted.
  void Served(size_t method, int64_t bytes, double seconds, absl::Time now) {
    after_[method].Learn(static_cast<double>(bytes), seconds, now);
  }
  int64_t waiting() const { return static_cast<int64_t>(waiting_.size()); }
  int64_t reading() const { return static_cast<int64_t>(reading_.size()); }

 private:
  using Place = std::tuple<Priority, absl::Time, uint64_t>;  // class, deadline, number
  enum class Last { kNone, kCame, kDidNotCome };
  struct Record {  // of a client
    int reading = 0;
    int64_t waiting = 0;
    int64_t overdue = 0;  // and have not come yet
    Last last = Last::kNone;
    LinkLaw link;
    bool is_unsure() const { return last == Last::kDidNotCome || overdue > 1; }
  };

  static Place PlaceOf(const AnnouncedMessage& message) {
    return {message.priority, message.deadline, message.number};
  }
  // Of its client, or of all while nothing is known of that one.
  const LinkLaw& LinkOf(const AnnouncedMessage& message, absl::Time now) const;
  double ReadingOf(const AnnouncedMessage& message, double load, absl::Time now) const {
    return law_.Of(LinkOf(message, now), static_cast<double>(message.bytes), load);
  }
  bool IsKnown(absl::Time now) const { return law_.all().IsKnown(now); }
  // What of a reading message is still to come, as far as anybody knows.
  double RestOf(const AnnouncedMessage& message, absl::Time now) const;
  // What comes of it beside one of `bytes`.
  double BesideOf(const AnnouncedMessage& message, double bytes, absl::Time now) const {
    return message.share * std::min(bytes, RestOf(message, now));
  }
  // The load of one that began now.
  double LoadOf(const AnnouncedMessage& message, absl::Time now) const;
  double AfterOf(const AnnouncedMessage& message, absl::Time now) const;
  absl::Status CheckRoom(const AnnouncedMessage& message);
  absl::Status CheckInTime(const AnnouncedMessage& message, double bytes_before,
                           absl::Time now) const;
  bool HasLaneFor(const AnnouncedMessage& message, absl::Time now) const;
  // Those that are read, surely come and go before it take what there is: it would only slow them.
  bool WouldCrowd(const AnnouncedMessage& message, absl::Time now) const;
  void Begin(AnnouncedMessage* message, absl::Time now);
  AnnouncedMessage* Remove(AnnouncedMessage* message);
  // One after the other until something is known: all together might all be late, and teach little.
  int Lanes() const { return law_.all().has_seen() ? lanes_ : 1; }
  // Null: none of those that may be read.
  AnnouncedMessage* First();
  bool MayBeRead(const Record& record) const;
  int CountBeside() const;
  void EndReading(AnnouncedMessage* message);
  void TeachLate(const AnnouncedMessage& message, absl::Time now);
  void DropOverdue(absl::Time now);
  Record& RecordOf(const std::string& client);
  // What waits of a client that is unsure now, or is no more, goes beside the others, or with them.
  void Mark(const std::string& client, bool was_unsure);

  const int lanes_;
  const int64_t max_waiting_;
  ReadLaw law_;
  std::array<LinkLaw, kMethods> after_;
  std::map<Place, AnnouncedMessage*> waiting_;
  std::map<uint64_t, AnnouncedMessage*> arrivals_;  // the same by number
  std::vector<AnnouncedMessage*> reading_;
  std::unordered_map<std::string, Record> records_;
  absl::Status closed_;  // OK: it is not
  uint64_t entered_ = 0;
  uint64_t turns_ = 0;
  uint64_t next_crowd_ = 0;  // in turns_; 0: no turn has been put off since the last one
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_READ_QUEUE_H_
