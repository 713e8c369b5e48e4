#include "server/calls/search_call.h"

#include <utility>

#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/converters/minimize_rpc.h"
#include "server/grpc/status.h"

namespace baseband::server {
namespace {

constexpr Rpc kRpc = Rpc::kMinimize;
constexpr int kPayloadField = 15;

}  // namespace

void SearchCall::Listen(const CallEnvironment* environment, grpc::ServerCompletionQueue* queue) {
  auto* const call = new SearchCall(environment, queue);
  call->context_.AsyncNotifyWhenDone(&call->notified_);
  environment->service->RequestMinimize(&call->context_, &call->request_, &call->stream_, queue,
                                        queue, &call->arrived_);
}

SearchCall::SearchCall(const CallEnvironment* environment, grpc::ServerCompletionQueue* queue)
    : environment_(*environment),
      queue_(queue),
      stream_(&context_),
      memory_(environment->search_memory),
      stall_alarm_(environment->timer) {}

void SearchCall::OnArrived(bool ok) {
  if (!ok) {  // the server is shutting down: no call came, and no other event will
    delete this;
    return;
  }
  Listen(&environment_, queue_);
  arrival_ = SteadyNow();
  deadline_ = DeadlineOf(context_);
  environment_.metrics->RequestStarted(kRpc, static_cast<int64_t>(request_.Length()));
  absl::Status status =
      EnterStream(environment_, *environment_.searches, context_, arrival_, &caller_, &hold_);
  if (status.ok()) {
    status = environment_.gate->Enter(arrival_);
    inside_ = status.ok();
  }
  if (status.ok()) {
    status = memory_.Resize(static_cast<int64_t>(request_.Length()));
  }
  if (status.ok()) {
    status = Accept(/*on_slow_path=*/false);
  }
  RejectIfError(status);
  Unref();
}

void SearchCall::RejectIfError(const absl::Status& status) {
  if (!status.ok()) {
    environment_.metrics->CountRejected(kRpc, status.code());
    {
      absl::MutexLock lock(&mutex_);
      refused_ = true;
    }
    End(status);
  }
}

absl::Status SearchCall::Accept(bool on_slow_path) {
  const auto put_off = [this] {
    return RunOnSlowPath(static_cast<int64_t>(request_.Length()),
                         [this] { RejectIfError(Accept(/*on_slow_path=*/true)); });
  };
  if (plan_ == nullptr) {
    BASEBAND_ASSIGN_OR_RETURN(const RequestView request,
                              RequestView::Read(request_, kPayloadField));
    const absl::StatusOr<SearchRequest> wanted = SearchFromProto(request, on_slow_path);
    if (absl::IsAborted(wanted.status())) {
      return put_off();
    }
    BASEBAND_RETURN_IF_ERROR(wanted.status());
    progress_interval_ = wanted->progress_interval;
    capacity_ = SearchCapacityOf(Serving(environment_.devices));
    if (capacity_.pieces_in_flight == 0) {
      return absl::UnavailableError("no device is healthy");
    }
    BASEBAND_RETURN_IF_ERROR(CheckSearchTime(*wanted->problem, capacity_.operations_per_second,
                                             deadline_ - arrival_, environment_.limits.max_search));
    plan_ = std::make_shared<SearchPlan>();
    plan_->problem = wanted->problem;
  }
  request_.Clear();
  // What is made until here is bounded by one search on the slow path and small ones elsewhere.
  BASEBAND_RETURN_IF_ERROR(
      memory_.Resize(SearchHostBytes(*plan_->problem, capacity_, environment_.devices)));
  const bool has_programs = FindPrograms(environment_.devices, plan_.get());
  if (!counted_programs_) {
    environment_.metrics->CountPrograms(has_programs);
    counted_programs_ = true;
  }
  if (!has_programs) {
    if (!on_slow_path) {
      return put_off();
    }
    BASEBAND_RETURN_IF_ERROR(MakePrograms(environment_.devices, plan_.get()));
  }
  return Begin();
}

absl::Status SearchCall::Begin() {
  const int64_t image_bytes = SearchImageBytes(*plan_->problem, environment_.devices);
  if (image_bytes > 0) {
    BASEBAND_ASSIGN_OR_RETURN(
        plan_->image,
        environment_.staging->Lease(image_bytes, static_cast<int>(OperationKind::kMinimize)));
    WriteSearchImage(*plan_->problem, plan_->image.data());
  }
  BASEBAND_ASSIGN_OR_RETURN(minimize::Search search,
                            minimize::Search::Create(plan_->problem, capacity_.piece));
  {
    absl::MutexLock lock(&mutex_);
    search_ = std::move(search);
    next_progress_ = arrival_ + progress_interval_;
  }
  return Pump();
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
    job = std::make_unique<MinimizeJob>(plan_, *std::move(piece), capacity_.piece);
  } else {
    return nullptr;
  }
  ++in_flight_;
  return job;
}

