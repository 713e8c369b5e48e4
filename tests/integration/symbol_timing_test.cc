// RecoverCarrier of samples through the real server: timing and carrier of what was sent, symbols
// at their places, frames of samples beside frames of symbols, capabilities, the metrics.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <string>
#include <vector>

#include "tests/integration/symbol_timing_fixture.h"
#include "tests/support/carrier_traffic.h"
#include "tests/support/server_test.h"
#include "tests/support/traffic.h"

namespace baseband::testing {
namespace {

std::vector<std::complex<double>> AsDoubles(const std::string& bytes) {
  std::vector<std::complex<float>> symbols(bytes.size() / sizeof(std::complex<float>));
  std::memcpy(static_cast<void*>(symbols.data()), bytes.data(), bytes.size());
  return {symbols.begin(), symbols.end()};
}

TEST_F(SymbolTimingTest, TimingAndCarrierAreFoundAtEveryRateRollOffAndFormat) {
  CarrierRequest request;
  uint64_t seed = 1;
  for (const double rolloff : {0.1, 0.2, 0.35, 1.0}) {
    AddSampledFrames(SpecOf(2, 1, rolloff, ++seed), 4000, 2, v1::SAMPLE_FORMAT_FLOAT32, &request);
    AddSampledFrames(SpecOf(5, 2, rolloff, ++seed), 3000, 1, v1::SAMPLE_FORMAT_INT16, &request);
    AddSampledFrames(SpecOf(4, 1, rolloff, ++seed), 2000, 1, v1::SAMPLE_FORMAT_FLOAT16, &request);
  }
  v1::RecoverCarrierResponse response;
  const grpc::Status status = Call(*stub_, request.message, &response);

  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(CheckCarriers(request, response), "");
  for (const v1::TimingEstimate& timing : response.timings()) {
    EXPECT_TRUE(timing.refined());
    EXPECT_GT(timing.offset_stddev(), timing.centre_stddev());
  }
}

TEST_F(SymbolTimingTest, PulsesOfAnyTapsAreFoundBesideEachOther) {
  CarrierRequest request;
  uint64_t seed = 20;
  for (const auto& taps :
       {WindowedTaps(0.2, 4, 8), WindowedTaps(0.2, 2, 10), StraightEdgeTaps(0.3, 3, 16)}) {
    for (const int samples : {2, 4}) {
      TimingSpec spec = SpecOf(samples, 1, 0.3, ++seed);
      spec.shape.taps = taps;
      AddSampledFrames(spec, 4000, 1, v1::SAMPLE_FORMAT_FLOAT32, &request);
    }
  }
  AddSampledFrames(SpecOf(2, 1, 0.3, ++seed), 4000, 1, v1::SAMPLE_FORMAT_FLOAT32, &request);
  v1::RecoverCarrierResponse response;
  const grpc::Status status = Call(*stub_, request.message, &response);

  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(CheckCarriers(request, response), "");
  for (const v1::TimingEstimate& timing : response.timings()) EXPECT_TRUE(timing.refined());
}

TEST_F(SymbolTimingTest, SymbolsComeAtOneSampleEachInTheOrderOfTheFrames) {
  CarrierRequest request;
  AddSampledFrames(SpecOf(5, 2, 0.35, 1), 1000, 2, v1::SAMPLE_FORMAT_FLOAT32, &request)
      .set_corrected(true);
  FrameSpec symbols;
  symbols.constellation = *carrier::Constellation::FromName("8PSK");
  symbols.num_symbols = 700;
  symbols.snr_db = 20;
  AddFrames(symbols, 1, v1::SAMPLE_FORMAT_FLOAT32, &request).set_corrected(true);
  AddSampledFrames(SpecOf(2, 1, 0.35, 3), 500, 1, v1::SAMPLE_FORMAT_FLOAT32, &request)
      .set_curve(true);
  v1::RecoverCarrierResponse response;
  const grpc::Status status = Call(*stub_, request.message, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(CheckCarriers(request, response), "");

  ASSERT_EQ(response.reaches_size(), 3);
  EXPECT_EQ(response.reaches(0).frame_symbols(), 1000U);
  EXPECT_EQ(response.reaches(1).frame_symbols(), 700U);
  EXPECT_EQ(response.reaches(2).frame_symbols(), 500U);
  EXPECT_EQ(response.timings_size(), 3);
  EXPECT_EQ(response.curves_size(), 1);
  const std::vector<std::complex<double>> corrected = AsDoubles(response.payload());
  ASSERT_EQ(corrected.size(), 2 * 1000U + 700U);
  // What was sent, turned by a quarter or not, and noise; without the ends, which lack a part of
  // their pulses.
  for (int frame = 0; frame < 2; ++frame) {
    constexpr int kEnds = 5;
    const std::vector<carrier::Iq> sent =
        MakeSamples(request.timings[static_cast<size_t>(frame)]).sent;
    std::complex<double> turned = 0.0;
    double noise = 0.0;
    for (int pass = 0; pass < 2; ++pass) {
      for (int n = kEnds; n < 1000 - kEnds; ++n) {
        const std::complex<double> s(sent[static_cast<size_t>(n)].i,
                                     sent[static_cast<size_t>(n)].q);
        const std::complex<double> z = corrected[static_cast<size_t>(1000 * frame + n)];
        if (pass == 0) turned += z * std::conj(s) / (1000.0 - 2 * kEnds);
        if (pass == 1) noise += std::norm(z - turned * s) / (1000.0 - 2 * kEnds);
      }
    }
    EXPECT_NEAR(std::abs(turned), 1.0, 0.05);
    // A mean of a thousand squares: five deviations, and what the filter's ends leave.
    const double snr_db = request.frames[static_cast<size_t>(frame)].snr_db;
    EXPECT_NEAR(noise * std::pow(10.0, 0.1 * snr_db), 1.0, 5.0 / std::sqrt(1000.0) + 0.05);
  }
}

TEST_F(SymbolTimingTest, FrequenciesInHertzAreThoseOfTheClockThatSamples) {
  CarrierRequest request;
  TimingSpec spec = SpecOf(2, 1, 0.35, 1);
  spec.clock_error = 0.9e-3;
  spec.frequency = 0.1;
  timing::Parameters parameters;
  parameters.max_clock_error = 1e-3;
  AddSampledFrames(spec, 8000, 1, v1::SAMPLE_FORMAT_FLOAT32, &request, parameters)
      .set_symbol_rate_hz(1e6);
  v1::RecoverCarrierResponse response;
  const grpc::Status status = Call(*stub_, request.message, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();

  // A tenth of a cycle in each symbol, of which there are 1e6 / 1.0009 a second.
  EXPECT_NEAR(response.frames(0).frequency_hz(), 1e5 / 1.0009,
              6 * response.frames(0).frequency_stddev_hz());
  EXPECT_LT(response.frames(0).frequency_stddev_hz(), 10.0);  // which is 90 Hz away
}

TEST_F(SymbolTimingTest, WhatIsNoSignalIsAResult) {
  v1::RecoverCarrierRequest request;
  v1::CarrierGroup& group = *request.add_groups();
  group = Qpsk();
  group.set_count(2);
  std::vector<std::complex<float>> samples(2000);
  for (int m = 0; m < 1000; ++m) {  // a tone has no line at any symbol rate
    samples[static_cast<size_t>(1000 + m)] = std::polar(1.0F, 0.01F * static_cast<float>(m));
  }
  request.set_payload(std::string(reinterpret_cast<const char*>(samples.data()), 16000));
  const std::string silent = "lock=\"no_signal\"";
  const std::string none = "lock=\"no_line\"";
  const double silent_before = server_->Metric("baseband_timing_frames_total", {silent});
  const double none_before = server_->Metric("baseband_timing_frames_total", {none});
  v1::RecoverCarrierResponse response;
  const grpc::Status status = Call(*stub_, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();

  ASSERT_EQ(response.timings_size(), 2);
  EXPECT_EQ(response.timings(0).lock(), v1::TIMING_LOCK_NO_SIGNAL);
  EXPECT_EQ(response.frames(0).lock(), v1::CARRIER_LOCK_NO_SIGNAL);
  EXPECT_EQ(response.timings(1).lock(), v1::TIMING_LOCK_NO_LINE);
  EXPECT_EQ(server_->Metric("baseband_timing_frames_total", {silent}), silent_before + 1);
  EXPECT_EQ(server_->Metric("baseband_timing_frames_total", {none}), none_before + 1);
}

TEST_F(SymbolTimingTest, CapabilitiesTellWhatIsTaken) {
  grpc::ClientContext context;
  v1::GetCapabilitiesResponse response;
  ASSERT_TRUE(stub_->GetCapabilities(&context, v1::GetCapabilitiesRequest(), &response).ok());
  const v1::TimingCapabilities& timing = response.carrier().timing();
  v1::CarrierGroup group = Qpsk();
  group.mutable_timing()->set_samples_per_symbol_numerator(timing.max_samples_per_symbol());
  group.mutable_timing()->set_roll_off(timing.min_roll_off());
  group.mutable_timing()->set_max_clock_error(timing.max_clock_error());
  v1::RecoverCarrierRequest request;
  *request.add_groups() = group;
  request.set_payload(std::string(8000, '\0'));
  v1::RecoverCarrierResponse answer;
  const grpc::Status status = Call(*stub_, request, &answer);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(timing.min_samples_per_symbol(), 2U);
  EXPECT_EQ(timing.max_samples_per_symbol_term(), 4096U);
  EXPECT_EQ(timing.max_roll_off(), 1.0);
  EXPECT_EQ(timing.max_taps_per_symbol(), 16U);
  EXPECT_EQ(timing.max_taps_reach(), 64U);
}

}  // namespace
}  // namespace baseband::testing
