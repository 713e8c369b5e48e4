#include "client/cpp/client.h"

#include <atomic>
#include <future>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "baseband/v1/baseband.grpc.pb.h"
#include "client/cpp/async_call.h"
#include "client/cpp/channel_pool.h"
#include "client/cpp/client_options.h"
#include "client/cpp/delayed_run.h"
#include "client/cpp/grpc_time.h"
#include "client/cpp/messages.h"
#include "client/cpp/stream_call.h"
#include "client/cpp/submit_call.h"
#include "client/cpp/submit_session.h"
#include "client/cpp/to_status.h"
#include "client/cpp/unary_call.h"
#include "grpc/health/v1/health.pb.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/support/byte_buffer.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

constexpr char kEncode[] = "/baseband.v1.Baseband/Encode";
constexpr char kDecode[] = "/baseband.v1.Baseband/Decode";
constexpr char kRecoverCarrier[] = "/baseband.v1.Baseband/RecoverCarrier";
constexpr char kDownconvert[] = "/baseband.v1.Baseband/Downconvert";
constexpr char kDownconvertStream[] = "/baseband.v1.Baseband/DownconvertStream";
constexpr char kGetCapabilities[] = "/baseband.v1.Baseband/GetCapabilities";
constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";

Health ToHealth(const grpc::health::v1::HealthCheckResponse& response) {
  switch (response.status()) {
    case grpc::health::v1::HealthCheckResponse::SERVING:
      return Health::kServing;
    case grpc::health::v1::HealthCheckResponse::NOT_SERVING:
      return Health::kNotServing;
    default:
      return Health::kUnknown;
  }
}

// Calls `start` with a callback and waits for what the callback gets.
template <typename Response, typename Start>
absl::StatusOr<Response> Wait(Start start) {
  // Shared: the thread that sets the value may still be inside the promise when we wake.
  auto promise = std::make_shared<std::promise<absl::StatusOr<Response>>>();
  std::future<absl::StatusOr<Response>> future = promise->get_future();
  start([promise](absl::StatusOr<Response> response) { promise->set_value(std::move(response)); });
  return future.get();
}

}  // namespace

// The connections, the completion queues with their threads, and the calls in flight.
class Client::Impl {
 private:
  // Starts what `make` makes; until it calls what `make` was given, it is known here.
  template <typename Make>
  auto StartCall(const Make& make) {
    auto slot = std::make_shared<std::weak_ptr<AsyncCall>>();
    auto call = make([this, slot] { Remove(slot->lock()); });
    *slot = call;
    if (!Add(call)) {
      call->Cancel();
    }
    call->Start();
    return call;
  }

 public:
  explicit Impl(const ClientOptions& options)
      : max_attempts_(options.max_attempts), backoff_(options.initial_backoff), channels_(options) {
    for (int i = 0; i < options.polling_threads; ++i) {
      queues_.push_back(std::make_unique<grpc::CompletionQueue>());
    }
    for (const auto& queue : queues_) {
      threads_.emplace_back([q = queue.get()] { Poll(q); });
    }
  }

