// How many streams a server and a client may have open.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "tests/support/downconvert_traffic.h"
#include "tests/support/server_test.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

TEST(DownconvertLimitTest, AsSoonAsAClientHearsTheEndAnotherStreamMayComeInItsPlace) {
  auto server = ServerProcess::Start({"--max-streams=1", "--client-streams=1"});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto stub = Connect((*server)->target());
  for (int i = 0; i < 300; ++i) {
    grpc::ClientContext context;
    const auto stream = stub->DownconvertStream(&context);
    if (i % 2 == 0) {
      stream->WritesDone();
      ASSERT_TRUE(stream->Finish().ok()) << i;
    } else {
      stream->Write(v1::DownconvertRequest());
      const grpc::Status status = stream->Finish();
      ASSERT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
          << i << " " << status.error_message();
    }
  }
}

TEST(DownconvertLimitTest, OneStreamTooManyIsToldSoAndAnEndedOneMakesRoom) {
  auto server = ServerProcess::Start({"--max-streams=1"});
  ASSERT_TRUE(server.ok()) << server.status();
  const auto stub = Connect((*server)->target());
  v1::DownconvertRequest request;
  *request.mutable_setup() = ChannelsOf(1, 64, 8);
  request.set_payload(WidebandSignal(1000, 10));
  v1::DownconvertResponse response;
  {
    grpc::ClientContext first_context;
    const auto first = stub->DownconvertStream(&first_context);
    ASSERT_TRUE(first->Write(request) && first->Read(&response));
    grpc::ClientContext second_context;
    const auto second = stub->DownconvertStream(&second_context);
    second->Write(request);
    EXPECT_FALSE(second->Read(&response));
    EXPECT_EQ(second->Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    first->WritesDone();
    EXPECT_TRUE(first->Finish().ok());
  }
  grpc::ClientContext third_context;
  const auto third = stub->DownconvertStream(&third_context);
  EXPECT_TRUE(third->Write(request) && third->Read(&response));
  // SIGTERM while a stream is open: it ends, and the server with it.
  EXPECT_EQ((*server)->Terminate(), 0) << (*server)->process().Output();
  EXPECT_FALSE(third->Read(&response));
  EXPECT_FALSE(third->Finish().ok());
}

}  // namespace
}  // namespace baseband::testing
