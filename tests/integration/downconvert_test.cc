// Downconvert through the real server: the same bits however the signal is cut, unary and as a
// stream, across servers and retunes; gaps; what is refused; metrics.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "tests/support/downconvert_traffic.h"
#include "tests/support/server_test.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

class DownconvertTest : public ServerTest {
 protected:
  static std::string Refusal(const v1::DownconvertRequest& request) {
    v1::DownconvertResponse response;
    const grpc::Status status = Call(*stub_, request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    return status.error_message();
  }
  static v1::DownconvertRequest OneChannel() {
    v1::DownconvertRequest request;
    *request.mutable_setup() = ChannelsOf(1, 64, 8);
    request.set_payload(std::string(4 * 1000, '\1'));
    return request;
  }
  static v1::DownconvertChannel& Channel(v1::DownconvertRequest& request) {
    return *request.mutable_setup()->mutable_channels(0);
  }
};

std::vector<int64_t> RandomCuts(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int64_t> sizes;
  for (int i = 0; i < 40; ++i) {
    sizes.push_back(std::uniform_int_distribution<int64_t>(1, 3000)(random));
  }
  return sizes;
}

// Retunes of channel 0, some close together, back and forth, of both modes.
void AddRetunes(v1::DownconvertRequest* request) {
  const struct {
    uint64_t index;
    int64_t num;
    v1::RetuneMode mode;
  } kRetunes[] = {{1000, 5000011, v1::RETUNE_MODE_PHASE_CONTINUOUS},
                  {1030, -777777, v1::RETUNE_MODE_PHASE_COHERENT},
                  {20000, 9123457, v1::RETUNE_MODE_PHASE_COHERENT},
                  {40001, 9123458, v1::RETUNE_MODE_PHASE_CONTINUOUS}};
  for (const auto& retune : kRetunes) {
    v1::Retune& message = *request->add_retunes();
    message.set_index(retune.index);
    message.mutable_frequency()->mutable_fraction()->set_num(retune.num);
    message.mutable_frequency()->mutable_fraction()->set_den(64000000);
    message.set_mode(retune.mode);
  }
}

TEST_F(DownconvertTest, TheSignalIsTheSameToTheBitHoweverItIsCut) {
  const std::string signal = WidebandSignal(70000, 1);
  v1::DownconvertRequest like;
  *like.mutable_setup() = ChannelsOf(2, 64, 8);
  AddRetunes(&like);
  const Converted whole = ConvertInPieces({stub_}, like, signal, {70000});
  ASSERT_EQ(whole.channels[0].size(), 8U * 70000 / 8);

  EXPECT_EQ(ConvertInPieces({stub_}, like, signal, {1023}).channels, whole.channels);
  EXPECT_EQ(ConvertInPieces({stub_}, like, signal, RandomCuts(1)).channels, whole.channels);
  EXPECT_EQ(ConvertAsStream(*stub_, like, signal, {70000}).channels, whole.channels);
  EXPECT_EQ(ConvertAsStream(*stub_, like, signal, {1023}).channels, whole.channels);
  EXPECT_EQ(ConvertAsStream(*stub_, like, signal, RandomCuts(2)).channels, whole.channels);
}

TEST_F(DownconvertTest, EvenSampleBySample) {
  const std::string signal = WidebandSignal(1500, 2);
  v1::DownconvertRequest like;
  *like.mutable_setup() = ChannelsOf(1, 21, 3);
  AddRetunes(&like);
  const Converted whole = ConvertInPieces({stub_}, like, signal, {1500});
  EXPECT_EQ(ConvertAsStream(*stub_, like, signal, {1}).channels, whole.channels);
  EXPECT_EQ(ConvertInPieces({stub_}, like, signal, {7}).channels, whole.channels);
}

TEST_F(DownconvertTest, SixtyFourChannelsAreWhatEachIsAlone) {
  const std::string signal = WidebandSignal(5000, 3);
  v1::DownconvertRequest like;
  *like.mutable_setup() = ChannelsOf(64, 64, 8);
  const Converted together = ConvertAsStream(*stub_, like, signal, {1777});
  for (const int c : {0, 1, 31, 63}) {
    v1::DownconvertRequest alone;
    *alone.mutable_setup() = like.setup();
    alone.mutable_setup()->clear_channels();
    *alone.mutable_setup()->add_channels() = like.setup().channels(c);
    EXPECT_EQ(ConvertInPieces({stub_}, alone, signal, {5000}).channels[0],
              together.channels[static_cast<size_t>(c)]);
  }
}

TEST_F(DownconvertTest, AnotherServerTakesTheNextPiece) {
  auto other = ServerProcess::Start();
  ASSERT_TRUE(other.ok()) << other.status();
  const auto other_stub = Connect((*other)->target());
  const std::string signal = WidebandSignal(20000, 4);
  v1::DownconvertRequest like;
  *like.mutable_setup() = ChannelsOf(2, 100, 5);
  AddRetunes(&like);
  const Converted whole = ConvertInPieces({stub_}, like, signal, {20000});
  EXPECT_EQ(ConvertInPieces({stub_, other_stub.get()}, like, signal, {3001}).channels,
            whole.channels);
  EXPECT_EQ((*other)->Terminate(), 0);
}

TEST_F(DownconvertTest, MasksAndRationalRatesHoldAcrossPieces) {
  const std::string signal = WidebandSignal(30000, 5);
  v1::DownconvertRequest like;
  v1::DownconvertSetup& setup = *like.mutable_setup();
  setup.set_sample_rate_hz(64e6);
  for (const auto& [up, down] : {std::pair<uint32_t, uint32_t>{1, 64}, {3, 40}, {5, 4}}) {
    v1::DownconvertChannel& channel = *setup.add_channels();
    channel.mutable_frequency()->set_hz(9.1e6);
    channel.mutable_filter()->set_up(up);
    channel.mutable_filter()->set_down(down);
    const double rate = 64e6 * up / down;
    channel.mutable_filter()->mutable_mask()->set_pass_edge_hz(0.3 * std::min(rate, 64e6));
    channel.set_output(v1::SAMPLE_FORMAT_INT16);
  }
  const Converted whole = ConvertInPieces({stub_}, like, signal, {30000});
  EXPECT_EQ(ConvertAsStream(*stub_, like, signal, RandomCuts(3)).channels, whole.channels);
  EXPECT_EQ(ConvertInPieces({stub_}, like, signal, {2500}).channels, whole.channels);

  // The tone at 9.1 MHz is the channels' zero: with 7000 / 32768 of full scale it comes out.
  std::vector<int16_t> last(whole.channels[0].size() / 2);
  std::memcpy(last.data(), whole.channels[0].data(), whole.channels[0].size());
  EXPECT_NEAR(last[last.size() - 2], 7000, 350);
}

TEST_F(DownconvertTest, ADescriptionSaysWhatTheChannelIs) {
  v1::DownconvertRequest request = OneChannel();
  request.set_describe(true);
  Channel(request).mutable_frequency()->set_hz(1e6);
  Channel(request).mutable_filter()->clear_taps();
  Channel(request).mutable_filter()->mutable_mask()->set_pass_edge_hz(2e6);
  v1::DownconvertResponse response;
  const grpc::Status status = Call(*stub_, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();

  ASSERT_EQ(response.descriptions_size(), 1);
  const v1::ChannelDescription& description = response.descriptions(0);
  EXPECT_EQ(description.frequency().num(), 1);
  EXPECT_EQ(description.frequency().den(), 64U);
  EXPECT_EQ(description.output_rate_hz(), 8e6);
  EXPECT_GE(description.attenuation_db(), 80);
  EXPECT_LE(description.ripple_db(), 0.1);
  EXPECT_GT(description.group_delay(), 0);
  EXPECT_GE(description.stage_taps_size(), 1);
}

TEST_F(DownconvertTest, AGapIsReportedAndTheFiltersBeginAnew) {
  const std::string signal = WidebandSignal(3000, 6);
  v1::DownconvertRequest first;
  *first.mutable_setup() = ChannelsOf(1, 64, 8);
  first.set_payload(signal.substr(0, 4 * 1000));
  v1::DownconvertRequest later;
  later.set_first_sample(2000);
  later.set_payload(signal.substr(4 * 2000));
  const double gaps = server_->Metric("baseband_downconvert_gaps_total");
  grpc::ClientContext context;
  const auto stream = stub_->DownconvertStream(&context);
  v1::DownconvertResponse response;
  ASSERT_TRUE(stream->Write(first) && stream->Read(&response));
  EXPECT_EQ(response.gap(), 0U);
  ASSERT_TRUE(stream->Write(later) && stream->Read(&response));
  EXPECT_EQ(response.gap(), 1000U);
  EXPECT_EQ(response.channels(0).first_output(), 2000U / 8);
  EXPECT_EQ(server_->Metric("baseband_downconvert_gaps_total"), gaps + 1);

  // As the unary call has it with zeros before.
  v1::DownconvertRequest unary = later;
  *unary.mutable_setup() = first.setup();
  unary.set_zero_history(true);
  v1::DownconvertResponse alone;
  ASSERT_TRUE(Call(*stub_, unary, &alone).ok());
  EXPECT_EQ(alone.payload(), response.payload());

  later.set_first_sample(10);
  EXPECT_TRUE(stream->Write(later));
  EXPECT_FALSE(stream->Read(&response));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("first_sample 10 was in the stream already"));
}

TEST_F(DownconvertTest, SaturationsAreCounted) {
  v1::DownconvertRequest request = OneChannel();
  Channel(request).set_output(v1::SAMPLE_FORMAT_INT16);
  Channel(request).mutable_frequency()->mutable_fraction()->set_num(0);
  Channel(request).set_gain(1e6);
  v1::DownconvertResponse response;
  ASSERT_TRUE(Call(*stub_, request, &response).ok());
  EXPECT_GT(response.channels(0).saturated(), 200U);
}

TEST_F(DownconvertTest, WrongSetupsAreRefusedByName) {
  v1::DownconvertRequest request = OneChannel();
  request.mutable_setup()->set_sample_rate_hz(0);
  EXPECT_THAT(Refusal(request), HasSubstr("setup.sample_rate_hz 0 is not in (0, 1e+15]"));
  request = OneChannel();
  request.mutable_setup()->clear_channels();
  EXPECT_THAT(Refusal(request), HasSubstr("setup.channels has 0 entries, not 1 to 1024"));
  request = OneChannel();
  for (int i = 0; i < 1024; ++i) {
    *request.mutable_setup()->add_channels() = request.setup().channels(0);
  }
  EXPECT_THAT(Refusal(request), HasSubstr("setup.channels has 1025 entries"));
  request = OneChannel();
  Channel(request).mutable_frequency()->set_hz(65e6);
  EXPECT_THAT(Refusal(request), HasSubstr("setup.channels[0].frequency.hz 6.5e+07"));
  Channel(request).mutable_frequency()->mutable_fraction()->set_num(1);
  EXPECT_THAT(Refusal(request), HasSubstr("setup.channels[0].frequency.fraction.den 0"));
  request = OneChannel();
  Channel(request).mutable_filter()->set_down(4097);
  EXPECT_THAT(Refusal(request), HasSubstr("setup.channels[0].filter.down 4097"));
  request = OneChannel();
  Channel(request).mutable_filter()->clear_taps();
  EXPECT_THAT(Refusal(request), HasSubstr("setup.channels[0].filter.taps is empty"));
  Channel(request).mutable_filter()->add_taps(std::nanf(""));
  EXPECT_THAT(Refusal(request), HasSubstr("setup.channels[0].filter.taps[0] nan is not finite"));
}

TEST_F(DownconvertTest, WrongPlacesAreRefusedByName) {
  v1::DownconvertRequest request = OneChannel();
  request.set_payload("abc");
  EXPECT_THAT(Refusal(request), HasSubstr("payload has 3 bytes"));
  request = OneChannel();
  request.set_first_sample((uint64_t{1} << 62) - 10);
  EXPECT_THAT(Refusal(request), HasSubstr("go beyond 2^62"));
  request = OneChannel();
  request.set_history(1001);
  EXPECT_THAT(Refusal(request), HasSubstr("history 1001"));
  request = OneChannel();
  request.set_first_sample(5000);
  request.set_history(10);
  EXPECT_THAT(Refusal(request), HasSubstr("history 10"));
  request = OneChannel();
  request.add_retunes()->set_channel(1);
  EXPECT_THAT(Refusal(request), HasSubstr("retunes[0].channel 1 is not in [0, 0]"));
}

TEST_F(DownconvertTest, AStreamWithoutSetupEndsWithTheReason) {
  grpc::ClientContext context;
  const auto stream = stub_->DownconvertStream(&context);
  v1::DownconvertRequest request;
  request.set_payload(std::string(400, '\0'));
  v1::DownconvertResponse response;
  EXPECT_TRUE(stream->Write(request));
  EXPECT_FALSE(stream->Read(&response));
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("setup is not set in the first message"));
}

