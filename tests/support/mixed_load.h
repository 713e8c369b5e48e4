// Load of every kind at once: unary calls, Submit and Downconvert streams, searches.
#ifndef BASEBAND_TESTS_SUPPORT_MIXED_LOAD_H_
#define BASEBAND_TESTS_SUPPORT_MIXED_LOAD_H_

#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "client/cpp/client.h"
#include "tests/support/mix.h"
#include "tests/support/request_log.h"

namespace baseband::testing {

// How long a test waits for what takes a second where nothing else runs.
inline constexpr absl::Duration kPatience = absl::Seconds(120);

struct MixedLoadOptions {
  client::ClientOptions client;
  bool wait_for_ready = false;
  // Closed loops of each kind, a thread each.
  int unary = 2;
  int submit = 1;
  int streams = 1;
  int searches = 1;
  // What a loop does when it hears Unavailable: goes on, or ends.
  bool go_on = false;
};

// Enters what it sends into a log, until it is stopped or all its loops have ended. Other errors
// end no loop: they stand in the log.
class MixedLoad {
 public:
  // `mix` and `log` outlive it.
  MixedLoad(const Mix& mix, const MixedLoadOptions& options, RequestLog* log);
  ~MixedLoad() { Stop(); }
  MixedLoad(const MixedLoad&) = delete;
  MixedLoad& operator=(const MixedLoad&) = delete;

  // Ends the loops, each after the answers to what it has sent.
  void Stop();
  // Waits until the loops have ended by themselves.
  void Join();
  client::Client& client() { return *client_; }

 private:
  using Round = absl::Status (MixedLoad::*)(std::mt19937* random);

  void Loop(Round round, unsigned seed);
  absl::Status CallSome(std::mt19937* random);
  absl::Status SubmitSome(std::mt19937* random);
  absl::Status StreamOnce(std::mt19937* random);
  absl::Status SearchOnce(std::mt19937* random);
  int Pick(std::mt19937* random) const;

  const Mix& mix_;
  const MixedLoadOptions options_;
  RequestLog* const log_;
  std::unique_ptr<client::Client> client_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> loops_;
};

// The load of a client that wants one attempt a call, at `target`.
MixedLoadOptions LoadOf(const std::string& target);

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_MIXED_LOAD_H_
