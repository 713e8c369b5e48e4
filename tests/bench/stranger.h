// A client of HTTP/2 by hand, that sends what no library does.
#ifndef BASEBAND_TESTS_BENCH_STRANGER_H_
#define BASEBAND_TESTS_BENCH_STRANGER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace baseband::bench {

// One connection. Answers PING and, unless told otherwise, SETTINGS, and keeps to the windows that
// it was given.
class Stranger {
 public:
  enum class Manner { kPolite, kNeverAcknowledges };
  explicit Stranger(const std::string& target, Manner manner = Manner::kPolite);
  ~Stranger();
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;

  // Begins a call of `method`, "/package.Service/Method", and returns its stream.
  uint32_t Open(const std::string& method);
  // The same with these headers, as HPACK.
  uint32_t Begin(const std::string& headers);
  // The head of a message that is said to have so many bytes.
  void Claim(uint32_t stream, uint32_t bytes);
  // That many bytes, or as many as the windows allow until `end`. False: fewer.
  bool Send(uint32_t stream, size_t bytes, absl::Time end);
  // What `next` returns, frames, again and again. Returns how often.
  int64_t SendUntil(absl::Time end, const std::function<std::string()>& next);
  // Reads what comes until `end`, or until the connection has ended.
  void ReadUntil(absl::Time end);
  bool is_open() const { return is_open_; }

 private:
  void Write(const std::string& bytes);
  // Reads whole frames that are there, and waits for one at most so long.
  void Read(absl::Duration wait);
  void OnFrame(int type, int flags, uint32_t stream, const std::string& payload);

  const int fd_;
  const Manner manner_;
  bool is_open_ = true;
  uint32_t next_stream_ = 1;
  std::string unread_;
  std::string unsent_;
  int64_t first_window_ = 65535;
  int64_t window_ = 65535;
  std::map<uint32_t, int64_t> windows_;  // of streams
};

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_STRANGER_H_
