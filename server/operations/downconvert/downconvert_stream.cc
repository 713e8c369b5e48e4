// DownconvertStream: what a stream remembers from message to message.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "kernels/base/status_macros.h"
#include "server/converters/checks.h"
#include "server/device/object_store.h"
#include "server/jobs/fingerprint.h"
#include "server/operations/downconvert/downconvert.h"
#include "server/operations/downconvert/downconvert_metrics.h"
#include "server/operations/downconvert/downconvert_operation.h"
#include "server/operations/downconvert/downconvert_response.h"
#include "server/operations/downconvert/downconvert_setup.h"

namespace baseband::server {
namespace {

// A message and what its response says of it.
class MessageJob final : public DownconvertJob {
 public:
  using DownconvertJob::DownconvertJob;
  JobPtr Copy() const override { return nullptr; }  // its plan is moved on

  int64_t gap = 0;  // samples that were missing before it
  bool describe = false;
};

// All that a message needs of those before it is known when it arrives, the samples of the past
// from their bytes: Convert may be called for the next ones before ToReply for the first.
class DownconvertSession final : public StreamSession {
 public:
  DownconvertSession(const Operation& operation, const RequestLimits& limits,
                     DownconvertFilters& filters, DownconvertMetrics& metrics)
      : operation_(operation),
        max_input_bytes_(limits.max_input_bytes),
        filters_(filters),
        metrics_(metrics) {}

  ~DownconvertSession() override {
    absl::MutexLock lock(&mutex_);
    Remove(kept_);
  }

  absl::StatusOr<Conversion> Convert(const Request& request) override {
    BASEBAND_ASSIGN_OR_RETURN(v1::DownconvertRequest message,
                              ParseHeader<v1::DownconvertRequest>(request, "DownconvertRequest"));
    if (message.history() != 0 || message.zero_history()) {
      return absl::InvalidArgumentError(
          absl::StrCat(message.zero_history() ? "zero_history" : "history",
                       " is set: a stream keeps what its filters need itself"));
    }
    const bool first = channels_ == nullptr;
    if (message.has_setup() != first) {
      return absl::InvalidArgumentError(first
                                            ? "setup is not set in the first message of the stream"
                                            : "setup is set again: a stream has one");
    }
    Conversion result;
    if (first) {
      client_ = std::string(request.client);
      BASEBAND_ASSIGN_OR_RETURN(const bool is_set_up, SetUp(message, nullptr));
      if (!is_set_up) {
        result.preparation =
            std::make_unique<FirstMessage>(this, std::move(message), request.payload);
        return result;
      }
    }
    BASEBAND_ASSIGN_OR_RETURN(result.job, MakeJob(message, request.payload, first));
    return result;
  }

  absl::StatusOr<Reply> ToReply(Job& base) override {
    auto& job = static_cast<MessageJob&>(base);
    TakeOver(job.TakeKept());
    BASEBAND_RETURN_IF_ERROR(CheckFinite(job));
    v1::DownconvertResponse header;
    FillResponse(job, &header);
    header.set_history(0);
    header.set_gap(static_cast<uint64_t>(job.gap));
    if (job.describe) {
      DescribeChannels(setup_, &header);
    }
    metrics_.Observe(job);
    job.objects.clear();  // the next message may use them
    {
      absl::MutexLock lock(&mutex_);
      plans_.push_back(job.TakePlan());
      --in_flight_;
    }
    return Reply{header.SerializeAsString(),
                 {{v1::DownconvertResponse::kPayloadFieldNumber, 0, job.reply_bytes}},
                 std::move(job.reply)};
  }

 private:
  // A first message whose filters have to be designed.
  class FirstMessage final : public Preparation {
   public:
    FirstMessage(DownconvertSession* session, v1::DownconvertRequest message, Payload payload)
        : session_(*session), message_(std::move(message)), payload_(std::move(payload)) {}
    absl::StatusOr<JobPtr> Finish(const ContinueCheck& may_continue) override {
      BASEBAND_RETURN_IF_ERROR(session_.SetUp(message_, &may_continue).status());
      return session_.MakeJob(message_, payload_, /*first=*/true);
    }

