// What may be sent on a connection before anybody has shown there that he may call.
//
// gRPC 1.51 takes from everybody, and without end: frames that mean nothing, headers of calls that
// are taken back at once, a header that never ends. What a stranger needs, a handshake and the
// headers of a call or of a probe now and then, is little.
#ifndef BASEBAND_SERVER_SERVICE_STRANGER_WATCH_H_
#define BASEBAND_SERVER_SERVICE_STRANGER_WATCH_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "server/auth/allowance.h"
#include "server/auth/strangers.h"

namespace baseband::server {

// Knows sockets that are gRPC's, and may be closed at any moment. Not thread-safe. Times are
// SteadyNow()'s. Of a Unix socket that is not braked no bytes are known.
class StrangerWatch final : private Strangers::Watcher {
 public:
  // What one connection may bring: so much at once, so much more in every second, and so much at
  // all.
  static constexpr int64_t kBytes = 256 << 10;
  static constexpr int64_t kBytesPerSecond = 16 << 10;
  static constexpr int64_t kBytesAtMost = 2 << 20;
  // Where not everybody may call, gRPC gets kFirstBytes of a connection, handshake, preface and the
  // longest headers that a call may have, and kBrakedBytesPerSecond, or less of where an offender
  // came from, but no more than kFirstBytes at a time. What waits beyond that is too much as well.
  static constexpr int64_t kFirstBytes = 16 << 10;
  static constexpr int64_t kBrakedBytesPerSecond = 256 << 10;
  static constexpr int64_t kOffendersBytesPerSecond = 64 << 10;
  // Who comes from where one was reset is suspect; so is everybody while kNewOffendersPerSecond
  // addresses become one, or strangers make very many calls (Strangers::AreManyCalls), for a flood
  // may come from ever new addresses. Of suspects gRPC gets little at a time, for it serves nobody
  // else until the calls in what it has read are made: a small call, then kSuspectsBytesALook with
  // each look, that is, a handshake of 6 KB in 0.12 s; a few calls for as long as the last one that
  // was not let in is not forgiven. And few calls of theirs may let nobody in. Nobody at a Unix
  // socket is, for a proxy's clients share its connections.
  static constexpr int64_t kSuspectsFirstBytes = 256;
  static constexpr int64_t kSuspectsBytesALook = 1 << 10;
  static constexpr int64_t kSuspectsBytesAfterCalls = 64;
  static constexpr int kSuspectsCalls = 16;
  static constexpr int kNewOffendersPerSecond = 16;
  // Who goes after so many calls in a short time that let nobody in is an offender, too: a quarter
  // of what he may make, of a suspect a half.
  static constexpr double kCallsInPassing = 128;
  static constexpr double kSuspectsCallsInPassing = 8;
  // On a busy host a call's client is let in a while after its bytes came: who has brought too
  // much, but not kBytesAtMost, has so long to be no stranger any more. Less if it comes from an
  // offender's address, one of whose connections was reset within kGrudge, unless it is read slowly
  // for that already; least if it keeps the thread that gave it to gRPC, on which others wait.
  static constexpr absl::Duration kGrace = absl::Seconds(2);
  static constexpr absl::Duration kOffendersGrace = absl::Milliseconds(500);
  static constexpr absl::Duration kKeepersGrace = absl::Milliseconds(100);
  static constexpr absl::Duration kGrudge = absl::Minutes(1);
  // A connection from an offender's address waits so long before gRPC gets it, and gRPC does not
  // get it if more than kBytesWaiting have come meanwhile: clients have little to say before the
  // server speaks. From an address that has more than kResetsPerSecond they wait longer, but not
  // beyond kMaxWait: a client there is served late, and a flood of connections has little of the
  // server's time.
  static constexpr absl::Duration kWait = absl::Milliseconds(50);
  static constexpr absl::Duration kMaxWait = absl::Seconds(1);
  static constexpr int64_t kBytesWaiting = 32 << 10;
  static constexpr int kResetsPerSecond = 10;
  // So many of an address wait at a time; of a user of Unix sockets, which may be a proxy, any. One
  // on which wrong tokens were shown counts as one that was reset.
  static constexpr int kMaxWaiting = 32;
  // One connection is looked at no more often than this.
  static constexpr absl::Duration kInterval = absl::Milliseconds(20);

  // `strangers` stays until ForgetAll.
  explicit StrangerWatch(Strangers* strangers);
  ~StrangerWatch() override;
  StrangerWatch(const StrangerWatch&) = delete;
  StrangerWatch& operator=(const StrangerWatch&) = delete;

