#include "server/operations/downconvert/downconvert_operation.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/converters/checks.h"
#include "server/jobs/fingerprint.h"
#include "server/operations/downconvert/downconvert.h"
#include "server/operations/downconvert/downconvert_metrics.h"
#include "server/operations/downconvert/downconvert_response.h"
#include "server/operations/downconvert/downconvert_setup.h"

namespace baseband::server {
namespace {

// A job whose response describes the channels.
class DescribedJob final : public DownconvertJob {
 public:
  DescribedJob(const Operation& operation, DownconvertSetup setup, DownconvertChannels channels,
               const downconvert::Block& block, DownconvertPast past,
               DownconvertPlanPtr plan = nullptr)
      : DownconvertJob(operation, std::move(channels), block, std::move(past), std::move(plan)),
        setup_(std::move(setup)) {}
  JobPtr Copy() const override {
    return std::make_unique<DescribedJob>(operation(), setup_, shared_channels(), block(), past(),
                                          shared_plan());
  }
  const DownconvertSetup& setup() const { return setup_; }

 private:
  const DownconvertSetup setup_;
};

// A request on its way to a job.
class DownconvertPreparation final : public Preparation {
 public:
  DownconvertPreparation(const Operation& operation, const RequestLimits& limits,
                         DownconvertFilters& filters, v1::DownconvertRequest message,
                         const Request& request)
      : operation_(operation),
        max_input_bytes_(limits.max_input_bytes),
        filters_(filters),
        message_(std::move(message)),
        payload_bytes_(request.payload.bytes()),
        client_(request.client) {}

  absl::StatusOr<JobPtr> Finish(const ContinueCheck& may_continue) override {
    return Make(&may_continue);
  }

  // Null: a filter has to be designed, and there is no `may_continue` to ask.
  absl::StatusOr<JobPtr> Make(const ContinueCheck* may_continue) {
    BASEBAND_ASSIGN_OR_RETURN(JobPtr job, MakeJob(may_continue));
    // Wherever in the signal its samples lie, as the messages of a stream.
    if (job != nullptr) {
      job->fingerprint = FingerprintOf(operation_, message_.setup().SerializeAsString());
    }
    return job;
  }

 private:
  absl::StatusOr<JobPtr> MakeJob(const ContinueCheck* may_continue) {
    BASEBAND_ASSIGN_OR_RETURN(absl::optional<DownconvertSetup> made,
                              SetupFromProto(message_.setup(), filters_, client_, may_continue));
    if (!made.has_value()) {
      return JobPtr();
    }
    DownconvertSetup& setup = *made;
    BASEBAND_ASSIGN_OR_RETURN(const int64_t samples, CountSamples(payload_bytes_, setup));
    BASEBAND_RETURN_IF_ERROR(CheckSamples(message_.first_sample(), samples));
    if (message_.history() > static_cast<uint64_t>(samples)) {
      return absl::InvalidArgumentError(absl::StrCat("history ", message_.history(),
                                                     " is more than the ", samples,
                                                     " samples of the payload"));
    }
    downconvert::Block block;
    block.format = setup.format;
    block.scale = setup.scale;
    block.first_index = static_cast<int64_t>(message_.first_sample());
    block.history = static_cast<int64_t>(message_.history());
    block.num_samples = samples;
    DownconvertPast past;
    if (message_.zero_history()) {
      const int64_t needed =
          std::min(downconvert::HistoryOf(*setup.channels), block.first_index + block.history);
      past.zeros = std::max<int64_t>(0, needed - block.history);
      BASEBAND_RETURN_IF_ERROR(CheckPast(setup, past.zeros));
      block.first_index -= past.zeros;
      block.history += past.zeros;
      block.num_samples += past.zeros;
    }
    DownconvertChannels channels = setup.channels;
    BASEBAND_RETURN_IF_ERROR(ApplyRetunes(message_.retunes(), setup, /*first=*/0,
                                          /*keep_from=*/block.first_index, &channels));
    BASEBAND_RETURN_IF_ERROR(CheckBlock(channels, block, past.zeros, max_input_bytes_));
    std::unique_ptr<DownconvertJob> job =
        message_.describe()
            ? std::make_unique<DescribedJob>(operation_, std::move(setup), std::move(channels),
                                             block, past)
            : std::make_unique<DownconvertJob>(operation_, std::move(channels), block, past);
    BASEBAND_RETURN_IF_ERROR(CheckJob(*job));
    return job;
  }

