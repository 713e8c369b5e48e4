#include "client/cpp/client.h"

#include <future>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "baseband/v1/baseband.grpc.pb.h"
#include "client/cpp/attempt.h"
#include "client/cpp/block_split.h"
#include "client/cpp/call_runner.h"
#include "client/cpp/client_options.h"
#include "client/cpp/messages.h"
#include "client/cpp/ring.h"
#include "client/cpp/shared_arena.h"
#include "client/cpp/shared_bulk.h"
#include "google/protobuf/wrappers.pb.h"
#include "grpcpp/support/byte_buffer.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

constexpr char kEncode[] = "/baseband.v1.Baseband/Encode";
constexpr char kDecode[] = "/baseband.v1.Baseband/Decode";
constexpr char kEncodeSharedChannel[] = "/baseband.v1.Baseband/EncodeSharedChannel";
constexpr char kDecodeSharedChannel[] = "/baseband.v1.Baseband/DecodeSharedChannel";
constexpr char kRecoverCarrier[] = "/baseband.v1.Baseband/RecoverCarrier";
constexpr char kDownconvert[] = "/baseband.v1.Baseband/Downconvert";
constexpr char kDownconvertStream[] = "/baseband.v1.Baseband/DownconvertStream";
constexpr char kGetCapabilities[] = "/baseband.v1.Baseband/GetCapabilities";
constexpr char kHealthCheck[] = "/grpc.health.v1.Health/Check";

// grpc.health.v1.HealthCheckRequest and -Response as they are on the wire: field 1, a string, and
// field 1, an enum. Their own classes would clash with those of a program that has them as well.
using HealthCheckRequest = google::protobuf::StringValue;
using HealthCheckResponse = google::protobuf::Int32Value;

Health ToHealth(const HealthCheckResponse& response) {
  switch (response.value()) {
    case 1:
      return Health::kServing;
    case 2:
      return Health::kNotServing;
    default:
      return Health::kUnknown;
  }
}