   private:
    DownconvertSession& session_;
    const v1::DownconvertRequest message_;
    const Payload payload_;
  };

  // False: filters have to be designed, and there is no `may_continue` to ask.
  absl::StatusOr<bool> SetUp(const v1::DownconvertRequest& message,
                             const ContinueCheck* may_continue) {
    BASEBAND_ASSIGN_OR_RETURN(absl::optional<DownconvertSetup> made,
                              SetupFromProto(message.setup(), filters_, client_, may_continue));
    if (!made.has_value()) {
      return false;
    }
    setup_ = *std::move(made);
    needed_ = downconvert::HistoryOf(*setup_.channels);
    BASEBAND_RETURN_IF_ERROR(CheckPast(setup_, needed_));
    channels_ = setup_.channels;
    fingerprint_ = FingerprintOf(operation_, message.setup().SerializeAsString());
    return true;
  }

  absl::StatusOr<JobPtr> MakeJob(const v1::DownconvertRequest& message, const Payload& payload,
                                 bool first) {
    BASEBAND_ASSIGN_OR_RETURN(const int64_t gap, MoveTo(message, first));
    BASEBAND_ASSIGN_OR_RETURN(const int64_t samples, CountSamples(payload.bytes(), setup_));
    BASEBAND_RETURN_IF_ERROR(CheckSamples(static_cast<uint64_t>(next_), samples));

    const int64_t kept = past_.zeros + received();
    downconvert::Block block;
    block.format = setup_.format;
    block.scale = setup_.scale;
    block.first_index = next_ - kept;
    block.history = kept;
    block.num_samples = kept + samples;
    BASEBAND_RETURN_IF_ERROR(
        ApplyRetunes(message.retunes(), setup_, next_, block.first_index, &channels_));
    BASEBAND_RETURN_IF_ERROR(CheckBlock(channels_, block, kept, max_input_bytes_));
    // What a device has kept is not sent there again; it is here, too, in case that is gone.
    const ResidentPast resident = UseKept(kept);
    DownconvertPast past = Pass(payload, samples);
    if (resident.device != nullptr) {
      past = DownconvertPast();
      past.resident = kept;
    }
    auto job =
        std::make_unique<MessageJob>(operation_, channels_, block, std::move(past), TakePlan());
    if (resident.device != nullptr) {
      job->device = resident.device;
      job->objects.push_back(resident.object);
    }
    // Who does not wait for answers sends the next message before anything could be kept for it.
    if (const int64_t keep = std::min(needed_, next_) * setup_.bytes_per_sample();
        keep >= kMinKeptBytes && !IsAnyInFlight()) {
      job->Keep(past_name_, keep / setup_.bytes_per_sample(), needed_ * setup_.bytes_per_sample());
    }
    job->fingerprint = fingerprint_;
    job->gap = gap;
    job->describe = first || message.describe();
    BASEBAND_RETURN_IF_ERROR(CheckJob(*job));
    absl::MutexLock lock(&mutex_);
    ++in_flight_;
    return job;
  }

  // To the place of the message's samples; returns how many are missing before them. Where the
  // stream begins elsewhere than at sample 0, and after a gap, the filters see zeros before it.
  absl::StatusOr<int64_t> MoveTo(const v1::DownconvertRequest& message, bool first) {
    if (!message.has_first_sample() || message.first_sample() == static_cast<uint64_t>(next_)) {
      return 0;
    }
    BASEBAND_RETURN_IF_ERROR(CheckSamples(message.first_sample(), 0));
    const auto place = static_cast<int64_t>(message.first_sample());
    if (place < next_) {
      return absl::InvalidArgumentError(absl::StrCat("first_sample ", place,
                                                     " was in the stream already: ", next_,
                                                     " or a later one comes next"));
    }
    const int64_t gap = first ? 0 : place - next_;
    if (gap > 0) metrics_.CountGap();
    next_ = place;
    past_.received.clear();
    past_.zeros = std::min(needed_, next_);
    return gap;
  }

