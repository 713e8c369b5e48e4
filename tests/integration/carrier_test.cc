// RecoverCarrier through the real server: results of every constellation, corrected symbols and
// curves in their places, known symbols, many clients, refusals, the metrics.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/carrier_refusals.h"
#include "tests/support/carrier_traffic.h"
#include "tests/support/known_places.h"
#include "tests/support/server_test.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CarrierTest : public CarrierRefusalsTest {
 protected:
  static v1::CarrierGroup Qpsk() {
    v1::CarrierGroup group;
    group.mutable_constellation()->set_name("QPSK");
    group.set_count(1);
    group.set_frame_symbols(64);
    return group;
  }
};

std::vector<std::complex<float>> AsFloats(const std::string& bytes) {
  std::vector<std::complex<float>> symbols(bytes.size() / sizeof(std::complex<float>));
  std::memcpy(symbols.data(), bytes.data(), bytes.size());
  return symbols;
}

TEST_F(CarrierTest, CapabilitiesListConstellationsAndGiveTheirPoints) {
  grpc::ClientContext context;
  v1::GetCapabilitiesRequest request;
  request.add_points_of("16apsk 3/4");
  v1::GetCapabilitiesResponse response;
  ASSERT_TRUE(stub_->GetCapabilities(&context, request, &response).ok());

  EXPECT_THAT(response.carrier().constellations(), Contains("64APSK 132/180"));
  ASSERT_EQ(response.carrier().points_size(), 1);
  EXPECT_EQ(response.carrier().points(0).name(), "16APSK 3/4");
  EXPECT_EQ(response.carrier().points(0).points_size(), 32);
  EXPECT_EQ(response.carrier().points(0).symmetry(), 4);

  grpc::ClientContext another;
  request.add_points_of("17APSK");
  const grpc::Status status = stub_->GetCapabilities(&another, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("17APSK"));
}

TEST_F(CarrierTest, EveryConstellationIsRecoveredSixDecibelsAboveItsOperatingPoint) {
  for (const std::string& name : carrier::ConstellationNames()) {
    CarrierRequest request;
    AddFrames(WithRandomOffset(FramesOf(name, 8192, 7), 0.005), 1, v1::SAMPLE_FORMAT_FLOAT32,
              &request);
    v1::RecoverCarrierResponse response;
    const grpc::Status status = Call(*stub_, request.message, &response);

    ASSERT_TRUE(status.ok()) << name << ": " << status.error_message();
    EXPECT_EQ(CheckCarriers(request, response), "");
    ASSERT_EQ(response.reaches_size(), 1);
    const double modulo = 1.0 / (*carrier::Constellation::FromName(name))->symmetry();
    EXPECT_EQ(response.reaches(0).modulo(), modulo) << name;
    EXPECT_EQ(response.reaches(0).max_frequency(), 0.5 * modulo) << name;
  }
}

