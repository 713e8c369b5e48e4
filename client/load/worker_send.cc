// A worker's ways to the server: unary calls, Submit streams, a ring.
#include <algorithm>
#include <memory>
#include <utility>

#include "client/cpp/delayed_run.h"
#include "client/cpp/shared_bulk.h"
#include "client/cpp/unary_call.h"
#include "client/load/worker.h"
#include "client/load/worker_call.h"
#include "grpcpp/alarm.h"
#include "kernels/base/steady_time.h"

namespace baseband::load {
namespace {

constexpr size_t kLeastTracked = 1024;
constexpr absl::Duration kUnsentPause = absl::Milliseconds(5);

// A call that failed before it was sent hears so later, on the queue's thread, as any other.
class FailedCall final : public client::AsyncCall {
 public:
  using Done = std::function<void(absl::StatusOr<grpc::ByteBuffer>)>;

  static void Start(const absl::Status& status, const Done& done, grpc::CompletionQueue* queue) {
    const auto call = std::make_shared<FailedCall>(status, done);
    call->alarm_.Set(queue, gpr_time_0(GPR_CLOCK_MONOTONIC), new client::CallTag{call, 0});
  }
  FailedCall(absl::Status status, Done done) : status_(std::move(status)), done_(std::move(done)) {}

  void Cancel() override {}
  void OnEvent(int, bool) override { done_(status_); }

 private:
  const absl::Status status_;
  const Done done_;
  grpc::Alarm alarm_;
};

}  // namespace

grpc::ByteBuffer Worker::Message(Call* call) const {
  const auto fields = client::SubmitFieldsOf(workloads_[call->workload].method);
  if (fields.has_value()) {
    call->bulk =
        placed_.has_value()
            ? client::SharedBulk::CreateInPlace(spec_.arena, *fields, call->payload, placed_in_)
            : client::SharedBulk::Create(spec_.arena, *fields, call->payload);
  }
  return call->bulk == nullptr ? call->request->message : Naming(*call->bulk, *call->request);
}

void Worker::SendUnary(std::unique_ptr<Call> sent, int64_t deadline_ns) {
  const Workload& workload = workloads_[sent->workload];
  client::CallSpec spec;
  spec.method = workload.method;
  spec.request = Message(sent.get());
  if (sent->bulk != nullptr) spec.repetition.before = [bulk = sent->bulk] { bulk->TryAgain(); };
  spec.header.deadline = SteadyNow() + absl::Nanoseconds(deadline_ns - NowNs());
  spec.header.priority = workload.priority;
  spec.retry = retry_;
  const auto call = std::make_shared<client::UnaryCall>(std::move(spec), &channels_, &queue_,
                                                        WhenDone(std::move(sent)));
  Track(call);
  call->Start();
}

void Worker::SendLater() {
  const auto then = [this](bool) {
    if (stopped_) {
      LeaveRoom();
    } else {
      Send(Draw(), NowNs());
    }
  };
  std::make_shared<client::DelayedRun>(kUnsentPause, &channels_, &queue_, then, [] {})->Start();
}

void Worker::Track(const std::shared_ptr<client::AsyncCall>& call) {
  if (!spec_.can_cancel) return;
  if (calls_.size() >= tidy_at_) {
    const auto has_ended = [](const auto& known) { return known.expired(); };
    calls_.erase(std::remove_if(calls_.begin(), calls_.end(), has_ended), calls_.end());
    tidy_at_ = 2 * calls_.size() + kLeastTracked;
  }
  calls_.push_back(call);
}

std::function<void(absl::StatusOr<grpc::ByteBuffer>)> Worker::WhenDone(std::unique_ptr<Call> sent) {
  return [this,
          call = std::shared_ptr<Call>(std::move(sent))](absl::StatusOr<grpc::ByteBuffer> reply) {
    if (call->bulk != nullptr) reply = call->bulk->BringHome(std::move(reply));
    if (reply.ok()) {
      call->reply = *std::move(reply);
    } else {
      call->status = std::move(reply).status();
    }
    OnEnd(*call);
    if (call->bulk != nullptr) call->bulk->End(call->status);
  };
}

void Worker::SendOnRing(std::unique_ptr<Call> sent, int64_t deadline_ns) {
  const Workload& workload = workloads_[sent->workload];
  client::Ring::Request request;
  request.operation = client::SubmitFieldsOf(workload.method)->request;
  request.header = sent->request->header;
  request.payload = sent->payload;
  request.is_in_place = placed_.has_value();
  request.deadline = SteadyNow() + absl::Nanoseconds(deadline_ns - NowNs());
  request.priority = workload.priority;
  Call* const call = sent.get();
  call->by_ring = true;
  const auto done = WhenDone(std::move(sent));
  if (const absl::Status status = ring_->Start(std::move(request), done); !status.ok()) {
    call->by_ring = false;
    FailedCall::Start(status, done, &queue_);
  }
}

void Worker::SendOnStream(std::unique_ptr<Call> sent, int64_t deadline_ns) {
  const Workload& workload = workloads_[sent->workload];
  client::SubmitItem item;
  item.fields = *client::SubmitFieldsOf(workload.method);
  item.request = Message(sent.get());
  item.deadline = SteadyNow() + absl::Nanoseconds(deadline_ns - NowNs());
  item.priority = workload.priority;
  item.done = WhenDone(std::move(sent));
  auto& stream = streams_[next_stream_++ % streams_.size()];
  if (!stream->Enqueue(item).ok()) {
    stream = NewStream();
    (void)stream->Enqueue(std::move(item));  // takes it: before its start it cannot have ended
    stream->Start();
  }
}

std::shared_ptr<client::SubmitCall> Worker::NewStream() {
  {
    absl::MutexLock lock(&mutex_);
    ++open_streams_;
  }
  client::SubmitStreamOptions options;
  options.response_timeout = spec_.timeout;
  auto stream = std::make_shared<client::SubmitCall>(options, &channels_, &queue_, [this] {
    absl::MutexLock lock(&mutex_);
    --open_streams_;
  });
  Track(stream);
  return stream;
}

void Worker::CloseStreams() {
  for (const auto& stream : streams_) stream->HalfClose();
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](int* open) { return *open == 0; }, &open_streams_));
}

}  // namespace baseband::load
