// What the server knows of an operation: all that is not the same for every one of them.
//
// The scheduler, the lanes, the calls, the metrics, the self-test and the start of the server go
// through an OperationTable and know no operation by name. A new one is a folder in operations/
// with its Operation, and a line in operations/operations.cc.
#ifndef BASEBAND_SERVER_JOBS_OPERATION_H_
#define BASEBAND_SERVER_JOBS_OPERATION_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "kernels/base/continue_check.h"
#include "server/jobs/job.h"
#include "server/jobs/request.h"
#include "server/metrics/operation_metrics.h"
#include "server/metrics/rpc.h"

namespace baseband::server {

class SelfTestBench;  // self_test.h
class StreamSession;  // stream_session.h

// What every converter holds requests against.
struct RequestLimits {
  int64_t max_blocks_per_request = 0;
  int64_t max_input_bytes = std::numeric_limits<int64_t>::max();  // of a job, on a device
  absl::Duration max_search = absl::InfiniteDuration();           // by the estimate of its cost
  int64_t max_joined_blocks =
      1;  // of a job that does several requests' work, of one block and more
};

// The rest of a conversion that takes long: models, plans or filters that have yet to be made.
class Preparation {
 public:
  virtual ~Preparation() = default;
  // Makes what is missing, and the job. Called once. Asks `may_continue` every few milliseconds and
  // gives up with what it says; what was made by then is kept for the next request like it.
  virtual absl::StatusOr<JobPtr> Finish(const ContinueCheck& may_continue) = 0;
};

// What a request becomes: a job at once, or after a preparation. One of them is set.
struct Conversion {
  JobPtr job;
  std::unique_ptr<Preparation> preparation;
};

// Thread-safe, but for what the table does before the server starts.
class Operation {
 public:
  // How its RPC is called.
  enum class Method {
    kUnary,  // a request becomes a job, the job a reply; also through Submit, if it has fields
             // there
    kSearch  // a request becomes many jobs, and a stream of progress ends with the answer
  };
  struct Description {
    const char* name = "";  // of its RPC, in metrics and records: "Decode"
    Method method = Method::kUnary;
    const char* stream_name = "";  // of the RPC of its streams; empty: it has none
    // Of the fields in its request's message, and in those of a Submit stream; 0: it has none, or
    // does not go through streams.
    int payload_field = 0;
    int submit_request_field = 0;
    int submit_response_field = 0;
    // Its jobs are pieces of one request, cut for the devices that served when it began: they do
    // not go on to a device on standby, whose pieces have another length.
    bool is_cut_for_devices = false;
    // Scratch that its kernels take on a GPU, at most.
    int64_t cuda_workspace_bytes = 0;
  };

  explicit Operation(const Description& description) : description_(description) {}
  virtual ~Operation() = default;
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  const Description& description() const { return description_; }
  const char* name() const { return description_.name; }
  // Its place in its table.
  int index() const { return index_; }
  Rpc rpc() const { return {kFirstOperationRow + 2 * Index(), description_.name}; }
  Rpc stream_rpc() const {
    return {kFirstOperationRow + 2 * Index() + 1, description_.stream_name};
  }

  // ---- from the wire and back; of unary methods

  // Checks all of the request's header, and the payload's size; the payload is not read. What is
  // claimed is held against the bytes that came before anything in proportion to it is done.
  // InvalidArgument names the field, its value and its range.
  virtual absl::StatusOr<Conversion> Convert(const Request& request, const RequestLimits& limits);
  // The reply of a job that is done; takes the job's reply memory with it. InvalidArgument if the
  // work has shown that the payload is none.
  virtual absl::StatusOr<Reply> ToReply(Job& job);
  // The replies of `job.requests` that went together. Of more than one each says where its bytes
  // lie in job.reply, which stays the job's.
  virtual absl::StatusOr<std::vector<Reply>> ToReplies(Job& job);
  // What a stream of requests remembers; only of an operation that has streams. The operation and
  // `metrics` outlive it.
  virtual std::unique_ptr<StreamSession> NewStream(const RequestLimits& limits,
                                                   OperationMetrics& metrics);

  // ---- in the metrics

  // Registers what it counts of its results beside what is counted of every request. Null: nothing.
  virtual std::unique_ptr<OperationMetrics> MakeMetrics(prometheus::Registry& registry) const;
  // Counts what came of a job that is done, in what MakeMetrics made.
  virtual void CountResults(const Job& job, OperationMetrics& metrics) const;

  // ---- on the devices

  // Lays out `jobs`, at least one and all of this operation, whose footprints together fit a lane.
  virtual std::unique_ptr<Batch> MakeBatch(std::vector<JobPtr> jobs) const = 0;
  // Loads what its kernels need on the GPU that is current. Never called without one.
  virtual absl::Status PrepareCuda() const { return absl::OkStatus(); }
  // Gives a lane a task whose answer is known. Internal says what was wrong.
  virtual absl::Status SelfTest(SelfTestBench& bench) const = 0;

 private:
  friend class OperationTable;
  size_t Index() const { return static_cast<size_t>(index_); }

  const Description description_;
  int index_ = 0;
};

// All operations of a server, in the order in which they were added.
class OperationTable {
 public:
  OperationTable() = default;
  OperationTable(OperationTable&&) = default;
  OperationTable& operator=(OperationTable&&) = default;

  // At most kMaxOperations, each with a name of its own.
  Operation& Add(std::unique_ptr<Operation> operation);

  absl::Span<const std::unique_ptr<Operation>> all() const { return operations_; }
  // Null: there is none.
  Operation* Find(absl::string_view name) const;
  // By its field in a message of a Submit stream; null: there is none.
  Operation* FindBySubmitField(int request_field) const;
  // For Metrics; this outlives it.
  std::vector<CountedOperation> counted() const;
  // The most of all.
  int64_t cuda_workspace_bytes() const;
  // Of all, one after the other, on the GPU that is current.
  absl::Status PrepareCuda() const;

 private:
  std::vector<std::unique_ptr<Operation>> operations_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_JOBS_OPERATION_H_
