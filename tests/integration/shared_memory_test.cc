// Memory that the real server shares with its clients: that answers are the same, to the bit, and
// what becomes of it when a client or the server goes.
#include <atomic>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/carrier_traffic.h"
#include "tests/support/downconvert_traffic.h"
#include "tests/support/raw_regions.h"
#include "tests/support/server_process.h"
#include "tests/support/shared_channel_traffic.h"
#include "tests/support/sharing_server.h"
#include "tests/support/status_matchers.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using client::Buffer;
using client::Client;

class SharedMemoryTest : public SharingServerTest {
 protected:
  std::unique_ptr<Client> NewClient() const {
    client::ClientOptions options;
    options.target = target_.empty() ? server_->target() : target_;
    return *Client::Create(options);
  }
  std::unique_ptr<Client> NewSharingClient(int64_t least_bytes = 1) const {
    std::unique_ptr<Client> client = NewClient();
    EXPECT_THAT(client->ShareMemory(client::CallOptions(), least_bytes), IsOk());
    return client;
  }
  double SharedBytes(const std::string& direction) const {
    return server_->Metric("baseband_shared_memory_bytes_total",
                           {absl::StrCat("direction=\"", direction, "\"")});
  }

  std::string target_;  // empty: the server's own
};

template <typename Message>
std::string Essence(absl::StatusOr<Message> message) {
  EXPECT_THAT(message, IsOk());
  if (!message.ok()) return "";
  message->clear_timing();
  return message->SerializeAsString();
}

