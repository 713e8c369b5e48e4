// What a load sends, and how its answers are judged.
#ifndef BASEBAND_CLIENT_LOAD_WORKLOAD_H_
#define BASEBAND_CLIENT_LOAD_WORKLOAD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/load/reply.h"
#include "grpcpp/support/byte_buffer.h"

namespace baseband::load {

// One request, sent over and over.
struct Request {
  grpc::ByteBuffer message;  // its slices are shared by all calls
  // Judges a whole answer by what is known; an error says what is wrong with it. Thread-safe.
  std::function<absl::Status(const grpc::ByteBuffer& reply)> check;
  // The first right answer: most later ones are equal to it and need no other check.
  std::unique_ptr<KnownReply> known = std::make_unique<KnownReply>();
};

// Calls of one kind, told apart in the report by their name.
struct Workload {
  std::string name;
  std::string method;  // "/baseband.v1.Baseband/Decode"
  // Whether an answer's field 1 is its Timing and the rest depends on the request alone. Otherwise
  // each answer is judged by `check`, and the stages are not known.
  bool has_timing = true;
  double weight = 1;  // share of the calls among all workloads': > 0
  // An answer later than this after the intended time is a miss; the server is told it, too.
  absl::Duration deadline = absl::InfiniteDuration();
  std::string priority;           // metadata `baseband-priority`; empty: not sent
  double info_bits = 0;           // information bits of a request, if it is one of coding
  std::vector<Request> requests;  // one or more; calls take them in turn
};

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_WORKLOAD_H_
