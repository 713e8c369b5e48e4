// Requests whose message is on its way: their headers were let in, and what has come takes memory.
#ifndef BASEBAND_SERVER_LIMITS_AWAITED_MESSAGES_H_
#define BASEBAND_SERVER_LIMITS_AWAITED_MESSAGES_H_

#include <array>
#include <cstddef>
#include <list>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace baseband::server {

// Thread-safe. Times are SteadyNow()'s.
class AwaitedMessages {
 public:
  // Of one request.
  class Awaited {
   public:
    virtual ~Awaited() = default;

   private:
    friend class AwaitedMessages;
    // It is awaited no more: it took too long. On the thread of EndLate or EndOverdue; End waits
    // until it has returned.
    virtual void OnLate() = 0;
    virtual void OnOverdue() = 0;

    std::list<Awaited*>::iterator place_;
    bool is_awaited_ = false;  // both under the lock of its list
    absl::Time since_;
    absl::Time due_;
  };

  // From `now` on, until End.
  void Begin(Awaited* message, absl::Time now);
  // Nothing keeps it from coming any more, and it is to be here by `due`.
  void Expect(Awaited* message, absl::Time due);
  // It has come, or will not. False: it was late before.
  bool End(Awaited* message);
  // Tells those that have been awaited since before `since`.
  void EndLate(absl::Time since);
  // Tells those that were expected before `now`.
  void EndOverdue(absl::Time now);

 private:
  // By arrival, for each of some of the requests: threads seldom meet.
  struct List {
    absl::Mutex mutex;
    std::list<Awaited*> messages ABSL_GUARDED_BY(mutex);
    // Nothing is allocated for the next ones.
    std::list<Awaited*> spare ABSL_GUARDED_BY(mutex);
  };
  List& ListOf(const Awaited* message);

  std::array<List, 8> lists_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_AWAITED_MESSAGES_H_
