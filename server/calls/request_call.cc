#include "server/calls/request_call.h"

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/calls/caller.h"
#include "server/calls/deadline_outcome.h"
#include "server/limits/retry_after.h"
#include "server/metrics/unserved.h"

namespace baseband::server {
namespace {

// Who sends more slowly than this, bytes a second, is cut off.
constexpr double kSlowest = 1 << 20;

}  // namespace

RequestCall::RequestCall(const CallEnvironment* environment, grpc::ServerCompletionQueue* queue,
                         int number, Rpc rpc)
    : GrpcCall(environment, queue), stream_(&context_), number_(number), rpc_(rpc) {}

void RequestCall::Listen() {
  environment_.service->Listen(number_, &context_, &stream_, queue_, &arrived_);
}

void RequestCall::OnArrived(bool ok) {
  if (!ok) {  // the server is shutting down: no call came, and no other event will
    delete this;
    return;
  }
  ListenForNext();
  arrival_ = SteadyNow();
  absl::Status status = AdmitByHeaders();
  if (status.ok()) status = BeginRead();
  if (status.ok()) return;
  Start(0);
  Refuse(status);
  EndArrival();
}

absl::Status RequestCall::BeginRead() {
  BASEBAND_ASSIGN_OR_RETURN(announced_bytes_,
                            RequestBytesOf(context_, environment_.max_message_bytes));
  reader_.bytes = announced_bytes_.has_value()
                      ? *announced_bytes_
                      : environment_.reads->LastBytes(requester_.caller.client, rpc_.row);
  takes_turn_ = reader_.bytes > MessageReads::kUnasked;
  environment_.awaited->Begin(this, arrival_);
  if (!takes_turn_) {
    environment_.reads->Hurry(requester_.caller.priority, requester_.deadline - arrival_);
    Read();  // has arrived when that has
    return absl::OkStatus();
  }
  reader_.client = requester_.caller.client;
  reader_.priority = requester_.caller.priority;
  reader_.deadline = requester_.deadline;
  reader_.method = rpc_.row;
  Ref();  // once it has entered, its turn may have come and gone
  absl::Status status = environment_.dispatcher->CheckRoom(reader_.bytes);
  if (status.ok()) status = environment_.reads->Enter(&reader_);
  if (!status.ok()) {
    CountUnread();
    Decline(status);
  } else if (requester_.cancellation->is_cancelled()) {
    OnGone();
  }
  Unref();
  return absl::OkStatus();
}

void RequestCall::Read() {
  const int64_t most = announced_bytes_.value_or(environment_.max_message_bytes);
  environment_.awaited->Expect(this, SteadyNow() + environment_.max_stall +
                                         absl::Seconds(static_cast<double>(most) / kSlowest));
  stream_.Read(&message_, &read_);
}

void RequestCall::OnTurn(const absl::Status& status) {
  if (status.ok()) {
    Read();
    return;
  }
  CountUnread();
  Decline(status);
}

void RequestCall::CountUnread() {
  environment_.metrics->CountUnread(rpc_, reader_.bytes);
  if (!announced_bytes_.has_value()) {
    environment_.reads->SetLastBytes(requester_.caller.client, rpc_.row, reader_.bytes / 2);
  }
}

void RequestCall::OnGone() {
  if (environment_.reads->Abandon(&reader_)) Decline(absl::CancelledError("the client cancelled"));
}

void RequestCall::Decline(const absl::Status& status) {
  if (environment_.awaited->End(this)) RefuseUnread(status);
  EndArrival();
}

void RequestCall::OnRead(bool ok) {
  const auto length = static_cast<int64_t>(message_.Length());
  if (takes_turn_) {
    const ReadQueue::End end = HowItEnded(ok);
    teaches_ = end == ReadQueue::End::kCame;
    environment_.reads->Leave(&reader_, end);
  }
  if (!environment_.awaited->End(this)) {  // it was refused meanwhile
    EndArrival();
    return;
  }
  arrival_ = SteadyNow();
  Start(length);
  if (!ok) request_->HasNoMessage();
  const absl::Status status =
      ok ? AcceptIfAsAnnounced()
         : absl::InvalidArgumentError("the call has ended without a request message");
  if (!status.ok()) Refuse(status);
  EndArrival();
}

ReadQueue::End RequestCall::HowItEnded(bool came) const {
  if (came) {
    return static_cast<int64_t>(message_.Length()) == reader_.bytes
               ? ReadQueue::End::kCame
               : ReadQueue::End::kCameOtherwise;
  }
  return GaveUpAtDeadline(arrival_, requester_.deadline, requester_.cancellation->given_up())
             ? ReadQueue::End::kLate
             : ReadQueue::End::kGivenUp;
}

absl::Status RequestCall::AcceptIfAsAnnounced() {
  const auto length = static_cast<int64_t>(message_.Length());
  if (announced_bytes_.value_or(length) != length) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata baseband-request-bytes ", *announced_bytes_,
                     " is not what the request message has: ", length, " bytes"));
  }
  if (!announced_bytes_.has_value()) {
    environment_.reads->SetLastBytes(requester_.caller.client, rpc_.row, length);
  }
  return Accept();
}

void RequestCall::OnLate() {
  absl::Status status =
      Because(UnservedReason::kMemory,
              absl::ResourceExhaustedError(
                  absl::StrCat("memory is scarce, and this request's message has not come within ",
                               absl::FormatDuration(SteadyNow() - arrival_), " of its headers")));
  SetRetryAfter(&status, MemorySteps::kRetryAfter);
  RefuseUnread(status);
  if (takes_turn_ && environment_.reads->Abandon(&reader_)) EndArrival();
}

void RequestCall::OnOverdue() {
  RefuseUnread(absl::InvalidArgumentError(absl::StrCat("the request message has not come within ",
                                                       absl::FormatDuration(SteadyNow() - arrival_),
                                                       " of its headers")));
}

void RequestCall::RefuseUnread(const absl::Status& status) {
  Start(0);
  request_->HasNoMessage();
  Refuse(status);
}

void RequestCall::Start(int64_t bytes) {
  request_.emplace(environment_, rpc_, arrival_);
  request_->Start(bytes);
  request_->requester() = requester_;
}

}  // namespace baseband::server
