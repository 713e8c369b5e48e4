#include "server/service/reflection.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include "baseband/v1/baseband.pb.h"
#include "grpc/reflection/v1/reflection.pb.h"
#include "tests/support/status_matchers.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsInvalid;
using ::baseband::testing::IsOk;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;
using ::testing::Contains;
using ::testing::HasSubstr;

grpc::ByteBuffer Wire(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

ServerReflectionResponse Ask(const ServerReflectionRequest& request) {
  const auto answer =
      AnswerReflection({"one.Service", "another.Service"}, Wire(request.SerializeAsString()));
  EXPECT_THAT(answer, IsOk());
  ServerReflectionResponse response;
  EXPECT_TRUE(response.ParseFromString(*answer));
  EXPECT_EQ(response.original_request().SerializeAsString(), request.SerializeAsString());
  return response;
}

std::vector<std::string> FilesOf(const ServerReflectionResponse& response) {
  std::vector<std::string> names;
  for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
    google::protobuf::FileDescriptorProto file;
    EXPECT_TRUE(file.ParseFromString(bytes));
    names.push_back(file.name());
  }
  return names;
}

TEST(ReflectionTest, ListsTheServices) {
  ServerReflectionRequest request;
  request.set_host("here");
  request.set_list_services("");
  const ServerReflectionResponse response = Ask(request);
  EXPECT_EQ(response.valid_host(), "here");
  ASSERT_EQ(response.list_services_response().service_size(), 2);
  EXPECT_EQ(response.list_services_response().service(1).name(), "another.Service");
}

TEST(ReflectionTest, FilesComeByTheirNameAndByWhatTheyHaveEachOnce) {
  ASSERT_NE(v1::EncodeRequest::descriptor(), nullptr);  // linked
  ServerReflectionRequest request;
  request.set_file_by_filename("baseband/v1/baseband.proto");
  const std::vector<std::string> files = FilesOf(Ask(request));
  EXPECT_THAT(files, Contains("baseband/v1/baseband.proto").Times(1));
  for (const char* symbol : {"baseband.v1.Baseband", "baseband.v1.Baseband.Encode",
                             "baseband.v1.EncodeRequest", "baseband.v1.EncodeRequest.groups"}) {
    request.set_file_containing_symbol(symbol);
    EXPECT_EQ(FilesOf(Ask(request)), files) << symbol;
  }
}

TEST(ReflectionTest, WhatIsNotThereIsNotFound) {
  ServerReflectionRequest by_name;
  by_name.set_file_by_filename("/etc/passwd");
  ServerReflectionRequest by_symbol;
  by_symbol.set_file_containing_symbol("baseband.v1.Nothing");
  ServerReflectionRequest by_extension;
  by_extension.mutable_file_containing_extension()->set_containing_type("baseband.v1.Baseband");
  ServerReflectionRequest extensions;
  extensions.set_all_extension_numbers_of_type("baseband.v1.EncodeRequest");
  for (const auto& request :
       {by_name, by_symbol, by_extension, extensions, ServerReflectionRequest()}) {
    EXPECT_EQ(Ask(request).error_response().error_code(), grpc::StatusCode::NOT_FOUND);
  }
  EXPECT_THAT(Ask(by_name).error_response().error_message(), HasSubstr("/etc/passwd"));
}

TEST(ReflectionTest, WhatIsNoRequestEndsTheStream) {
  EXPECT_THAT(AnswerReflection({}, Wire("\x1a\x05"
                                        "abc")),
              IsInvalid("well-formed"));
  ServerReflectionRequest request;
  request.set_file_by_filename(std::string(5000, 'x'));
  EXPECT_THAT(AnswerReflection({}, Wire(request.SerializeAsString())), IsInvalid("more than 4096"));
}

}  // namespace
}  // namespace baseband::server
