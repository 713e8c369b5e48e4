// What a load sends, and how its answers are judged.
#ifndef BASEBAND_CLIENT_LOAD_WORKLOAD_H_
#define BASEBAND_CLIENT_LOAD_WORKLOAD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/variant.h"
#include "client/cpp/priority.h"
#include "client/cpp/shared_bulk.h"
#include "client/load/answer.h"
#include "grpcpp/support/byte_buffer.h"

namespace baseband::load {

// One request, sent over and over.
struct Request {
  grpc::ByteBuffer message;  // its slices are shared by all calls
  // The same in two parts, where payloads go through shared memory.
  std::string header;
  std::string payload;
  // Judges a whole answer by what is known of it without the server: how many of its code blocks
  // did not decode; an error says what is wrong with it. Thread-safe.
  std::function<absl::StatusOr<int64_t>(const grpc::ByteBuffer& reply)> check;
  // What `check` cannot know, the answers' agreement decides. Null until somebody is to keep them.
  std::unique_ptr<Answers> answers = std::make_unique<Answers>();
};

// What requests ask for, in words and numbers, for who reads the report.
using Settings = std::vector<std::pair<std::string, absl::variant<std::string, double>>>;

// Calls of one kind, told apart in the report by their name.
struct Workload {
  std::string name;
  std::string method;  // "/baseband.v1.Baseband/Decode"
  Settings settings;   // that its name does not tell
  // What of an answer depends on the request alone; Internal if it cannot be read. Null: all but
  // its field 1, which is its Timing. Thread-safe.
  std::function<absl::StatusOr<std::string>(const grpc::ByteBuffer& reply)> essence;
  // What the decoder ran on the code blocks of an answer that nothing known speaks against. Null:
  // it decodes none. Thread-safe.
  std::function<Iterations(const grpc::ByteBuffer& reply)> iterations;
  double weight = 1;  // share of the calls among all workloads': > 0
  // An answer later than this after the intended time is a miss; the server is told it, too.
  absl::Duration deadline = absl::InfiniteDuration();
  client::Priority priority = client::Priority::kNormal;
  int64_t blocks = 0;             // code blocks of a request; 0: it is none of coding
  double info_bits = 0;           // information bits of all of them
  std::string if_all_fail;        // why no answer may have failed blocks only; empty: it may
  std::vector<Request> requests;  // one or more; calls take them in turn
};

// Fills in the requests' `header` and `payload`, of the field of that name.
void SplitPayloads(std::vector<Workload>* workloads);

// The message of a request that was split, whose payload is in `bulk`.
grpc::ByteBuffer Naming(const client::SharedBulk& bulk, const Request& request);

// What an answer is found to be.
struct Judgement {
  absl::Status right;
  int64_t failed_blocks = 0;
  const Iterations* iterations = nullptr;  // of the request's answers; null if it is not right
  bool has_timing = false;
  v1::Timing timing;
  Answer* doubtful = nullptr;  // to be noted with the call
};

// `reply` to `request` of `workload`. Thread-safe.
Judgement Judge(const Workload& workload, const Request& request, const grpc::ByteBuffer& reply);

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_WORKLOAD_H_
