// What all commands share: the global flags, the connection, exit codes, error messages.
#ifndef BASEBAND_CLIENT_CTL_COMMON_SESSION_H_
#define BASEBAND_CLIENT_CTL_COMMON_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/cpp/client.h"
#include "client/ctl/common/outputs.h"

namespace baseband::ctl {

// As grpc_health_probe has them, for all commands; there are no others, but 128 + N of a command
// that signal N has ended. kExitCodes tells them to people, as the guide, client/ctl/README.md,
// does.
enum ExitCode : int {
  kOk = 0,
  kBadArguments = 1,    // flags, or a file that cannot be read or written; whoever finds it
  kCannotConnect = 2,   // to a server, or to its page of metrics
  kRpcFailed = 3,       // any other error of a call
  kNegativeResult = 4,  // all was done, and it is not what was hoped for
  kInterrupted = 130,   // by ^C, as shells have it
};
inline constexpr char kExitCodes[] =
    R"(Exit codes: 0 done; 1 bad arguments or files, whether the client or the server finds it; 2
cannot connect; 3 the server refused (for now, for want of rights, or for it has no such call)
or failed; 4 done, and the result is negative (not serving, blocks that did not decode, frames
without lock, a file that differs, a case that failed, no value at a point or at none, a load
over its limits or mostly unserved); 130 interrupted by ^C.
)";

struct GlobalFlags {
  std::string target = "127.0.0.1:50151";
  absl::Duration timeout = absl::Seconds(60);  // for connecting, and for each call
  int connections = 4;
  int in_flight = 8;
  std::string priority = "normal";  // high, normal or low
  bool wait = false;
  bool json = false;
  bool shared_memory = false;  // payloads go through memory that the server shares
  bool ring = false;           // requests go through a ring in such memory
  bool tls = false;            // with the system's authorities, if tls_ca is empty
  std::string tls_ca, tls_cert, tls_key, token_file;  // paths; empty: none
  std::string tls_server_name;                        // empty: the target's

  client::CallOptions call() const;
};

// How much goes into one request.
struct RequestLimits {
  int64_t bytes = 2 << 20;
  int64_t blocks = 4096;
};

// What the flags say of the connection, with the contents of the files they name. The token is that
// of --token-file, else of the environment variable BASEBAND_TOKEN. InvalidArgument refuses the
// target's form, or names a file that cannot be read.
absl::StatusOr<client::ClientOptions> ToClientOptions(const GlobalFlags& flags);

// A connected client. Unavailable or DeadlineExceeded say in one line what was tried and what to
// try next; other errors are those of ToClientOptions and Client::Create.
absl::StatusOr<std::unique_ptr<client::Client>> Connect(const GlobalFlags& flags);

// A server, for one command: the connection, and what the server says that it takes.
//
//   const Session session(flags, outputs_);
//   if (session.exit_code() != kOk) return session.exit_code();
class Session {
 public:
  // Connects, and asks. If that fails, or if something is wrong with `outputs`, it says so on
  // standard error, and exit_code() is not kOk: then nothing else may be called. `flags` must
  // outlive it.
  explicit Session(const GlobalFlags& flags, const Outputs& outputs = Outputs());

  int exit_code() const { return exit_code_; }
  client::Client* client() const { return client_.get(); }
  const GlobalFlags& flags() const { return flags_; }
  const v1::GetCapabilitiesResponse& capabilities() const { return capabilities_; }
  // What the server takes, but not more than suits requests that overlap.
  RequestLimits limits() const;

 private:
  int Start(const Outputs& outputs);

  const GlobalFlags& flags_;
  std::unique_ptr<client::Client> client_;
  v1::GetCapabilitiesResponse capabilities_;
  const int exit_code_;
};

// Prints one line on standard error and returns the exit code that `status`, an error, stands for.
int Fail(const absl::Status& status, ExitCode code);
// The same for an error of Connect() or of a call.
int FailConnect(const absl::Status& status);
int FailRpc(const absl::Status& status);
int FailArguments(const absl::Status& status);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_SESSION_H_
