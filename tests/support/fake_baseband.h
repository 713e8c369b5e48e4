// A Baseband server in this process whose answers a test writes itself.
#ifndef BASEBAND_TESTS_SUPPORT_FAKE_BASEBAND_H_
#define BASEBAND_TESTS_SUPPORT_FAKE_BASEBAND_H_

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "baseband/v1/baseband.grpc.pb.h"
#include "grpcpp/grpcpp.h"

namespace baseband::testing {

// Serves from Start() until it is destroyed. Set the handlers before Start(); they run on gRPC's
// threads, several at a time.
class FakeBaseband final : public v1::Baseband::Service {
 public:
  template <typename Request, typename Response>
  using Handler = std::function<grpc::Status(grpc::ServerContext*, const Request&, Response*)>;

  ~FakeBaseband() override;

  // `address` as gRPC takes it; a port 0 means any free one.
  void Start(const std::string& address = "127.0.0.1:0");
  // What a client's target must be; known after Start().
  const std::string& target() const { return target_; }
  // Connections that have made a call so far, told apart by their peer addresses.
  std::set<std::string> peers() const;

  Handler<v1::EncodeRequest, v1::EncodeResponse> on_encode;
  Handler<v1::DecodeRequest, v1::DecodeResponse> on_decode;
  Handler<v1::EncodeSharedChannelRequest, v1::EncodeSharedChannelResponse> on_encode_shared_channel;
  Handler<v1::DecodeSharedChannelRequest, v1::DecodeSharedChannelResponse> on_decode_shared_channel;
  Handler<v1::RecoverCarrierRequest, v1::RecoverCarrierResponse> on_recover_carrier;
  Handler<v1::DownconvertRequest, v1::DownconvertResponse> on_downconvert;
  Handler<v1::GetCapabilitiesRequest, v1::GetCapabilitiesResponse> on_capabilities;
  using Stream = grpc::ServerReaderWriter<v1::DownconvertResponse, v1::DownconvertRequest>;
  std::function<grpc::Status(grpc::ServerContext*, Stream*)> on_downconvert_stream;
  using SubmitStream = grpc::ServerReaderWriter<v1::SubmitResponse, v1::SubmitRequest>;
  std::function<grpc::Status(grpc::ServerContext*, SubmitStream*)> on_submit;
  using SearchWriter = grpc::ServerWriter<v1::MinimizeResponse>;
  Handler<v1::MinimizeRequest, SearchWriter> on_minimize;

  void SetHealth(const std::string& service, bool serving);

 private:
  grpc::Status Encode(grpc::ServerContext* context, const v1::EncodeRequest* request,
                      v1::EncodeResponse* response) override;
  grpc::Status Decode(grpc::ServerContext* context, const v1::DecodeRequest* request,
                      v1::DecodeResponse* response) override;
  grpc::Status EncodeSharedChannel(grpc::ServerContext* context,
                                   const v1::EncodeSharedChannelRequest* request,
                                   v1::EncodeSharedChannelResponse* response) override;
  grpc::Status DecodeSharedChannel(grpc::ServerContext* context,
                                   const v1::DecodeSharedChannelRequest* request,
                                   v1::DecodeSharedChannelResponse* response) override;
  grpc::Status RecoverCarrier(grpc::ServerContext* context,
                              const v1::RecoverCarrierRequest* request,
                              v1::RecoverCarrierResponse* response) override;
  grpc::Status Downconvert(grpc::ServerContext* context, const v1::DownconvertRequest* request,
                           v1::DownconvertResponse* response) override;
  grpc::Status DownconvertStream(grpc::ServerContext* context, Stream* stream) override;
  grpc::Status Submit(grpc::ServerContext* context, SubmitStream* stream) override;
  grpc::Status Minimize(grpc::ServerContext* context, const v1::MinimizeRequest* request,
                        SearchWriter* writer) override;
  grpc::Status GetCapabilities(grpc::ServerContext* context,
                               const v1::GetCapabilitiesRequest* request,
                               v1::GetCapabilitiesResponse* response) override;
  void Note(const grpc::ServerContext& context);

  std::string target_;
  mutable absl::Mutex mutex_;
  std::set<std::string> peers_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_FAKE_BASEBAND_H_