TEST_F(CarrierTest, CorrectedSymbolsAndCurvesLieInTheOrderOfTheFramesThatWantThem) {
  CarrierRequest request;
  AddFrames(WithRandomOffset(FramesOf("QPSK", 1000, 1), 0.1), 2, v1::SAMPLE_FORMAT_FLOAT32,
            &request)
      .set_corrected(true);
  AddFrames(WithRandomOffset(FramesOf("8PSK", 700, 2), 0.05), 1, v1::SAMPLE_FORMAT_FLOAT32,
            &request)
      .set_curve(true);
  v1::CarrierGroup& last = AddFrames(WithRandomOffset(FramesOf("16QAM", 300, 3), 0.1), 1,
                                     v1::SAMPLE_FORMAT_FLOAT32, &request);
  last.set_corrected(true);
  last.set_curve(true);
  last.set_fine(v1::FINE_METHOD_SWEEP);
  last.mutable_sweep()->set_step(1e-4);
  v1::RecoverCarrierResponse response;
  const grpc::Status status = Call(*stub_, request.message, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();

  const auto corrected = AsFloats(response.payload());
  ASSERT_EQ(corrected.size(), 1000U + 1000U + 300U);
  // In each frame the corrected symbols are where `evm` says: near the points.
  size_t first = 0;
  for (const int frame : {0, 1, 3}) {
    const FrameSpec& sent = request.frames[static_cast<size_t>(frame)];
    double distance = 0;
    for (int n = 0; n < sent.num_symbols; ++n) {
      const std::complex<double> z =
          std::complex<double>(corrected[first + static_cast<size_t>(n)]) /
          double{response.frames(frame).gain()};
      double least = std::numeric_limits<double>::infinity();
      for (const carrier::Iq& point : sent.constellation->points()) {
        least = std::min(least, std::norm(z - std::complex<double>(point.i, point.q)));
      }
      distance += least;
    }
    EXPECT_NEAR(std::sqrt(distance / sent.num_symbols), response.frames(frame).evm(), 1e-4);
    first += static_cast<size_t>(sent.num_symbols);
  }
  ASSERT_EQ(response.curves_size(), 2);
  EXPECT_EQ(response.curve_points().size(),
            4 * (response.curves(0).num_points() + response.curves(1).num_points()));
  // A sweep over +-1/(2 * 300) in steps of 1e-4.
  EXPECT_EQ(response.curves(1).num_points(), 2 * 16 + 1);
  EXPECT_NEAR(response.curves(1).begin(), response.frames(3).coarse_frequency() - 16e-4, 1e-12);
}

void SetKnown(const std::vector<carrier::Iq>& known, v1::CarrierGroup* group) {
  for (size_t n = 0; n < known.size(); ++n) {
    if (known[n].i == 0.0F && known[n].q == 0.0F) continue;
    group->mutable_known()->add_positions(static_cast<uint32_t>(n));
    group->mutable_known()->add_values(known[n].i);
    group->mutable_known()->add_values(known[n].q);
  }
}

TEST_F(CarrierTest, KnownSymbolsResolveTheAmbiguityAndWidenTheRange) {
  FrameSpec spec = FramesOf("16QAM", 4000, 5);
  spec.pilots = Pilots::kDvbS2;
  spec.frequency = 0.31;
  spec.phase = -2.5;
  CarrierRequest request;
  v1::CarrierGroup& group = AddFrames(spec, 1, v1::SAMPLE_FORMAT_FLOAT16, &request);
  SetKnown(MakeFrame(spec).known, &group);
  v1::RecoverCarrierResponse response;
  const grpc::Status status = Call(*stub_, request.message, &response);

  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(CheckCarriers(request, response), "");
  EXPECT_EQ(response.frames(0).ambiguity(), 1);
  EXPECT_EQ(response.frames(0).resolution(), v1::AMBIGUITY_RESOLUTION_KNOWN_SYMBOLS);
}

TEST_F(CarrierTest, WhichCoarseMethodWasTakenIsTold) {
  CarrierRequest request;
  const auto add = [&] {
    return &AddFrames(FramesOf("QPSK", 1000, 5), 1, v1::SAMPLE_FORMAT_FLOAT32, &request);
  };
  const auto add_known = [&](const KnownPlaces& places) {
    v1::CarrierGroup* const group = add();
    SetKnown(MakeFrame(request.frames.back(), places).known, group);
    return group;
  };
  add();
  add()->set_coarse(v1::COARSE_METHOD_NONE);
  add_known(Header(40));
  add_known(Header(40))->set_coarse(v1::COARSE_METHOD_KNOWN_SYMBOLS);
  add_known(Blocks(1, 16));
  add_known(Blocks(1, 16))->set_coarse(v1::COARSE_METHOD_POWER);
  v1::RecoverCarrierResponse response;
  const grpc::Status status = Call(*stub_, request.message, &response);

  ASSERT_TRUE(status.ok()) << status.error_message();
  std::vector<v1::CoarseMethod> taken;
  for (const v1::CarrierReach& reach : response.reaches()) taken.push_back(reach.coarse());
  EXPECT_EQ(taken, (std::vector<v1::CoarseMethod>{
                       v1::COARSE_METHOD_POWER, v1::COARSE_METHOD_NONE, v1::COARSE_METHOD_POWER,
                       v1::COARSE_METHOD_KNOWN_SYMBOLS, v1::COARSE_METHOD_KNOWN_SYMBOLS,
                       v1::COARSE_METHOD_POWER}));
}

TEST_F(CarrierTest, ManyClientsWithMixedFramesAllGetWhatOneAloneGets) {
  constexpr int kClients = 16;
  std::atomic<int> wrong{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&wrong, i] {
      const auto stub = Connect(server_->target());
      std::mt19937 random(static_cast<unsigned>(i));
      const CarrierRequest request = RandomCarriers(&random);
      std::string first;
      for (int repeat = 0; repeat < 4; ++repeat) {
        v1::RecoverCarrierResponse response;
        const grpc::Status status = Call(*stub, request.message, &response);
        const std::string complaint =
            status.ok() ? CheckCarriers(request, response) : status.error_message();
        response.clear_timing();
        if (repeat == 0) first = response.SerializeAsString();
        if (!complaint.empty() || response.SerializeAsString() != first) ++wrong;
        EXPECT_EQ(complaint, "");
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(server_->WaitForMetric("baseband_pool_used_bytes", {}, 0));
}

TEST_F(CarrierTest, MetricsCountFramesByWhatCameOfThem) {
  const double locked = server_->Metric("baseband_carrier_frames_total", {"lock=\"locked\""});
  const double silent = server_->Metric("baseband_carrier_frames_total", {"lock=\"no_signal\""});
  const double symbols = server_->Metric("baseband_carrier_symbols_total");
  const double evms = server_->Metric("baseband_carrier_evm_ratio_count");
  CarrierRequest request;
  AddFrames(FramesOf("QPSK", 500, 1), 3, v1::SAMPLE_FORMAT_FLOAT32, &request);
  v1::CarrierGroup& zeros = *request.message.add_groups();
  zeros = Qpsk();
  request.message.mutable_payload()->append(std::string(64 * 8, '\0'));
  v1::RecoverCarrierResponse response;
  ASSERT_TRUE(Call(*stub_, request.message, &response).ok());

  EXPECT_EQ(response.frames(3).lock(), v1::CARRIER_LOCK_NO_SIGNAL);
  EXPECT_EQ(server_->Metric("baseband_carrier_frames_total", {"lock=\"locked\""}), locked + 3);
  EXPECT_EQ(server_->Metric("baseband_carrier_frames_total", {"lock=\"no_signal\""}), silent + 1);
  EXPECT_EQ(server_->Metric("baseband_carrier_symbols_total"), symbols + 3 * 500 + 64);
  EXPECT_EQ(server_->Metric("baseband_carrier_evm_ratio_count"), evms + 3);
}

TEST_F(CarrierTest, NumbersThatAreNoneAreRefusedByTheirPlace) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity(), -1e20F}) {
    CarrierRequest request;
    AddFrames(FramesOf("QPSK", 100, 1), 2, v1::SAMPLE_FORMAT_FLOAT32, &request);
    std::memcpy(&(*request.message.mutable_payload())[(100 + 17) * 8 + 4], &bad, sizeof(bad));
    v1::RecoverCarrierResponse response;
    const grpc::Status status = Call(*stub_, request.message, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("symbol 17 of frame 1"));
  }
}

