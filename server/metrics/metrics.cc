#include "server/metrics/metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <utility>

#include "kernels/base/steady_time.h"
#include "server/metrics/gpu_readings.h"
#include "server/metrics/names.h"
#include "server/metrics/process_sampler.h"
#include "server/metrics/series.h"

namespace baseband::server {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;
using prometheus::Registry;
using Buckets = Histogram::BucketBoundaries;

// Edges on the slots of 5G NR: 125, 250, 500 us and 1 ms.
const Buckets& SecondsBuckets() {
  static const auto& buckets = *new Buckets{
      10e-6,  25e-6,  50e-6, 100e-6, 125e-6, 175e-6, 250e-6, 350e-6, 500e-6, 750e-6, 1e-3,
      1.5e-3, 2.5e-3, 5e-3,  10e-3,  25e-3,  50e-3,  100e-3, 250e-3, 500e-3, 1.0,    5.0};
  return buckets;
}

// 0.75 and 1.25 bound what is called a right prediction.
const Buckets& RatioBuckets() {
  static const auto& buckets =
      *new Buckets{0.125, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 4.0, 8.0};
  return buckets;
}

Buckets PowersOfTwo(int largest) {
  Buckets buckets;
  for (int edge = 1; edge <= largest; edge *= 2) buckets.push_back(edge);
  return buckets;
}

const Buckets& IterationBuckets() {
  static const auto& buckets =
      *new Buckets{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 25, 32, 50, 100};
  return buckets;
}

std::string CodeName(size_t code) {
  return absl::StatusCodeToString(static_cast<absl::StatusCode>(code));
}

// Whether calls of `rpc` become jobs of a device.
bool HasJobs(Rpc rpc) { return rpc <= Rpc::kMinimize; }

// Whether what comes by `rpc` is accepted, and then done in time or not.
bool HasDeadlines(Rpc rpc) { return HasJobs(rpc) || rpc == Rpc::kDownconvertStream; }

}  // namespace

void DecodeTally::Add(int iterations, bool parity_ok) {
  ++blocks_[static_cast<size_t>(std::clamp(iterations, 0, kMaxIterations))];
  if (!parity_ok) ++parity_failures_;
}

void CarrierTally::Add(CarrierLock lock, int64_t symbols, double evm) {
  ++frames_[static_cast<size_t>(lock)];
  symbols_ += symbols;
  if (lock == CarrierLock::kLocked) {
    const auto edge = std::lower_bound(kEvmEdges.begin(), kEvmEdges.end(), evm);
    ++evm_[static_cast<size_t>(edge - kEvmEdges.begin())];
    evm_sum_ += evm;
  }
}

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
    for (prometheus::MetricFamily& family : metrics_->gpu_readings_->Collect(SteadyNow())) {
      families.push_back(std::move(family));
    }
    return families;
  }

 private:
  Metrics* const metrics_;
  mutable absl::Mutex mutex_;
  std::vector<std::function<void(Metrics&)>> samples_ ABSL_GUARDED_BY(mutex_);
};

Metrics::Metrics(absl::string_view version)
    : registry_(std::make_shared<Registry>()),
      gpu_readings_(std::make_shared<GpuReadings>()),
      scrape_(std::make_shared<Scrape>(this)) {
  RegisterRequests();
  RegisterJobs();
  RegisterAccess();
  RegisterProcess(version);
}

Metrics::~Metrics() = default;

void Metrics::RegisterRequests() {
  for (size_t i = 0; i < kRpcNames.size(); ++i) {
    const Labels rpc = {{"rpc", kRpcNames[i]}};
    PerRpc& series = rpcs_[i];
    for (size_t code = 0; code < kNumCodes; ++code) {
      const Labels labels = {{"rpc", kRpcNames[i]}, {"code", CodeName(code)}};
      series.requests[code] = AddCounter(*registry_, names::kRequests, labels);
      if (code != 0) series.rejected[code] = AddCounter(*registry_, names::kRejected, labels);
    }
    series.duration = AddHistogram(*registry_, names::kRequestDuration, SecondsBuckets(), rpc);
    series.in_flight = AddGauge(*registry_, names::kRequestsInFlight, rpc);
    series.request_bytes = AddCounter(*registry_, names::kRequestBytes, rpc);
    series.response_bytes = AddCounter(*registry_, names::kResponseBytes, rpc);
    for (size_t outcome = 0; outcome < kDeadlineOutcomeNames.size(); ++outcome) {
      if (!HasDeadlines(static_cast<Rpc>(i))) break;
      series.deadlines[outcome] =
          AddCounter(*registry_, names::kDeadlines,
                     {{"rpc", kRpcNames[i]}, {"outcome", kDeadlineOutcomeNames[outcome]}});
    }
  }
}

