// Sequences of requests for one server, as several clients send them: unary calls, Submit streams,
// DownconvertStreams, searches; answers that are read late or never, deadlines, cancellations. At
// the seam below gRPC: a request is a Request, its answer a Reply.
//
// What has to hold whatever comes: nothing that is allocated or computed on a thread that serves
// gRPC is more than so much for each byte that came; what takes longer gives way every few
// milliseconds, and ends with its call; what a search holds is what it says; and nothing stays but
// what the caches hold. The process is aborted where something does not.
#ifndef BASEBAND_TESTS_FUZZ_REQUEST_SEQUENCE_H_
#define BASEBAND_TESTS_FUZZ_REQUEST_SEQUENCE_H_

#include <fuzzer/FuzzedDataProvider.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/calls/request_context.h"
#include "server/jobs/stream_session.h"
#include "server/limits/flow_control_window.h"
#include "server/operations/minimize/minimize_converter.h"
#include "tests/fuzz/in_process_server.h"
#include "tests/fuzz/meter.h"
#include "tests/support/channel.h"

namespace baseband::server {

class RequestSequence {
 public:
  // What happens is decided by `bytes`.
  explicit RequestSequence(FuzzedDataProvider* bytes) : bytes_(*bytes) {}
  // So many steps, if there are bytes for them; then all that is left ends.
  void Run(int max_steps);

 private:
  // A request, from its message to its answer.
  struct Call {
    Call(const CallEnvironment& environment, Rpc rpc) : context(environment, rpc, SteadyNow()) {}
    Operation* operation = nullptr;
    StreamSession* session = nullptr;  // null: it is none of a stream
    int64_t bytes = 0;                 // of its message
    Request wire;                      // until its payload is where devices want it
    std::unique_ptr<Preparation> preparation;
    RequestContext context;
    // Of whoever has it; the sequence, once it is answered.
    absl::Status status;
    Reply reply;
    bool is_answered = false;  // guarded by mutex_
  };
  using CallPtr = std::shared_ptr<Call>;
  struct Submit {
    explicit Submit(const SubmitWindow& window) : window(window) {}
    ClientHold hold;
    StreamPlace place;
    FlowControlWindow window;
    Requester requester;
    std::map<uint64_t, CallPtr> in_flight;
  };
  struct Stream {
    ClientHold hold;
    StreamPlace place;
    Requester requester;
    std::unique_ptr<StreamSession> session;
    CallPtr in_work;
  };
  struct Search;

  // ---- steps
  void Step();
  void SendUnary();
  void SendOnSubmit();
  void SendOnStream();
  void RunSearch();
  void CancelOne();
  void ReadOne();

  // ---- what they are made of
  Requester SomeRequester();
  Request SomeRequest(const Operation& operation);
  CallPtr NewCall(Operation* operation, Rpc rpc, const Requester& requester, Request request);
  // It has come, on a thread that serves gRPC.
  void Begin(const CallPtr& call);
  absl::Status Convert(const CallPtr& call);
  absl::Status SubmitJobOf(const CallPtr& call, JobPtr job);
  void Prepare(const CallPtr& call, const ContinueCheck& turn);
  // The job's completion, on any thread.
  void Take(const CallPtr& call, absl::Status status, JobPtr job);
  void Answer(const CallPtr& call, const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsAnswered(const CallPtr& call) ABSL_LOCKS_EXCLUDED(mutex_);
  void Await(const CallPtr& call) ABSL_LOCKS_EXCLUDED(mutex_);
  // Its client has read the answer, or is gone.
  void Leave(const CallPtr& call);
  void EndSubmit();
  void EndStream();

  absl::Status PrepareSearch(Search& search, const ContinueCheck& may_continue);
  absl::Status Evaluate(Search& search);
  // Runs `work` on the slow path and waits for it.
  absl::Status OnSlowPath(const Requester& requester, int64_t bytes,
                          const std::function<absl::Status(const ContinueCheck&)>& work);
  void EndAll();

  FuzzedDataProvider& bytes_;
  InProcessServer server_;
  const CallEnvironment& environment_ = server_.environment();
  std::vector<CallPtr> unary_;
  std::unique_ptr<Submit> submit_;
  std::unique_ptr<Stream> stream_;
  absl::Mutex mutex_;
};

}  // namespace baseband::server

#endif  // BASEBAND_TESTS_FUZZ_REQUEST_SEQUENCE_H_