  ~Impl() {
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

  ChannelPool& channels() { return channels_; }

  template <typename Response>
  std::weak_ptr<AsyncCall> Start(const char* method, const google::protobuf::MessageLite& request,
                                 const CallOptions& options, Callback<Response> done) {
    CallSpec spec;
    spec.method = method;
    spec.deadline = SteadyNow() + options.timeout;
    spec.wait_for_ready = options.wait_for_ready;
    spec.priority = options.priority;
    spec.max_attempts = max_attempts_;
    spec.request_id = options.request_id;
    absl::StatusOr<grpc::ByteBuffer> bytes = Serialize(request);
    if (!IsToken(options.request_id)) {
      spec.failure = absl::InvalidArgumentError(
          "request_id has a byte that is not printable ASCII, or a blank");
    } else if (bytes.ok()) {
      spec.request = *std::move(bytes);
    } else {
      spec.failure = std::move(bytes).status();
    }
    return StartCall([&](const std::function<void()>& closed) {
      return std::make_shared<UnaryCall>(
          std::move(spec), &channels_, NextQueue(),
          [closed, done = std::move(done)](absl::StatusOr<grpc::ByteBuffer> response) {
            done(Parse<Response>(std::move(response)));
            closed();
          });
    });
  }

  template <typename Call, typename Spec>
  std::shared_ptr<Call> StartStream(const Spec& spec) {
    return StartCall([&](const std::function<void()>& closed) {
      return std::make_shared<Call>(spec, &channels_, NextQueue(), closed);
    });
  }

  std::shared_ptr<SubmitSession> StartSession(const SubmitStreamOptions& options) {
    return std::make_shared<SubmitSession>(SubmitSession::Connection{
        max_attempts_, backoff_, [this, options] { return StartStream<SubmitCall>(options); },
        [this](absl::Duration delay, std::function<void(bool)> then) {
          StartCall([&](const std::function<void()>& closed) {
            return std::make_shared<DelayedRun>(delay, std::move(then), NextQueue(), closed);
          });
        }});
  }

 private:
  grpc::CompletionQueue* NextQueue() {
    return queues_[turn_.fetch_add(1, std::memory_order_relaxed) % queues_.size()].get();
  }

  static void Poll(grpc::CompletionQueue* queue) {
    void* tag = nullptr;
    bool ok = false;
    while (queue->Next(&tag, &ok)) {
      const std::unique_ptr<CallTag> event(static_cast<CallTag*>(tag));
      event->call->OnEvent(event->event, ok);
    }
  }

  // False once the client is being destroyed: the call must then be cancelled by the caller.
  bool Add(const std::shared_ptr<AsyncCall>& call) {
    absl::MutexLock lock(&mutex_);
    calls_.insert(call);
    return !closing_;
  }

  void Remove(const std::shared_ptr<AsyncCall>& call) {
    absl::MutexLock lock(&mutex_);
    calls_.erase(call);
  }

  std::vector<std::shared_ptr<AsyncCall>> CloseAndListCalls() {
    absl::MutexLock lock(&mutex_);
    closing_ = true;
    return std::vector<std::shared_ptr<AsyncCall>>(calls_.begin(), calls_.end());
  }

  const int max_attempts_;
  const absl::Duration backoff_;
  ChannelPool channels_;
  std::vector<std::unique_ptr<grpc::CompletionQueue>> queues_;
  std::atomic<unsigned> turn_{0};
  absl::Mutex mutex_;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::unordered_set<std::shared_ptr<AsyncCall>> calls_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

void CallHandle::Cancel() const {
  if (const std::shared_ptr<AsyncCall> call = call_.lock()) {
    call->Cancel();
  }
}

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::~Client() = default;

absl::StatusOr<std::unique_ptr<Client>> Client::Create(const ClientOptions& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) {
    return status;
  }
  return std::unique_ptr<Client>(new Client(std::make_unique<Impl>(options)));
}

absl::Status Client::Connect(absl::Duration timeout, bool keep_trying) {
  return impl_->channels().Connect(timeout, keep_trying);
}

CallHandle Client::Encode(v1::EncodeRequest request, const CallOptions& options,
                          Callback<v1::EncodeResponse> done) {
  return CallHandle(impl_->Start<v1::EncodeResponse>(kEncode, request, options, std::move(done)));
}

CallHandle Client::Decode(v1::DecodeRequest request, const CallOptions& options,
                          Callback<v1::DecodeResponse> done) {
  return CallHandle(impl_->Start<v1::DecodeResponse>(kDecode, request, options, std::move(done)));
}

CallHandle Client::RecoverCarrier(v1::RecoverCarrierRequest request, const CallOptions& options,
                                  Callback<v1::RecoverCarrierResponse> done) {
  return CallHandle(
      impl_->Start<v1::RecoverCarrierResponse>(kRecoverCarrier, request, options, std::move(done)));
}

CallHandle Client::Downconvert(v1::DownconvertRequest request, const CallOptions& options,
                               Callback<v1::DownconvertResponse> done) {
  return CallHandle(
      impl_->Start<v1::DownconvertResponse>(kDownconvert, request, options, std::move(done)));
}

CallHandle Client::GetCapabilities(v1::GetCapabilitiesRequest request, const CallOptions& options,
                                   Callback<v1::GetCapabilitiesResponse> done) {
  return CallHandle(impl_->Start<v1::GetCapabilitiesResponse>(kGetCapabilities, request, options,
                                                              std::move(done)));
}

CallHandle Client::CheckHealth(const std::string& service, const CallOptions& options,
                               Callback<Health> done) {
  using Response = grpc::health::v1::HealthCheckResponse;
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  return CallHandle(impl_->Start<Response>(
      kHealthCheck, request, options, [done = std::move(done)](absl::StatusOr<Response> response) {
        done(response.ok() ? absl::StatusOr<Health>(ToHealth(*response)) : response.status());
      }));
}

absl::StatusOr<v1::EncodeResponse> Client::Encode(v1::EncodeRequest request,
                                                  const CallOptions& options) {
  return Wait<v1::EncodeResponse>([&](Callback<v1::EncodeResponse> done) {
    Encode(std::move(request), options, std::move(done));
  });
}

absl::StatusOr<v1::DecodeResponse> Client::Decode(v1::DecodeRequest request,
                                                  const CallOptions& options) {
  return Wait<v1::DecodeResponse>([&](Callback<v1::DecodeResponse> done) {
    Decode(std::move(request), options, std::move(done));
  });
}

absl::StatusOr<v1::RecoverCarrierResponse> Client::RecoverCarrier(v1::RecoverCarrierRequest request,
                                                                  const CallOptions& options) {
  return Wait<v1::RecoverCarrierResponse>([&](Callback<v1::RecoverCarrierResponse> done) {
    RecoverCarrier(std::move(request), options, std::move(done));
  });
}

absl::StatusOr<v1::DownconvertResponse> Client::Downconvert(v1::DownconvertRequest request,
                                                            const CallOptions& options) {
  return Wait<v1::DownconvertResponse>([&](Callback<v1::DownconvertResponse> done) {
    Downconvert(std::move(request), options, std::move(done));
  });
}

absl::StatusOr<v1::GetCapabilitiesResponse> Client::GetCapabilities(
    v1::GetCapabilitiesRequest request, const CallOptions& options) {
  return Wait<v1::GetCapabilitiesResponse>([&](Callback<v1::GetCapabilitiesResponse> done) {
    GetCapabilities(std::move(request), options, std::move(done));
  });
}

absl::StatusOr<v1::GetCapabilitiesResponse> Client::GetCapabilities(const CallOptions& options) {
  return GetCapabilities(v1::GetCapabilitiesRequest(), options);
}

absl::StatusOr<Health> Client::CheckHealth(const std::string& service, const CallOptions& options) {
  return Wait<Health>(
      [&](Callback<Health> done) { CheckHealth(service, options, std::move(done)); });
}

absl::StatusOr<v1::MinimizeAnswer> Client::Minimize(
    const v1::MinimizeRequest& request, const CallOptions& options,
    const std::function<bool(const v1::MinimizeProgress&)>& progress) {
  PooledChannel& channel = impl_->channels().Pick();
  grpc::ClientContext context;
  context.set_deadline(ToGrpcTime(SteadyNow() + options.timeout));
  context.set_wait_for_ready(options.wait_for_ready);
  SetPriority(options.priority, &context);
  impl_->channels().Authorize(&context);
  const auto stub = v1::Baseband::NewStub(channel.channel);
  channel.calls.fetch_add(1, std::memory_order_relaxed);
  const auto reader = stub->Minimize(&context, request);
  absl::optional<v1::MinimizeAnswer> answer;
  bool cancelled = false;
  for (v1::MinimizeResponse response; reader->Read(&response);) {
    if (response.has_answer()) {
      answer = std::move(*response.mutable_answer());
    } else if (response.has_progress() && progress != nullptr && !progress(response.progress())) {
      context.TryCancel();
      cancelled = true;
    }
  }
  const grpc::Status end = reader->Finish();
  const absl::Status status = cancelled ? ToStatus(end) : ToStatusUncancelled(end);
  channel.calls.fetch_sub(1, std::memory_order_relaxed);
  if (!status.ok()) {
    return status;
  }
  if (!answer.has_value()) {
    return absl::InternalError("the server ended the search without an answer");
  }
  return *std::move(answer);
}

absl::StatusOr<std::unique_ptr<DownconvertStream>> Client::OpenDownconvertStream(
    const StreamOptions& options) {
  absl::Status status = CheckRange("max_in_flight", options.max_in_flight, 1, 64);
  if (options.timeout <= absl::ZeroDuration() || options.response_timeout <= absl::ZeroDuration()) {
    status.Update(absl::InvalidArgumentError("timeout and response_timeout must be > 0"));
  }
  if (!status.ok()) {
    return status;
  }
  StreamSpec spec;
  spec.method = kDownconvertStream;
  spec.options = options;
  return std::make_unique<DownconvertStream>(impl_->StartStream<StreamCall>(spec));
}

absl::StatusOr<std::unique_ptr<SubmitStream>> Client::OpenSubmitStream(
    const SubmitStreamOptions& options) {
  if (options.response_timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "response_timeout ", absl::FormatDuration(options.response_timeout), " is not > 0"));
  }
  return std::make_unique<SubmitStream>(impl_->StartSession(options));
}

}  // namespace baseband::client
