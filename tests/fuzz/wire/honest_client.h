// A client that may call, and has to be served whatever strangers do.
#ifndef BASEBAND_TESTS_FUZZ_WIRE_HONEST_CLIENT_H_
#define BASEBAND_TESTS_FUZZ_WIRE_HONEST_CLIENT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/cpp/client.h"

namespace baseband::testing {

inline constexpr char kHonestToken[] = "wire-honest-token";

class HonestClient {
 public:
  // Of a server at `target` whose pages are at `pages`. `patience`: how long an answer may take,
  // asked whenever one took long.
  HonestClient(const std::string& target, const std::string& pages,
               std::function<absl::Duration()> patience);
  ~HonestClient() { Stop(); }

  // One question of each kind, and what is wrong with the answers: empty, if nothing.
  std::string AskAll();
  // The same again and again on a thread of its own, until Stop.
  void Start();
  void Stop();

  // The first answer that was wrong, or late, or still is not there; empty: none.
  std::string Fault() const ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t answers() const { return answers_; }
  // The longest that an answer took since this was asked last.
  absl::Duration TakeLongest() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Runs `question`, and says what is wrong with its answer or with the time that it took.
  std::string Time(const char* what, const std::function<std::string()>& question);
  std::string EncodeAndDecode();
  // As a client that comes only now.
  std::string CallAnew();

  const client::ClientOptions options_;
  const std::string pages_;
  const std::function<absl::Duration()> patience_;
  const std::unique_ptr<client::Client> client_;
  std::atomic<int64_t> answers_{0};
  std::atomic<bool> stop_{true};
  mutable absl::Mutex mutex_;
  const char* asked_ ABSL_GUARDED_BY(mutex_) = nullptr;  // what is on its way
  absl::Time asked_at_ ABSL_GUARDED_BY(mutex_);
  absl::Duration longest_ ABSL_GUARDED_BY(mutex_);
  std::string fault_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_FUZZ_WIRE_HONEST_CLIENT_H_
