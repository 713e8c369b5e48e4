#include "server/calls/search_call.h"

#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/grpc/wire.h"
#include "server/jobs/fingerprint.h"
#include "server/metrics/unserved.h"

namespace baseband::server {

void SearchCall::Listen(const CallEnvironment* environment, const OperationMethod* method,
                        grpc::ServerCompletionQueue* queue) {
  auto* const call = new SearchCall(environment, method, queue);
  call->RequestCall::Listen();
}

SearchCall::SearchCall(const CallEnvironment* environment, const OperationMethod* method,
                       grpc::ServerCompletionQueue* queue)
    : RequestCall(environment, queue, method->number, method->operation->rpc()),
      method_(*method),
      memory_(environment->search_memory) {}

void SearchCall::RejectIfError(const absl::Status& status) {
  if (!status.ok()) End(status);
}

absl::Status SearchCall::Accept() {
  // Not before: who sends headers alone would keep the place for as long as he likes.
  BASEBAND_RETURN_IF_ERROR(TakeStreamPlace(*environment_.searches));
  BASEBAND_RETURN_IF_ERROR(request_->EnterGate());
  BASEBAND_RETURN_IF_ERROR(memory_.Resize(static_cast<int64_t>(message_.Length())));
  BASEBAND_ASSIGN_OR_RETURN(wire_request_,
                            ReadRequest(message_, method_.operation->description().payload_field));
  message_.Clear();  // the request has its payload still
  BASEBAND_ASSIGN_OR_RETURN(parsed_, ParseSearch(wire_request_));
  if (parsed_->is_quick) {
    BASEBAND_RETURN_IF_ERROR(Prepare(nullptr));
    BASEBAND_ASSIGN_OR_RETURN(const bool has_begun, Begin(nullptr));
    if (has_begun) return absl::OkStatus();
  }
  return RunOnSlowPath(wire_request_.bytes(), [this](const ContinueCheck& turn) {
    const ContinueCheck may_continue = SlowPathCheck(requester_, turn);
    absl::Status status = may_continue();
    if (status.ok() && plan_ == nullptr) status = Prepare(may_continue);
    if (status.ok()) status = Begin(&may_continue).status();
    RejectIfError(status);
  });
}

absl::Status SearchCall::Prepare(const ContinueCheck& may_continue) {
  BASEBAND_ASSIGN_OR_RETURN(const SearchRequest wanted,
                            MakeSearch(*parsed_, wire_request_.payload, may_continue));
  const uint64_t fingerprint = FingerprintOf(*method_.operation, wire_request_.header);
  parsed_.reset();
  wire_request_ = Request();
  progress_interval_ = wanted.progress_interval;
  capacity_ = SearchCapacityOf(Serving(environment_.devices));
  if (capacity_.pieces_in_flight == 0) {
    return absl::UnavailableError("no device is healthy");
  }
  BASEBAND_RETURN_IF_ERROR(
      CheckSearchTime(*wanted.problem, SearchRatesOf(capacity_, environment_.devices),
                      requester_.deadline - arrival_, environment_.limits.max_search));
  // What is made until here is bounded by one search on the slow path and small ones elsewhere.
  BASEBAND_RETURN_IF_ERROR(
      memory_.Resize(SearchHostBytes(*wanted.problem, capacity_, environment_.devices)));
  plan_ = std::make_shared<SearchPlan>();
  plan_->problem = wanted.problem;
  plan_->fingerprint = fingerprint;
  return absl::OkStatus();
}

absl::StatusOr<bool> SearchCall::Begin(const ContinueCheck* may_continue) {
  const bool has_programs = FindPrograms(environment_.devices, plan_.get());
  if (!counted_programs_) {
    Results().CountPrograms(has_programs);
    counted_programs_ = true;
  }
  if (!has_programs) {
    if (may_continue == nullptr) return false;
    BASEBAND_RETURN_IF_ERROR(MakePrograms(environment_.devices, plan_.get()));
  }
  const int64_t image_bytes = SearchImageBytes(*plan_->problem, environment_.devices);
  BASEBAND_RETURN_IF_ERROR(CheckImageFits(image_bytes, environment_.limits.max_input_bytes));
  if (image_bytes > 0) {
    BASEBAND_ASSIGN_OR_RETURN(plan_->image, Because(UnservedReason::kStagingPool,
                                                    environment_.staging->Lease(
                                                        image_bytes, method_.operation->index())));
    WriteSearchImage(*plan_->problem, plan_->image.data());
    KeepTables(requester_.caller.client, environment_.devices, capacity_.piece, plan_.get());
  }
  BASEBAND_ASSIGN_OR_RETURN(minimize::Search search,
                            minimize::Search::Create(plan_->problem, capacity_.piece));
  {
    absl::MutexLock lock(&mutex_);
    search_ = std::move(search);
    next_progress_ = arrival_ + progress_interval_;
    request_->Accepted();  // not beside End, which a cancelled call's thread may be in
  }
  BASEBAND_RETURN_IF_ERROR(Pump());
  return true;
}

JobPtr SearchCall::NextPiece() {
  if (ended_ || answering_ || in_flight_ >= capacity_.pieces_in_flight) {
    return nullptr;
  }
  JobPtr job;
  if (!waiting_.empty()) {
    job = std::move(waiting_.back());
    waiting_.pop_back();
  } else if (absl::optional<minimize::Piece> piece = search_->Next(); piece.has_value()) {
    job = std::make_unique<MinimizeJob>(*method_.operation, plan_, *std::move(piece),
                                        capacity_.piece);
  } else {
    return nullptr;
  }
  ++in_flight_;
  return job;
}

absl::Status SearchCall::Pump() {
  const SearchCapacity now = SearchCapacityOf(Serving(environment_.devices));
  if (now.pieces_in_flight == 0 || now.piece.operations != capacity_.piece.operations) {
    return Because(UnservedReason::kDeviceLost,
                   absl::UnavailableError("the devices of this search were lost: send it again"));
  }
  for (;;) {
    JobPtr job;
    {
      absl::MutexLock lock(&mutex_);
      job = NextPiece();
      if (job == nullptr) {
        return absl::OkStatus();
      }
    }
    Ref();  // Take
    absl::Status status =
        SubmitJob(environment_, requester_, SteadyNow(), Payload(), job,
                  [this](const absl::Status& ended, JobPtr done) { Take(ended, std::move(done)); });
    if (status.ok()) {
      continue;
    }
    {
      absl::MutexLock lock(&mutex_);
      --in_flight_;
      if (absl::IsResourceExhausted(status) && !request_->is_cancelled()) {
        status = absl::OkStatus();
        waiting_.push_back(std::move(job));
        if (in_flight_ == 0) {  // else the next piece that ends looks again
          Ref();                // OnRoom
          room_alarm_ = std::make_unique<SteadyAlarm>(environment_.timer);
          room_alarm_->Set(queue_, SteadyNow() + environment_.dispatcher->RetryHint(), &room_);
        }
      }
    }
    Unref();
    return status;
  }
}

void SearchCall::OnRoom(bool) {
  RejectIfError(request_->is_cancelled() ? absl::CancelledError("the client cancelled") : Pump());
  Unref();
}

void SearchCall::Take(const absl::Status& status, JobPtr job) {
  absl::Status end = status;
  bool answer = false;
  {
    absl::MutexLock lock(&mutex_);
    --in_flight_;
    if (!status.ok() && !ended_) last_times_ = job->times;
    if (status.ok() && !answering_ && !ended_) {
      if (request_->is_cancelled()) {  // the piece may have been left out
        end = absl::CancelledError("the client cancelled");
      } else {
        const auto& piece = static_cast<const MinimizeJob&>(*job);
        ObserveStages(request_->rpc(), job->times, *environment_.metrics);
        Results().CountPoints(piece.piece().count);
        search_->Add(piece.piece(), job->reply.data());
        last_times_ = job->times;
        answer = answering_ = search_->done();
        if (!answer) {
          MaybeWriteProgress();
        }
      }
    }
  }
  job.reset();
  if (end.ok() && !answer) {
    end = Pump();
  }
  if (!end.ok()) {
    End(end);
  } else if (answer) {
    Answer();
  }
  Unref();
}

void SearchCall::OnCancelled() {
  End(absl::CancelledError("the client cancelled"));  // pieces on their way end unseen
}

void SearchCall::Destroy() {
  request_->Ended(last_times_);
  request_->End(end_, response_bytes_, [this] { return RequestId(); });
  delete this;  // last: the server may end now
}

}  // namespace baseband::server