// A magnitude that rounding alone puts on this side of the limit or that is accepted or refused.
TEST_F(CarrierTest, AMagnitudeAtTheLimitIsNoFaultOfTheServers) {
  int refused = 0;
  for (int k = 0; k < 200; ++k) {
    CarrierRequest request;
    v1::CarrierGroup& group = *request.message.add_groups();
    group = Qpsk();
    group.set_frame_symbols(16);
    group.set_scale(1e15F);
    const double angle = 0.0314 * k;
    const float symbol[] = {static_cast<float>(std::cos(angle)),
                            static_cast<float>(std::sin(angle))};
    for (int n = 0; n < 16; ++n) {
      request.message.mutable_payload()->append(reinterpret_cast<const char*>(symbol), 8);
    }
    v1::RecoverCarrierResponse response;
    const grpc::Status status = Call(*stub_, request.message, &response);
    if (status.ok()) continue;
    ++refused;
    ASSERT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    EXPECT_THAT(status.error_message(),
                AllOf(HasSubstr("payload: symbol 0 of frame 0 times its scale is ("),
                      HasSubstr("): not finite, or not of a magnitude below 1e+15")));
  }
  EXPECT_GT(refused, 0);
}

TEST_F(CarrierTest, FramesOutOfRangeAreRefused) {
  v1::CarrierGroup group = Qpsk();
  group.set_frame_symbols(0);
  EXPECT_THAT(Refusal(group), HasSubstr("groups[0].frame_symbols 0 is not in [16, 1048576]"));
  group.set_frame_symbols((1 << 20) + 1);
  EXPECT_THAT(Refusal(group), HasSubstr("frame_symbols 1048577 is not in [16, 1048576]"));
  group = Qpsk();
  group.set_count(0);
  EXPECT_THAT(Refusal(group), HasSubstr("groups[0].count 0 is not in [1, 65536]"));
}

