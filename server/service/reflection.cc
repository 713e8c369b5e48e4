#include "server/service/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/grpcpp.h>

#include <unordered_set>

#include "absl/strings/str_cat.h"
#include "grpc/reflection/v1/reflection.pb.h"
#include "kernels/base/status_macros.h"
#include "server/grpc/parse_message.h"

namespace baseband::server {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1::FileDescriptorResponse;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;

constexpr size_t kMaxRequestBytes = 4 << 10;  // of names

// The file and all that it imports, each once.
void AddFiles(const FileDescriptor& file, std::unordered_set<const FileDescriptor*>* seen,
              FileDescriptorResponse* response) {
  if (!seen->insert(&file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  response->add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) AddFiles(*file.dependency(i), seen, response);
}

void SetError(const std::string& what, ServerReflectionResponse* response) {
  response->mutable_error_response()->set_error_code(grpc::StatusCode::NOT_FOUND);
  response->mutable_error_response()->set_error_message(what);
}

void SetFile(const FileDescriptor* file, const std::string& name,
             ServerReflectionResponse* response) {
  if (file == nullptr) return SetError(absl::StrCat("there is no ", name), response);
  std::unordered_set<const FileDescriptor*> seen;
  AddFiles(*file, &seen, response->mutable_file_descriptor_response());
}

ServerReflectionResponse Answer(const std::vector<std::string>& services,
                                const ServerReflectionRequest& request) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  ServerReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kFileByFilename:
      SetFile(pool.FindFileByName(request.file_by_filename()), request.file_by_filename(),
              &response);
      break;
    case ServerReflectionRequest::kFileContainingSymbol:
      SetFile(pool.FindFileContainingSymbol(request.file_containing_symbol()),
              request.file_containing_symbol(), &response);
      break;
    case ServerReflectionRequest::kListServices:
      for (const std::string& service : services) {
        response.mutable_list_services_response()->add_service()->set_name(service);
      }
      break;
    case ServerReflectionRequest::kFileContainingExtension:
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
      SetError("this server's messages have no extensions", &response);
      break;
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      SetError("the request asks nothing", &response);
      break;
  }
  return response;
}

}  // namespace

absl::StatusOr<std::string> AnswerReflection(const std::vector<std::string>& services,
                                             const grpc::ByteBuffer& request) {
  BASEBAND_ASSIGN_OR_RETURN(const auto question,
                            ParseMessage<ServerReflectionRequest>(request, kMaxRequestBytes));
  return Answer(services, question).SerializeAsString();
}

}  // namespace baseband::server
