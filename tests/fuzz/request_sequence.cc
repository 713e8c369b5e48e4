#include "tests/fuzz/request_sequence.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"
#include "tests/fuzz/bounds.h"
#include "tests/fuzz/random_message.h"
#include "tests/fuzz/run_alone.h"

namespace baseband::server {
namespace {

using testing::CheckBounds;
using testing::Meter;
using testing::Slices;

constexpr int kClients = 4;

// What a client may be told, whatever it sends: the devices here do not fail.
void CheckAnswer(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kOutOfRange:          // a functional that is not a number
    case absl::StatusCode::kFailedPrecondition:  // soft bits that another request uses
      return Check(!status.message().empty());
    default:
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      std::abort();
  }
}

}  // namespace

void RequestSequence::Run(int max_steps) {
  for (int step = 0; step < max_steps && bytes_.remaining_bytes() > 0; ++step) Step();
  EndAll();
}

void RequestSequence::Step() {
  switch (bytes_.ConsumeIntegralInRange(0, 15)) {
    case 0:
      return CancelOne();
    case 1:
    case 2:
      return ReadOne();
    case 3:
      return EndSubmit();
    case 4:
      return EndStream();
    case 5:
    case 6:
      return RunSearch();
    case 7:
    case 8:
    case 9:
      return SendOnStream();
    case 10:
    case 11:
    case 12:
      return SendOnSubmit();
    default:
      SendUnary();
  }
}

Requester RequestSequence::SomeRequester() {
  Requester requester;
  requester.caller.client.assign(
      1, static_cast<char>('a' + bytes_.ConsumeIntegralInRange(0, kClients - 1)));
  requester.caller.priority = static_cast<Priority>(bytes_.ConsumeIntegralInRange(0, 2));
  requester.cancellation = std::make_shared<Cancellation>();
  constexpr absl::Duration kTimes[] = {absl::ZeroDuration(), absl::Milliseconds(1),
                                       absl::Milliseconds(30), absl::Milliseconds(300)};
  requester.deadline = SteadyNow() + bytes_.PickValueInArray(kTimes);
  return requester;
}

Request RequestSequence::SomeRequest(const Operation& operation) {
  if (bytes_.ConsumeIntegralInRange(0, 7) == 0) {  // the bytes themselves
    v1::DecodeRequest bulk;
    bulk.set_payload(bytes_.ConsumeRandomLengthString(4096));
    Request request = RequestOf(std::move(bulk));
    request.header = bytes_.ConsumeRandomLengthString(4096);
    return request;
  }
  testing::Random random(bytes_.ConsumeIntegral<uint64_t>());
  return testing::RandomRequest(operation.name(), random);
}

RequestSequence::CallPtr RequestSequence::NewCall(Operation* operation, Rpc rpc,
                                                  const Requester& requester, Request request) {
  auto call = std::make_shared<Call>(environment_, rpc);
  call->operation = operation;
  call->bytes = request.bytes();
  call->wire = std::move(request);
  call->context.requester() = requester;
  return call;
}

void RequestSequence::Begin(const CallPtr& call) {
  RequestContext& context = call->context;
  if (call->session == nullptr) context.Start(call->bytes);
  absl::Status status = call->session == nullptr ? context.Enter(call->bytes) : context.EnterGate();
  if (status.ok()) status = Convert(call);
  if (!status.ok()) Answer(call, status);
}

absl::Status RequestSequence::Convert(const CallPtr& call) {
  Meter meter;
  absl::StatusOr<Conversion> conversion =
      call->session != nullptr ? call->session->Convert(call->wire)
                               : call->operation->Convert(call->wire, environment_.limits);
  CheckBounds(meter, testing::kOnCallThread, call->bytes, call->operation->name());
  BASEBAND_RETURN_IF_ERROR(conversion.status());
  Check((conversion->job != nullptr) != (conversion->preparation != nullptr));
  if (conversion->job != nullptr) return SubmitJobOf(call, std::move(conversion->job));
  call->preparation = std::move(conversion->preparation);
  return environment_.slow_path->Add(
      call->context.requester().caller.client, call->wire.bytes(),
      [this, call](const ContinueCheck& turn) { Prepare(call, turn); });
}

