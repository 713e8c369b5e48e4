// Downconvert between the wire and its job.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/converters/downconvert_setup.h"
#include "server/converters/rpc.h"
#include "server/operations/downconvert.h"

namespace baseband::server {
namespace {

// A job whose response describes the channels.
class DescribedJob final : public DownconvertJob {
 public:
  DescribedJob(DownconvertSetup setup, DownconvertChannels channels,
               const downconvert::Block& block, std::vector<uint8_t> before)
      : DownconvertJob(std::move(channels), block, std::move(before)), setup_(std::move(setup)) {}
  const DownconvertSetup& setup() const { return setup_; }

 private:
  const DownconvertSetup setup_;
};

absl::StatusOr<JobPtr> FromProto(const RequestView& request, const RequestLimits& limits,
                                 RequestCaches& caches) {
  v1::DownconvertRequest message;
  if (!message.ParseFromString(request.header())) {
    return absl::InvalidArgumentError("the request is not a well-formed DownconvertRequest");
  }
  BASEBAND_ASSIGN_OR_RETURN(DownconvertSetup setup,
                            SetupFromProto(message.setup(), caches.filters, limits.patience));
  BASEBAND_ASSIGN_OR_RETURN(const auto retunes, RetunesFromProto(message.retunes(), setup));
  BASEBAND_RETURN_IF_ERROR(ApplyRetunes(retunes, /*keep_from=*/0, &setup.channels));
  BASEBAND_ASSIGN_OR_RETURN(const int64_t samples, CountSamples(request.payload_bytes(), setup));
  BASEBAND_RETURN_IF_ERROR(CheckSamples(message.first_sample(), samples));
  if (message.history() > static_cast<uint64_t>(samples)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "history ", message.history(), " is more than the ", samples, " samples of the payload"));
  }
  downconvert::Block block;
  block.format = setup.format;
  block.scale = setup.scale;
  block.first_index = static_cast<int64_t>(message.first_sample());
  block.history = static_cast<int64_t>(message.history());
  block.num_samples = samples;
  std::vector<uint8_t> zeros;
  if (message.zero_history()) {
    const int64_t needed =
        std::min(downconvert::HistoryOf(setup.channels), block.first_index + block.history);
    const int64_t missing = std::max<int64_t>(0, needed - block.history);
    zeros.resize(static_cast<size_t>(missing * setup.bytes_per_sample()));
    block.first_index -= missing;
    block.history += missing;
    block.num_samples += missing;
  }
  auto channels = std::make_shared<std::vector<downconvert::Channel>>(setup.channels);
  BASEBAND_RETURN_IF_ERROR(CheckJob(*channels, block));
  if (message.describe()) {
    return std::make_unique<DescribedJob>(std::move(setup), std::move(channels), block,
                                          std::move(zeros));
  }
  return std::make_unique<DownconvertJob>(std::move(channels), block, std::move(zeros));
}

absl::StatusOr<grpc::ByteBuffer> ToProto(Job& base) {
  auto& job = static_cast<DownconvertJob&>(base);
  v1::DownconvertResponse header;
  FillResponse(job, &header);
  if (const auto* described = dynamic_cast<const DescribedJob*>(&job)) {
    DescribeChannels(described->setup(), &header);
  }
  const BulkField payload = {v1::DownconvertResponse::kPayloadFieldNumber, 0, job.reply_bytes};
  return MakeReply(header, {payload}, std::move(job.reply));
}

void CountResults(const Job& job, Metrics& metrics) {
  CountDownconvert(static_cast<const DownconvertJob&>(job), metrics);
}

void Listen(AsyncService& service, const Listening& to) {
  service.RequestDownconvert(to.context, to.request, to.responder, to.queue, to.queue, to.tag);
}

}  // namespace

const MethodDescriptor kDownconvertRpc = {OperationKind::kDownconvert,
                                          v1::DownconvertRequest::kPayloadFieldNumber,
                                          Listen,
                                          FromProto,
                                          ToProto,
                                          CountResults};

}  // namespace baseband::server
