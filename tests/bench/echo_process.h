// An EchoServer in a process of its own, as the service is: in the client's process its threads
// would take turns with the client's at the same epoll set, which costs calls to anybody a thread
// switch.
#ifndef BASEBAND_TESTS_BENCH_ECHO_PROCESS_H_
#define BASEBAND_TESTS_BENCH_ECHO_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace baseband::bench {

// The arguments are EchoServer's. Ends the process in the destructor.
class EchoProcess {
 public:
  EchoProcess(int64_t reply_bytes, int num_queues, int threads_per_queue,
              int max_request_bytes = -1, int max_frame_bytes = 1 << 20);
  EchoProcess(const EchoProcess&) = delete;
  EchoProcess& operator=(const EchoProcess&) = delete;
  ~EchoProcess();

  const std::string& address() const { return address_; }
  pid_t pid() const { return process_; }
  // EchoServer::set_delay; takes effect soon.
  void set_delay(std::chrono::microseconds delay) const;

 private:
  pid_t process_ = 0;
  int to_process_ = -1;
  std::string address_;
};

// What main() calls before anything else: serves, and returns true, if this process is an
// EchoProcess. In either, locks are not checked for deadlocks from then on.
bool RunAsEchoProcess(int argc, char** argv);

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_ECHO_PROCESS_H_
