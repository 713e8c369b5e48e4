#include "client/cpp/call_runner.h"

#include <algorithm>
#include <utility>

#include "client/cpp/delayed_run.h"
#include "client/cpp/submit_call.h"

namespace baseband::client {
namespace {

void Poll(grpc::CompletionQueue* queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) {
    const std::unique_ptr<CallTag> event(static_cast<CallTag*>(tag));
    event->call->OnEvent(event->event, ok);
  }
}

}  // namespace

template <typename Make>
auto CallRunner::StartCall(const Make& make) {
  auto slot = std::make_shared<std::weak_ptr<AsyncCall>>();
  grpc::CompletionQueue* const queue =
      queues_[turn_.fetch_add(1, std::memory_order_relaxed) % queues_.size()].get();
  auto call = make(queue, [this, slot] { Remove(slot->lock()); });
  *slot = call;
  if (!Add(call)) {
    call->Cancel();
  }
  call->Start();
  return call;
}

CallRunner::CallRunner(const ClientOptions& options)
    : retry_(options), stripe_from_bytes_(options.stripe_from_bytes), channels_(options) {
  for (int i = 0; i < options.polling_threads; ++i) {
    queues_.push_back(std::make_unique<grpc::CompletionQueue>());
  }
  for (const auto& queue : queues_) {
    threads_.emplace_back([q = queue.get()] { Poll(q); });
  }
}

CallRunner::~CallRunner() {
  for (const std::shared_ptr<AsyncCall>& call : CloseAndListCalls()) {
    call->Cancel();
  }
  {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](std::unordered_set<std::shared_ptr<AsyncCall>>* calls) { return calls->empty(); },
        &calls_));
  }
  for (const auto& queue : queues_) {
    queue->Shutdown();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

std::weak_ptr<AsyncCall> CallRunner::StartUnary(CallSpec spec, UnaryCall::Done done) {
  spec.retry = retry_;
  return StartCall([&](grpc::CompletionQueue* queue, const std::function<void()>& closed) {
    return std::make_shared<UnaryCall>(
        std::move(spec), &channels_, queue,
        [closed, done = std::move(done)](absl::StatusOr<grpc::ByteBuffer> response) {
          done(std::move(response));
          closed();
        });
  });
}

int CallRunner::CountStripes(int64_t payload_bytes) const {
  if (stripe_from_bytes_ == 0 || payload_bytes < stripe_from_bytes_) return 1;
  if (channels_.throttle().is_limiting()) return 1;  // parts would take each other's place
  const int64_t most = payload_bytes / (stripe_from_bytes_ / 2);
  return static_cast<int>(std::min<int64_t>(most, channels_.CountIdle()));
}

std::weak_ptr<AsyncCall> CallRunner::StartStriped(CallSpec whole,
                                                  const std::vector<grpc::ByteBuffer>& parts,
                                                  StripedCall::Done done) {
  const grpc::ByteBuffer request = std::move(whole.request);
  const auto start = [this, spec = std::move(whole)](const grpc::ByteBuffer& part,
                                                     UnaryCall::Done part_done) {
    CallSpec call = spec;
    call.request = part;
    return StartUnary(std::move(call), std::move(part_done));
  };
  const auto call = std::make_shared<StripedCall>(start, request, std::move(done));
  call->Start(parts);
  return call;
}

std::shared_ptr<StreamCall> CallRunner::StartStream(const StreamSpec& spec) {
  return StartCall([&](grpc::CompletionQueue* queue, const std::function<void()>& closed) {
    return std::make_shared<StreamCall>(spec, &channels_, queue, closed);
  });
}

std::shared_ptr<SubmitSession> CallRunner::StartSession(const SubmitStreamOptions& options) {
  const auto open = [this, options] {
    return StartCall([&](grpc::CompletionQueue* queue, const std::function<void()>& closed) {
      return std::make_shared<SubmitCall>(options, &channels_, queue, closed);
    });
  };
  const auto after = [this](absl::Duration delay, std::function<void(bool)> then) {
    StartCall([&](grpc::CompletionQueue* queue, const std::function<void()>& closed) {
      return std::make_shared<DelayedRun>(delay, &channels_, queue, std::move(then), closed);
    });
  };
  return std::make_shared<SubmitSession>(SubmitSession::Connection{retry_, open, after});
}

bool CallRunner::Add(const std::shared_ptr<AsyncCall>& call) {
  absl::MutexLock lock(&mutex_);
  calls_.insert(call);
  return !closing_;
}

void CallRunner::Remove(const std::shared_ptr<AsyncCall>& call) {
  absl::MutexLock lock(&mutex_);
  calls_.erase(call);
}

std::vector<std::shared_ptr<AsyncCall>> CallRunner::CloseAndListCalls() {
  absl::MutexLock lock(&mutex_);
  closing_ = true;
  return std::vector<std::shared_ptr<AsyncCall>>(calls_.begin(), calls_.end());
}

}  // namespace baseband::client
