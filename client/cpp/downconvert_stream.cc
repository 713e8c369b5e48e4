#include "client/cpp/downconvert_stream.h"

#include <utility>

#include "client/cpp/messages.h"
#include "client/cpp/stream_call.h"

namespace baseband::client {

DownconvertStream::DownconvertStream(std::shared_ptr<StreamCall> call) : call_(std::move(call)) {}

DownconvertStream::~DownconvertStream() { call_->Cancel(); }

bool DownconvertStream::Write(const v1::DownconvertRequest& request) {
  absl::StatusOr<grpc::ByteBuffer> message = Serialize(request);
  if (!message.ok()) {
    call_->Abort(message.status());
    return false;
  }
  return call_->Write(*std::move(message));
}

bool DownconvertStream::Read(v1::DownconvertResponse* response) {
  grpc::ByteBuffer message;
  if (!call_->Read(&message)) {
    return false;
  }
  const absl::Status parsed = ParseInto(&message, response);
  if (!parsed.ok()) {
    call_->Abort(parsed);
  }
  return parsed.ok();
}

int DownconvertStream::in_flight() const { return call_->in_flight(); }

void DownconvertStream::WritesDone() { call_->HalfClose(); }

absl::Status DownconvertStream::Finish() { return call_->Finish(); }

void DownconvertStream::Cancel() { call_->Cancel(); }

}  // namespace baseband::client
