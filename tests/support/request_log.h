// Who was asked what, and what came back: each request is answered exactly once.
#ifndef BASEBAND_TESTS_SUPPORT_REQUEST_LOG_H_
#define BASEBAND_TESTS_SUPPORT_REQUEST_LOG_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace baseband::testing {

// What a request got: OK for the right answer, DataLoss for a wrong one, else the error.
using Done = std::function<void(absl::Status)>;

// Thread-safe. Outlives every request in it.
class RequestLog {
 public:
  // A request is sent. Its answer goes to what this returns, which passes it on to `then`.
  Done Enter(Done then);
  // The request of the last Enter of this thread was not taken: it must never be answered.
  void Withdraw();

  // Answers with this code so far.
  int64_t Count(absl::StatusCode code) const;
  // Waits until there are so many.
  bool AwaitCount(absl::StatusCode code, int64_t count,
                  absl::Duration patience = absl::Seconds(120)) const;

  // What is wrong, once each request has had its time: answers that are missing, too many, wrong,
  // or have a code that is none of `allowed`. Empty: nothing.
  std::string Faults(const std::vector<absl::StatusCode>& allowed) const;

 private:
  enum class Entry : uint8_t { kOpen, kAnswered, kWithdrawn };

  void Answer(size_t number, const absl::Status& status);

  mutable absl::Mutex mutex_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::map<absl::StatusCode, int64_t> counts_ ABSL_GUARDED_BY(mutex_);
  std::map<absl::StatusCode, std::string> examples_ ABSL_GUARDED_BY(mutex_);
  std::string faults_ ABSL_GUARDED_BY(mutex_);
};

// Some requests of a log that somebody waits for.
class Batch {
 public:
  explicit Batch(RequestLog* log) : log_(log), state_(std::make_shared<State>()) {}

  // One request more is sent, with what is returned for its answer.
  Done Enter();
  // The last one was not taken after all.
  void Withdraw();
  // Waits for all answers; the worst of them, in the order OK, anything else, DataLoss. Internal if
  // some have not come after two minutes.
  absl::Status Wait();

 private:
  struct State {
    absl::Mutex mutex;
    int64_t open ABSL_GUARDED_BY(mutex) = 0;
    absl::Status worst ABSL_GUARDED_BY(mutex);
  };

  RequestLog* const log_;
  const std::shared_ptr<State> state_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_REQUEST_LOG_H_