// --------------------------------------------------------------- clients that do not behave

TEST_F(DownconvertTest, AClientThatStallsIsCutOffAndOthersAreServed) {
  grpc::ClientContext context;
  const auto stream = stub_->DownconvertStream(&context);
  v1::DownconvertRequest request;
  *request.mutable_setup() = ChannelsOf(4, 8, 1);  // four times as much comes out as goes in
  request.set_payload(WidebandSignal(500000, 7));
  // Never reads: sooner or later the server stops to read, too.
  std::thread writer([&] {
    while (stream->Write(request)) request.clear_setup();
  });
  const Converted other =
      ConvertAsStream(*Connect(server_->target()), OneChannel(), WidebandSignal(20000, 8), {5000});
  EXPECT_EQ(other.responses, 4);
  writer.join();  // the server cuts it off
  v1::DownconvertResponse response;
  while (stream->Read(&response)) {
  }
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(server_->WaitForMetric("baseband_pool_used_bytes", {}, 0));
}

TEST_F(DownconvertTest, AStreamThatIsCancelledOrLateLeavesNothingBehind) {
  for (const bool cancel : {true, false}) {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(3)));
    const auto stream = stub_->DownconvertStream(&context);
    v1::DownconvertRequest request;
    *request.mutable_setup() = ChannelsOf(1, 64, 8);
    request.set_payload(WidebandSignal(1000, 9));
    v1::DownconvertResponse response;
    ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
    if (cancel) context.TryCancel();
    EXPECT_FALSE(stream->Read(&response));
    EXPECT_EQ(stream->Finish().error_code(),
              cancel ? grpc::StatusCode::CANCELLED : grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  EXPECT_TRUE(server_->WaitForMetric("baseband_requests_in_flight", {}, 0));
  EXPECT_TRUE(server_->WaitForMetric("baseband_pool_used_bytes", {}, 0));
}

}  // namespace
}  // namespace baseband::testing