TEST_F(CarrierTest, ConstellationsThatAreNoneAreRefused) {
  v1::CarrierGroup group = Qpsk();
  group.clear_constellation();
  EXPECT_THAT(Refusal(group), HasSubstr("constellation is not set"));
  group.mutable_constellation()->set_name("32APSK 1/2");
  EXPECT_THAT(Refusal(group), HasSubstr("32APSK 1/2"));
  group.mutable_constellation()->add_points(1);
  EXPECT_THAT(Refusal(group), HasSubstr("a name and points"));
  group.mutable_constellation()->clear_name();
  EXPECT_THAT(Refusal(group), HasSubstr("constellation.points has 1 numbers"));
}

TEST_F(CarrierTest, KnownSymbolsOutOfPlaceAreRefused) {
  v1::CarrierGroup group = Qpsk();
  group.mutable_known()->add_values(1);
  EXPECT_THAT(Refusal(group), HasSubstr("known.values has 1 numbers"));
  group.mutable_known()->add_values(0);
  group.mutable_known()->add_positions(64);
  EXPECT_THAT(Refusal(group), HasSubstr("known.positions[0] 64 is not in [0, 63]"));
  group.mutable_known()->set_positions(0, 3);
  group.mutable_known()->set_values(0, 0);
  EXPECT_THAT(Refusal(group), HasSubstr("known.values[0], [1] (0, 0)"));
  for (const float value : {1e-30F, 1e30F, std::numeric_limits<float>::quiet_NaN()}) {
    group.mutable_known()->set_values(0, value);
    EXPECT_THAT(Refusal(group), HasSubstr("have a magnitude not in [0.001, 1000]"));
  }
  group = Qpsk();
  group.set_coarse(v1::COARSE_METHOD_KNOWN_SYMBOLS);
  EXPECT_THAT(Refusal(group), HasSubstr("known"));
}

TEST_F(CarrierTest, RangesThatCannotBeToldApartAreRefusedWithTheirLimit) {
  v1::CarrierGroup group = Qpsk();
  group.set_max_frequency(0.13);
  EXPECT_THAT(Refusal(group), HasSubstr("0.125"));
  group.set_max_frequency(std::nan(""));
  EXPECT_THAT(Refusal(group), HasSubstr("max_frequency nan is not in [0, 0.5]"));
  group = Qpsk();
  group.set_power(6);
  EXPECT_THAT(Refusal(group), HasSubstr("power 6"));
  group.set_power(65);
  EXPECT_THAT(Refusal(group), HasSubstr("power 65"));
}

