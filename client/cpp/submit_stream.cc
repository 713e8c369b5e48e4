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

template <typename Request, typename Response>
absl::Status SendTo(SubmitSession& session, const SubmitFields& fields, const Request& request,
                    const SubmitOptions& options, SubmitStream::Callback<Response> done) {
  absl::StatusOr<grpc::ByteBuffer> bytes = Serialize(request);
  if (!bytes.ok()) {
    return bytes.status();
  }
  SubmitItem item = ItemOf(fields, *std::move(bytes), options);
  item.done = [done = std::move(done)](absl::StatusOr<grpc::ByteBuffer> response) {
    done(Parse<Response>(std::move(response)));
  };
  return session.Submit(std::move(item), options.wait_for_credits);
}

// A request without its payload, which `bulk` has.
template <typename Request, typename Response>
absl::Status SendShared(const std::shared_ptr<SubmitSession>& session, const SubmitFields& fields,
                        Request request, const std::shared_ptr<SharedBulk>& bulk,
                        const SubmitOptions& options, SubmitStream::Callback<Response> done) {
  bulk->NameIn(&request);
  absl::StatusOr<grpc::ByteBuffer> bytes = Serialize(request);
  if (!bytes.ok()) {
    return bytes.status();
  }
  SubmitItem item = ItemOf(fields, *std::move(bytes), options);
  item.before_retry = [bulk] { bulk->TryAgain(); };
  const auto again = [session, fields, options, deadline = item.deadline](
                         const Request& whole, const absl::Status& refusal,
                         const SubmitStream::Callback<Response>& whole_done) {
    SubmitOptions rest = options;
    rest.timeout = deadline - SteadyNow();
    rest.wait_for_credits = false;  // this thread brings those
    if (!SendTo<Request, Response>(*session, fields, whole, rest, whole_done).ok()) {
      whole_done(refusal);
    }
  };
  item.done = WhenShared<Response>(bulk, std::move(request), again, std::move(done));
  return session->Submit(std::move(item), options.wait_for_credits);
}

template <typename Request, typename Response>
absl::Status SubmitTo(const std::shared_ptr<SubmitSession>& session,
                      const std::shared_ptr<SharedArena>& arena, const SubmitFields& fields,
                      const Request& request, const SubmitOptions& options,
                      SubmitStream::Callback<Response> done) {
  if (!(options.timeout > absl::ZeroDuration())) {
    return absl::InvalidArgumentError(
        absl::StrCat("timeout ", absl::FormatDuration(options.timeout), " is not > 0"));
  }
  if (!request.has_payload_at() && !request.has_reply_at()) {
    if (const auto bulk = SharedBulk::Create(arena, fields, request.payload()); bulk != nullptr) {
      return SendShared(session, fields, WithoutPayload(request), bulk, options, std::move(done));
    }
  }
  return SendTo<Request, Response>(*session, fields, request, options, std::move(done));
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
  return SubmitTo(session_, arena_(), kSubmitEncode, request, options, std::move(done));
}

absl::Status SubmitStream::Submit(const v1::DecodeRequest& request, const SubmitOptions& options,
                                  Callback<v1::DecodeResponse> done) {
  return SubmitTo(session_, arena_(), kSubmitDecode, request, options, std::move(done));
}

absl::Status SubmitStream::Submit(const v1::EncodeSharedChannelRequest& request,
                                  const SubmitOptions& options,
                                  Callback<v1::EncodeSharedChannelResponse> done) {
  return SubmitTo(session_, arena_(), kSubmitEncodeSharedChannel, request, options,
                  std::move(done));
}

absl::Status SubmitStream::Submit(const v1::DecodeSharedChannelRequest& request,
                                  const SubmitOptions& options,
                                  Callback<v1::DecodeSharedChannelResponse> done) {
  return SubmitTo(session_, arena_(), kSubmitDecodeSharedChannel, request, options,
                  std::move(done));
}

absl::Status SubmitStream::Submit(const v1::RecoverCarrierRequest& request,
                                  const SubmitOptions& options,
                                  Callback<v1::RecoverCarrierResponse> done) {
  return SubmitTo(session_, arena_(), kSubmitRecoverCarrier, request, options, std::move(done));
}

absl::Status SubmitStream::Submit(const v1::DownconvertRequest& request,
                                  const SubmitOptions& options,
                                  Callback<v1::DownconvertResponse> done) {
  return SubmitTo(session_, arena_(), kSubmitDownconvert, request, options, std::move(done));
}

int SubmitStream::in_flight() const { return session_->in_flight(); }

absl::Status SubmitStream::Finish() { return session_->Finish(); }

void SubmitStream::Cancel() { session_->Cancel(); }

}  // namespace baseband::client