TEST_F(SharedMemoryTest, EveryOperationAnswersTheSameToTheBit) {
  Serve();
  const std::unique_ptr<Client> plain = NewClient();
  const std::unique_ptr<Client> sharing = NewSharingClient();
  std::mt19937 random(17);
  for (int i = 0; i < 5; ++i) {
    const v1::EncodeRequest encode = RandomEncode(&random);
    const auto words = plain->Encode(encode);
    EXPECT_TRUE(Essence(sharing->Encode(encode)) == Essence(words));
    const v1::DecodeRequest decode = DecodeOf(encode, *words);
    EXPECT_TRUE(Essence(sharing->Decode(decode)) == Essence(plain->Decode(decode)));
    const v1::EncodeSharedChannelRequest slot = RandomSlot(&random);
    const auto bits = plain->EncodeSharedChannel(slot);
    EXPECT_TRUE(Essence(sharing->EncodeSharedChannel(slot)) == Essence(bits));
    const v1::DecodeSharedChannelRequest received = DecodeOf(slot, *bits);
    EXPECT_TRUE(Essence(sharing->DecodeSharedChannel(received)) ==
                Essence(plain->DecodeSharedChannel(received)));
  }
  v1::RecoverCarrierRequest frames = RandomCarriers(&random).message;
  for (v1::CarrierGroup& group : *frames.mutable_groups()) group.set_corrected(true);
  EXPECT_TRUE(Essence(sharing->RecoverCarrier(frames)) == Essence(plain->RecoverCarrier(frames)));
  v1::DownconvertRequest wideband;
  *wideband.mutable_setup() = ChannelsOf(3, 64, 8);
  wideband.set_first_sample(0);
  wideband.set_payload(WidebandSignal(20'000, 1));
  EXPECT_TRUE(Essence(sharing->Downconvert(wideband)) == Essence(plain->Downconvert(wideband)));
  EXPECT_GT(SharedBytes("in"), 80'000);
  EXPECT_GT(SharedBytes("out"), 10'000);
}

TEST_F(SharedMemoryTest, ASubmitStreamAnswersTheSame) {
  Serve();
  const std::unique_ptr<Client> plain = NewClient();
  const std::unique_ptr<Client> sharing = NewSharingClient();
  auto stream = sharing->OpenSubmitStream();
  ASSERT_THAT(stream, IsOk());
  std::mt19937 random(18);
  std::vector<std::pair<std::string, std::future<std::string>>> answers;
  for (int i = 0; i < 20; ++i) {
    const v1::EncodeRequest request = RandomEncode(&random);
    auto promise = std::make_shared<std::promise<std::string>>();
    answers.emplace_back(Essence(plain->Encode(request)), promise->get_future());
    EXPECT_THAT((*stream)->Submit(request, client::SubmitOptions(),
                                  [promise](absl::StatusOr<v1::EncodeResponse> response) {
                                    promise->set_value(Essence(std::move(response)));
                                  }),
                IsOk());
  }
  for (auto& [expected, answer] : answers) EXPECT_TRUE(answer.get() == expected);
  EXPECT_THAT((*stream)->Finish(), IsOk());
  EXPECT_GT(SharedBytes("in"), 0);
  EXPECT_GT(SharedBytes("out"), 0);
}

TEST_F(SharedMemoryTest, ABufferIsFilledAndReadInPlace) {
  Serve();
  const std::unique_ptr<Client> sharing = NewSharingClient();
  const v1::EncodeRequest encode = EncodeOf(NrCode(1, 384), 4);
  const auto words = sharing->Encode(encode);
  ASSERT_THAT(words, IsOk());
  v1::DecodeRequest request = DecodeOf(encode, *words);
  const std::string llrs = request.payload();
  const Buffer in = sharing->Loan(static_cast<int64_t>(llrs.size()));
  const Buffer out = sharing->Loan(static_cast<int64_t>(encode.payload().size()));
  ASSERT_TRUE(in.is_shared());
  std::copy(llrs.begin(), llrs.end(), in.data());
  client::SetPayload(in, in.size(), &request);
  client::SetReply(out, &request);
  const auto response = sharing->Decode(request);
  ASSERT_THAT(response, IsOk());
  EXPECT_TRUE(response->payload().empty());
  EXPECT_TRUE(client::PayloadOf(*response, out) == encode.payload());
}

TEST_F(SharedMemoryTest, AReplyThatDoesNotFitComesInTheMessage) {
  Serve();
  const std::unique_ptr<Client> sharing = NewSharingClient();
  v1::EncodeRequest request = EncodeOf(NrCode(1, 384), 4);
  const auto expected = sharing->Encode(request);
  ASSERT_THAT(expected, IsOk());
  const Buffer out = sharing->Loan(64);
  client::SetReply(out, &request);
  const auto response = sharing->Encode(request);
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->placed_size(), 0);
  EXPECT_TRUE(response->payload() == expected->payload());
}

TEST_F(SharedMemoryTest, AStreamOfDownconvertTakesItsSamplesFromThere) {
  Serve();
  const std::unique_ptr<Client> sharing = NewSharingClient();
  const auto stub = Connect(server_->target());
  v1::DownconvertRequest like;
  *like.mutable_setup() = ChannelsOf(2, 64, 8);
  const std::string signal = WidebandSignal(40'000, 2);
  const Converted expected = ConvertAsStream(*stub, like, signal, {10'000});

  auto stream = sharing->OpenDownconvertStream();
  ASSERT_THAT(stream, IsOk());
  const Buffer in = sharing->Loan(static_cast<int64_t>(signal.size()));
  std::copy(signal.begin(), signal.end(), in.data());
  std::vector<std::string> channels(2);
  for (int i = 0; i < 4; ++i) {
    v1::DownconvertRequest request;
    if (i == 0) request = like;
    request.mutable_payload_at()->set_region(in.region());
    request.mutable_payload_at()->set_offset(in.offset() + static_cast<uint64_t>(i) * 40'000);
    request.mutable_payload_at()->set_bytes(40'000);
    ASSERT_TRUE((*stream)->Write(request)) << (*stream)->Finish();
    v1::DownconvertResponse response;
    ASSERT_TRUE((*stream)->Read(&response));
    const size_t half = response.payload().size() / 2;
    channels[0] += response.payload().substr(0, half);
    channels[1] += response.payload().substr(half);
  }
  EXPECT_THAT((*stream)->Finish(), IsOk());
  EXPECT_TRUE(channels == expected.channels);
}

TEST_F(SharedMemoryTest, AServerThatSharesNoneSaysSo) {
  auto server = ServerProcess::Start();
  ASSERT_THAT(server, IsOk());
  server_ = *std::move(server);
  const std::unique_ptr<Client> client = NewClient();
  EXPECT_THAT(client->ShareMemory(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                              ::testing::HasSubstr("--shm-listen")));
  EXPECT_FALSE(client->Loan(1000).is_shared());
  v1::EncodeRequest request = EncodeOf(NrCode(1, 2), 1);
  request.clear_payload();
  request.mutable_payload_at()->set_region(std::string(16, 'x'));
  EXPECT_THAT(
      client->Encode(request),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               ::testing::HasSubstr("payload_at is set, but this server shares no memory")));
}

TEST_F(SharedMemoryTest, AfterARestartCallsGoThroughTheSocketAgain) {
  target_ = absl::StrCat("127.0.0.1:", FreePort());
  const std::string listen = "--listen=" + target_;
  Serve({listen});
  const std::unique_ptr<Client> sharing = NewSharingClient();
  const v1::EncodeRequest request = EncodeOf(NrCode(1, 384), 4);
  const std::string expected = Essence(sharing->Encode(request));
  server_->process().Signal(SIGKILL);
  server_->process().Wait(absl::Seconds(60));
  Serve({listen});
  client::CallOptions patient;
  patient.wait_for_ready = true;
  EXPECT_TRUE(Essence(sharing->Encode(request, patient)) == expected);
  EXPECT_EQ(SharedBytes("in"), 0);
  EXPECT_FALSE(sharing->Loan(1000).is_shared());
  EXPECT_THAT(sharing->ShareMemory(client::CallOptions(), 1), IsOk());
  EXPECT_TRUE(Essence(sharing->Encode(request)) == expected);
  EXPECT_GT(SharedBytes("in"), 0);
}

TEST_F(SharedMemoryTest, WhatTimedOutIsLentAgainOnceTheServerHasReleasedIt) {
  Serve({"--cpu-threads=1"});
  const std::unique_ptr<Client> sharing = NewSharingClient();
  v1::DecodeRequest late = DecodeOfZeros(NrCode(1, 384), 100);  // 2.5 MB of the 64 MiB of a region
  late.mutable_groups(0)->set_fixed_iterations(true);
  late.mutable_groups(0)->set_max_iterations(50);
  client::CallOptions hurried;
  hurried.timeout = absl::Milliseconds(20);
  for (int i = 0; i < 60; ++i) {
    EXPECT_THAT(sharing->Decode(late, hurried),
                StatusIs(absl::StatusCode::kDeadlineExceeded, ::testing::_));
  }
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {"rpc=\"Decode\""}, 0));
  EXPECT_LE(server_->Metric("baseband_shared_memory_regions"), 3);
  const double before = SharedBytes("in");
  EXPECT_THAT(sharing->Encode(EncodeOf(NrCode(1, 384), 4)), IsOk());
  EXPECT_GT(SharedBytes("in"), before);
}

TEST_F(SharedMemoryTest, WhatIsScribbledWhileItIsReadSpoilsItsOwnAnswerOnly) {
  Serve();
  const std::unique_ptr<Client> sharing = NewSharingClient();
  const std::unique_ptr<Client> plain = NewClient();
  std::mt19937 random(19);
  // Of every operation, with what its payload was first.
  const v1::EncodeRequest encode = EncodeOf(NrCode(1, 384), 8);
  const auto words = plain->Encode(encode);
  ASSERT_THAT(words, IsOk());
  v1::DecodeRequest decode = DecodeOf(encode, *words);
  v1::RecoverCarrierRequest carrier = RandomCarriers(&random).message;
  v1::DownconvertRequest wideband;
  *wideband.mutable_setup() = ChannelsOf(3, 64, 8);
  wideband.set_first_sample(0);
  wideband.set_payload(WidebandSignal(60'000, 3));
  const v1::EncodeSharedChannelRequest slot = RandomSlot(&random);
  v1::DecodeSharedChannelRequest received = DecodeOf(slot, *plain->EncodeSharedChannel(slot));
  Buffer in = sharing->Loan(4 << 20);
  Buffer out = sharing->Loan(4 << 20);
  std::atomic<bool> is_over{false};
  std::thread scribbler([&] {
    std::mt19937_64 noise(20);
    while (!is_over) {
      for (Buffer* buffer : {&in, &out}) {
        const auto at = noise() % static_cast<uint64_t>(buffer->size() / 8);
        reinterpret_cast<uint64_t*>(buffer->data())[at] = noise();
      }
    }
  });
  const auto run = [&](auto request, auto call) {
    const std::string payload = request.payload();
    for (int i = 0; i < 20; ++i) {
      std::copy(payload.begin(), payload.end(), in.data());
      client::SetPayload(in, static_cast<int64_t>(payload.size()), &request);
      client::SetReply(out, &request);
      const absl::Status status = call(request);
      EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
    }
  };
  run(decode, [&](auto& r) { return sharing->Decode(r).status(); });
  run(encode, [&](auto& r) { return sharing->Encode(r).status(); });
  run(carrier, [&](auto& r) { return sharing->RecoverCarrier(r).status(); });
  run(wideband, [&](auto& r) { return sharing->Downconvert(r).status(); });
  run(received, [&](auto& r) { return sharing->DecodeSharedChannel(r).status(); });
  is_over = true;
  scribbler.join();
  EXPECT_TRUE(Essence(plain->Encode(encode)) == Essence(words)) << "nobody else's";
}

TEST_F(SharedMemoryTest, WhoGoesLeavesNothingBehind) {
  Serve();
  const RawRegions::Answer all = [&] {
    RawRegions raw(socket_);
    const RawRegions::Answer granted = raw.Grant(1 << 20);
    EXPECT_EQ(granted.code, 0U) << granted.message;
    EXPECT_EQ(SharedNow(), 1 << 20);
    return granted;
  }();
  EXPECT_TRUE(WaitUntilNothingIsShared());
  v1::EncodeRequest request = EncodeOf(NrCode(1, 2), 1);
  request.clear_payload();
  request.mutable_payload_at()->set_region(all.name);
  request.mutable_payload_at()->set_bytes(64);
  EXPECT_THAT(NewClient()->Encode(request),
              StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::HasSubstr("was freed")));
}

TEST_F(SharedMemoryTest, MemoryInUseOutlivesItsClientAndGoesWithTheRequest) {
  Serve({"--cpu-threads=1"});
  const std::unique_ptr<Client> plain = NewClient();
  std::promise<absl::Status> ended;
  {
    RawRegions raw(socket_);
    const RawRegions::Answer granted = raw.Grant(8 << 20);
    EXPECT_EQ(raw.Mapped(granted.name).code, 0U);
    v1::DecodeRequest request = DecodeOfZeros(NrCode(1, 384), 100);
    request.mutable_groups(0)->set_fixed_iterations(true);
    request.mutable_groups(0)->set_max_iterations(50);
    const auto bytes = request.payload().size();
    request.clear_payload();
    request.mutable_payload_at()->set_region(granted.name);
    request.mutable_payload_at()->set_bytes(bytes);
    plain->Decode(request, client::CallOptions(), [&](absl::StatusOr<v1::DecodeResponse> response) {
      ended.set_value(response.status());
    });
    EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {"rpc=\"Decode\""}, 1));
  }
  EXPECT_THAT(ended.get_future().get(), IsOk());
  EXPECT_TRUE(WaitUntilNothingIsShared());
}

}  // namespace
}  // namespace baseband::testing
