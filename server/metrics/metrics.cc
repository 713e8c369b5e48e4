#include "server/metrics/metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/metric_names.h"
#include "kernels/base/steady_time.h"
#include "server/metrics/gpu_readings.h"
#include "server/metrics/histogram.h"
#include "server/metrics/process_sampler.h"
#include "server/metrics/series.h"

namespace baseband::server {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Labels;
using prometheus::Registry;
using Edges = Histogram::Edges;

// Edges on the slots of 5G NR: 125, 250, 500 us and 1 ms.
const Edges& SecondsBuckets() {
  static const auto& buckets = *new Edges{
      10e-6,  25e-6,  50e-6, 100e-6, 125e-6, 175e-6, 250e-6, 350e-6, 500e-6, 750e-6, 1e-3,
      1.5e-3, 2.5e-3, 5e-3,  10e-3,  25e-3,  50e-3,  100e-3, 250e-3, 500e-3, 1.0,    5.0};
  return buckets;
}

// Fewer: there is one for each stage of each operation. The slots are among them, too.
const Edges& StageBuckets() {
  static const auto& buckets = *new Edges{10e-6,  25e-6, 50e-6, 125e-6, 250e-6, 500e-6, 1e-3,
                                          2.5e-3, 5e-3,  10e-3, 25e-3,  100e-3, 1.0};
  return buckets;
}

// 0.75 and 1.25 bound what is called a right prediction.
const Edges& RatioBuckets() {
  static const auto& buckets =
      *new Edges{0.125, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 4.0, 8.0};
  return buckets;
}

std::string CodeName(size_t code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

}  // namespace

// What a scrape sees: the registry, after the samplers have run.
class Metrics::Scrape : public prometheus::Collectable {
 public:
  explicit Scrape(Metrics* metrics) : metrics_(metrics) {}

  void Add(std::function<void(Metrics&)> sample) {
    absl::MutexLock lock(&mutex_);
    samples_.push_back(std::move(sample));
  }

  std::vector<prometheus::MetricFamily> Collect() const override {
    {
      absl::MutexLock lock(&mutex_);
      for (const auto& sample : samples_) sample(*metrics_);
    }
    std::vector<prometheus::MetricFamily> families = metrics_->registry_->Collect();
    const auto add = [&families](std::vector<prometheus::MetricFamily> more) {
      std::move(more.begin(), more.end(), std::back_inserter(families));
    };
    add(metrics_->histograms_->Collect());
    add(metrics_->gpu_readings_->Collect(SteadyNow()));
    return families;
  }