void Metrics::RegisterJobs() {
  for (size_t i = 0; i < kRpcNames.size(); ++i) {
    if (!HasJobs(static_cast<Rpc>(i))) continue;
    const std::string name = kRpcNames[i];
    const Labels rpc = {{"rpc", name}};
    PerRpc& series = rpcs_[i];
    for (size_t stage = 0; stage < kStageNames.size(); ++stage) {
      series.stages[stage] = AddHistogram(*registry_, names::kStage, SecondsBuckets(),
                                          {{"rpc", name}, {"stage", kStageNames[stage]}});
    }
    for (size_t cause = 0; cause < kDropCauseNames.size(); ++cause) {
      series.dropped[cause] = AddCounter(*registry_, names::kDropped,
                                         {{"rpc", name}, {"cause", kDropCauseNames[cause]}});
    }
    series.batches = AddCounter(*registry_, names::kBatches, rpc);
    series.batch_blocks = AddHistogram(*registry_, names::kBatchBlocks, PowersOfTwo(1 << 16), rpc);
    series.batch_requests =
        AddHistogram(*registry_, names::kBatchRequests, PowersOfTwo(1 << 10), rpc);
    series.queue_depth = AddGauge(*registry_, names::kQueueDepth, rpc);
  }
  for (const Rpc rpc : {Rpc::kEncode, Rpc::kDecode}) {
    const std::string name = kRpcNames[static_cast<size_t>(rpc)];
    PerRpc& series = Of(rpc);
    for (size_t family = 0; family < kCodeFamilyNames.size(); ++family) {
      series.blocks[family] = AddCounter(*registry_, names::kCodeBlocks,
                                         {{"rpc", name}, {"family", kCodeFamilyNames[family]}});
    }
    series.information_bits = AddCounter(*registry_, names::kInformationBits, {{"rpc", name}});
  }
  for (size_t cause = 0; cause < kRefusalCauseNames.size(); ++cause) {
    refused_[cause] =
        AddCounter(*registry_, names::kRefused, {{"cause", kRefusalCauseNames[cause]}});
  }
  for (size_t i = 0; i < kPriorityNames.size(); ++i) {
    const Labels priority = {{"priority", kPriorityNames[i]}};
    device_seconds_[i] = AddCounter(*registry_, names::kDeviceSeconds, priority);
    predictions_[i] = AddHistogram(*registry_, names::kPrediction, RatioBuckets(), priority);
    queue_ages_[i] = AddGauge(*registry_, names::kQueueAge, priority);
  }
  other_clients_ = AddCounter(*registry_, names::kClientDeviceSeconds, {{"client", "other"}});
  queue_bytes_ = AddGauge(*registry_, names::kQueueBytes);
  queue_capacity_requests_ = AddGauge(*registry_, names::kQueueCapacityRequests);
  queue_capacity_bytes_ = AddGauge(*registry_, names::kQueueCapacityBytes);
  decode_iterations_ = AddHistogram(*registry_, names::kDecodeIterations, IterationBuckets());
  decode_parity_failures_ = AddCounter(*registry_, names::kDecodeParityFailures);
  for (size_t lock = 0; lock < kCarrierLockNames.size(); ++lock) {
    carrier_frames_[lock] =
        AddCounter(*registry_, names::kCarrierFrames, {{"lock", kCarrierLockNames[lock]}});
  }
  carrier_symbols_ = AddCounter(*registry_, names::kCarrierSymbols);
  carrier_evm_ =
      AddHistogram(*registry_, names::kCarrierEvm,
                   Buckets(CarrierTally::kEvmEdges.begin(), CarrierTally::kEvmEdges.end()));
  downconvert_in_ = AddCounter(*registry_, names::kDownconvertSamples, {{"direction", "in"}});
  downconvert_out_ = AddCounter(*registry_, names::kDownconvertSamples, {{"direction", "out"}});
  downconvert_channels_ =
      AddHistogram(*registry_, names::kDownconvertChannels, PowersOfTwo(1 << 10));
  downconvert_saturations_ = AddCounter(*registry_, names::kDownconvertSaturations);
  downconvert_gaps_ = AddCounter(*registry_, names::kDownconvertGaps);
  searched_points_ = AddCounter(*registry_, names::kSearchedPoints);
  program_hits_ = AddCounter(*registry_, names::kPrograms, {{"cache", "hit"}});
  program_misses_ = AddCounter(*registry_, names::kPrograms, {{"cache", "miss"}});
}

void Metrics::RegisterProcess(absl::string_view version) {
  AddGauge(*registry_, names::kBuildInfo, {{"version", std::string(version)}})->Set(1);
  AddGauge(*registry_, names::kProcessStart)->Set(ProcessStartSeconds());
  AddGauge(*registry_, names::kProcessMaxFds)->Set(ProcessMaxFds());
  Counter* const cpu = AddCounter(*registry_, names::kProcessCpu);
  Gauge* const resident = AddGauge(*registry_, names::kProcessResident);
  Gauge* const fds = AddGauge(*registry_, names::kProcessOpenFds);
  scrape_->Add([=](Metrics&) {
    cpu->Increment(std::max(0.0, ProcessCpuSeconds() - cpu->Value()));
    resident->Set(ProcessResidentBytes());
    fds->Set(ProcessOpenFds());
  });
}

