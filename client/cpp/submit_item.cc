#include "client/cpp/submit_item.h"

#include <algorithm>

#include "kernels/base/steady_time.h"

namespace baseband::client {
namespace {

// Both name the classes in the same order.
v1::Priority ToProto(Priority priority) {
  return static_cast<v1::Priority>(v1::PRIORITY_HIGH + static_cast<int>(priority));
}
static_assert(v1::PRIORITY_LOW - v1::PRIORITY_HIGH == static_cast<int>(Priority::kLow));

}  // namespace

int64_t BytesOf(const SubmitItem& item) {
  return static_cast<int64_t>(item.request.Length() + kMaxSubmitHeaderBytes);
}

grpc::ByteBuffer ToMessage(uint64_t id, const SubmitItem& item) {
  v1::SubmitRequest header;
  header.set_id(id);
  if (item.deadline != absl::InfiniteFuture()) {
    header.set_timeout_us(static_cast<uint64_t>(
        std::max<int64_t>(1, absl::ToInt64Microseconds(item.deadline - SteadyNow()))));
  }
  if (item.priority.has_value()) {
    header.set_priority(ToProto(*item.priority));
  }
  return MakeSubmitRequest(header, item.fields.request, item.request);
}

}  // namespace baseband::client
