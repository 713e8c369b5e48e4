#include "tests/support/fake_baseband.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/health_check_service_interface.h"
#include "gtest/gtest.h"

namespace baseband::testing {
namespace {

const grpc::Status kNoHandler(grpc::StatusCode::UNIMPLEMENTED, "the test set no handler");

}  // namespace

void FakeBaseband::Start(const std::string& address) {
  target_ = address;
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  EXPECT_NE(server_, nullptr) << "cannot listen on " << address;
  if (absl::EndsWith(address, ":0")) {
    target_ = absl::StrCat(address.substr(0, address.size() - 1), port);
  }
}

FakeBaseband::~FakeBaseband() {
  if (server_ != nullptr) {
    server_->Shutdown(absl::ToChronoTime(absl::Now() + absl::Milliseconds(100)));
  }
}

std::set<std::string> FakeBaseband::peers() const {
  absl::MutexLock lock(&mutex_);
  return peers_;
}

void FakeBaseband::SetHealth(const std::string& service, bool serving) {
  server_->GetHealthCheckService()->SetServingStatus(service, serving);
}

void FakeBaseband::Note(const grpc::ServerContext& context) {
  absl::MutexLock lock(&mutex_);
  peers_.insert(context.peer());
}

grpc::Status FakeBaseband::Encode(grpc::ServerContext* context, const v1::EncodeRequest* request,
                                  v1::EncodeResponse* response) {
  Note(*context);
  return on_encode ? on_encode(context, *request, response) : kNoHandler;
}

grpc::Status FakeBaseband::Decode(grpc::ServerContext* context, const v1::DecodeRequest* request,
                                  v1::DecodeResponse* response) {
  Note(*context);
  return on_decode ? on_decode(context, *request, response) : kNoHandler;
}

grpc::Status FakeBaseband::EncodeSharedChannel(grpc::ServerContext* context,
                                               const v1::EncodeSharedChannelRequest* request,
                                               v1::EncodeSharedChannelResponse* response) {
  Note(*context);
  return on_encode_shared_channel ? on_encode_shared_channel(context, *request, response)
                                  : kNoHandler;
}

grpc::Status FakeBaseband::DecodeSharedChannel(grpc::ServerContext* context,
                                               const v1::DecodeSharedChannelRequest* request,
                                               v1::DecodeSharedChannelResponse* response) {
  Note(*context);
  return on_decode_shared_channel ? on_decode_shared_channel(context, *request, response)
                                  : kNoHandler;
}

grpc::Status FakeBaseband::RecoverCarrier(grpc::ServerContext* context,
                                          const v1::RecoverCarrierRequest* request,
                                          v1::RecoverCarrierResponse* response) {
  Note(*context);
  return on_recover_carrier ? on_recover_carrier(context, *request, response) : kNoHandler;
}

grpc::Status FakeBaseband::Downconvert(grpc::ServerContext* context,
                                       const v1::DownconvertRequest* request,
                                       v1::DownconvertResponse* response) {
  Note(*context);
  return on_downconvert ? on_downconvert(context, *request, response) : kNoHandler;
}

grpc::Status FakeBaseband::DownconvertStream(grpc::ServerContext* context, Stream* stream) {
  Note(*context);
  return on_downconvert_stream ? on_downconvert_stream(context, stream) : kNoHandler;
}

grpc::Status FakeBaseband::Submit(grpc::ServerContext* context, SubmitStream* stream) {
  Note(*context);
  return on_submit ? on_submit(context, stream) : kNoHandler;
}

grpc::Status FakeBaseband::Minimize(grpc::ServerContext* context,
                                    const v1::MinimizeRequest* request, SearchWriter* writer) {
  Note(*context);
  return on_minimize ? on_minimize(context, *request, writer) : kNoHandler;
}

grpc::Status FakeBaseband::GetCapabilities(grpc::ServerContext* context,
                                           const v1::GetCapabilitiesRequest* request,
                                           v1::GetCapabilitiesResponse* response) {
  Note(*context);
  return on_capabilities ? on_capabilities(context, *request, response) : kNoHandler;
}

}  // namespace baseband::testing
