#include "client/load/workload.h"

#include <utility>

namespace baseband::load {
namespace {

constexpr char kDiffers[] = "differs from what the server answered to the same request before";

}  // namespace

Judgement Judge(const Workload& workload, const Request& request, const grpc::ByteBuffer& reply) {
  Judgement judgement;
  ReplyView view(reply);
  absl::StatusOr<std::string> essence = std::string();
  Answer* answer = nullptr;
  if (workload.essence != nullptr) {
    essence = workload.essence(reply);
    answer =
        essence.ok()
            ? request.answers->Find([&](const std::string& bytes) { return bytes == *essence; })
            : nullptr;
  } else {
    judgement.has_timing = view.ReadTiming(&judgement.timing);
    answer = request.answers->Find([&](const std::string& bytes) { return view.RestIs(bytes); });
  }
  if (answer == nullptr) {
    const absl::StatusOr<int64_t> failed = request.check(reply);
    judgement.right = essence.ok() ? failed.status() : essence.status();
    if (!judgement.right.ok()) return judgement;
    answer = request.answers->Add(workload.essence != nullptr ? *essence : view.Rest(), *failed,
                                  Answer::State::kDoubtful);
  }
  if (answer == nullptr || answer->state == Answer::State::kWrong) {
    judgement.right = absl::DataLossError(workload.name + ": " + kDiffers);
    return judgement;
  }
  judgement.failed_blocks = answer->failed_blocks;
  if (answer->state == Answer::State::kDoubtful) judgement.doubtful = answer;
  return judgement;
}

}  // namespace baseband::load