  const Operation& operation_;
  const int64_t max_input_bytes_;
  DownconvertFilters& filters_;
  const v1::DownconvertRequest message_;
  const int64_t payload_bytes_;
  const std::string client_;
};

class DownconvertOperation final : public Operation {
 public:
  explicit DownconvertOperation(std::shared_ptr<DownconvertFilters> filters)
      : Operation(Describe()), filters_(std::move(filters)) {}

  absl::StatusOr<Conversion> Convert(const Request& request, const RequestLimits& limits) override {
    BASEBAND_ASSIGN_OR_RETURN(auto message,
                              ParseHeader<v1::DownconvertRequest>(request, "DownconvertRequest"));
    auto preparation = std::make_unique<DownconvertPreparation>(*this, limits, *filters_,
                                                                std::move(message), request);
    Conversion result;
    BASEBAND_ASSIGN_OR_RETURN(result.job, preparation->Make(nullptr));
    if (result.job == nullptr) result.preparation = std::move(preparation);
    return result;
  }

  absl::StatusOr<Reply> ToReply(Job& base) override {
    auto& job = static_cast<DownconvertJob&>(base);
    BASEBAND_RETURN_IF_ERROR(CheckFinite(job));
    v1::DownconvertResponse header;
    FillResponse(job, &header);
    if (const auto* described = dynamic_cast<const DescribedJob*>(&job)) {
      DescribeChannels(described->setup(), &header);
    }
    return Reply{header.SerializeAsString(),
                 {{v1::DownconvertResponse::kPayloadFieldNumber, 0, job.reply_bytes}},
                 std::move(job.reply)};
  }

  std::unique_ptr<StreamSession> NewStream(const RequestLimits& limits,
                                           OperationMetrics& metrics) override {
    return NewDownconvertSession(*this, limits, *filters_,
                                 static_cast<DownconvertMetrics&>(metrics));
  }

  std::unique_ptr<OperationMetrics> MakeMetrics(prometheus::Registry& registry) const override {
    return std::make_unique<DownconvertMetrics>(registry);
  }
  void CountResults(const Job& job, OperationMetrics& metrics) const override {
    static_cast<DownconvertMetrics&>(metrics).Observe(static_cast<const DownconvertJob&>(job));
  }

  std::unique_ptr<Batch> MakeBatch(std::vector<JobPtr> jobs) const override {
    return MakeDownconvertBatch(std::move(jobs));
  }
  absl::Status PrepareCuda() const override { return PrepareDownconvertCuda(); }
  absl::Status SelfTest(SelfTestBench& bench) const override {
    return TestDownconvert(*this, bench);
  }

 private:
  static Description Describe() {
    Description description;
    description.name = "Downconvert";
    description.stream_name = "DownconvertStream";
    description.payload_field = v1::DownconvertRequest::kPayloadFieldNumber;
    description.submit_request_field = v1::SubmitRequest::kDownconvertFieldNumber;
    description.submit_response_field = v1::SubmitResponse::kDownconvertFieldNumber;
    description.cuda_workspace_bytes = kMaxDownconvertWorkspaceBytes;
    return description;
  }

  const std::shared_ptr<DownconvertFilters> filters_;
};

}  // namespace

std::unique_ptr<Operation> MakeDownconvertOperation(std::shared_ptr<DownconvertFilters> filters) {
  return std::make_unique<DownconvertOperation>(std::move(filters));
}

}  // namespace baseband::server
