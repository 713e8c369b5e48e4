// What the server counts and times. The names stand in names.h; here is how they are moved.
//
// Thread-safe. Every series is registered at construction (AddDevice and AddPool: at start), so
// that a counter costs an atomic add and a histogram an uncontended lock, and nothing throws later;
// but those of clients, when they come, and of GPUs, with their readings. Knows no gRPC, no CUDA.
#ifndef BASEBAND_SERVER_METRICS_METRICS_H_
#define BASEBAND_SERVER_METRICS_METRICS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
class Registry;
}  // namespace prometheus

namespace baseband::server {

// Label values, in the order of their enums. A new operation adds its name here and in kRpcNames.
enum class Rpc {
  kEncode,
  kDecode,
  kRecoverCarrier,
  kDownconvert,
  kMinimize,           // its jobs are pieces of searches
  kDownconvertStream,  // its requests are whole streams; their messages' jobs are Downconvert's
  kSubmit,             // likewise; their messages count as requests of the operations they bring
  kGetCapabilities
};
inline constexpr std::array<const char*, 8> kRpcNames = {
    "Encode", "Decode",         "RecoverCarrier", "Downconvert", "Minimize", "DownconvertStream",
    "Submit", "GetCapabilities"};

enum class Stage { kReceive, kQueue, kCopyIn, kH2d, kKernel, kD2h, kReply };
inline constexpr std::array<const char*, 7> kStageNames = {"receive", "queue", "copy_in", "h2d",
                                                           "kernel",  "d2h",   "reply"};

enum class CodeFamily { kNr, kWimax, kWifi, kCustom };
inline constexpr std::array<const char*, 4> kCodeFamilyNames = {"nr", "wimax", "wifi", "custom"};

// What became of a frame's carrier.
enum class CarrierLock { kLocked, kNoSignal, kNoPeak, kAmbiguous, kBadFit };
inline constexpr std::array<const char*, 5> kCarrierLockNames = {"locked", "no_signal", "no_peak",
                                                                 "ambiguous", "bad_fit"};

enum class DropCause { kDeadline, kCancelled, kShutdown };
inline constexpr std::array<const char*, 3> kDropCauseNames = {"deadline", "cancelled", "shutdown"};

// Why a device gets no more work.
enum class DeviceLoss {
  kError,    // it said so: an error after which nothing works on it
  kStuck,    // what it was given does not end
  kInjected  // an admin wanted it so
};
inline constexpr std::array<const char*, 3> kDeviceLossNames = {"error", "stuck", "injected"};

// The classes of requests, the most urgent first.
enum class Priority { kHigh, kNormal, kLow };
inline constexpr std::array<const char*, 3> kPriorityNames = {"high", "normal", "low"};

// Why a request was refused that was right in itself.
enum class RefusalCause {
  kQueueRequests,   // as many wait as may
  kQueueBytes,      // their payload, likewise
  kDeadline,        // too early for any server
  kBacklog,         // its deadline, with what goes before it
  kClientRequests,  // a quota of its client
  kClientBytes,
  kClientStreams
};
inline constexpr std::array<const char*, 7> kRefusalCauseNames = {
    "queue_requests",  "queue_bytes",  "deadline",      "backlog",
    "client_requests", "client_bytes", "client_streams"};

// Whether the result of a request was handed over before its deadline.
enum class DeadlineOutcome { kMet, kMissed };
inline constexpr std::array<const char*, 2> kDeadlineOutcomeNames = {"met", "missed"};

// Why a call was refused before anything of it was read.
enum class Denial { kNoCredentials, kBadToken, kNotAllowed };
inline constexpr std::array<const char*, 3> kDenialNames = {"no_credentials", "bad_token",
                                                            "not_allowed"};

// Gathers the outcomes of a batch's code blocks without touching a metric. Not thread-safe.
class DecodeTally {
 public:
  static constexpr int kMaxIterations = 100;
  // `iterations` in [0, kMaxIterations]; anything else counts as the nearer end.
  void Add(int iterations, bool parity_ok);

 private:
  friend class Metrics;
  std::array<uint32_t, kMaxIterations + 1> blocks_{};  // by iterations
  uint64_t parity_failures_ = 0;
};

// Gathers the outcomes of a batch's frames without touching a metric. Not thread-safe.
class CarrierTally {
 public:
  // Upper edges of the EVM histogram, rms over rms; the last bucket has no edge.
  static constexpr std::array<double, 12> kEvmEdges = {0.01, 0.02, 0.03, 0.05, 0.07, 0.1,
                                                       0.15, 0.2,  0.3,  0.5,  0.7,  1.0};
  // `evm` counts if the frame is locked.
  void Add(CarrierLock lock, int64_t symbols, double evm);

