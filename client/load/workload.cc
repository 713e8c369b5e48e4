#include "client/load/workload.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <utility>

#include "baseband/v1/baseband.pb.h"

namespace baseband::load {
namespace {

constexpr char kDiffers[] = "differs from what the server answered to the same request before";

// Of `message`, a request, the bytes of its payload; all else goes to `header`.
std::string TakePayload(const grpc::ByteBuffer& message, std::string* header) {
  using google::protobuf::internal::WireFormatLite;
  constexpr int kPayload = v1::DecodeRequest::kPayloadFieldNumber;  // the same in all requests
  grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&message));  // only reads it
  google::protobuf::io::CodedInputStream in(&reader);
  google::protobuf::io::StringOutputStream header_stream(header);
  google::protobuf::io::CodedOutputStream out(&header_stream);
  std::string payload;
  for (uint32_t tag = in.ReadTag(); tag != 0; tag = in.ReadTag()) {
    uint32_t bytes = 0;
    const bool is_payload =
        tag == WireFormatLite::MakeTag(kPayload, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
    const bool ok =
        is_payload ? in.ReadVarint32(&bytes) && in.ReadString(&payload, static_cast<int>(bytes))
                   : WireFormatLite::SkipField(&in, tag, &out);
    if (!ok) break;  // no message: the server will say so
  }
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
