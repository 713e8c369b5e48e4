// One gRPC call by hand, of a client that may do what no library does.
#ifndef BASEBAND_TESTS_SUPPORT_RAW_HTTP2_H_
#define BASEBAND_TESTS_SUPPORT_RAW_HTTP2_H_

#include <string>
#include <thread>

#include "absl/time/time.h"

namespace baseband::testing {

// Sends one request whose response it never reads.
class RawCall {
 public:
  enum class Manner {
    kOpensNoWindow,  // but answers pings for as long as it lives
    kStandsStill,    // opens its window as wide as it gets, then reads nothing at all
  };
  // `method` is "/package.Service/Method"; the request is to fit into HTTP/2's first window, 64
  // KiB.
  RawCall(const std::string& target, const std::string& method, const std::string& request,
          Manner manner = Manner::kOpensNoWindow);
  ~RawCall();
  RawCall(const RawCall&) = delete;
  RawCall& operator=(const RawCall&) = delete;

 private:
  void AnswerPings() const;

  int fd_ = -1;
  std::thread thread_;
};

// Calls whose headers come and whose messages never do, all on one connection.
class HeadersAlone {
 public:
  HeadersAlone(const std::string& target, const std::string& method, int calls);
  ~HeadersAlone();
  HeadersAlone(const HeadersAlone&) = delete;
  HeadersAlone& operator=(const HeadersAlone&) = delete;

 private:
  const int fd_;
};

// What means nothing, sent again and again.
enum class Flood {
  kSettings,       // after a call
  kEmptyData,      // of a call
  kResets,         // of calls that were begun for that
  kCalls,          // more than the server's SETTINGS allow, which are not acknowledged
  kHealthCalls,    // the same
  kUnknownCalls,   // the same
  kEndlessHeader,  // a byte a frame
};
// Floods `target` without credentials until it ends the connection, which is true, or for
// `patience`.
bool IsEndedAfterFlood(const std::string& target, Flood flood, absl::Duration patience);

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_RAW_HTTP2_H_