 private:
  friend class Metrics;
  std::array<uint64_t, kCarrierLockNames.size()> frames_{};
  std::array<uint32_t, kEvmEdges.size() + 1> evm_{};
  double evm_sum_ = 0;
  int64_t symbols_ = 0;
};

class GpuReadings;

class Metrics {
 public:
  // So many clients have device time under their own name: those seen first.
  static constexpr size_t kMaxClientNames = 31;

  explicit Metrics(absl::string_view version);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // ------------------------------------------------------------------------------- at start
  // A device and its lanes; returns the number the other calls know it by. `device` is its id
  // ("cuda:0", "cpu"), `kind` "cuda" or "cpu", `name` the maker's. Healthy is 0 until set.
  int AddDevice(const std::string& device, const std::string& kind, const std::string& name,
                int num_lanes);
  // A pool of memory ("staging", "reply", "cuda:0 pinned"); returns its number.
  int AddPool(const std::string& pool, int64_t capacity_bytes);
  void SetQueueCapacity(int64_t requests, int64_t bytes);
  void SetConnectionsCapacity(int64_t connections);
  // Runs `sample` before each scrape, on the scraping thread: the place to set gauges from state
  // that somebody else keeps. It must stay callable while a scrape can happen.
  void BeforeScrape(std::function<void(Metrics&)> sample);

  // ----------------------------------------------------------------------------- hot path
  // Stages, batches, blocks, drops and queues belong to the RPCs that are jobs of a device;
  // GetCapabilities and streams are not: their stages are ignored, the rest must not be called.
  // A request has arrived; exactly one RequestFinished must follow.
  void RequestStarted(Rpc rpc, int64_t request_bytes);
  void RequestFinished(Rpc rpc, absl::StatusCode code, absl::Duration duration,
                       int64_t response_bytes);
  // A stream's requests come one by one: more bytes of what has started.
  void AddRequestBytes(Rpc rpc, int64_t request_bytes);
  void ObserveStage(Rpc rpc, Stage stage, absl::Duration duration);
  // Refused before it was queued. Goes with RequestFinished, not instead of it.
  void CountRejected(Rpc rpc, absl::StatusCode code);
  // Left the queue unlaunched.
  void CountDropped(Rpc rpc, DropCause cause);
  void CountRefused(RefusalCause cause);
  // Of an accepted request that had a deadline. Not for streams of requests of their own, Submit,
  // nor for GetCapabilities.
  void CountDeadline(Rpc rpc, DeadlineOutcome outcome);
  void ObserveBatch(Rpc rpc, int blocks, int requests);
  // What a batch took of a device, see DeviceClock.
  void AddDeviceTime(Priority priority, double seconds);
  // The same by client, whose name may be any bytes. Allocates when it meets one of the first
  // kMaxClientNames.
  void AddClientTime(const std::string& client, double seconds);
  // Of a job whose end was predicted: the time it took over the time it was to take.
  void ObservePrediction(Priority priority, double ratio);
  // For Encode and Decode.
  void CountBlocks(Rpc rpc, CodeFamily family, int64_t blocks, int64_t information_bits);
  void ObserveDecode(const DecodeTally& tally);
  void ObserveCarrier(const CarrierTally& tally);
  // A piece of a wideband signal has become `samples_out` samples of `channels` channels together.
  void ObserveDownconvert(int64_t samples_in, int64_t samples_out, int channels, int64_t saturated);
  void CountGap();
  void CountSearchedPoints(int64_t points);
  void CountPrograms(bool hit);
  void CountDenied(Denial reason);
  void CountRefusedConnection();
  // A certificate or the tokens could not be read anew; the old ones still hold.
  void CountReloadFailure();
  // `device` from AddDevice, `lane` below its num_lanes.
  void AddLaneBusy(int device, int lane, absl::Duration busy);
  void CountDeviceLost(int device, DeviceLoss cause);

