#include "client/load/confirm.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cpp/unary_call.h"
#include "grpcpp/completion_queue.h"
#include "kernels/base/steady_time.h"

namespace baseband::load {
namespace {

constexpr int kLeastRounds = 2;
constexpr int kMostRounds = 8;  // while answers are doubtful
constexpr size_t kAgree = 2;    // of the rounds' answers
constexpr size_t kMostInFlight = 8;
constexpr int kMostConnections = 4;

struct Question {
  const Workload* workload;
  const Request* request;
  int64_t least_failed_blocks = INT64_MAX;  // of right answers
};

// Asks questions once; `answered` runs with each answer on this thread, in Run() or in the
// destructor, which ends what Run() has left in flight.
class Round {
 public:
  using Answered = std::function<void(Question&, const grpc::ByteBuffer&)>;

  Round(client::ChannelPool* channels, const client::RetryOptions& retry, absl::Duration timeout,
        Answered answered)
      : channels_(*channels), retry_(retry), timeout_(timeout), answered_(std::move(answered)) {}
  ~Round() {
    for (const auto& weak : calls_) {
      if (const auto call = weak.lock()) call->Cancel();
    }
    queue_.Shutdown();
    while (PollOnce()) {
    }
  }
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  // The questions must outlive this.
  absl::Status Run(const std::vector<Question*>& questions, const std::function<bool()>& go_on) {
    size_t next = 0;
    while (error_.ok() && (next < questions.size() || in_flight_ > 0)) {
      if (go_on != nullptr && !go_on()) return absl::CancelledError("interrupted");
      if (next < questions.size() && in_flight_ < kMostInFlight) {
        Ask(questions[next++]);
      } else {
        PollOnce();
      }
    }
    return error_;
  }

 private:
  void Ask(Question* question) {
    client::CallSpec spec;
    spec.method = question->workload->method;
    spec.request = question->request->message;
    spec.header.deadline = SteadyNow() + timeout_;
    spec.header.priority = question->workload->priority;
    spec.retry = retry_;
    ++in_flight_;
    const auto call = std::make_shared<client::UnaryCall>(
        std::move(spec), &channels_, &queue_,
        [this, question](absl::StatusOr<grpc::ByteBuffer> reply) {
          --in_flight_;
          if (reply.ok()) {
            answered_(*question, *reply);
          } else {
            error_.Update(reply.status());
          }
        });
    calls_.push_back(call);
    call->Start();
  }
  bool PollOnce() {
    void* tag = nullptr;
    bool ok = false;
    if (!queue_.Next(&tag, &ok)) return false;
    const std::unique_ptr<client::CallTag> event(static_cast<client::CallTag*>(tag));
    event->call->OnEvent(event->event, ok);
    return true;
  }
  client::ChannelPool& channels_;
  const client::RetryOptions retry_;
  const absl::Duration timeout_;
  const Answered answered_;
  grpc::CompletionQueue queue_;
  std::vector<std::weak_ptr<client::UnaryCall>> calls_;
  size_t in_flight_ = 0;
  absl::Status error_;
};

}  // namespace

absl::StatusOr<WrongAnswers> Confirm(const client::ClientOptions& client,
                                     const std::vector<Workload>& workloads, absl::Duration timeout,
                                     const std::function<bool()>& go_on) {
  std::vector<Question> questions;
  for (const Workload& workload : workloads) {
    for (const Request& request : workload.requests) {
      questions.push_back({&workload, &request});
    }
  }
  client::ClientOptions options = client;
  options.connections = std::min(options.connections, kMostConnections);
  client::ChannelPool channels(options);
  WrongAnswers wrong;
  const auto answered = [&wrong](Question& question, const grpc::ByteBuffer& reply) {
    const Judgement judgement = Judge(*question.workload, *question.request, reply);
    Ended call;
    call.explanation = question.workload->name + ": answers to the same request differ";
    if (!judgement.right.ok()) {
      wrong.Add(1, std::string(judgement.right.message()));
      return;
    }
    question.least_failed_blocks = std::min(question.least_failed_blocks, judgement.failed_blocks);
    if (judgement.doubtful != nullptr) question.request->answers->Note(judgement.doubtful, call);
  };
  const client::RetryOptions retry{client::ClientOptions()};
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<Question*> open;
    for (Question& question : questions) {
      if (round < kLeastRounds || question.request->answers->is_open()) open.push_back(&question);
    }
    const absl::Status asked = Round(&channels, retry, timeout, answered).Run(open, go_on);
    if (!asked.ok()) return asked;
    for (Question* const question : open) {
      if (round + 1 >= kLeastRounds) question->request->answers->Settle(kAgree);
    }
  }
  for (const Question& question : questions) {
    Answers& answers = *question.request->answers;
    // What is right may be known without the server, which then has to have said it once.
    const bool agreed = answers.has_right() && question.least_failed_blocks != INT64_MAX;
    for (const Ended& call : answers.Reject()) wrong.Add(1, call.explanation);
    if (!agreed) {
      return absl::DataLossError(
          absl::StrCat(wrong.example, " (", wrong.count, " wrong answers before the load)"));
    }
    if (!question.workload->if_all_fail.empty() &&
        question.least_failed_blocks == question.workload->blocks) {
      return absl::InvalidArgumentError(question.workload->if_all_fail);
    }
  }
  return wrong;
}

}  // namespace baseband::load
