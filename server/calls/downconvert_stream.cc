// DownconvertStream: what a stream remembers from message to message.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/calls/stream_call.h"
#include "server/converters/downconvert_setup.h"
#include "server/operations/downconvert.h"

namespace baseband::server {
namespace {

// What the filters of one stream may need of its past.
constexpr int64_t kMaxHistoryBytes = 16 << 20;

class DownconvertSession final : public StreamSession {
 public:
  explicit DownconvertSession(const CallEnvironment& environment)
      : filters_(environment.caches->filters), metrics_(*environment.metrics) {}

  absl::StatusOr<JobPtr> FromProto(const RequestView& request,
                                   const ContinueCheck& may_continue) override {
    v1::DownconvertRequest message;
    if (!message.ParseFromString(request.header())) {
      return absl::InvalidArgumentError("the message is not a well-formed DownconvertRequest");
    }
    if (message.history() != 0 || message.zero_history()) {
      return absl::InvalidArgumentError(
          "history is set: a stream keeps what its filters need itself");
    }
    const bool first = channels_.empty();
    if (message.has_setup() != first) {
      return absl::InvalidArgumentError(first
                                            ? "setup is not set in the first message of the stream"
                                            : "setup is set again: a stream has one");
    }
    if (first) {
      BASEBAND_RETURN_IF_ERROR(SetUp(message, may_continue));
    }
    BASEBAND_RETURN_IF_ERROR(MoveTo(message, first));
    BASEBAND_ASSIGN_OR_RETURN(const int64_t samples, CountSamples(request.payload_bytes(), setup_));
    BASEBAND_RETURN_IF_ERROR(CheckSamples(static_cast<uint64_t>(next_), samples));
    BASEBAND_RETURN_IF_ERROR(TakeRetunes(message));

    const int64_t kept = static_cast<int64_t>(history_.size()) / setup_.bytes_per_sample();
    downconvert::Block block;
    block.format = setup_.format;
    block.scale = setup_.scale;
    block.first_index = next_ - kept;
    block.history = kept;
    block.num_samples = kept + samples;
    BASEBAND_RETURN_IF_ERROR(CheckJob(channels_, block));
    describe_ = first || message.describe();
    return std::make_unique<DownconvertJob>(
        std::make_shared<std::vector<downconvert::Channel>>(channels_), block, std::move(history_));
  }

  absl::StatusOr<grpc::ByteBuffer> ToProto(Job& base) override {
    auto& job = static_cast<DownconvertJob&>(base);
    v1::DownconvertResponse header;
    FillResponse(job, &header);
    header.set_history(0);
    header.set_gap(static_cast<uint64_t>(gap_));
    if (describe_) {
      DescribeChannels(setup_, &header);
    }
    next_ = job.block().first_index + job.block().num_samples;
    const int64_t bytes = std::min(needed_, next_) * setup_.bytes_per_sample();
    const uint8_t* const end =
        job.input.data() + job.block().num_samples * setup_.bytes_per_sample();
    history_.assign(end - bytes, end);
    CountDownconvert(job, metrics_);
    const BulkField payload = {v1::DownconvertResponse::kPayloadFieldNumber, 0, job.reply_bytes};
    return MakeReply(header, {payload}, std::move(job.reply));
  }

 private:
  absl::Status SetUp(const v1::DownconvertRequest& message, const ContinueCheck& may_continue) {
    BASEBAND_ASSIGN_OR_RETURN(setup_, SetupFromProto(message.setup(), filters_, may_continue));
    needed_ = downconvert::HistoryOf(setup_.channels);
    if (needed_ > kMaxHistoryBytes / setup_.bytes_per_sample()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the filters need ", needed_, " samples of the past; a stream keeps at most ",
          kMaxHistoryBytes, " bytes"));
    }
    channels_ = setup_.channels;
    return absl::OkStatus();
  }

  // To the place of the message's samples. Where the stream begins elsewhere than at sample 0, and
  // after a gap, the filters see zeros before it.
  absl::Status MoveTo(const v1::DownconvertRequest& message, bool first) {
    gap_ = 0;
    if (!message.has_first_sample() || message.first_sample() == static_cast<uint64_t>(next_)) {
      return absl::OkStatus();
    }
    BASEBAND_RETURN_IF_ERROR(CheckSamples(message.first_sample(), 0));
    const auto place = static_cast<int64_t>(message.first_sample());
    if (place < next_) {
      return absl::InvalidArgumentError(absl::StrCat("first_sample ", place,
                                                     " was in the stream already: ", next_,
                                                     " or a later one comes next"));
    }
    if (!first) {
      gap_ = place - next_;
      metrics_.CountGap();
    }
    next_ = place;
    history_.assign(static_cast<size_t>(std::min(needed_, next_) * setup_.bytes_per_sample()), 0);
    return absl::OkStatus();
  }

  absl::Status TakeRetunes(const v1::DownconvertRequest& message) {
    BASEBAND_ASSIGN_OR_RETURN(const auto retunes, RetunesFromProto(message.retunes(), setup_));
    for (int i = 0; i < message.retunes_size(); ++i) {
      if (message.retunes(i).index() < static_cast<uint64_t>(next_)) {
        return absl::InvalidArgumentError(
            absl::StrCat("retunes[", i, "].index ", message.retunes(i).index(),
                         " is over: the message begins at sample ", next_));
      }
    }
    return ApplyRetunes(retunes, /*keep_from=*/std::max<int64_t>(0, next_ - needed_), &channels_);
  }

  DownconvertFilters& filters_;
  Metrics& metrics_;
  DownconvertSetup setup_;
  std::vector<downconvert::Channel> channels_;  // with the retunes so far; empty: nothing came yet
  int64_t needed_ = 0;                          // samples of the past
  int64_t next_ = 0;                            // place of the next sample
  std::vector<uint8_t> history_;                // the last samples, min(needed_, next_) of them
  int64_t gap_ = 0;                             // before the message in work
  bool describe_ = false;
};

std::unique_ptr<StreamSession> NewSession(const CallEnvironment& environment) {
  return std::make_unique<DownconvertSession>(environment);
}

void Listen(AsyncService& service, const StreamListening& to) {
  service.RequestDownconvertStream(to.context, to.stream, to.queue, to.queue, to.tag);
}

}  // namespace

const StreamPage kDownconvertStream = {
    Rpc::kDownconvertStream, v1::DownconvertRequest::kPayloadFieldNumber, Listen, NewSession};

}  // namespace baseband::server