void RequestSequence::Prepare(const CallPtr& call, const ContinueCheck& turn) {
  absl::StatusOr<JobPtr> job;
  {
    Slices slices(SlowPathCheck(call->context.requester(), turn), call->bytes);
    job = call->preparation->Finish(slices.check());
  }
  call->preparation.reset();
  const absl::Status status = job.ok() ? SubmitJobOf(call, *std::move(job)) : job.status();
  if (!status.ok()) Answer(call, status);
}

absl::Status RequestSequence::SubmitJobOf(const CallPtr& call, JobPtr job) {
  Check(job->payload_bytes == call->wire.payload.bytes() && job->reply_bytes >= 0);
  const Request request = std::exchange(call->wire, Request());
  return call->context.Submit(request, job, [this, call](absl::Status status, JobPtr done) {
    Take(call, std::move(status), std::move(done));
  });
}

void RequestSequence::Take(const CallPtr& call, absl::Status status, JobPtr job) {
  call->context.Ended(job->times);
  if (status.ok()) {
    Meter meter;
    absl::StatusOr<Reply> reply =
        call->session != nullptr ? call->session->ToReply(*job) : call->operation->ToReply(*job);
    CheckBounds(meter, testing::kForReply, call->bytes, "a reply");
    status = reply.status();
    if (reply.ok()) {
      ObserveStages(job->operation().rpc(), job->times, *environment_.metrics);
      if (call->session == nullptr) {
        call->operation->CountResults(*job,
                                      environment_.metrics->ResultsOf(call->operation->rpc()));
      }
      call->reply = *std::move(reply);
    }
  }
  job.reset();
  Answer(call, status);
}

void RequestSequence::Answer(const CallPtr& call, const absl::Status& status) {
  CheckAnswer(status);
  call->status = status;
  call->preparation.reset();
  call->wire = Request();
  call->context.Answer(status);
  absl::MutexLock lock(&mutex_);
  Check(!call->is_answered);
  call->is_answered = true;
}

bool RequestSequence::IsAnswered(const CallPtr& call) {
  absl::MutexLock lock(&mutex_);
  return call->is_answered;
}

void RequestSequence::Await(const CallPtr& call) {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&call->is_answered));
}

void RequestSequence::Leave(const CallPtr& call) {
  Await(call);
  call->context.Sent();
  call->context.End(call->status, call->reply.bulk_bytes(), [] { return std::string("x"); });
  call->reply = Reply();
}

// ---- unary calls

void RequestSequence::SendUnary() {
  const auto all = server_.operations().all();
  Operation* const operation = all[bytes_.ConsumeIntegralInRange<size_t>(0, all.size() - 1)].get();
  if (operation->description().method != Operation::Method::kUnary) return RunSearch();
  unary_.push_back(NewCall(operation, operation->rpc(), SomeRequester(), SomeRequest(*operation)));
  Begin(unary_.back());
}

void RequestSequence::CancelOne() {
  if (stream_ != nullptr && bytes_.ConsumeIntegralInRange(0, 3) == 0) {
    stream_->requester.cancellation->Cancel(SteadyNow());
  } else if (!unary_.empty()) {
    const size_t which = bytes_.ConsumeIntegralInRange<size_t>(0, unary_.size() - 1);
    unary_[which]->context.requester().cancellation->Cancel(SteadyNow());
  }
}

void RequestSequence::ReadOne() {
  if (submit_ != nullptr && !submit_->in_flight.empty() && bytes_.ConsumeBool()) {
    const auto first = submit_->in_flight.begin();
    Leave(first->second);
    Check(submit_->window.Close(first->first, true) == first->second->bytes);
    submit_->in_flight.erase(first);
  } else if (!unary_.empty()) {
    Leave(unary_.front());
    unary_.erase(unary_.begin());
  }
}

