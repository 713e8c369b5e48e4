#include "client/cpp/submit_stream.h"

#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/messages.h"
#include "client/cpp/shared_arena.h"
#include "client/cpp/shared_bulk.h"
#include "client/cpp/submit_session.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

constexpr char kRetryAfter[] = "baseband/retry-after-us";

SubmitItem ItemOf(const SubmitFields& fields, grpc::ByteBuffer request,
                  const SubmitOptions& options) {
  SubmitItem item;
  item.fields = fields;
  item.request = std::move(request);
  item.deadline = SteadyNow() + options.timeout;
  item.priority = options.priority;
  return item;
}

// `done` gets what comes, as bytes.
template <typename Request>
absl::Status SendTo(SubmitSession& session, const SubmitFields& fields, const Request& request,
                    Repetition repetition, const SubmitOptions& options, SubmitItem::Done done) {
  absl::StatusOr<grpc::ByteBuffer> bytes = Serialize(request);
  if (!bytes.ok()) {
    return bytes.status();
  }
  SubmitItem item = ItemOf(fields, *std::move(bytes), options);
  item.repetition = std::move(repetition);
  item.done = std::move(done);
  return session.Submit(std::move(item), options.wait_for_credits);
}

template <typename Request, typename Response>
absl::Status SubmitTo(SubmitSession& session, const std::shared_ptr<SharedArena>& arena,
                      const SubmitFields& fields, const Request& request,
                      const SubmitOptions& options, SubmitStream::Callback<Response> done) {
  if (!(options.timeout > absl::ZeroDuration())) {
    return absl::InvalidArgumentError(
        absl::StrCat("timeout ", absl::FormatDuration(options.timeout), " is not > 0"));
  }
  if (const auto bulk = BulkOf(arena, fields, request); bulk != nullptr) {
    Request named = WithoutPayload(request);
    Repetition repetition = RepetitionOf(bulk, named);
    bulk->NameIn(&named);
    return SendTo(session, fields, named, std::move(repetition), options,
                  WhenShared<Response>(bulk, std::move(done)));
  }
  return SendTo(session, fields, request, RepetitionOf(request), options,
                [done = std::move(done)](absl::StatusOr<grpc::ByteBuffer> response) {
                  done(Parse<Response>(std::move(response)));
                });
}

}  // namespace

absl::Duration RetryAfter(const absl::Status& status) {
  const absl::optional<absl::Cord> text = status.GetPayload(kRetryAfter);
  int64_t us = 0;
  return text.has_value() && absl::SimpleAtoi(std::string(*text), &us) ? absl::Microseconds(us)
                                                                       : absl::ZeroDuration();
}

void SetRetryAfter(absl::Duration delay, absl::Status* status) {
  if (delay > absl::ZeroDuration()) {
    status->SetPayload(kRetryAfter, absl::Cord(absl::StrCat(absl::ToInt64Microseconds(delay))));
  }
}

SubmitStream::SubmitStream(std::shared_ptr<SubmitSession> session,
                           std::function<std::shared_ptr<SharedArena>()> arena)
    : session_(std::move(session)), arena_(std::move(arena)) {}

SubmitStream::~SubmitStream() { session_->Cancel(); }

absl::Status SubmitStream::Submit(const v1::EncodeRequest& request, const SubmitOptions& options,
                                  Callback<v1::EncodeResponse> done) {
  return SubmitTo(*session_, arena_(), kSubmitEncode, request, options, std::move(done));
}

absl::Status SubmitStream::Submit(const v1::DecodeRequest& request, const SubmitOptions& options,
                                  Callback<v1::DecodeResponse> done) {
  return SubmitTo(*session_, arena_(), kSubmitDecode, request, options, std::move(done));
}

absl::Status SubmitStream::Submit(const v1::EncodeSharedChannelRequest& request,
                                  const SubmitOptions& options,
                                  Callback<v1::EncodeSharedChannelResponse> done) {
  return SubmitTo(*session_, arena_(), kSubmitEncodeSharedChannel, request, options,
                  std::move(done));
}

absl::Status SubmitStream::Submit(const v1::DecodeSharedChannelRequest& request,
                                  const SubmitOptions& options,
                                  Callback<v1::DecodeSharedChannelResponse> done) {
  return SubmitTo(*session_, arena_(), kSubmitDecodeSharedChannel, request, options,
                  std::move(done));
}

absl::Status SubmitStream::Submit(const v1::RecoverCarrierRequest& request,
                                  const SubmitOptions& options,
                                  Callback<v1::RecoverCarrierResponse> done) {
  return SubmitTo(*session_, arena_(), kSubmitRecoverCarrier, request, options, std::move(done));
}

absl::Status SubmitStream::Submit(const v1::DownconvertRequest& request,
                                  const SubmitOptions& options,
                                  Callback<v1::DownconvertResponse> done) {
  return SubmitTo(*session_, arena_(), kSubmitDownconvert, request, options, std::move(done));
}

int SubmitStream::in_flight() const { return session_->in_flight(); }

absl::Status SubmitStream::Finish() { return session_->Finish(); }

void SubmitStream::Cancel() { session_->Cancel(); }

}  // namespace baseband::client
