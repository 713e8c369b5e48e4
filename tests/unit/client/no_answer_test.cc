// Servers that are none of ours.
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cpp/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::client {
namespace {

using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

// Ends every call as OK, and answers none.
class Silent final : public grpc::CallbackGenericService {
  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    Call() { Finish(grpc::Status::OK); }
    void OnDone() override { delete this; }
  };

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new Call;
  }
};

TEST(NoAnswerTest, OkWithoutAnAnswerIsNoEmptyAnswer) {
  Silent service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&service);
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  ClientOptions options;
  options.target = absl::StrCat("127.0.0.1:", port);
  const auto client = Client::Create(options);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_THAT((*client)->Encode(v1::EncodeRequest()).status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("OK and no answer")));
}

}  // namespace
}  // namespace baseband::client
