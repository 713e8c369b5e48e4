// What basebandd was told: its flags and their equivalents.
//
// Every setting has one name, `lanes`, and four places, the first that names it wins:
//   flag --lanes=4  >  environment BASEBANDD_LANES=4  >  file (--config FILE) lanes = 4  >  default
// A setting that repeats (`listen`) is taken whole from one place; in the environment its values
// are separated by commas. A name nobody knows is an error wherever it stands, and so is a value
// outside its range. Exempt are BASEBANDD_PORT, BASEBANDD_PORT_* and BASEBANDD_SERVICE_*, which
// Kubernetes puts into the environment of every pod beside a service called basebandd.
#ifndef BASEBAND_SERVER_CONFIG_CONFIG_H_
#define BASEBAND_SERVER_CONFIG_CONFIG_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace baseband::server {

// "0.1.0"
absl::string_view Version();

// --device=auto|cpu|cuda[:i,j]
struct DeviceSelection {
  enum class Kind {
    kAuto,  // every GPU that works, else the CPU
    kCpu,
    kCuda,  // no GPU is an error
  };
  Kind kind = Kind::kAuto;
  std::vector<int> cuda_ordinals;  // kCuda: these GPUs, in order; empty: all
};

enum class LogFormat { kText, kJson };
// How a lane learns that the GPU is done: kSpin is 8 us faster, kBlock leaves the core to others.
// kResident spins, too, and small encodes go to a kernel that stays on the GPU for them.
enum class Completion { kSpin, kBlock, kResident };

struct Config {
  DeviceSelection device;
  std::vector<std::string> listen = {"127.0.0.1:50151"};  // HOST:PORT or unix:PATH
  std::string admin_listen;                               // HOST:PORT or unix:PATH; empty: off
  std::string metrics_listen = "127.0.0.1:9151";          // HOST:PORT; empty: no such pages
  std::string shm_listen;                                 // unix:PATH; empty: off
  bool allow_plaintext_network = false;

  std::string tls_cert, tls_key, tls_client_ca;  // PEM files; empty: none
  bool require_client_cert = true;               // --tls-client-cert
  std::vector<std::string> allow;                // ROLE=SUBJECT each, see access_rule.h
  std::string tokens_file;
  bool open_health = true;
  int socket_mode = 0600;
  int max_connections = 4096;
  absl::Duration max_connection_age;             // --max-connection-age; zero: without end
  absl::Duration handshake = absl::Seconds(20);  // --handshake
  absl::Duration keepalive = absl::Seconds(60);  // --keepalive
  absl::Duration stall = absl::Seconds(10);      // --stall

  // Whether a call needs a role. If not, whoever can connect may call.
  bool access_is_limited() const { return !allow.empty() || !tokens_file.empty(); }

  int lanes = 4;        // per CUDA device
  std::set<int> cpus;   // that threads run on; empty: all that the process may use
  int cpu_threads = 0;  // of the CPU device; 0: UsableCores()
  int lane_input_mib = 64;
  int lane_output_mib = 64;
  int staging_mib = 512;
  int reply_mib = 512;
  int grpc_mib = 1024;
  int grpc_pinned_share = 50;  // percent of that: where GPUs read what was received
  int memory_mib = 0;          // of the process; 0: what its control group may take
  Completion completion = Completion::kSpin;

  int max_request_mib = 64;
  int max_blocks_per_request = 65536;
  int max_streams = 256;       // open at a time
  int submit_requests = 1024;  // in flight on one Submit stream
  int submit_mib = 64;
  int max_searches = 64;  // at a time
  absl::Duration max_search = absl::Seconds(600);
  int search_memory_mib = 1024;
  int shm_mib = 1024;  // of all regions of memory that clients share
  int client_shm_mib = 512;
  int ring_threads = 1;  // that look after the rings in it
  absl::Duration ring_spin = absl::Microseconds(200);
  int object_mib = 256;  // of each device, for what lives on it between requests
  int client_object_mib = 64;
  absl::Duration object_lifetime = absl::Seconds(60);  // without use
  int low_share = 5;                                   // percent of the device time
  std::map<std::string, int> client_share;             // weights, by client
  int client_requests = 0;  // in flight, of one client; 0: as many as there is room for
  int client_mib = 0;
  int client_streams = 0;  // and searches
  int queue_requests = 4096;
  int queue_mib = 256;
  int max_batch_blocks = 16384;
  int max_batch_requests = 1024;
  absl::Duration watchdog = absl::Seconds(10);  // --watchdog; zero: none
  int max_device_resets_per_hour = 4;           // of one device that has faulted
  bool standby_cpu = false;
  bool allow_fault_injection = false;
  absl::Duration slow;             // --slow; zero: the slowest of each minute
  absl::Duration max_queue_delay;  // --max-queue-delay; zero: a batch never waits to grow

  int grpc_threads = 0;                              // 0: by UsableCores()
  absl::Duration drain_timeout = absl::Seconds(30);  // --drain

  std::string log_level = "info";  // trace, debug, info, warning, error or off
  LogFormat log_format = LogFormat::kText;
};

inline constexpr int64_t MibToBytes(int mib) { return int64_t{mib} * 1024 * 1024; }

// What to do with a command line that is right.
struct Command {
  enum class Action {
    kServe,
    kPrint,  // --help, --version: print `output` and exit with 0
    kCheck,  // --check-config: the same if the cores and files that `config` names serve
  };
  Action action = Action::kServe;
  Config config;
  std::string effective;  // kServe: what --check-config would print
  std::string output;
};

// Reads the command line, `environment` ("NAME=value" each; null-terminated, as `environ`) and the
// file that --config or BASEBANDD_CONFIG names. The output of --check-config is a file for --config
// that repeats the effective configuration. InvalidArgument names the place, the value and the
// range, or the nearest known name; NotFound if the file cannot be opened.
absl::StatusOr<Command> ParseCommandLine(int argc, const char* const* argv,
                                         const char* const* environment);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_CONFIG_CONFIG_H_