  // -------------------------------------------------------------------------------- gauges
  void SetQueueDepth(Rpc rpc, int64_t requests);
  void SetQueueBytes(int64_t bytes);
  void SetQueueAge(Priority priority, absl::Duration oldest);
  void SetDeviceHealthy(int device, bool healthy);
  void SetPoolUsed(int pool, int64_t bytes);
  void SetConnections(int64_t open);
  void SetCertificateExpiry(absl::Time expiry);
  // Where whoever asks the driver writes what it says of the GPUs.
  std::shared_ptr<GpuReadings> gpu_readings() const { return gpu_readings_; }

  // -------------------------------------------------------------------------------- reading
  // The metrics page, in the text format of Prometheus.
  std::string Render() const;

 private:
  class Scrape;
  static constexpr size_t kNumCodes = 17;  // canonical codes

  struct PerRpc {
    std::array<prometheus::Counter*, kNumCodes> requests{};
    std::array<prometheus::Counter*, kNumCodes> rejected{};
    prometheus::Histogram* duration = nullptr;
    prometheus::Gauge* in_flight = nullptr;
    prometheus::Counter* request_bytes = nullptr;
    prometheus::Counter* response_bytes = nullptr;
    std::array<prometheus::Histogram*, kStageNames.size()> stages{};
    std::array<prometheus::Counter*, kDropCauseNames.size()> dropped{};
    std::array<prometheus::Counter*, kDeadlineOutcomeNames.size()> deadlines{};
    prometheus::Counter* batches = nullptr;
    prometheus::Histogram* batch_blocks = nullptr;
    prometheus::Histogram* batch_requests = nullptr;
    prometheus::Gauge* queue_depth = nullptr;
    std::array<prometheus::Counter*, kCodeFamilyNames.size()> blocks{};
    prometheus::Counter* information_bits = nullptr;
  };
  struct PerDevice {
    prometheus::Gauge* healthy = nullptr;
    std::array<prometheus::Counter*, kDeviceLossNames.size()> lost{};
    std::vector<prometheus::Counter*> lanes_busy;
  };

  void RegisterRequests();
  void RegisterJobs();
  void RegisterAccess();
  void RegisterProcess(absl::string_view version);
  PerRpc& Of(Rpc rpc) { return rpcs_[static_cast<size_t>(rpc)]; }

  std::shared_ptr<prometheus::Registry> registry_;
  const std::shared_ptr<GpuReadings> gpu_readings_;
  std::shared_ptr<Scrape> scrape_;
  std::array<PerRpc, kRpcNames.size()> rpcs_;
  std::vector<PerDevice> devices_;
  std::vector<prometheus::Gauge*> pools_used_;
  std::array<prometheus::Counter*, kRefusalCauseNames.size()> refused_{};
  std::array<prometheus::Counter*, kPriorityNames.size()> device_seconds_{};
  std::array<prometheus::Histogram*, kPriorityNames.size()> predictions_{};
  std::array<prometheus::Gauge*, kPriorityNames.size()> queue_ages_{};
  absl::Mutex clients_mutex_;
  std::unordered_map<std::string, prometheus::Counter*> clients_ ABSL_GUARDED_BY(clients_mutex_);
  prometheus::Counter* other_clients_ = nullptr;
  prometheus::Gauge* queue_bytes_ = nullptr;
  prometheus::Gauge* queue_capacity_requests_ = nullptr;
  prometheus::Gauge* queue_capacity_bytes_ = nullptr;
  prometheus::Histogram* decode_iterations_ = nullptr;
  prometheus::Counter* decode_parity_failures_ = nullptr;
  std::array<prometheus::Counter*, kCarrierLockNames.size()> carrier_frames_{};
  prometheus::Counter* carrier_symbols_ = nullptr;
  prometheus::Histogram* carrier_evm_ = nullptr;
  prometheus::Counter* downconvert_in_ = nullptr;
  prometheus::Counter* downconvert_out_ = nullptr;
  prometheus::Histogram* downconvert_channels_ = nullptr;
  prometheus::Counter* downconvert_saturations_ = nullptr;
  prometheus::Counter* downconvert_gaps_ = nullptr;
  prometheus::Counter* searched_points_ = nullptr;
  prometheus::Counter* program_hits_ = nullptr;
  prometheus::Counter* program_misses_ = nullptr;
  std::array<prometheus::Counter*, kDenialNames.size()> denied_{};
  prometheus::Gauge* connections_ = nullptr;
  prometheus::Gauge* connections_capacity_ = nullptr;
  prometheus::Counter* connections_refused_ = nullptr;
  prometheus::Gauge* certificate_expiry_ = nullptr;
  prometheus::Counter* reload_failures_ = nullptr;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_METRICS_METRICS_H_
