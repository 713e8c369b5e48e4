// A network that ill-treats connections: a TCP proxy on loopback, in the test's own process.
#ifndef BASEBAND_TESTS_SUPPORT_PROXY_H_
#define BASEBAND_TESTS_SUPPORT_PROXY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace baseband::testing {

// What happens to the bytes of a connection in one direction. All of them pass if nothing is set.
struct Treatment {
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  int64_t stall_after = kNever;  // bytes; from then on none is read of who sends them
  int64_t cut_after = kNever;    // bytes; then both sides are reset
  int64_t bytes_per_ms = kNever;
};
struct Plan {
  Treatment up;    // to the server
  Treatment down;  // to the client
};

class Proxy {
 public:
  // From a port of its own to `target` ("127.0.0.1:PORT"). `plan` is asked at each new connection,
  // on the proxy's thread.
  Proxy(const std::string& target, std::function<Plan()> plan);
  Proxy(const std::string& target, const Plan& plan) : Proxy(target, [plan] { return plan; }) {}
  // Closes what is open.
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  // Where clients connect to.
  const std::string& target() const { return target_; }
  // Connections that have stalled, or were reset, so far, according to their plan.
  int stalled() const { return stalled_; }
  int cut() const { return cut_; }

 private:
  // One direction of a connection.
  struct Pipe {
    int from = -1;
    int to = -1;
    Treatment treatment;
    int64_t passed = 0;  // read of `from`
    std::string waiting;
    bool ended = false;  // `from` sends no more
    bool stalled = false;
  };
  struct Connection {
    Pipe up;
    Pipe down;
  };

  void Run();
  void Accept();
  // Moves what it can. False: the connection is over.
  bool Move(Pipe& pipe, bool readable, bool writable);
  static void Close(const Connection& connection, bool reset);

  const std::string server_;
  const std::function<Plan()> plan_;
  int listener_ = -1;
  int stop_ = -1;
  std::string target_;
  std::atomic<int> stalled_{0};
  std::atomic<int> cut_{0};
  std::vector<Connection> connections_;
  std::thread thread_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_PROXY_H_
