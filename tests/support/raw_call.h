// A unary call of any method with any bytes.
#ifndef BASEBAND_TESTS_SUPPORT_RAW_CALL_H_
#define BASEBAND_TESTS_SUPPORT_RAW_CALL_H_

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace baseband::testing {

// `method`: its whole name, "/baseband.v1.Baseband/Encode". Waits for the answer.
inline grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel,
                            const std::string& method, const std::string& bytes,
                            grpc::ByteBuffer* reply = nullptr) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(20)));
  const grpc::Slice slice(bytes);
  const auto call = stub.PrepareUnaryCall(&context, method, grpc::ByteBuffer(&slice, 1), &queue);
  call->StartCall();
  grpc::ByteBuffer nobodys;
  grpc::Status status;
  call->Finish(reply != nullptr ? reply : &nobodys, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  return status;
}

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_RAW_CALL_H_