  // Goes on behind a message of `samples`, and returns the past that it has to have.
  DownconvertPast Pass(const Payload& payload, int64_t samples) {
    next_ += samples;
    const int64_t bytes = setup_.bytes_per_sample();
    const int64_t keep = std::min(needed_, next_);
    const int64_t of_message = std::min(keep, samples);
    const int64_t of_received = std::min(keep - of_message, received());
    DownconvertPast past;
    past.zeros = keep - of_message - of_received;
    past.received.resize(static_cast<size_t>((of_received + of_message) * bytes));
    uint8_t* const target = std::copy(past_.received.end() - of_received * bytes,
                                      past_.received.end(), past.received.data());
    payload.CopyPart((samples - of_message) * bytes, of_message * bytes, target);
    return std::exchange(past_, std::move(past));
  }

  struct ResidentPast {
    Device* device = nullptr;  // null: none
    ObjectPin object;
  };
  // The `samples` before the next one, if a device has just them.
  ResidentPast UseKept(int64_t samples) {
    KeptPast kept;
    {
      absl::MutexLock lock(&mutex_);
      kept = kept_;
    }
    if (kept.device == nullptr || kept.end != next_ || kept.samples != samples ||
        !kept.device->healthy()) {
      return {};
    }
    absl::StatusOr<ObjectPin> object = kept.device->objects()->Use(kept.key);
    if (!object.ok()) return {};
    return {kept.device, *std::move(object)};
  }

  // `next` is the past from now on; what lies elsewhere is no use any more.
  void TakeOver(KeptPast next) {
    absl::MutexLock lock(&mutex_);
    if (kept_.device != next.device) Remove(kept_);
    kept_ = std::move(next);
  }

  bool IsAnyInFlight() {
    absl::MutexLock lock(&mutex_);
    return in_flight_ > 0;
  }

  // One that no job uses, if there is one.
  DownconvertPlanPtr TakePlan() {
    absl::MutexLock lock(&mutex_);
    if (plans_.empty()) return nullptr;
    DownconvertPlanPtr plan = std::move(plans_.back());
    plans_.pop_back();
    return plan;
  }

  int64_t received() const {
    return static_cast<int64_t>(past_.received.size()) / setup_.bytes_per_sample();
  }

  static std::string NewPastName() {
    static std::atomic<uint64_t> last{0};
    return absl::StrCat("stream ", ++last, "/past");
  }

  const Operation& operation_;
  const std::string past_name_ = NewPastName();  // on devices
  const int64_t max_input_bytes_;
  DownconvertFilters& filters_;
  DownconvertMetrics& metrics_;
  std::string client_;            // of the first message
  DownconvertSetup setup_;        // once there was a message; and
  DownconvertChannels channels_;  // with the retunes that are not over
  int64_t needed_ = 0;            // samples of the past
  int64_t next_ = 0;              // place of the next sample
  DownconvertPast past_;          // the samples before it, min(needed_, next_) of them
  uint64_t fingerprint_ = 0;      // of the setup

  absl::Mutex mutex_;
  std::vector<DownconvertPlanPtr> plans_ ABSL_GUARDED_BY(mutex_);  // of jobs that are done
  KeptPast kept_ ABSL_GUARDED_BY(mutex_);      // of the last one, by the device that it ran on
  int in_flight_ ABSL_GUARDED_BY(mutex_) = 0;  // jobs made and not yet done
};

}  // namespace

std::unique_ptr<StreamSession> NewDownconvertSession(const Operation& operation,
                                                     const RequestLimits& limits,
                                                     DownconvertFilters& filters,
                                                     DownconvertMetrics& metrics) {
  return std::make_unique<DownconvertSession>(operation, limits, filters, metrics);
}

}  // namespace baseband::server