 private:
  Metrics* const metrics_;
  mutable absl::Mutex mutex_;
  std::vector<std::function<void(Metrics&)>> samples_ ABSL_GUARDED_BY(mutex_);
};

Metrics::Metrics(absl::string_view version, absl::Span<const CountedOperation> operations)
    : registry_(std::make_shared<Registry>()),
      histograms_(std::make_unique<HistogramTable>()),
      gpu_readings_(std::make_shared<GpuReadings>()),
      scrape_(std::make_shared<Scrape>(this)) {
  for (const CountedOperation& operation : operations) {
    RegisterRequests(operation.rpc);
    RegisterDeadlines(operation.rpc);
    RegisterJobs(operation);
    if (*operation.stream_rpc.name != '\0') {
      RegisterRequests(operation.stream_rpc);
      RegisterDeadlines(operation.stream_rpc);
    }
  }
  for (const Rpc rpc : {kSubmitRpc, kGetCapabilitiesRpc, kAdminRpc, kHealthRpc, kReflectionRpc}) {
    RegisterRequests(rpc);
  }
  RegisterSchedule();
  RegisterAccess();
  RegisterProcess(version);
}

Metrics::~Metrics() = default;

void Metrics::RegisterRequests(Rpc rpc) {
  const std::string name = rpc.name;
  const Labels labels = {{"rpc", name}};
  PerRpc& series = Of(rpc);
  for (size_t code = 0; code < kNumCodes; ++code) {
    series.requests[code] =
        AddCounter(*registry_, metric::kRequests, {{"rpc", name}, {"code", CodeName(code)}});
  }
  for (size_t reason = 0; reason < kUnservedReasonNames.size(); ++reason) {
    series.unserved[reason] = AddCounter(*registry_, metric::kUnserved,
                                         {{"rpc", name}, {"reason", kUnservedReasonNames[reason]}});
  }
  series.in_flight = AddGauge(*registry_, metric::kRequestsInFlight, labels);
  series.request_bytes = AddCounter(*registry_, metric::kRequestBytes, labels);
  series.response_bytes = AddCounter(*registry_, metric::kResponseBytes, labels);
  series.unread = AddCounter(*registry_, metric::kUnread, labels);
  series.unread_bytes = AddCounter(*registry_, metric::kUnreadBytes, labels);
  series.bytes_in_vain = AddCounter(*registry_, metric::kBytesInVain, labels);
}

void Metrics::RegisterDeadlines(Rpc rpc) {
  for (size_t outcome = 0; outcome < kDeadlineOutcomeNames.size(); ++outcome) {
    Of(rpc).deadlines[outcome] =
        AddCounter(*registry_, metric::kDeadlines,
                   {{"rpc", rpc.name}, {"outcome", kDeadlineOutcomeNames[outcome]}});
  }
}

void Metrics::RegisterJobs(const CountedOperation& operation) {
  const std::string name = operation.rpc.name;
  const Labels rpc = {{"rpc", name}};
  PerRpc& series = Of(operation.rpc);
  series.duration = histograms_->Add(metric::kRequestDuration, SecondsBuckets(), rpc);
  for (size_t stage = 0; stage < kStageNames.size(); ++stage) {
    series.stages[stage] = histograms_->Add(metric::kStage, StageBuckets(),
                                            {{"rpc", name}, {"stage", kStageNames[stage]}});
  }
  series.batches = AddCounter(*registry_, metric::kBatches, rpc);
  series.batch_blocks = histograms_->Add(metric::kBatchBlocks, PowersOf(4, 1 << 16), rpc);
  series.batch_requests = histograms_->Add(metric::kBatchRequests, PowersOf(2, 1 << 10), rpc);
  series.queue_requests = AddGauge(*registry_, metric::kQueueRequests, rpc);
  if (operation.make_metrics) series.results = operation.make_metrics(*registry_);
}

void Metrics::RegisterSchedule() {
  for (size_t i = 0; i < kPriorityNames.size(); ++i) {
    const Labels priority = {{"priority", kPriorityNames[i]}};
    device_seconds_[i] = AddCounter(*registry_, metric::kDeviceSeconds, priority);
    predictions_[i] = histograms_->Add(metric::kPrediction, RatioBuckets(), priority);
    queue_ages_[i] = AddGauge(*registry_, metric::kQueueAge, priority);
  }
  other_clients_ = AddCounter(*registry_, metric::kClientDeviceSeconds, {{"client", "other"}});
  queue_bytes_ = AddGauge(*registry_, metric::kQueueBytes);
  quarantined_ = AddGauge(*registry_, metric::kQuarantined);
  reads_waiting_ = AddGauge(*registry_, metric::kMessageReads, {{"state", "waiting"}});
  reads_ = AddGauge(*registry_, metric::kMessageReads, {{"state", "reading"}});
  reads_overdue_ = AddGauge(*registry_, metric::kMessageReads, {{"state", "overdue"}});
  read_rate_ = AddGauge(*registry_, metric::kReadRate);
  read_ahead_ = AddGauge(*registry_, metric::kReadAhead);
  queue_capacity_requests_ = AddGauge(*registry_, metric::kQueueCapacityRequests);
  queue_capacity_bytes_ = AddGauge(*registry_, metric::kQueueCapacityBytes);
}

void Metrics::RegisterProcess(absl::string_view version) {
  AddGauge(*registry_, metric::kBuildInfo, {{"version", std::string(version)}})->Set(1);
  AddGauge(*registry_, metric::kProcessStart)->Set(ProcessStartSeconds());
  AddGauge(*registry_, metric::kProcessMaxFds)->Set(ProcessMaxFds());
  Counter* const cpu = AddCounter(*registry_, metric::kProcessCpu);
  Gauge* const resident = AddGauge(*registry_, metric::kProcessResident);
  Gauge* const fds = AddGauge(*registry_, metric::kProcessOpenFds);
  scrape_->Add([=](Metrics&) {
    cpu->Increment(std::max(0.0, ProcessCpuSeconds() - cpu->Value()));
    resident->Set(ProcessResidentBytes());
    fds->Set(ProcessOpenFds());
  });
}

int Metrics::AddPool(const std::string& pool, int64_t capacity_bytes) {
  AddGauge(*registry_, metric::kPoolCapacityBytes, {{"pool", pool}})
      ->Set(static_cast<double>(capacity_bytes));
  pools_used_.push_back(AddGauge(*registry_, metric::kPoolUsedBytes, {{"pool", pool}}));
  return static_cast<int>(pools_used_.size()) - 1;
}

void Metrics::SetQueueCapacity(int64_t requests, int64_t bytes) {
  queue_capacity_requests_->Set(static_cast<double>(requests));
  queue_capacity_bytes_->Set(static_cast<double>(bytes));
}

void Metrics::BeforeScrape(std::function<void(Metrics&)> sample) {
  scrape_->Add(std::move(sample));
}

void Metrics::RequestStarted(Rpc rpc, int64_t request_bytes, int64_t count) {
  Of(rpc).in_flight->Increment(static_cast<double>(count));
  Of(rpc).request_bytes->Increment(static_cast<double>(request_bytes));
}

void Metrics::CountUnread(Rpc rpc, int64_t bytes) {
  Of(rpc).unread->Increment();
  Of(rpc).unread_bytes->Increment(static_cast<double>(bytes));
}

void Metrics::AddBytesInVain(Rpc rpc, int64_t bytes) {
  if (bytes > 0) Of(rpc).bytes_in_vain->Increment(static_cast<double>(bytes));
}

void Metrics::AddRequestBytes(Rpc rpc, int64_t request_bytes) {
  Of(rpc).request_bytes->Increment(static_cast<double>(request_bytes));
}

void Metrics::RequestFinished(Rpc rpc, const absl::Status& status, absl::Duration duration,
                              int64_t response_bytes, int64_t count) {
  PerRpc& series = Of(rpc);
  const auto requests = static_cast<double>(count);
  series.in_flight->Decrement(requests);
  series.requests[static_cast<size_t>(status.code())]->Increment(requests);
  if (!status.ok()) series.unserved[static_cast<size_t>(ReasonOf(status))]->Increment(requests);
  if (series.duration != nullptr) {
    series.duration->Observe(absl::ToDoubleSeconds(duration), static_cast<uint64_t>(count));
  }
  series.response_bytes->Increment(static_cast<double>(response_bytes));
}

void Metrics::RequestsWithdrawn(Rpc rpc, int64_t count) {
  Of(rpc).in_flight->Decrement(static_cast<double>(count));
}

void Metrics::ObserveStage(Rpc rpc, Stage stage, absl::Duration duration, int64_t count) {
  if (Histogram* const histogram = Of(rpc).stages[static_cast<size_t>(stage)]) {
    histogram->Observe(absl::ToDoubleSeconds(duration), static_cast<uint64_t>(count));
  }
}

void Metrics::CountDeadline(Rpc rpc, DeadlineOutcome outcome, int64_t count) {
  Of(rpc).deadlines[static_cast<size_t>(outcome)]->Increment(static_cast<double>(count));
}

void Metrics::AddDeviceTime(Priority priority, double seconds) {
  device_seconds_[static_cast<size_t>(priority)]->Increment(seconds);
}

void Metrics::ObservePrediction(Priority priority, double ratio) {
  predictions_[static_cast<size_t>(priority)]->Observe(ratio);
}

void Metrics::ObserveBatch(Rpc rpc, int blocks, int requests) {
  PerRpc& series = Of(rpc);
  series.batches->Increment();
  series.batch_blocks->Observe(blocks);
  series.batch_requests->Observe(requests);
}

void Metrics::SetQueueRequests(Rpc rpc, int64_t requests) {
  Of(rpc).queue_requests->Set(static_cast<double>(requests));
}

void Metrics::SetQueueBytes(int64_t bytes) { queue_bytes_->Set(static_cast<double>(bytes)); }

void Metrics::SetReads(int64_t waiting, int64_t reading, int64_t overdue, double rate,
                       double ahead_s) {
  reads_waiting_->Set(static_cast<double>(waiting));
  reads_->Set(static_cast<double>(reading));
  reads_overdue_->Set(static_cast<double>(overdue));
  read_rate_->Set(rate);
  read_ahead_->Set(ahead_s);
}

void Metrics::SetQueueAge(Priority priority, absl::Duration oldest) {
  queue_ages_[static_cast<size_t>(priority)]->Set(absl::ToDoubleSeconds(oldest));
}

void Metrics::SetPoolUsed(int pool, int64_t bytes) {
  pools_used_[static_cast<size_t>(pool)]->Set(static_cast<double>(bytes));
}

std::string Metrics::Render() const {
  return prometheus::TextSerializer().Serialize(scrape_->Collect());
}

}  // namespace baseband::server
