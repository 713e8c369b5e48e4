#include "server/config/settings.h"

#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/nearest.h"
#include "kernels/base/status_macros.h"
#include "server/config/address.h"
#include "server/config/list_settings.h"
#include "server/config/logging.h"
#include "server/config/security_settings.h"
#include "server/config/setting_kinds.h"

namespace baseband::server {
namespace {

std::vector<Setting> MakeSettings() {
  return {
      DeviceSetting(),
      Switch("standby_cpu", &Config::standby_cpu,
             "Let the CPU take over once no other device is healthy"),
      ListenSetting(),
      Switch("allow_plaintext_network", &Config::allow_plaintext_network,
             "Let --listen name an address other hosts can reach, without encryption"),
      FileSetting("tls_cert", &Config::tls_cert,
                  "The server's certificate and its chain, PEM; every TCP address then speaks TLS"),
      FileSetting("tls_key", &Config::tls_key, "The private key of --tls-cert, PEM"),
      FileSetting("tls_client_ca", &Config::tls_client_ca,
                  "Authorities of clients' certificates, PEM"),
      Choice<bool>("tls_client_cert", {{"required", true}, {"optional", false}},
                   &Config::require_client_cert,
                   "With --tls-client-ca: whether who shows no certificate may connect"),
      AllowSetting(),
      FileSetting("tokens_file", &Config::tokens_file,
                  "Bearer tokens, lines of: NAME ROLE SHA256-OF-THE-TOKEN"),
      Switch("open_health", &Config::open_health, "Answer health checks of everybody"),
      SocketModeSetting(),
      Number("max_connections", 1, 1 << 20, &Config::max_connections,
             "Most connections at a time; more are closed at once"),
      Span("max_connection_age", 0, 86400 * 365, absl::Seconds(1), &Config::max_connection_age,
           "Ask clients to connect anew after so long; 0s: never"),
      Span("handshake", 1, 3600, absl::Seconds(1), &Config::handshake,
           "Close TCP connections that have not said by then what they want"),
      Span(
          "keepalive", 1, 86400, absl::Seconds(1), &Config::keepalive,
          "Ask silent connections whether they live after so long; the dead are closed 20 s later"),
      Span(
          "stall", 1, 3600, absl::Seconds(1), &Config::stall,
          "Cut off who takes longer to read a response, or to send a request; a second a MiB more"),
      AddressOrOff("admin_listen", AddressKind::kAny, &Config::admin_listen,
                   "Where to serve administration, to role admin"),
      AddressOrOff("shm_listen", AddressKind::kUnix, &Config::shm_listen,
                   "Where to grant clients of this host memory that they share with the server"),
      AddressOrOff("metrics_listen", AddressKind::kTcp, &Config::metrics_listen,
                   "Where to serve /metrics, /livez and /readyz; off or empty: nowhere"),
      CpusSetting(),
      Number("lanes", 1, 32, &Config::lanes, "Batches in flight on each GPU"),
      Number("cpu_threads", 0, 1024, &Config::cpu_threads,
             "Threads of the CPU device; 0: as many as it has cores, and time for by its control "
             "group"),
      Number("lane_input_mib", 1, 4096, &Config::lane_input_mib,
             "Input arena of a lane: most payload of one batch, MiB"),
      Number("lane_output_mib", 1, 4096, &Config::lane_output_mib,
             "Output arena of a lane: most results of one batch, MiB"),
      Number("staging_mib", 1, 65536, &Config::staging_mib,
             "Host memory for payloads that wait or are on their way, MiB"),
      Number("reply_mib", 1, 65536, &Config::reply_mib,
             "Host memory for replies not yet sent, MiB"),
      Number(
          "grpc_mib", 16, 65536, &Config::grpc_mib,
          "Host memory for messages that gRPC is receiving, MiB; beyond it some calls are ended"),
      Number("grpc_pinned_share", 0, 100, &Config::grpc_pinned_share,
             "Part of --grpc-mib that GPUs read payloads from where gRPC received them, percent, "
             "page-locked; 0: they are copied"),
      Number("memory_mib", 0, 1 << 24, &Config::memory_mib,
             "Memory the process may take, MiB, before it refuses work; 0: what its control group "
             "may"),
      Choice<Completion>("completion",
                         {{"spin", Completion::kSpin},
                          {"block", Completion::kBlock},
                          {"resident", Completion::kResident}},
                         &Config::completion,
                         "How a lane waits for its GPU: spin (fast), block (frees the core), or "
                         "resident (spins, and small encodes need no launch)"),
      Number("max_request_mib", 1, 1024, &Config::max_request_mib, "Largest request message, MiB"),
      Number("max_blocks_per_request", 1, 1 << 20, &Config::max_blocks_per_request,
             "Most code blocks or frames in a request"),
      Number("max_streams", 0, 65536, &Config::max_streams,
             "Most streams open at a time; more are refused"),
      Number("submit_requests", 1, 65536, &Config::submit_requests,
             "Most requests in flight on one Submit stream"),
      Number("submit_mib", 1, 65536, &Config::submit_mib,
             "Most of their bytes, MiB; a larger request goes alone"),
      Number("max_searches", 0, 65536, &Config::max_searches,
             "Most Minimize searches at a time; more are refused"),
      Span("max_search", 1, 86400, absl::Seconds(1), &Config::max_search,
           "Longest Minimize search taken, by its estimate"),
      Number("search_memory_mib", 1, 65536, &Config::search_memory_mib,
             "Host memory for all Minimize searches together, MiB; more are refused"),
      Number("shm_mib", 1, 1 << 20, &Config::shm_mib,
             "Memory that clients share with the server, by --shm-listen, MiB; more is refused"),
      Number("client_shm_mib", 1, 1 << 20, &Config::client_shm_mib,
             "Most of that for one client, MiB"),
      Number("ring_threads", 1, 64, &Config::ring_threads,
             "Threads that look after the rings in shared memory"),
      Span("ring_spin", 0, 1000000, absl::Microseconds(1), &Config::ring_spin,
           "A ring's thread looks for so long, after a request or an answer, before it sleeps"),
      Number("object_mib", 0, 65536, &Config::object_mib,
             "Memory of each device for what stays there between requests, MiB; 0: nothing does"),
      Number("client_object_mib", 1, 65536, &Config::client_object_mib,
             "Most of that for one client, MiB; its least recently used goes"),
      Span("object_lifetime", 1, 86400, absl::Seconds(1), &Config::object_lifetime,
           "What stays there goes when nobody has used it for so long"),
      Number("low_share", 0, 90, &Config::low_share,
             "Device time that low-priority work gets while it waits, percent; 0: what is left"),
      ClientShareSetting(),
      Number("client_requests", 0, 1 << 20, &Config::client_requests,
             "Most requests of one client in flight, of streams those in work; 0: no quota"),
      Number(
          "client_mib", 0, 65536, &Config::client_mib,
          "Most bytes of those requests, or of their replies where those are larger, MiB; one that "
          "is larger still goes alone; 0: no quota"),
      Number("client_streams", 0, 65536, &Config::client_streams,
             "Most streams and searches of one client at a time; 0: no quota"),
      Number("queue_requests", 1, 1 << 20, &Config::queue_requests,
             "Most requests waiting; more are refused with a retry hint"),
      Number(
          "queue_mib", 1, 65536, &Config::queue_mib,
          "Most bytes waiting, of requests or of their replies where those are larger, MiB; more "
          "is refused with a retry hint"),
      Number("max_batch_blocks", 1, 1 << 20, &Config::max_batch_blocks,
             "Most code blocks, frames or channels in a batch"),
      Number("max_batch_requests", 1, 65536, &Config::max_batch_requests,
             "Most requests in a batch"),
      Span("max_queue_delay", 0, 1000000, absl::Microseconds(1), &Config::max_queue_delay,
           "How long a batch may wait to grow while a lane is free; 0s: not at all"),
      Span("watchdog", 0, 86400, absl::Seconds(1), &Config::watchdog,
           "A device that makes no progress for so long is lost; 0s: never"),
      Number(
          "max_device_resets_per_hour", 0, 1000, &Config::max_device_resets_per_hour,
          "How often a device that has faulted is reset and served on; then it is lost for good"),
      Span("slow", 0, 3600000, absl::Milliseconds(1), &Config::slow,
           "Keep records of requests that take longer; 0s: of the slowest of each minute"),
      Switch("allow_fault_injection", &Config::allow_fault_injection,
             "Let admins make things go wrong: for tests"),
      Number("grpc_threads", 0, 256, &Config::grpc_threads,
             "Threads that serve gRPC; 0: one for two cores it may use, 2 to 6"),
      Span("drain", 0, 3600, absl::Seconds(1), &Config::drain_timeout,
           "Once it is told to end: how long accepted requests may take to finish"),
      Choice<std::string>("log_level", Words(LogLevels()), &Config::log_level,
                          "Least severe log line that is written"),
      Choice<LogFormat>("log_format", {{"text", LogFormat::kText}, {"json", LogFormat::kJson}},
                        &Config::log_format, "Log lines for people or for machines"),
  };
}

absl::Status CheckFits(absl::string_view small, int small_value, absl::string_view large,
                       int large_value, absl::string_view why) {
  if (small_value <= large_value) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(small, " ", small_value, " is larger than ", large,
                                                 " ", large_value, ": ", why));
}

// What two ways to write one address have in common; empty: whatever port is free.
absl::StatusOr<std::string> KeyOf(const std::string& text) {
  BASEBAND_ASSIGN_OR_RETURN(const Address address, ParseAddress(text));
  if (address.is_unix()) {
    std::error_code error;  // without a folder of its own a process has its path as it is
    const auto whole = std::filesystem::absolute(address.unix_path, error);
    return "unix:" +
           (error ? std::filesystem::path(address.unix_path) : whole).lexically_normal().string();
  }
  return address.port == 0 ? "" : text;
}

absl::Status CheckAddresses(const Config& config) {
  std::vector<std::pair<std::string, std::string>> all = {{"metrics_listen", config.metrics_listen},
                                                          {"admin_listen", config.admin_listen},
                                                          {"shm_listen", config.shm_listen}};
  for (const std::string& text : config.listen) all.emplace_back("listen", text);
  std::map<std::string, std::string> taken;  // the setting, by the address
  for (const auto& [setting, text] : all) {
    if (text.empty()) continue;
    BASEBAND_ASSIGN_OR_RETURN(const std::string key, KeyOf(text));
    if (key.empty()) continue;
    const auto [other, is_new] = taken.emplace(key, setting);
    if (!is_new) {
      return absl::InvalidArgumentError(absl::StrCat(setting, " ", text, " is taken by ",
                                                     other->second,
                                                     ": each of them needs an address of its own"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<Setting>& Settings() {
  static const auto& settings = *new std::vector<Setting>(MakeSettings());
  return settings;
}

std::vector<std::string> SettingNames() {
  std::vector<std::string> names;
  for (const Setting& setting : Settings()) names.push_back(setting.name);
  return names;
}

std::string WhereToLook(absl::string_view near) {
  return near.empty() ? "; basebandd --help lists them" : DidYouMean(near);
}

absl::Status CheckTogether(const Config& config) {
  BASEBAND_RETURN_IF_ERROR(CheckFits("max_request_mib", config.max_request_mib, "lane_input_mib",
                                     config.lane_input_mib,
                                     "a request has to fit into the input arena of a lane"));
  BASEBAND_RETURN_IF_ERROR(CheckFits("max_request_mib", config.max_request_mib, "queue_mib",
                                     config.queue_mib, "the queue has to hold a request"));
  BASEBAND_RETURN_IF_ERROR(CheckFits("max_request_mib", config.max_request_mib, "staging_mib",
                                     config.staging_mib, "staging has to hold a request"));
  BASEBAND_RETURN_IF_ERROR(CheckFits("lane_input_mib", config.lane_input_mib, "staging_mib",
                                     config.staging_mib,
                                     "staging has to hold what a lane takes of a request: its "
                                     "payload, with a stream's past before it"));
  BASEBAND_RETURN_IF_ERROR(CheckFits("lane_output_mib", config.lane_output_mib, "reply_mib",
                                     config.reply_mib,
                                     "memory for replies has to hold those of one batch"));
  BASEBAND_RETURN_IF_ERROR(CheckFits("max_request_mib", config.max_request_mib, "grpc_mib",
                                     config.grpc_mib, "gRPC has to hold a request it receives"));
  BASEBAND_RETURN_IF_ERROR(CheckSecurity(config));
  return CheckAddresses(config);
}

}  // namespace baseband::server
