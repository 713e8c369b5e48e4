#include "server/jobs/operation.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/jobs/stream_session.h"

namespace baseband::server {

void Job::KeepInput() {
  if (input.is_shared() || !input.is_aligned()) input = input.Copy();
}

std::unique_ptr<Batch> MakeBatch(std::vector<JobPtr> jobs) {
  const Operation& operation = jobs.front()->operation();
  return operation.MakeBatch(std::move(jobs));
}

absl::StatusOr<Conversion> Operation::Convert(const Request&, const RequestLimits&) {
  return absl::UnimplementedError(absl::StrCat(name(), " has no unary method"));
}

absl::StatusOr<Reply> Operation::ToReply(Job&) {
  return absl::UnimplementedError(absl::StrCat(name(), " has no unary method"));
}

absl::StatusOr<std::vector<Reply>> Operation::ToReplies(Job& job) {
  BASEBAND_ASSIGN_OR_RETURN(Reply reply, ToReply(job));
  std::vector<Reply> replies;
  replies.push_back(std::move(reply));
  return replies;
}

std::unique_ptr<StreamSession> Operation::NewStream(const RequestLimits&, OperationMetrics&) {
  return nullptr;
}

std::unique_ptr<OperationMetrics> Operation::MakeMetrics(prometheus::Registry&) const {
  return nullptr;
}

void Operation::CountResults(const Job&, OperationMetrics&) const {}

Operation& OperationTable::Add(std::unique_ptr<Operation> operation) {
  assert(operations_.size() < kMaxOperations && Find(operation->name()) == nullptr);
  operation->index_ = static_cast<int>(operations_.size());
  operations_.push_back(std::move(operation));
  return *operations_.back();
}

Operation* OperationTable::Find(absl::string_view name) const {
  for (const auto& operation : operations_) {
    if (operation->name() == name) return operation.get();
  }
  return nullptr;
}

Operation* OperationTable::FindBySubmitField(int request_field) const {
  if (request_field == 0) return nullptr;  // that of those who go through no stream
  for (const auto& operation : operations_) {
    if (operation->description().submit_request_field == request_field) return operation.get();
  }
  return nullptr;
}

std::vector<CountedOperation> OperationTable::counted() const {
  std::vector<CountedOperation> counted;
  for (const auto& operation : operations_) {
    counted.push_back({operation->rpc(), operation->stream_rpc(),
                       [made = operation.get()](prometheus::Registry& registry) {
                         return made->MakeMetrics(registry);
                       }});
  }
  return counted;
}

int64_t OperationTable::cuda_workspace_bytes() const {
  int64_t most = 0;
  for (const auto& operation : operations_) {
    most = std::max(most, operation->description().cuda_workspace_bytes);
  }
  return most;
}

absl::Status OperationTable::PrepareCuda() const {
  for (const auto& operation : operations_) {
    BASEBAND_RETURN_IF_ERROR(operation->PrepareCuda());
  }
  return absl::OkStatus();
}

}  // namespace baseband::server