TEST_F(CarrierTest, OptionsOutOfRangeAreRefused) {
  v1::CarrierGroup group = Qpsk();
  group.set_fine(v1::FINE_METHOD_SWEEP);
  group.mutable_sweep()->set_range(1e-5);
  group.mutable_sweep()->set_step(1e-4);
  EXPECT_THAT(Refusal(group), HasSubstr("sweep.step"));
  group.mutable_sweep()->set_step(1e-12);
  EXPECT_THAT(Refusal(group), HasSubstr("sweep"));
  group.mutable_sweep()->set_step(1e-6);
  group.mutable_sweep()->set_guard_bins(17);
  EXPECT_THAT(Refusal(group), HasSubstr("sweep.guard_bins 17 is not in [0, 16]"));
  group = Qpsk();
  group.set_fine(v1::FINE_METHOD_PLL);
  group.mutable_pll()->set_bandwidth(0.5F);
  EXPECT_THAT(Refusal(group), HasSubstr("pll.bandwidth 0.5"));
  group = Qpsk();
  group.set_scale(-1);
  EXPECT_THAT(Refusal(group), HasSubstr("scale -1"));
  group = Qpsk();
  group.set_expected_snr_db(100);
  EXPECT_THAT(Refusal(group), HasSubstr("expected_snr_db 100 is not in [-30, 60]"));
  group = Qpsk();
  group.set_fine(static_cast<v1::FineMethod>(77));
  EXPECT_THAT(Refusal(group), HasSubstr("fine 77 is not in [0, 5]"));
}

// Every pair of stages: a curve for each frame, or a refusal that names the field.
TEST_F(CarrierTest, ACurveIsAnsweredWhereAStageHasOneAndRefusedElsewhere) {
  for (const auto coarse : {v1::COARSE_METHOD_UNSPECIFIED, v1::COARSE_METHOD_NONE,
                            v1::COARSE_METHOD_POWER, v1::COARSE_METHOD_KNOWN_SYMBOLS}) {
    for (const auto fine :
         {v1::FINE_METHOD_UNSPECIFIED, v1::FINE_METHOD_NONE, v1::FINE_METHOD_INTERPOLATE,
          v1::FINE_METHOD_SWEEP, v1::FINE_METHOD_REMODULATE, v1::FINE_METHOD_PLL}) {
      SCOPED_TRACE(absl::StrCat("coarse ", coarse, ", fine ", fine));
      v1::CarrierGroup group = Qpsk();
      group.set_coarse(coarse);
      group.set_fine(fine);
      group.set_curve(true);
      for (const float value : {1.0F, 0.0F}) group.mutable_known()->add_values(value);
      if (coarse == v1::COARSE_METHOD_NONE && fine != v1::FINE_METHOD_SWEEP) {
        EXPECT_THAT(Refusal(group), HasSubstr("groups[0].curve true, coarse COARSE_METHOD_NONE: "));
        continue;
      }
      v1::RecoverCarrierRequest request;
      *request.add_groups() = group;
      request.set_payload(std::string(8 * group.frame_symbols() * group.count(), '\0'));
      v1::RecoverCarrierResponse response;
      const grpc::Status status = Call(*stub_, request, &response);
      ASSERT_TRUE(status.ok()) << status.error_message();
      ASSERT_EQ(response.curves_size(), static_cast<int>(group.count()));
      EXPECT_GT(response.curves(0).num_points(), 0U);
    }
  }
}

TEST_F(CarrierTest, APayloadOfAnotherSizeIsRefused) {
  CarrierRequest request;
  AddFrames(FramesOf("QPSK", 100, 1), 1, v1::SAMPLE_FORMAT_FLOAT32, &request);
  request.message.mutable_payload()->pop_back();
  v1::RecoverCarrierResponse response;
  const grpc::Status status = Call(*stub_, request.message, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("payload has 799 bytes, the groups describe 800"));
}

}  // namespace
}  // namespace baseband::testing