  // A socket has come: how long it has to wait until gRPC may get it, if Pass then says so.
  // Nothing: it is to be closed.
  absl::optional<absl::Duration> Admit(int fd, absl::Time now);
  // Whether gRPC may get the socket, which has waited. If not, it is to be closed.
  bool Pass(int fd, absl::Time now);
  // To be polled for reading; then, or at NextLook, Look resets those that have brought too much,
  // or too many calls, and says how many. Sockets `kept` keep the thread that gave them to gRPC.
  int fd() const { return epoll_fd_; }
  int64_t Look(absl::Time now, const std::vector<int>& kept);
  absl::Time NextLook() const;
  // Knows none any more, and is told of none: `strangers` may go. gRPC gets no more of strangers.
  void ForgetAll();
  // Resets the connection that has been a stranger for longest and does not wait for Pass, to make
  // room for another; its socket, or -1: there is none.
  int ResetOldest(absl::Time now);

 private:
  struct Connection {
    ino_t inode = 0;  // tells it from a later socket with the same descriptor
    std::string key;
    std::string from;  // in `offenders_`
    uint64_t id = 0;   // of `strangers_`
    absl::Time since;
    bool waits = false;  // for Pass
    bool is_unix = false;
    bool is_suspect = false;                       // since it came
    bool has_called = false;                       // too often
    absl::Time braked_since;                       // its bytes up to then were allowed
    absl::Time exceeded = absl::InfiniteFuture();  // when it was seen to have brought too much
  };
  struct Offender {
    absl::Time last;                               // when one was reset, or guessed
    absl::Time last_flood = absl::InfinitePast();  // when one was reset
    Allowance resets{kResetsPerSecond, kResetsPerSecond};
    int waiting = 0;
  };
  enum class Verdict { kHarmless, kExceeds, kReset };

  enum class News { kLetIn, kManyGuesses, kManyCalls };
  void OnLetIn(uint64_t id) override { Tell(id, News::kLetIn); }
  void OnManyGuesses(uint64_t id) override { Tell(id, News::kManyGuesses); }
  void OnManyCalls(uint64_t id) override { Tell(id, News::kManyCalls); }
  void Tell(uint64_t id, News news) ABSL_LOCKS_EXCLUDED(told_mutex_);
  void Watch(int fd, int operation);
  void Forget(int fd);
  // The same where it is gone by itself, or another socket has its descriptor: its calls count.
  void ForgetGone(int fd, absl::Time now);
  // Whether all of its address, or all that are new, are suspect now.
  bool IsSuspicious(const std::string& from, absl::Time now) const;
  Verdict Judge(int fd, Connection& connection, bool is_kept, absl::Time now) const;
  // The bytes that gRPC gets at a time.
  int64_t MostBytes(const Connection& connection, absl::Time now) const;
  void AllowMore(int fd, Connection& connection, absl::Time now);
  // Ends a connection for what it did; false: it cannot be done yet. `*reset` counts it.
  bool EndGreedy(int fd, absl::Time now, int64_t* reset);
  // Does what follows from what was told. `*reset` as above.
  void TakeTold(absl::Time now, int64_t* reset) ABSL_LOCKS_EXCLUDED(told_mutex_);
  // Nothing of where there was no offence in the last minute.
  const Offender* FindOffender(const std::string& from, absl::Time now) const;
  void WaitsNoMore(Connection& connection);
  Offender& Remember(const std::string& from, absl::Time now);
  // A connection from there did what it is reset for, or as good as that.
  void CountOffence(const std::string& from, absl::Time now);

  Strangers* const strangers_;
  const int epoll_fd_;
  std::unordered_map<int, Connection> connections_;
  std::map<uint64_t, int> by_age_;  // of connections_, by id
  std::vector<int> active_;  // to be looked at next; those that sent are not watched until then
  absl::Time next_look_ = absl::InfiniteFuture();
  absl::Time next_sweep_ = absl::InfinitePast();
  std::unordered_map<std::string, Offender> offenders_;  // by where they come from
  Allowance new_offenders_{kNewOffendersPerSecond, kNewOffendersPerSecond};
  const int told_fd_;  // readable: there is something in told_
  absl::Mutex told_mutex_;
  std::vector<std::pair<uint64_t, News>> told_ ABSL_GUARDED_BY(told_mutex_);  // of ids
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_STRANGER_WATCH_H_
