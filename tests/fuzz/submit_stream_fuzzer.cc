// Any bytes as the messages of a Submit stream: field 1 of each top-level record is one
// (submit_stream.proto), well-formed or not; those with even ids are answered at once. Each message
// is held against protobuf's own reading of the same bytes; ids and credits against a plain model;
// what is accepted, and small, is run on the CPU device, and protobuf and the client must read its
// response alike.
#include <google/protobuf/message.h>
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "client/cpp/submit_wire.h"
#include "server/calls/submit_wire.h"
#include "server/limits/flow_control_window.h"
#include "tests/fuzz/in_pieces.h"
#include "tests/fuzz/run_alone.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

constexpr int64_t kMaxBlocks = 8;
constexpr SubmitWindow kWindow = {3, 2000};

// The request of whatever operation is set; null: none is.
const google::protobuf::Message* OperationOf(const v1::SubmitRequest& message) {
  const auto* const descriptor = message.GetDescriptor();
  const auto* const field =
      message.GetReflection()->GetOneofFieldDescriptor(message, descriptor->oneof_decl(0));
  return field == nullptr ? nullptr : &message.GetReflection()->GetMessage(message, field);
}

std::string PayloadOf(const v1::SubmitRequest& message) {
  const google::protobuf::Message* const request = OperationOf(message);
  if (request == nullptr) return "";
  return request->GetReflection()->GetString(*request,
                                             request->GetDescriptor()->FindFieldByName("payload"));
}

void ExpectTheSame(SubmitView& view, const v1::SubmitRequest& message) {
  Check(view.id() == message.id());
  Check(view.priority() == message.priority());
  Check((view.operation() == nullptr ? 0 : view.operation()->description().submit_request_field) ==
        static_cast<int>(message.operation_case()));
  Check(BytesOf(view.request().payload) == PayloadOf(message));
}

// The reply of the request, if it is answered with one.
absl::StatusOr<grpc::ByteBuffer> Answer(SubmitView& view) {
  if (view.operation() == nullptr) return absl::InvalidArgumentError("operation");
  RequestLimits limits;
  limits.max_blocks_per_request = 1024;
  absl::StatusOr<JobPtr> job = Finish(view.operation()->Convert(view.request(), limits));
  if (!job.ok()) return job.status();
  if (!IsSmall(**job) || (*job)->footprint.blocks > kMaxBlocks) {
    return absl::ResourceExhaustedError("not small");
  }
  const JobPtr done = RunAlone(*std::move(job), view.request().payload);
  absl::StatusOr<Reply> reply = view.operation()->ToReply(*done);
  if (!reply.ok()) return reply.status();
  return ToByteBuffer(*std::move(reply));
}

// The response to the request, as sent.
grpc::ByteBuffer Respond(SubmitView& view) {
  const absl::StatusOr<grpc::ByteBuffer> answer = Answer(view);
  SubmitOutcome outcome;
  outcome.id = view.id();
  outcome.requests = 1;
  outcome.status = answer.status();
  return MakeSubmitResponse(outcome, view.operation(), answer.ok() ? *answer : grpc::ByteBuffer());
}

void ExpectReadable(const grpc::ByteBuffer& bytes, uint64_t id) {
  v1::SubmitResponse response;
  Check(response.ParseFromString(MessageOf(bytes)));
  Check(response.id() == id);
  Check((response.code() == 0) == (response.result_case() != v1::SubmitResponse::RESULT_NOT_SET));
  const absl::StatusOr<client::SubmitAnswer> answer = client::ReadSubmitResponse(bytes);
  Check(answer.ok() && answer->id == id &&
        answer->field == static_cast<int>(response.result_case()));
  Check(static_cast<int>(answer->status.code()) == response.code());
}

void Try(const uint8_t* data, size_t size) {
  FlowControlWindow window(kWindow);
  std::map<uint64_t, int64_t> in_flight;
  int64_t bytes_in_flight = 0;
  for (const std::string& text : SplitRecords(data, size)) {
    const auto* const begin = reinterpret_cast<const uint8_t*>(text.data());
    absl::StatusOr<SubmitView> view =
        SubmitView::Read(testing::InPieces(begin, text.size()), TestOperations());
    v1::SubmitRequest message;
    const bool is_message = message.ParseFromString(text);
    if (!view.ok()) {  // ends the stream
      Check(absl::IsInvalidArgument(view.status()) && !view.status().message().empty());
      Check(!is_message);
      return;
    }
    if (is_message) ExpectTheSame(*view, message);
    const auto bytes = static_cast<int64_t>(text.size());
    const bool is_right = view->id() != 0 && in_flight.count(view->id()) == 0;
    const bool fits = static_cast<int64_t>(in_flight.size()) < kWindow.requests &&
                      (in_flight.empty() || bytes_in_flight + bytes <= kWindow.bytes);
    const absl::Status opened = window.Open(view->id(), bytes);
    Check(opened.ok() == (is_right && fits));
    if (!opened.ok()) {
      Check(absl::IsInvalidArgument(opened) || absl::IsResourceExhausted(opened));
      return;
    }
    in_flight[view->id()] = bytes;
    bytes_in_flight += bytes;
    ExpectReadable(Respond(*view), view->id());
    if (view->id() % 2 == 0) {  // the others' clients do not read
      Check(window.Close(view->id(), true) == bytes);
      in_flight.erase(view->id());
      bytes_in_flight -= bytes;
    }
    Check(window.empty() == in_flight.empty());
  }
}

}  // namespace
}  // namespace baseband::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  baseband::server::Try(data, size);
  return 0;
}