CallHeader HeaderOf(const CallOptions& options) {
  CallHeader header;
  header.deadline = SteadyNow() + options.timeout;
  header.wait_for_ready = options.wait_for_ready;
  header.priority = options.priority;
  header.request_id = options.request_id;
  return header;
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

class Client::Impl {
 public:
  explicit Impl(const ClientOptions& options) : runner_(options) {}
  ~Impl() { SetRing(nullptr); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  CallRunner& runner() { return runner_; }

  // Null: there is none, or none any more.
  std::shared_ptr<SharedArena> LiveArena() {
    const absl::MutexLock lock(&arena_mutex_);
    if (arena_ != nullptr && !arena_->IsAlive()) arena_ = nullptr;
    return arena_;
  }
  void SetArena(std::shared_ptr<SharedArena> arena) {
    const absl::MutexLock lock(&arena_mutex_);
    arena_ = std::move(arena);
  }

  // The last one ends without the lock, and not by the last callback that has it: that waits for
  // callbacks, which may send calls.
  void SetRing(std::shared_ptr<Ring> ring) {
    {
      const absl::MutexLock lock(&arena_mutex_);
      std::swap(ring, ring_);
    }
    if (ring != nullptr) ring->End();
  }

  // A call that goes through the ring, or whose payload goes through shared memory, if there is one
  // of them.
  template <typename Response, typename Request>
  std::weak_ptr<AsyncCall> StartBulk(const char* method, Request request,
                                     const CallOptions& options, Callback<Response> done) {
    if (StartOnRing<Response>(method, &request, options, done)) return {};
    const std::shared_ptr<SharedBulk> bulk = BulkOf(LiveArena(), *SubmitFieldsOf(method), request);
    if (bulk == nullptr) {
      const size_t payload_bytes = request.payload().size();
      CallSpec spec = SpecOf(method, SerializeBulk(&request), options);
      spec.repetition = RepetitionOf(request);
      if constexpr (kHasBlocks<Request>) {
        const auto parts = SplitBlocks(request, spec.request, payload_bytes,
                                       runner_.CountStripes(static_cast<int64_t>(payload_bytes)));
        if (!parts.empty()) {
          return runner_.StartStriped(std::move(spec), parts, WhenJoined<Response>(done));
        }
      }
      return Start<Response>(std::move(spec), std::move(done));
    }
    request.clear_payload();
    Repetition repetition = RepetitionOf(bulk, request);
    bulk->NameIn(&request);
    CallSpec spec = SpecOf(method, Serialize(request), options);
    spec.repetition = std::move(repetition);
    return runner_.StartUnary(std::move(spec), WhenShared<Response>(bulk, std::move(done)));
  }

  template <typename Response>
  std::weak_ptr<AsyncCall> Start(const char* method, const google::protobuf::MessageLite& request,
                                 const CallOptions& options, Callback<Response> done) {
    return Start<Response>(SpecOf(method, Serialize(request), options), std::move(done));
  }

 private:
  template <typename Response>
  std::weak_ptr<AsyncCall> Start(CallSpec spec, Callback<Response> done) {
    return runner_.StartUnary(std::move(spec),
                              [done = std::move(done)](absl::StatusOr<grpc::ByteBuffer> response) {
                                done(Parse<Response>(std::move(response)));
                              });
  }

  // Null: there is none, or none any more.
  std::shared_ptr<Ring> LiveRing() {
    const absl::MutexLock lock(&arena_mutex_);
    return ring_ != nullptr && ring_->is_alive() ? ring_ : nullptr;
  }

  // False, with `request` as it was, if there is no ring, or no room in it.
  template <typename Response, typename Request>
  bool StartOnRing(const char* method, Request* request, const CallOptions& options,
                   const Callback<Response>& done) {
    if (request->has_payload_at() || request->has_reply_at() || request->has_hold()) return false;
    const std::shared_ptr<Ring> ring = LiveRing();
    if (ring == nullptr) return false;
    auto kept = std::make_shared<Request>(std::move(*request));
    Ring::Request sent;
    sent.operation = SubmitFieldsOf(method)->request;
    sent.header = WithoutPayload(*kept).SerializeAsString();
    sent.payload = kept->payload();
    sent.deadline = SteadyNow() + options.timeout;
    sent.priority = options.priority;
    const auto answered = [this, kept, method, options, done,
                           deadline = sent.deadline](absl::StatusOr<grpc::ByteBuffer> answer) {
      if (!absl::IsUnavailable(answer.status())) {
        done(Parse<Response>(std::move(answer)));
        return;
      }
      CallOptions rest = options;
      rest.timeout = deadline - SteadyNow();
      Start<Response>(method, *kept, rest, done);
    };
    if (ring->Start(std::move(sent), answered).ok()) return true;
    *request = std::move(*kept);
    return false;
  }

  static CallSpec SpecOf(const char* method, absl::StatusOr<grpc::ByteBuffer> bytes,
                         const CallOptions& options) {
    CallSpec spec;
    spec.method = method;
    spec.header = HeaderOf(options);
    if (bytes.ok()) {
      spec.request = *std::move(bytes);
    } else {
      spec.failure = std::move(bytes).status();
    }
    return spec;
  }

  absl::Mutex arena_mutex_;
  std::shared_ptr<SharedArena> arena_ ABSL_GUARDED_BY(arena_mutex_);
  CallRunner runner_;  // callbacks use the rest
  // Ends first: what ends with it goes on as a call.
  std::shared_ptr<Ring> ring_ ABSL_GUARDED_BY(arena_mutex_);
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
  return impl_->runner().channels().Connect(timeout, keep_trying);
}

absl::StatusOr<v1::SharedMemoryCapabilities> Client::SharedMemoryOf(const CallOptions& options) {
  if (!impl_->runner().channels().is_one_server()) {
    return absl::FailedPreconditionError(
        "the target may stand for several servers: they share no memory with one client");
  }
  BASEBAND_ASSIGN_OR_RETURN(v1::GetCapabilitiesResponse capabilities, GetCapabilities(options));
  return std::move(*capabilities.mutable_shared_memory());
}

absl::Status Client::ShareMemory(const CallOptions& options, int64_t least_bytes) {
  BASEBAND_ASSIGN_OR_RETURN(const v1::SharedMemoryCapabilities shared, SharedMemoryOf(options));
  BASEBAND_ASSIGN_OR_RETURN(std::shared_ptr<SharedArena> arena,
                            SharedArena::Connect(shared, least_bytes));
  impl_->SetArena(std::move(arena));
  return absl::OkStatus();
}

absl::Status Client::OpenRing(const RingOptions& options, const CallOptions& call) {
  BASEBAND_ASSIGN_OR_RETURN(const v1::SharedMemoryCapabilities shared, SharedMemoryOf(call));
  BASEBAND_ASSIGN_OR_RETURN(std::shared_ptr<Ring> ring, Ring::Connect(shared, options));
  impl_->SetRing(std::move(ring));
  return absl::OkStatus();
}

Buffer Client::Loan(int64_t bytes) {
  const std::shared_ptr<SharedArena> arena = impl_->LiveArena();
  if (arena != nullptr && bytes > 0) {
    absl::StatusOr<Buffer> buffer = arena->Loan(bytes);
    if (buffer.ok()) return *std::move(buffer);
  }
  return Buffer(bytes);
}

CallHandle Client::Encode(v1::EncodeRequest request, const CallOptions& options,
                          Callback<v1::EncodeResponse> done) {
  return CallHandle(
      impl_->StartBulk<v1::EncodeResponse>(kEncode, std::move(request), options, std::move(done)));
}

CallHandle Client::Decode(v1::DecodeRequest request, const CallOptions& options,
                          Callback<v1::DecodeResponse> done) {
  return CallHandle(
      impl_->StartBulk<v1::DecodeResponse>(kDecode, std::move(request), options, std::move(done)));
}

CallHandle Client::EncodeSharedChannel(v1::EncodeSharedChannelRequest request,
                                       const CallOptions& options,
                                       Callback<v1::EncodeSharedChannelResponse> done) {
  return CallHandle(impl_->StartBulk<v1::EncodeSharedChannelResponse>(
      kEncodeSharedChannel, std::move(request), options, std::move(done)));
}

CallHandle Client::DecodeSharedChannel(v1::DecodeSharedChannelRequest request,
                                       const CallOptions& options,
                                       Callback<v1::DecodeSharedChannelResponse> done) {
  return CallHandle(impl_->StartBulk<v1::DecodeSharedChannelResponse>(
      kDecodeSharedChannel, std::move(request), options, std::move(done)));
}

CallHandle Client::RecoverCarrier(v1::RecoverCarrierRequest request, const CallOptions& options,
                                  Callback<v1::RecoverCarrierResponse> done) {
  return CallHandle(impl_->StartBulk<v1::RecoverCarrierResponse>(
      kRecoverCarrier, std::move(request), options, std::move(done)));
}

CallHandle Client::Downconvert(v1::DownconvertRequest request, const CallOptions& options,
                               Callback<v1::DownconvertResponse> done) {
  return CallHandle(impl_->StartBulk<v1::DownconvertResponse>(kDownconvert, std::move(request),
                                                              options, std::move(done)));
}

CallHandle Client::GetCapabilities(v1::GetCapabilitiesRequest request, const CallOptions& options,
                                   Callback<v1::GetCapabilitiesResponse> done) {
  return CallHandle(impl_->Start<v1::GetCapabilitiesResponse>(kGetCapabilities, request, options,
                                                              std::move(done)));
}

CallHandle Client::CheckHealth(const std::string& service, const CallOptions& options,
                               Callback<Health> done) {
  using Response = HealthCheckResponse;
  HealthCheckRequest request;
  request.set_value(service);
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

absl::StatusOr<v1::EncodeSharedChannelResponse> Client::EncodeSharedChannel(
    v1::EncodeSharedChannelRequest request, const CallOptions& options) {
  return Wait<v1::EncodeSharedChannelResponse>([&](Callback<v1::EncodeSharedChannelResponse> done) {
    EncodeSharedChannel(std::move(request), options, std::move(done));
  });
}

absl::StatusOr<v1::DecodeSharedChannelResponse> Client::DecodeSharedChannel(
    v1::DecodeSharedChannelRequest request, const CallOptions& options) {
  return Wait<v1::DecodeSharedChannelResponse>([&](Callback<v1::DecodeSharedChannelResponse> done) {
    DecodeSharedChannel(std::move(request), options, std::move(done));
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
  // gRPC ends the process of who gives it more.
  if (absl::Status status = CheckSize(request); !status.ok()) {
    return status;
  }
  Attempt attempt(HeaderOf(options), &impl_->runner().channels(),
                  static_cast<size_t>(request.GetCachedSize()));
  const auto stub = v1::Baseband::NewStub(attempt.channel().channel);
  const auto reader = stub->Minimize(attempt.context(), request);
  absl::optional<v1::MinimizeAnswer> answer;
  bool cancelled = false;
  for (v1::MinimizeResponse response; reader->Read(&response);) {
    if (response.has_answer()) {
      answer = std::move(*response.mutable_answer());
    } else if (response.has_progress() && progress != nullptr && !progress(response.progress())) {
      attempt.Cancel();
      cancelled = true;
    }
  }
  const grpc::Status end = reader->Finish();
  attempt.End();
  const absl::Status status = attempt.Outcome(end, cancelled);
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
  return std::make_unique<DownconvertStream>(impl_->runner().StartStream(spec));
}

absl::StatusOr<std::unique_ptr<SubmitStream>> Client::OpenSubmitStream(
    const SubmitStreamOptions& options) {
  if (options.response_timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "response_timeout ", absl::FormatDuration(options.response_timeout), " is not > 0"));
  }
  return std::make_unique<SubmitStream>(impl_->runner().StartSession(options),
                                        [impl = impl_.get()] { return impl->LiveArena(); });
}

}  // namespace baseband::client
