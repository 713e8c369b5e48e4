// What the server counts and times. The names stand in common/metric_names.h; here is how they are
// moved.
//
// Thread-safe. Every series is registered at construction (AddDevice and AddPool: at start), so
// that a counter costs an atomic add and a histogram two, and nothing throws later;
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
#include "absl/types/span.h"
#include "server/metrics/operation_metrics.h"
#include "server/metrics/rpc.h"
#include "server/metrics/unserved.h"

namespace prometheus {
class Counter;
class Gauge;
class Registry;
}  // namespace prometheus

namespace baseband::server {

// Label values, in the order of their enums.
enum class Stage { kReceive, kQueue, kCopyIn, kH2d, kKernel, kD2h, kReply };
inline constexpr std::array<const char*, 7> kStageNames = {"receive", "queue", "copy_in", "h2d",
                                                           "kernel",  "d2h",   "reply"};

// Why a device gets no work.
enum class DeviceLoss {
  kError,    // it said so: an error after which nothing works on it until it is reset
  kStuck,    // what it was given does not end
  kInjected  // an admin wanted it so
};
inline constexpr std::array<const char*, 3> kDeviceLossNames = {"error", "stuck", "injected"};

// Why an object that lived on a device is gone.
enum class ObjectLoss {
  kOwnerQuota,  // its client has others, and may not have so much
  kRoom,        // others needed the room
  kExpired,     // nobody used it for long
  kDevice       // the device was lost
};
inline constexpr std::array<const char*, 4> kObjectLossNames = {"quota", "room", "expired",
                                                                "device_lost"};

// The classes of requests, the most urgent first.
enum class Priority { kHigh, kNormal, kLow };
inline constexpr std::array<const char*, 3> kPriorityNames = {"high", "normal", "low"};

// Whether the result of a request was handed over before its deadline.
enum class DeadlineOutcome { kMet, kMissed };
inline constexpr std::array<const char*, 2> kDeadlineOutcomeNames = {"met", "missed"};

class GpuReadings;
class Histogram;
class HistogramTable;

class Metrics {
 public:
  // So many clients have device time under their own name: those seen first.
  static constexpr size_t kMaxClientNames = 31;

  explicit Metrics(absl::string_view version, absl::Span<const CountedOperation> operations = {});
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
  void SetMaxConnections(int64_t connections);
  // Runs `sample` before each scrape, on the scraping thread: the place to set gauges from state
  // that somebody else keeps. It must stay callable while a scrape can happen.
  void BeforeScrape(std::function<void(Metrics&)> sample);

  // ----------------------------------------------------------------------------- hot path
  // Durations, stages, batches and queues belong to the RPCs that are jobs of a device; of all
  // others durations and stages are ignored, and the rest must not be called.
  // `count`: of so many requests that went together, each the same; bytes are those of all.
  // Requests have arrived; RequestFinished must follow for each, or RequestsWithdrawn: they count
  // as if they had not come. If `status` is not OK, each counts as not served, by ReasonOf(status).
  void RequestStarted(Rpc rpc, int64_t request_bytes, int64_t count = 1);
  void RequestFinished(Rpc rpc, const absl::Status& status, absl::Duration duration,
                       int64_t response_bytes, int64_t count = 1);
  void RequestsWithdrawn(Rpc rpc, int64_t count);
  // A request of `bytes` was refused before its message was read.
  void CountUnread(Rpc rpc, int64_t bytes);
  // Of a request that was read and not served, though nothing was wrong with it.
  void AddBytesInVain(Rpc rpc, int64_t bytes);
  // A stream's requests come one by one: more bytes of what has started.
  void AddRequestBytes(Rpc rpc, int64_t request_bytes);
  void ObserveStage(Rpc rpc, Stage stage, absl::Duration duration, int64_t count = 1);
  // Of an accepted request that had a deadline. For jobs, and streams of them.
  void CountDeadline(Rpc rpc, DeadlineOutcome outcome, int64_t count = 1);
  void ObserveBatch(Rpc rpc, int blocks, int requests);
  // What a batch took of a device, see DeviceClock.
  void AddDeviceTime(Priority priority, double seconds);
  // The same by client, whose name may be any bytes. Allocates when it meets one of the first
  // kMaxClientNames.
  void AddClientTime(const std::string& client, double seconds);
  // Of a job whose end was predicted: the time it took over the time it was to take.
  void ObservePrediction(Priority priority, double ratio);
  // Payload that a request and its reply have in memory shared with the client.
  void AddSharedBytes(int64_t request_bytes, int64_t reply_bytes);
  // Payload that came in messages: left where gRPC received it, and brought together.
  void AddPayloadBytes(int64_t in_place, int64_t gathered);
  // What an operation counts of its results: what it made, of its own type.
  OperationMetrics& ResultsOf(Rpc rpc) { return *Of(rpc).results; }
  void CountRefusedConnection();
  void CountEndedStrangers(int64_t count);
  // A certificate or the tokens could not be read anew; the old ones still hold.
  void CountReloadFailure();
  // `device` from AddDevice, `lane` below its num_lanes.
  void AddLaneBusy(int device, int lane, absl::Duration busy);
  void CountDeviceLost(int device, DeviceLoss reason);
  void CountDeviceReset(int device);

