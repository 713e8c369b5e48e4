#include "tests/support/relay.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/generic/async_generic_service.h"
#include "grpcpp/generic/generic_stub.h"

namespace baseband::testing {
namespace {

std::string ToString(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (bytes.Dump(&slices).ok()) {
    for (const grpc::Slice& slice : slices) {
      text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
  }
  return text;
}

}  // namespace

class Relay::Service final : public grpc::CallbackGenericService {
 public:
  Service(const std::string& target, Change change)
      : stub_(grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), Unlimited())),
        change_(std::move(change)) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    return new Call(this, context);
  }

 private:
  // Deletes itself.
  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    Call(Service* service, grpc::GenericCallbackServerContext* context)
        : service_(*service), method_(context->method()) {
      context_.set_deadline(context->deadline());
      StartRead(&request_);
    }
    void OnReadDone(bool ok) override {
      if (!ok) {
        Finish(grpc::Status(grpc::StatusCode::INTERNAL, "the relay had no request"));
        return;
      }
      service_.stub_.UnaryCall(&context_, method_, grpc::StubOptions(), &request_, &reply_,
                               [this](const grpc::Status& status) { OnReply(status); });
    }
    void OnDone() override { delete this; }

   private:
    void OnReply(const grpc::Status& status) {
      if (!status.ok()) {
        Finish(status);
        return;
      }
      const grpc::Slice changed(service_.Changed(method_, ToString(reply_)));
      reply_ = grpc::ByteBuffer(&changed, 1);
      StartWriteAndFinish(&reply_, grpc::WriteOptions(), grpc::Status::OK);
    }

    Service& service_;
    const std::string method_;
    grpc::ClientContext context_;
    grpc::ByteBuffer request_;
    grpc::ByteBuffer reply_;
  };

  static grpc::ChannelArguments Unlimited() {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    return arguments;
  }
  std::string Changed(const std::string& path, std::string reply) {
    const std::string method = path.substr(path.rfind('/') + 1);
    absl::MutexLock lock(&mutex_);
    change_(method, replies_[method]++, &reply);
    return reply;
  }

  grpc::GenericStub stub_;
  absl::Mutex mutex_;
  const Change change_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int64_t> replies_ ABSL_GUARDED_BY(mutex_);
};

Relay::Relay(const std::string& target, Change change)
    : service_(std::make_unique<Service>(target, std::move(change))) {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterCallbackGenericService(service_.get());
  server_ = builder.BuildAndStart();
  target_ = absl::StrCat("127.0.0.1:", port);
}

Relay::~Relay() { server_->Shutdown(absl::ToChronoTime(absl::Now() + absl::Milliseconds(100))); }

}  // namespace baseband::testing
