// Any bytes as the messages of a Submit stream: field 1 of each top-level record is one
// (submit_stream.proto), well-formed or not; those with even ids are answered at once. Each message
// is held against protobuf's own reading of the same bytes; ids and credits against a plain model;
// what is accepted, and small, is run on the CPU device, and protobuf and the client must read its
// response alike.
#include <google/protobuf/io/coded_stream.h>
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "client/cpp/submit_wire.h"
#include "server/calls/submit_wire.h"
#include "server/limits/flow_control_window.h"
#include "tests/fuzz/downconvert_continue_check.h"
#include "tests/fuzz/in_pieces.h"
#include "tests/fuzz/run_alone.h"

namespace baseband::server {
namespace {

constexpr int64_t kMaxBlocks = 8;
constexpr SubmitWindow kWindow = {3, 2000};

std::string PayloadOf(const v1::SubmitRequest& message) {
  switch (message.operation_case()) {
    case v1::SubmitRequest::kEncode:
      return message.encode().payload();
    case v1::SubmitRequest::kDecode:
      return message.decode().payload();
    case v1::SubmitRequest::kRecoverCarrier:
      return message.recover_carrier().payload();
    case v1::SubmitRequest::kDownconvert:
      return message.downconvert().payload();
    default:
      return "";
  }
}

void ExpectTheSame(SubmitView& view, const v1::SubmitRequest& message) {
  Check(view.id() == message.id());
  Check(view.priority() == message.priority());
  Check((view.operation() == nullptr ? 0 : view.operation()->request_field) ==
        static_cast<int>(message.operation_case()));
  std::string payload(static_cast<size_t>(view.request().payload_bytes()), '\0');
  view.request().GatherPayload(reinterpret_cast<uint8_t*>(payload.data()));
  Check(payload == PayloadOf(message));
}

// The response to the request, as sent.
grpc::ByteBuffer Respond(SubmitView& view, const v1::SubmitRequest& message) {
  static auto& caches = *new RequestCaches();
  SubmitOutcome outcome;
  outcome.id = view.id();
  outcome.requests = 1;
  grpc::ByteBuffer result;
  if (view.operation() == nullptr) {
    outcome.status = absl::InvalidArgumentError("operation");
  } else {
    const MethodDescriptor& page = *view.operation()->page;
    RequestLimits limits;
    limits.max_blocks_per_request = 1024;
    limits.patience = PatienceFor(message.downconvert().setup());
    absl::StatusOr<JobPtr> job = page.from_proto(view.request(), limits, caches);
    outcome.status = job.status();
    if (job.ok() && (!IsSmall(**job) || (*job)->footprint.blocks > kMaxBlocks)) {
      outcome.status = absl::ResourceExhaustedError("not small");
    } else if (job.ok()) {
      const JobPtr done = RunAlone(*std::move(job), view.request());
      absl::StatusOr<grpc::ByteBuffer> reply = page.to_proto(*done);
      outcome.status = reply.status();
      if (reply.ok()) result = *std::move(reply);
    }
  }
  return MakeSubmitResponse(outcome, view.operation(), result);
}

void ExpectReadable(const grpc::ByteBuffer& bytes, uint64_t id) {
  grpc::Slice slice;
  v1::SubmitResponse response;
  Check(bytes.DumpToSingleSlice(&slice).ok() &&
        response.ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
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
    absl::StatusOr<SubmitView> view = SubmitView::Read(testing::InPieces(begin, text.size()));
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
    ExpectReadable(Respond(*view, message), view->id());
    if (view->id() % 2 == 0) {  // the others' clients do not read
      Check(window.Close(view->id()) == bytes);
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
