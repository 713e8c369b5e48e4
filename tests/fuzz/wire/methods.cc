#include "tests/fuzz/wire/methods.h"

#include <google/protobuf/descriptor.h>

#include <functional>
#include <map>

#include "absl/strings/str_cat.h"
#include "baseband/v1/admin.pb.h"
#include "baseband/v1/baseband.pb.h"
#include "grpc/health/v1/health.pb.h"
#include "grpc/reflection/v1/reflection.pb.h"
#include "tests/support/random_requests.h"

namespace baseband::testing {
namespace {

constexpr int kRequests = 6;                // of an operation
constexpr size_t kMaxRequestBytes = 24000;  // they fit into the first window

v1::SubmitRequest RandomSubmitRequest(Random& random) {
  v1::SubmitRequest request;
  request.set_id(random.Next());
  switch (random.Below(6)) {
    case 0:
      *request.mutable_encode() = RandomEncodeRequest(random);
      break;
    case 1:
      *request.mutable_decode() = RandomDecodeRequest(random);
      break;
    case 2:
      *request.mutable_encode_shared_channel() = RandomEncodeSharedChannelRequest(random);
      break;
    case 3:
      *request.mutable_decode_shared_channel() = RandomDecodeSharedChannelRequest(random);
      break;
    case 4:
      *request.mutable_recover_carrier() = RandomRecoverCarrierRequest(random);
      break;
    default:
      *request.mutable_downconvert() = RandomDownconvertRequest(random);
      break;
  }
  return request;
}

std::string ServerReflectionQuestion() {
  grpc::reflection::v1::ServerReflectionRequest request;
  request.set_list_services("*");
  return request.SerializeAsString();
}

// By the name of the message that a method takes; an empty one for all others.
std::string RandomRequest(const std::string& message, Random& random) {
  using Maker = std::function<std::string(Random&)>;
  static const auto& makers = *new std::map<std::string, Maker>{
      {"EncodeRequest", [](Random& r) { return RandomEncodeRequest(r).SerializeAsString(); }},
      {"DecodeRequest", [](Random& r) { return RandomDecodeRequest(r).SerializeAsString(); }},
      {"EncodeSharedChannelRequest",
       [](Random& r) { return RandomEncodeSharedChannelRequest(r).SerializeAsString(); }},
      {"DecodeSharedChannelRequest",
       [](Random& r) { return RandomDecodeSharedChannelRequest(r).SerializeAsString(); }},
      {"RecoverCarrierRequest",
       [](Random& r) { return RandomRecoverCarrierRequest(r).SerializeAsString(); }},
      {"DownconvertRequest",
       [](Random& r) { return RandomDownconvertRequest(r).SerializeAsString(); }},
      {"MinimizeRequest", [](Random& r) { return RandomMinimizeRequest(r).SerializeAsString(); }},
      {"SubmitRequest", [](Random& r) { return RandomSubmitRequest(r).SerializeAsString(); }},
      {"ServerReflectionRequest", [](Random&) { return ServerReflectionQuestion(); }},
  };
  const auto maker = makers.find(message);
  return maker == makers.end() ? "" : maker->second(random);
}

void AddServicesOf(const google::protobuf::FileDescriptor* file, Random& random,
                   std::vector<Method>* methods) {
  for (int i = 0; i < file->service_count(); ++i) {
    const google::protobuf::ServiceDescriptor& service = *file->service(i);
    for (int j = 0; j < service.method_count(); ++j) {
      const google::protobuf::MethodDescriptor& method = *service.method(j);
      Method added = {absl::StrCat("/", service.full_name(), "/", method.name()), {""}};
      for (int k = 0; k < kRequests; ++k) {
        std::string request = RandomRequest(std::string(method.input_type()->name()), random);
        if (request.size() < kMaxRequestBytes) added.requests.push_back(std::move(request));
      }
      methods->push_back(std::move(added));
    }
  }
}

}  // namespace

std::vector<Method> AllMethods(Random& random) {
  std::vector<Method> methods;
  AddServicesOf(v1::EncodeRequest::descriptor()->file(), random, &methods);
  AddServicesOf(grpc::health::v1::HealthCheckRequest::descriptor()->file(), random, &methods);
  AddServicesOf(grpc::reflection::v1::ServerReflectionRequest::descriptor()->file(), random,
                &methods);
  AddServicesOf(v1::DrainRequest::descriptor()->file(), random, &methods);
  methods.push_back({"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                     {ServerReflectionQuestion()}});
  for (const char* const path : {"/baseband.v1.Baseband/Nothing", "/", "", "*", "baseband", "//"}) {
    methods.push_back({path, {""}});
  }
  return methods;
}

}  // namespace baseband::testing