int Metrics::AddPool(const std::string& pool, int64_t capacity_bytes) {
  AddGauge(*registry_, names::kPoolCapacityBytes, {{"pool", pool}})
      ->Set(static_cast<double>(capacity_bytes));
  pools_used_.push_back(AddGauge(*registry_, names::kPoolUsedBytes, {{"pool", pool}}));
  return static_cast<int>(pools_used_.size()) - 1;
}

void Metrics::SetQueueCapacity(int64_t requests, int64_t bytes) {
  queue_capacity_requests_->Set(static_cast<double>(requests));
  queue_capacity_bytes_->Set(static_cast<double>(bytes));
}

void Metrics::BeforeScrape(std::function<void(Metrics&)> sample) {
  scrape_->Add(std::move(sample));
}

void Metrics::RequestStarted(Rpc rpc, int64_t request_bytes) {
  Of(rpc).in_flight->Increment();
  Of(rpc).request_bytes->Increment(static_cast<double>(request_bytes));
}

void Metrics::AddRequestBytes(Rpc rpc, int64_t request_bytes) {
  Of(rpc).request_bytes->Increment(static_cast<double>(request_bytes));
}

void Metrics::RequestFinished(Rpc rpc, absl::StatusCode code, absl::Duration duration,
                              int64_t response_bytes) {
  PerRpc& series = Of(rpc);
  series.in_flight->Decrement();
  series.requests[static_cast<size_t>(code)]->Increment();
  series.duration->Observe(absl::ToDoubleSeconds(duration));
  series.response_bytes->Increment(static_cast<double>(response_bytes));
}

void Metrics::ObserveStage(Rpc rpc, Stage stage, absl::Duration duration) {
  if (Histogram* const histogram = Of(rpc).stages[static_cast<size_t>(stage)]) {
    histogram->Observe(absl::ToDoubleSeconds(duration));
  }
}

void Metrics::CountRejected(Rpc rpc, absl::StatusCode code) {
  Of(rpc).rejected[static_cast<size_t>(code)]->Increment();
}

void Metrics::CountDropped(Rpc rpc, DropCause cause) {
  Of(rpc).dropped[static_cast<size_t>(cause)]->Increment();
}

void Metrics::CountRefused(RefusalCause cause) {
  refused_[static_cast<size_t>(cause)]->Increment();
}

void Metrics::CountDeadline(Rpc rpc, DeadlineOutcome outcome) {
  Of(rpc).deadlines[static_cast<size_t>(outcome)]->Increment();
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

void Metrics::CountBlocks(Rpc rpc, CodeFamily family, int64_t blocks, int64_t information_bits) {
  PerRpc& series = Of(rpc);
  series.blocks[static_cast<size_t>(family)]->Increment(static_cast<double>(blocks));
  series.information_bits->Increment(static_cast<double>(information_bits));
}

void Metrics::ObserveDecode(const DecodeTally& tally) {
  const Buckets& edges = IterationBuckets();
  std::vector<double> increments(edges.size() + 1);
  double sum = 0;
  for (size_t iterations = 0; iterations < tally.blocks_.size(); ++iterations) {
    if (tally.blocks_[iterations] == 0) continue;
    const auto edge = std::lower_bound(edges.begin(), edges.end(), static_cast<double>(iterations));
    increments[static_cast<size_t>(edge - edges.begin())] += tally.blocks_[iterations];
    sum += static_cast<double>(iterations) * tally.blocks_[iterations];
  }
  decode_iterations_->ObserveMultiple(increments, sum);
  decode_parity_failures_->Increment(static_cast<double>(tally.parity_failures_));
}

void Metrics::ObserveCarrier(const CarrierTally& tally) {
  for (size_t lock = 0; lock < tally.frames_.size(); ++lock) {
    carrier_frames_[lock]->Increment(static_cast<double>(tally.frames_[lock]));
  }
  carrier_symbols_->Increment(static_cast<double>(tally.symbols_));
  carrier_evm_->ObserveMultiple({tally.evm_.begin(), tally.evm_.end()}, tally.evm_sum_);
}

void Metrics::ObserveDownconvert(int64_t samples_in, int64_t samples_out, int channels,
                                 int64_t saturated) {
  downconvert_in_->Increment(static_cast<double>(samples_in));
  downconvert_out_->Increment(static_cast<double>(samples_out));
  downconvert_channels_->Observe(channels);
  downconvert_saturations_->Increment(static_cast<double>(saturated));
}

void Metrics::CountGap() { downconvert_gaps_->Increment(); }

void Metrics::CountSearchedPoints(int64_t points) {
  searched_points_->Increment(static_cast<double>(points));
}

void Metrics::CountPrograms(bool hit) { (hit ? program_hits_ : program_misses_)->Increment(); }

void Metrics::SetQueueDepth(Rpc rpc, int64_t requests) {
  Of(rpc).queue_depth->Set(static_cast<double>(requests));
}

void Metrics::SetQueueBytes(int64_t bytes) { queue_bytes_->Set(static_cast<double>(bytes)); }

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
