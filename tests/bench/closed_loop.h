// Calls of which each begins as another ends: what gRPC's client does at its best, without anything
// of ours.
#ifndef BASEBAND_TESTS_BENCH_CLOSED_LOOP_H_
#define BASEBAND_TESTS_BENCH_CLOSED_LOOP_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/time/time.h"
#include "kernels/base/steady_time.h"

namespace baseband::bench {

struct LoopCall {
  absl::Time start = SteadyNow();
  grpc::ClientContext context;
  grpc::ByteBuffer reply;
  grpc::Status status;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
};

// `in_flight` at a time, on this thread, the last ones begun by `end`; each as `prepare`(context,
// queue) makes its reader, and shown to `ended`(call) when it is over.
template <typename Prepare, typename Ended>
void RunClosedLoop(int in_flight, absl::Time end, const Prepare& prepare, const Ended& ended) {
  grpc::CompletionQueue queue;
  const auto start = [&] {
    auto* const call = new LoopCall();
    call->reader = prepare(call->context, queue);
    call->reader->StartCall();
    call->reader->Finish(&call->reply, &call->status, call);
  };
  for (int i = 0; i < in_flight; ++i) start();
  void* tag = nullptr;
  bool ok = false;
  for (int running = in_flight; running > 0 && queue.Next(&tag, &ok);) {
    const std::unique_ptr<LoopCall> call(static_cast<LoopCall*>(tag));
    ended(*call);
    if (SteadyNow() < end) {
      start();
    } else {
      --running;
    }
  }
}

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_CLOSED_LOOP_H_
