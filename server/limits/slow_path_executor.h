// What a request may need that takes long, up to seconds: the design of its filters, the model of
// its constellation, the inverse of its matrix, the preparation of a search and the refinement of
// its answer. Away from the threads that serve gRPC, and in the fair share of the client that asks.
//
//   executor.Add(client, bytes, [](const ContinueCheck& turn) {
//     for (..) { if (!turn().ok()) ..; ... }         // a few milliseconds between two questions
//   });
#ifndef BASEBAND_SERVER_LIMITS_SLOW_PATH_EXECUTOR_H_
#define BASEBAND_SERVER_LIMITS_SLOW_PATH_EXECUTOR_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kernels/base/continue_check.h"
#include "kernels/base/steady_time.h"

namespace baseband::server {

// One piece of work runs at a time, for a slice: then whoever of the clients with work has had the
// least time goes on. So nobody's masks delay everybody, and an hour's worth of one client's is no
// more than half of it beside another's. A client's own pieces go one after the other.
//
// A client without work is remembered for as long as it has had more than those with work, and of
// such clients no more than max_clients: names are cheap, and those who have had least go first.
//
// The check that a piece is given is where it gives way; it never says anything but OK.
// Thread-safe.
class SlowPathExecutor {
 public:
  struct Options {
    int64_t max_clients = 64;       // with pieces, each of which may keep a thread
    int64_t max_of_client = 1024;   // pieces, waiting and begun: a stream's of a server that is new
    int64_t max_bytes = 256 << 20;  // of memory that all pieces hold; several of one client half
    absl::Duration slice = absl::Milliseconds(2);
    std::function<absl::Time()> clock = &SteadyNow;
  };
  using Work = std::function<void(const ContinueCheck& turn)>;

  explicit SlowPathExecutor(const Options& options);
  // As Finish.
  ~SlowPathExecutor();

  // `work`, which holds `bytes` of memory, is called once, soon. Else it is not called:
  // ResourceExhausted if too much waits, of all or of this client, Unavailable after Finish. Work
  // of more than max_bytes is done where nothing else holds any.
  absl::Status Add(const std::string& client, int64_t bytes, Work work);
  // Returns once all that was added is done.
  void Finish();
  // Clients that it knows, with work or without: at most twice max_clients.
  int64_t CountClients() const;

 private:
  struct Piece {
    int64_t bytes = 0;
    Work work;
  };
  struct Client {
    std::string name;
    std::deque<Piece> waiting;
    bool is_begun = false;  // a thread has a piece of it
    int64_t bytes = 0;
    double used_s = 0.0;  // on a scale that all clients share
    absl::Time slice_begin;
  };
  using Clients = std::unordered_map<std::string, Client>;
  using Debts = std::unordered_map<std::string, double>;  // their used_s

  // Gives the turn, which nobody has, to the ready client that has had the least.
  void PassTurn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Charge(Client& client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The client has no more pieces: what it has had is remembered, if need be.
  void Leave(Clients::iterator client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns at once, or when it is the client's turn again.
  void GiveWay(Client& client) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether a thread without work has something to do.
  bool HasNewsForIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run();

  const Options options_;
  mutable absl::Mutex mutex_;
  Clients clients_ ABSL_GUARDED_BY(mutex_);  // with pieces
  Debts debts_ ABSL_GUARDED_BY(mutex_);      // of those without
  Client* turn_ ABSL_GUARDED_BY(mutex_) = nullptr;
  double virtual_s_ ABSL_GUARDED_BY(mutex_) = 0.0;  // what who comes anew is said to have had
  int64_t pieces_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int idle_ ABSL_GUARDED_BY(mutex_) = 0;  // threads
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;  // made as they are needed; grows under mutex_ until closed_
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_LIMITS_SLOW_PATH_EXECUTOR_H_
