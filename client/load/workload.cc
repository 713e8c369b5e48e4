#include "client/load/workload.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include <utility>

#include "baseband/v1/baseband.pb.h"
#include "client/cpp/message_split.h"

namespace baseband::load {
namespace {

constexpr char kDiffers[] = "differs from what the server answered to the same request before";

// Of `message`, a request, the bytes of its payload; all else goes to `header`.
std::string TakePayload(const grpc::ByteBuffer& message, std::string* header) {
  grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&message));  // only reads it
  google::protobuf::io::CodedInputStream in(&reader);
  std::string payload;
  // The same number in all requests. Of what is no message the server will say so.
  (void)client::SplitMessage(
      in, [](int number) { return number == v1::DecodeRequest::kPayloadFieldNumber; },
      [&](int, int bytes) { return in.ReadString(&payload, bytes); }, header);
  return payload;
}

}  // namespace

void SplitPayloads(std::vector<Workload>* workloads) {
  for (Workload& workload : *workloads) {
    for (Request& request : workload.requests) {
      request.payload = TakePayload(request.message, &request.header);
    }
  }
}

grpc::ByteBuffer Naming(const client::SharedBulk& bulk, const Request& request) {
  v1::DecodeRequest names;  // the same fields in all requests
  bulk.NameIn(&names);
  const grpc::Slice slices[] = {grpc::Slice(request.header),
                                grpc::Slice(names.SerializeAsString())};
  return grpc::ByteBuffer(slices, 2);
}

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
    answer = request.answers->Add(
        workload.essence != nullptr ? *essence : view.Rest(), *failed, Answer::State::kDoubtful,
        workload.iterations != nullptr ? workload.iterations(reply) : Iterations());
  }
  if (answer == nullptr || answer->state == Answer::State::kWrong) {
    judgement.right = absl::DataLossError(workload.name + ": " + kDiffers);
    return judgement;
  }
  judgement.failed_blocks = answer->failed_blocks;
  judgement.iterations = &answer->iterations;
  if (answer->state == Answer::State::kDoubtful) judgement.doubtful = answer;
  return judgement;
}

}  // namespace baseband::load
