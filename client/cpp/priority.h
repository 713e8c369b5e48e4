// How much a call matters beside others, those of other clients too.
#ifndef BASEBAND_CLIENT_CPP_PRIORITY_H_
#define BASEBAND_CLIENT_CPP_PRIORITY_H_

#include "grpcpp/client_context.h"

namespace baseband::client {

// The server does what is high before what is normal. What is low it does on lanes of its own, that
// give way to the others, and with a small part of the time at least.
enum class Priority { kHigh, kNormal, kLow };

// As the server reads it: the metadata baseband-priority, nothing for normal. Internal to the
// client library.
inline void SetPriority(Priority priority, grpc::ClientContext* context) {
  if (priority == Priority::kNormal) return;
  context->AddMetadata("baseband-priority", priority == Priority::kHigh ? "high" : "low");
}

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_PRIORITY_H_
