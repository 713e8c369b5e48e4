// A bare gRPC server: reads a request, sends a ready-made reply. What gRPC itself costs.
#ifndef BASEBAND_TESTS_BENCH_ECHO_SERVER_H_
#define BASEBAND_TESTS_BENCH_ECHO_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "baseband/v1/baseband.grpc.pb.h"

namespace baseband::bench {

// Serves Encode and Decode on a free loopback port from completion queues, a thread each, tuned as
// basebandd is; ends in the destructor.
class EchoServer {
 public:
  // Every reply is one bulk field that makes `reply_bytes` together with its head; negative: every
  // call is refused as invalid, with a message of so many bytes. Requests have at most
  // `max_request_bytes`; -1: any. Clients may send DATA frames of `max_frame_bytes`.
  EchoServer(int64_t reply_bytes, int num_queues, int threads_per_queue, int max_request_bytes = -1,
             int max_frame_bytes = 1 << 20) {
    const std::string reply(static_cast<size_t>(std::abs(reply_bytes)), 'x');
    if (reply_bytes < 0) refusal_ = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, reply);
    const grpc::Slice slice(reply);
    reply_ = grpc::ByteBuffer(&slice, 1);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.RegisterService(&service_);
    builder.SetMaxReceiveMessageSize(max_request_bytes);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, max_frame_bytes);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    for (int i = 0; i < num_queues; ++i) queues_.push_back(builder.AddCompletionQueue());
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
    for (const auto& queue : queues_) {
      for (int i = 0; i < 16; ++i) {
        Listen(false, queue.get());
        Listen(true, queue.get());
      }
      for (int i = 0; i < threads_per_queue; ++i) {
        threads_.emplace_back([this, q = queue.get()] { Poll(q); });
      }
    }
  }
  ~EchoServer() {
    server_->Shutdown(std::chrono::system_clock::now());
    for (const auto& queue : queues_) queue->Shutdown();
    for (std::thread& thread : threads_) thread.join();
  }
  const std::string& address() const { return address_; }
  // From now on every reply comes that much later: the time is spent spinning, as work would.
  void set_delay(std::chrono::microseconds delay) { delay_us_ = delay.count(); }

 private:
  using Service =
      v1::Baseband::WithRawMethod_Encode<v1::Baseband::WithRawMethod_Decode<v1::Baseband::Service>>;
  struct Call {
    bool decode = false;
    bool answered = false;
    grpc::ServerContext context;
    grpc::ByteBuffer request;
    grpc::ServerAsyncResponseWriter<grpc::ByteBuffer> responder{&context};
  };

  void Listen(bool decode, grpc::ServerCompletionQueue* queue) {
    auto* const call = new Call();
    call->decode = decode;
    if (decode) {
      service_.RequestDecode(&call->context, &call->request, &call->responder, queue, queue, call);
    } else {
      service_.RequestEncode(&call->context, &call->request, &call->responder, queue, queue, call);
    }
  }
  void Poll(grpc::ServerCompletionQueue* queue) {
    void* tag = nullptr;
    bool ok = false;
    while (queue->Next(&tag, &ok)) {
      std::unique_ptr<Call> call(static_cast<Call*>(tag));
      if (ok && !call->answered) {
        Listen(call->decode, queue);
        call->answered = true;
        call->request.Clear();
        const auto end =
            std::chrono::steady_clock::now() + std::chrono::microseconds(delay_us_.load());
        while (std::chrono::steady_clock::now() < end) {
        }
        if (refusal_.ok()) {
          call->responder.Finish(reply_, grpc::Status::OK, call.get());
        } else {
          call->responder.FinishWithError(refusal_, call.get());
        }
        call.release();
      }
    }
  }

  std::atomic<int64_t> delay_us_{0};
  Service service_;
  grpc::ByteBuffer reply_;
  grpc::Status refusal_;  // OK: none
  std::string address_;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::thread> threads_;
};

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_ECHO_SERVER_H_
