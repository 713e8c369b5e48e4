// The messages of all calls on their way in: a ReadQueue that calls wait in.
#ifndef BASEBAND_SERVER_LIMITS_MESSAGE_READS_H_
#define BASEBAND_SERVER_LIMITS_MESSAGE_READS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kernels/base/steady_condition.h"
#include "server/limits/read_queue.h"

namespace baseband::server {

// Thread-safe. Times are SteadyNow()'s.
class MessageReads {
 public:
  // What HTTP/2's first window lets a client send unasked: who has no more has sent it with his
  // headers, and needs no turn.
  static constexpr int64_t kUnasked = 64 << 10;

  // Of one message; it stays until it is through.
  class Reader : public AnnouncedMessage {
   public:
    virtual ~Reader() = default;

   private:
    friend class MessageReads;
    // Its turn has come: OK if it is to be read now, and Leave must follow; or it is refused. Once
    // after each Enter that was OK, but for Abandon; on any thread, also before Enter has returned.
    virtual void OnTurn(const absl::Status& status) = 0;
  };

  // As ReadQueue's. `look_at_devices` is called on any thread under a lock of this: what it locks
  // is not to be held by who calls this.
  explicit MessageReads(int64_t max_waiting, ReadQueue::LookAtDevices look_at_devices = nullptr);
  ~MessageReads();
  MessageReads(const MessageReads&) = delete;
  MessageReads& operator=(const MessageReads&) = delete;

  // As ReadQueue's.
  absl::Status Enter(Reader* reader) ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave(Reader* reader, ReadQueue::End end) ABSL_LOCKS_EXCLUDED(mutex_);
  bool Abandon(Reader* reader) ABSL_LOCKS_EXCLUDED(mutex_);
  void Close(const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);
  void Answered(const Reader& reader, absl::Duration duration, double work_s, bool in_time)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // A request whose message needs no turn has that priority, and so much time for its answer.
  void Hurry(Priority priority, absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);

  // What a client's last message of a method had, for those who do not say; 0 for the first one.
  int64_t LastBytes(const std::string& client, size_t method) const ABSL_LOCKS_EXCLUDED(mutex_);
  void SetLastBytes(const std::string& client, size_t method, int64_t bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);

  struct State {
    int64_t waiting = 0;
    int64_t reading = 0;
    int64_t overdue = 0;
    double rate = 0.0;     // bytes a second; 0: not known yet
    double ahead_s = 0.0;  // seconds of reading that begin at a time
  };
  State Look() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void GiveTurns() ABSL_LOCKS_EXCLUDED(mutex_);
  // Turns that nobody brings about: those that are read are overdue.
  void Watch() ABSL_LOCKS_EXCLUDED(mutex_);

  mutable absl::Mutex mutex_;
  SteadyCondition changed_;
  ReadQueue queue_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::array<int64_t, ReadQueue::kMethods>> last_bytes_
      ABSL_GUARDED_BY(mutex_);
  bool is_watching_ ABSL_GUARDED_BY(mutex_) = false;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread watch_;  // last: uses all of the above
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_MESSAGE_READS_H_