absl::Status SearchCall::Pump() {
  const SearchCapacity now = SearchCapacityOf(Serving(environment_.devices));
  if (now.pieces_in_flight == 0 || now.piece.operations != capacity_.piece.operations) {
    return absl::UnavailableError("the devices of this search were lost: send it again");
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
    const Submission submission = {
        caller_, SteadyNow(), deadline_, cancelled_,
        [this](const absl::Status& status, JobPtr done) { Take(status, std::move(done)); }};
    absl::Status status = SubmitJob(environment_, RequestView(), submission, job);
    if (status.ok()) {
      continue;
    }
    {
      absl::MutexLock lock(&mutex_);
      --in_flight_;
      if (absl::IsResourceExhausted(status) && !cancelled_->load()) {
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
  const absl::Status status =
      cancelled_->load() ? absl::CancelledError("the client cancelled") : Pump();
  if (!status.ok()) {
    End(status);
  }
  Unref();
}

void SearchCall::Take(const absl::Status& status, JobPtr job) {
  absl::Status end = status;
  bool answer = false;
  {
    absl::MutexLock lock(&mutex_);
    --in_flight_;
    if (!status.ok()) last_times_ = job->times;
    if (status.ok() && !answering_ && !ended_) {
      if (cancelled_->load()) {  // the piece may have been left out
        end = absl::CancelledError("the client cancelled");
      } else {
        const auto& piece = static_cast<const MinimizeJob&>(*job);
        ObserveStages(kRpc, job->times, *environment_.metrics);
        environment_.metrics->CountSearchedPoints(piece.piece().count);
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

absl::Status SearchCall::RunOnSlowPath(int64_t bytes, std::function<void()> work) {
  Ref();
  const absl::Status status = environment_.slow_path->Add(bytes, [this, work = std::move(work)] {
    if (cancelled_->load()) {
      End(absl::CancelledError("the client cancelled"));
    } else if (deadline_ <= SteadyNow()) {
      End(absl::DeadlineExceededError("the deadline passed while the search was being prepared"));
    } else {
      work();
    }
    Unref();
  });
  if (!status.ok()) {
    Unref();
  }
  return status;
}

void SearchCall::OnNotified(bool) {
  if (context_.IsCancelled()) {
    given_up_ = SteadyNow();
    cancelled_->store(true);
    End(absl::CancelledError("the client cancelled"));  // pieces on their way end unseen
  }
  Unref();
}

void SearchCall::Unref() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  if (inside_) {
    environment_.gate->Leave();
  }
  StreamLimit* const searches = environment_.searches;
  const absl::Time now = SteadyNow();
  environment_.metrics->RequestFinished(kRpc, end_.code(), now - arrival_, response_bytes_);
  Record(environment_, context_, {kRpc, end_.code(), arrival_, deadline_, now}, end_, caller_,
         answered_, last_times_);
  delete this;
  searches->Leave();  // last: the server may end now
}

}  // namespace baseband::server