// ---- Submit streams

void RequestSequence::SendOnSubmit() {
  if (submit_ == nullptr) {
    auto submit = std::make_unique<Submit>(environment_.submit_window);
    submit->requester = SomeRequester();
    submit->requester.deadline = absl::InfiniteFuture();
    absl::StatusOr<ClientHold> hold =
        environment_.quotas->EnterStream(submit->requester.caller.client);
    if (!hold.ok()) return CheckAnswer(hold.status());
    absl::StatusOr<StreamPlace> place = environment_.streams->Enter();
    if (!place.ok()) return CheckAnswer(place.status());
    submit->hold = *std::move(hold);
    submit->place = *std::move(place);
    submit_ = std::move(submit);
  }
  const auto all = server_.operations().all();
  Operation* const operation = all[bytes_.ConsumeIntegralInRange<size_t>(0, all.size() - 1)].get();
  if (operation->description().submit_request_field == 0) return;
  Requester requester = submit_->requester;
  requester.deadline = SteadyNow() + absl::Milliseconds(300);
  const CallPtr call = NewCall(operation, operation->rpc(), requester, SomeRequest(*operation));
  const uint64_t id = bytes_.ConsumeIntegralInRange<uint64_t>(0, 9);
  if (!submit_->window.Open(id, call->bytes).ok()) return EndSubmit();
  submit_->in_flight.emplace(id, call);
  Begin(call);
}

void RequestSequence::EndSubmit() {
  if (submit_ == nullptr) return;
  submit_->requester.cancellation->Cancel(SteadyNow());
  for (const auto& [id, call] : submit_->in_flight) Leave(call);
  submit_.reset();
}

// ---- DownconvertStreams

void RequestSequence::SendOnStream() {
  Operation* const operation = server_.operations().Find("Downconvert");
  const bool first = stream_ == nullptr;
  if (first) {
    auto stream = std::make_unique<Stream>();
    stream->requester = SomeRequester();
    absl::StatusOr<ClientHold> hold =
        environment_.quotas->EnterStream(stream->requester.caller.client);
    if (!hold.ok()) return CheckAnswer(hold.status());
    absl::StatusOr<StreamPlace> place = environment_.streams->Enter();
    if (!place.ok()) return CheckAnswer(place.status());
    stream->hold = *std::move(hold);
    stream->place = *std::move(place);
    stream->session = operation->NewStream(environment_.limits,
                                           environment_.metrics->ResultsOf(operation->rpc()));
    stream_ = std::move(stream);
  } else if (stream_->in_work != nullptr) {
    Leave(stream_->in_work);
    if (!stream_->in_work->status.ok()) {
      stream_->in_work = nullptr;
      return EndStream();
    }
  }
  testing::Random random(bytes_.ConsumeIntegral<uint64_t>());
  const CallPtr call = NewCall(operation, operation->stream_rpc(), stream_->requester,
                               testing::RandomStreamMessage(first, random));
  call->session = stream_->session.get();
  stream_->in_work = call;
  Begin(call);
}

void RequestSequence::EndStream() {
  if (stream_ == nullptr) return;
  stream_->requester.cancellation->Cancel(SteadyNow());
  if (stream_->in_work != nullptr) Leave(stream_->in_work);
  stream_.reset();
}

void RequestSequence::EndAll() {
  if (bytes_.ConsumeBool()) {
    for (const CallPtr& call : unary_) {
      call->context.requester().cancellation->Cancel(SteadyNow());
    }
  }
  EndSubmit();
  EndStream();
  for (const CallPtr& call : unary_) Leave(call);
  unary_.clear();
  environment_.dispatcher->WaitUntilIdle();
  environment_.slow_path->Finish();
  Check(environment_.staging->used() == 0 && environment_.reply->used() == 0);
  Check(environment_.search_memory->used() == 0);
}

}  // namespace baseband::server
