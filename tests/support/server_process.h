// The real basebandd as a process of its own, on the CPU device and on loopback.
#ifndef BASEBAND_TESTS_SUPPORT_SERVER_PROCESS_H_
#define BASEBAND_TESTS_SUPPORT_SERVER_PROCESS_H_

#include <grpcpp/security/credentials.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace baseband::testing {

// A port of 127.0.0.1 that nobody listens on, and that nobody else who asks here gets while this
// process lives, nor the kernel gives to a connection.
int FreePort();

// A program of this build by its target's name: from the folder that the environment variable
// BASEBAND_PROGRAMS names, else beside the test program, else where the build put it.
std::string ProgramPath(const std::string& name);

// A child process with its output in a file. Killed in the destructor, and with its parent.
class ChildProcess {
 public:
  // BASEBANDD_* variables are not handed down.
  ChildProcess(const std::string& program, const std::vector<std::string>& arguments);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  // The exit code, 128 + signal if a signal ended it; empty if it still runs after `timeout`.
  absl::optional<int> Wait(absl::Duration timeout);
  bool IsRunning() { return !Wait(absl::ZeroDuration()).has_value(); }
  // What it has written to stdout and stderr so far.
  std::string Output() const;
  // The same once `text` is in it, or after two minutes: a line of the log may come after what a
  // client sees.
  std::string OutputWith(const std::string& text) const;

 private:
  std::string output_path_;
  pid_t pid_ = -1;
  absl::optional<int> exit_code_;
};

// Where a server runs.
struct Place {
  std::vector<std::string> launcher;  // a program and its arguments that run it there; empty: here
  std::string target;                 // where it serves, ADDRESS:PORT
  std::string metrics_address;
};

class ServerProcess {
 public:
  // Starts it with --device=cpu --cpu-threads=2, free ports and `flags`, and waits until its health
  // is SERVING, asked with `credentials`. Internal with its output if that does not happen.
  static absl::StatusOr<std::unique_ptr<ServerProcess>> Start(
      std::vector<std::string> flags = {},
      const std::shared_ptr<grpc::ChannelCredentials>& credentials =
          grpc::InsecureChannelCredentials());
  // The same in a certain place.
  static absl::StatusOr<std::unique_ptr<ServerProcess>> StartAt(
      const Place& place, std::vector<std::string> flags = {},
      const std::shared_ptr<grpc::ChannelCredentials>& credentials =
          grpc::InsecureChannelCredentials());

  const std::string& target() const { return place_.target; }
  const std::string& metrics_address() const { return place_.metrics_address; }
  ChildProcess& process() { return process_; }

  // The metrics page as it is now; empty if it cannot be had.
  std::string MetricsPage() const;
  // The sum over all series of `name` whose labels contain each of `labels` ("rpc=\"Encode\"").
  double Metric(const std::string& name, const std::vector<std::string>& labels = {}) const;
  // Waits until Metric(name, labels) is `value`; false after `timeout`.
  bool WaitForMetric(const std::string& name, const std::vector<std::string>& labels, double value,
                     absl::Duration timeout = absl::Seconds(120)) const;

  // SIGTERM, and what it exits with; empty if it takes longer than `timeout`.
  absl::optional<int> Terminate(absl::Duration timeout = absl::Seconds(60));

 private:
  ServerProcess(Place place, const std::vector<std::string>& flags);

  const Place place_;
  ChildProcess process_;
};

// What http://`address``path` answers; 0 and nothing if nobody does.
struct HttpAnswer {
  int status = 0;
  std::string body;
};
HttpAnswer HttpAsk(const std::string& address, const std::string& path);
// The body of that; empty if it cannot be had.
std::string HttpGet(const std::string& address, const std::string& path);

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_SERVER_PROCESS_H_
