// The client library against a server in this process: pool, what travels, callbacks, health.
#include "client/cpp/client.h"

#include <atomic>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/time/clock.h"
#include "tests/integration/client_calls.h"
#include "tests/support/matchers.h"
#include "tests/support/test_files.h"

namespace baseband::client {
namespace {

using ::testing::_;

TEST(ClientTest, RefusesOptionsOutOfRange) {
  ClientOptions options;
  options.connections = 0;
  EXPECT_THAT(Client::Create(options), IsInvalid("connections 0"));
  options.connections = 1;
  options.stripe_from_bytes = 131071;
  EXPECT_THAT(Client::Create(options), IsInvalid("stripe_from_bytes 131071 is not in [131072, "));
}

TEST(ClientTest, SixteenMebibytesTravelBothWays) {
  FakeBaseband server;
  server.on_encode = Echo;
  server.Start();
  const auto client = Connect(server.target());
  const auto response = client->Encode(RequestOf(16 << 20));
  ASSERT_THAT(response, IsOk());
  EXPECT_THAT(response->payload(), SizeIs(16 << 20));
}

TEST(ClientTest, ServesUnixSocketsToo) {
  const std::string path = ::baseband::testing::FolderOfTests() + "/socket";
  FakeBaseband server;
  server.on_encode = Echo;
  server.Start("unix:" + path);
  const auto client = Connect(server.target());
  EXPECT_THAT(client->Encode(RequestOf(1000)), IsOk());
}

TEST(ClientTest, ThePriorityTravelsAsMetadataAndNormalAsNone) {
  FakeBaseband server;
  server.on_encode = [](grpc::ServerContext* context, const v1::EncodeRequest&,
                        v1::EncodeResponse* response) {
    const auto found = context->client_metadata().find("baseband-priority");
    if (found != context->client_metadata().end()) {
      response->set_payload(std::string(found->second.data(), found->second.size()));
    }
    return grpc::Status::OK;
  };
  server.Start();
  const auto client = Connect(server.target());
  for (const auto& [priority, word] :
       {std::make_pair(Priority::kHigh, "high"), std::make_pair(Priority::kNormal, ""),
        std::make_pair(Priority::kLow, "low")}) {
    CallOptions options;
    options.priority = priority;
    const auto response = client->Encode(RequestOf(1), options);
    ASSERT_THAT(response, IsOk());
    EXPECT_EQ(response->payload(), word);
  }
}

// gRPC ends the process of who gives it such metadata.
TEST(ClientTest, ARequestIdThatCannotTravelIsRefusedByEveryKindOfCallAndNothingIsSent) {
  FakeBaseband server;
  server.Start();
  const auto client = Connect(server.target());
  const std::string ids[] = {"a\nb", "a b", "\x7f", "caf\xc3\xa9", std::string("a\0b", 3)};
  for (const std::string& id : ids) {
    CallOptions options;
    options.request_id = id;
    options.wait_for_ready = true;
    EXPECT_THAT(client->Encode(RequestOf(1), options), IsInvalid("request_id"));
    EXPECT_THAT(client->CheckHealth("", options), IsInvalid("request_id"));
    EXPECT_THAT(client->Minimize(v1::MinimizeRequest(), options), IsInvalid("request_id"));
  }
  EXPECT_THAT(server.peers(), IsEmpty());
}

TEST(ClientTest, EveryChannelOfThePoolIsAConnectionOfItsOwn) {
  FakeBaseband server;
  server.on_encode = Echo;
  ClientOptions options;
  options.connections = 5;
  server.Start();
  const auto client = Connect(server.target(), options);
  for (int i = 0; i < 20; ++i) {
    ASSERT_THAT(client->Encode(RequestOf(10)), IsOk());
  }
  EXPECT_THAT(server.peers(), SizeIs(5));
}

TEST(ClientTest, ACallbackMayStartTheNextCall) {
  FakeBaseband server;
  server.on_encode = Echo;
  server.Start();
  const auto client = Connect(server.target());
  absl::BlockingCounter left(100);
  Client::Callback<v1::EncodeResponse> next;
  std::atomic<int> started{8};
  next = [&](absl::StatusOr<v1::EncodeResponse> response) {
    EXPECT_THAT(response, IsOk());
    if (started++ < 100) {
      client->Encode(RequestOf(100), CallOptions(), next);
    }
    left.DecrementCount();
  };
  for (int i = 0; i < 8; ++i) {
    client->Encode(RequestOf(100), CallOptions(), next);
  }
  left.Wait();
}

TEST(ClientTest, FramesTravelToRecoverCarrierAndTheirResultsBack) {
  FakeBaseband server;
  server.on_recover_carrier = [](grpc::ServerContext*, const v1::RecoverCarrierRequest& request,
                                 v1::RecoverCarrierResponse* response) {
    response->add_frames()->set_frequency(request.groups(0).max_frequency());
    response->set_payload(request.payload());
    return grpc::Status::OK;
  };
  server.Start();
  const auto client = Connect(server.target());
  v1::RecoverCarrierRequest request;
  request.add_groups()->set_max_frequency(0.25);
  request.set_payload(std::string(1 << 20, 's'));
  const auto response = client->RecoverCarrier(request);
  ASSERT_THAT(response, IsOk());
  EXPECT_THAT(response->frames(), SizeIs(1));
  EXPECT_EQ(response->frames(0).frequency(), 0.25);
  EXPECT_EQ(response->payload(), request.payload());
}

TEST(ClientTest, TransportBlocksTravelToTheSharedChannelsAndBack) {
  FakeBaseband server;
  server.on_encode_shared_channel = [](grpc::ServerContext*,
                                       const v1::EncodeSharedChannelRequest& request,
                                       v1::EncodeSharedChannelResponse* response) {
    response->set_payload(request.payload() + "coded");
    return grpc::Status::OK;
  };
  server.on_decode_shared_channel = [](grpc::ServerContext*,
                                       const v1::DecodeSharedChannelRequest& request,
                                       v1::DecodeSharedChannelResponse* response) {
    response->add_blocks()->set_code_blocks(request.groups(0).count());
    response->set_soft("soft");
    response->set_payload(request.payload() + "decoded");
    return grpc::Status::OK;
  };
  server.Start();
  const auto client = Connect(server.target());
  v1::EncodeSharedChannelRequest encode;
  encode.add_groups()->set_count(1);
  encode.set_payload("bits");
  const auto encoded = client->EncodeSharedChannel(encode);
  ASSERT_THAT(encoded, IsOk());
  EXPECT_EQ(encoded->payload(), "bitscoded");

  v1::DecodeSharedChannelRequest decode;
  decode.add_groups()->set_count(7);
  decode.set_payload("llrs");
  const auto decoded = client->DecodeSharedChannel(decode);
  ASSERT_THAT(decoded, IsOk());
  EXPECT_THAT(decoded->blocks(), SizeIs(1));
  EXPECT_EQ(decoded->blocks(0).code_blocks(), 7);
  EXPECT_EQ(decoded->soft(), "soft");
  EXPECT_EQ(decoded->payload(), "llrsdecoded");
}

TEST(ClientTest, CapabilitiesCanBeAskedForByName) {
  FakeBaseband server;
  server.on_capabilities = [](grpc::ServerContext*, const v1::GetCapabilitiesRequest& request,
                              v1::GetCapabilitiesResponse* response) {
    for (const std::string& name : request.points_of()) {
      response->mutable_carrier()->add_points()->set_name(name);
    }
    return grpc::Status::OK;
  };
  server.Start();
  const auto client = Connect(server.target());
  EXPECT_THAT(client->GetCapabilities()->carrier().points(), SizeIs(0));
  v1::GetCapabilitiesRequest request;
  request.add_points_of("QPSK");
  EXPECT_EQ(client->GetCapabilities(request)->carrier().points(0).name(), "QPSK");
}

TEST(ClientTest, WithoutAServerConnectAndCallsFailAtOnce) {
  const auto client = Connect("127.0.0.1:1");
  const absl::Time begin = absl::Now();
  EXPECT_THAT(client->Connect(absl::Seconds(20)), StatusIs(absl::StatusCode::kUnavailable, _));
  EXPECT_THAT(client->GetCapabilities(), StatusIs(absl::StatusCode::kUnavailable, _));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
}

TEST(ClientTest, HealthIsToldPerService) {
  FakeBaseband server;
  server.Start();
  server.SetHealth("up", true);
  server.SetHealth("down", false);
  const auto client = Connect(server.target());
  EXPECT_EQ(client->CheckHealth("up").value(), Health::kServing);
  EXPECT_EQ(client->CheckHealth("down").value(), Health::kNotServing);
  EXPECT_THAT(client->CheckHealth("unknown"), StatusIs(absl::StatusCode::kNotFound, _));
}

}  // namespace
}  // namespace baseband::client
