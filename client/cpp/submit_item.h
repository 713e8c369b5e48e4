// A request of a Submit stream. Internal to the client libraries.
#ifndef BASEBAND_CLIENT_CPP_SUBMIT_ITEM_H_
#define BASEBAND_CLIENT_CPP_SUBMIT_ITEM_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "client/cpp/attempt.h"
#include "client/cpp/priority.h"
#include "client/cpp/submit_wire.h"
#include "grpcpp/support/byte_buffer.h"

namespace baseband::client {

// A request, and who gets its answer.
struct SubmitItem {
  using Done = std::function<void(absl::StatusOr<grpc::ByteBuffer>)>;

  SubmitFields fields;
  grpc::ByteBuffer request;
  absl::Time deadline = absl::InfiniteFuture();  // of SteadyNow()
  absl::optional<Priority> priority;
  Repetition repetition;  // a SubmitSession heeds it
  Done done;
};

// The most bytes that its message has.
int64_t BytesOf(const SubmitItem& item);

// Its message; the timeout there is what is left now.
grpc::ByteBuffer ToMessage(uint64_t id, const SubmitItem& item);

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_SUBMIT_ITEM_H_