  // -------------------------------------------------------------------------------- gauges
  void SetQueueRequests(Rpc rpc, int64_t requests);
  void SetQueueBytes(int64_t bytes);
  void SetQuarantined(int64_t fingerprints);
  // Messages that wait to be read, that are read, those of them that take too long, bytes of
  // messages a second, and how many seconds of them begin at a time.
  void SetReads(int64_t waiting, int64_t reading, int64_t overdue, double rate, double ahead_s);
  void SetQueueAge(Priority priority, absl::Duration oldest);
  void SetDeviceHealthy(int device, bool healthy);
  // `dropped`: since the start, by ObjectLoss.
  void SetDeviceObjects(int device, int64_t bytes, int64_t objects,
                        const std::array<int64_t, kObjectLossNames.size()>& dropped);
  void SetPoolUsed(int pool, int64_t bytes);
  void SetOpenConnections(int64_t connections);
  void SetSharedRegions(int64_t regions);
  void SetRings(int64_t rings);
  // `step`: kMemoryStep says which.
  void SetMemory(int64_t limit, int64_t used, int step);
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
    std::array<prometheus::Counter*, kUnservedReasonNames.size()> unserved{};
    Histogram* duration = nullptr;
    prometheus::Gauge* in_flight = nullptr;
    prometheus::Counter* request_bytes = nullptr;
    prometheus::Counter* response_bytes = nullptr;
    prometheus::Counter* unread = nullptr;
    prometheus::Counter* unread_bytes = nullptr;
    prometheus::Counter* bytes_in_vain = nullptr;
    std::array<Histogram*, kStageNames.size()> stages{};
    std::array<prometheus::Counter*, kDeadlineOutcomeNames.size()> deadlines{};
    prometheus::Counter* batches = nullptr;
    Histogram* batch_blocks = nullptr;
    Histogram* batch_requests = nullptr;
    prometheus::Gauge* queue_requests = nullptr;
    std::unique_ptr<OperationMetrics> results;
  };
  struct PerDevice {
    prometheus::Gauge* healthy = nullptr;
    std::array<prometheus::Counter*, kDeviceLossNames.size()> lost{};
    prometheus::Counter* resets = nullptr;
    prometheus::Gauge* object_bytes = nullptr;
    prometheus::Gauge* objects = nullptr;
    std::array<prometheus::Counter*, kObjectLossNames.size()> objects_dropped{};
    std::vector<prometheus::Counter*> lanes_busy;
  };

  void RegisterRequests(Rpc rpc);
  void RegisterDeadlines(Rpc rpc);
  void RegisterJobs(const CountedOperation& operation);
  void RegisterSchedule();
  void RegisterAccess();
  void RegisterProcess(absl::string_view version);
  PerRpc& Of(Rpc rpc) { return rpcs_[rpc.row]; }

  std::shared_ptr<prometheus::Registry> registry_;
  const std::unique_ptr<HistogramTable> histograms_;
  const std::shared_ptr<GpuReadings> gpu_readings_;
  std::shared_ptr<Scrape> scrape_;
  std::array<PerRpc, kMaxRpcRows> rpcs_;
  std::vector<PerDevice> devices_;
  std::vector<prometheus::Gauge*> pools_used_;
  std::array<prometheus::Counter*, kPriorityNames.size()> device_seconds_{};
  std::array<Histogram*, kPriorityNames.size()> predictions_{};
  std::array<prometheus::Gauge*, kPriorityNames.size()> queue_ages_{};
  absl::Mutex clients_mutex_;
  std::unordered_map<std::string, prometheus::Counter*> clients_ ABSL_GUARDED_BY(clients_mutex_);
  prometheus::Counter* other_clients_ = nullptr;
  prometheus::Gauge* queue_bytes_ = nullptr;
  prometheus::Gauge* quarantined_ = nullptr;
  prometheus::Gauge* reads_waiting_ = nullptr;
  prometheus::Gauge* reads_ = nullptr;
  prometheus::Gauge* reads_overdue_ = nullptr;
  prometheus::Gauge* read_rate_ = nullptr;
  prometheus::Gauge* read_ahead_ = nullptr;
  prometheus::Gauge* queue_capacity_requests_ = nullptr;
  prometheus::Gauge* queue_capacity_bytes_ = nullptr;
  prometheus::Gauge* memory_limit_ = nullptr;
  prometheus::Gauge* memory_used_ = nullptr;
  prometheus::Gauge* memory_step_ = nullptr;
  prometheus::Gauge* open_connections_ = nullptr;
  prometheus::Gauge* max_connections_ = nullptr;
  prometheus::Counter* connections_refused_ = nullptr;
  prometheus::Counter* payload_bytes_in_place_ = nullptr;
  prometheus::Counter* payload_bytes_gathered_ = nullptr;
  prometheus::Counter* shared_bytes_in_ = nullptr;
  prometheus::Counter* shared_bytes_out_ = nullptr;
  prometheus::Gauge* shared_regions_ = nullptr;
  prometheus::Gauge* rings_ = nullptr;
  prometheus::Counter* strangers_ended_ = nullptr;
  prometheus::Gauge* certificate_expiry_ = nullptr;
  prometheus::Counter* reload_failures_ = nullptr;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_METRICS_METRICS_H_
