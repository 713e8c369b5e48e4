// What RecoverCarrier of samples refuses: pulses, frames and samples that are none, by their names.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/timing/math/pulse_math.h"
#include "tests/integration/symbol_timing_fixture.h"
#include "tests/support/carrier_traffic.h"
#include "tests/support/server_test.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class SymbolTimingRefusalsTest : public SymbolTimingTest {};

TEST_F(SymbolTimingRefusalsTest, TapsThatAreNoPulseAreRefused) {
  v1::CarrierGroup group = Qpsk();
  v1::SymbolTiming& timing = *group.mutable_timing();
  timing.set_taps_per_symbol(4);
  EXPECT_THAT(Refusal(group), StartsWith("groups[0].timing.taps are 0, not an odd number in [3, "));
  for (const float tap : {0.5F, 1.0F, 0.5F}) timing.add_taps(tap);
  for (const uint32_t per_symbol : {0U, 1U, 17U, 0xffffffffU}) {
    timing.set_taps_per_symbol(per_symbol);
    EXPECT_THAT(Refusal(group), HasSubstr("groups[0].timing.taps_per_symbol "));
  }
  timing.set_taps_per_symbol(4);
  timing.set_taps(0, 0.4F);
  EXPECT_THAT(Refusal(group), HasSubstr("groups[0].timing.taps are not symmetric"));
  timing.set_taps(0, std::numeric_limits<float>::infinity());
  EXPECT_THAT(Refusal(group), HasSubstr("groups[0].timing.taps[0] inf is not finite"));
  timing.set_taps(0, 0.5F);
  EXPECT_THAT(Refusal(group), HasSubstr("groups[0].timing.taps have "));
  timing.clear_taps();
  for (int n = -60; n <= 60; ++n) {
    const double t = 0.25 * n;
    timing.add_taps(n == 0 ? 1.0F : static_cast<float>(std::sin(M_PI * t) / (M_PI * t)));
  }
  EXPECT_THAT(Refusal(group), HasSubstr("groups[0].timing.taps make a line at the symbol rate"));
}

TEST_F(SymbolTimingRefusalsTest, PulsesThatAreNoneAreRefused) {
  v1::CarrierGroup group = Qpsk();
  v1::SymbolTiming& timing = *group.mutable_timing();
  timing.set_samples_per_symbol_numerator(0);
  EXPECT_THAT(Refusal(group),
              StartsWith("groups[0].timing.samples_per_symbol_numerator 0 / "
                         "timing.samples_per_symbol_denominator 1 is not in [2, 16]"));
  timing.set_samples_per_symbol_numerator(33);
  timing.set_samples_per_symbol_denominator(2);
  EXPECT_THAT(Refusal(group),
              HasSubstr("timing.samples_per_symbol_numerator 33 / "
                        "timing.samples_per_symbol_denominator 2 is not in [2, 16]"));
  timing.set_samples_per_symbol_numerator(0xffffffffU);
  timing.set_samples_per_symbol_denominator(0x7fffffffU);
  EXPECT_THAT(Refusal(group), HasSubstr("in lowest terms 4294967295/2147483647"));
  timing.set_samples_per_symbol_numerator(4097);
  timing.set_samples_per_symbol_denominator(2048);
  EXPECT_THAT(Refusal(group), HasSubstr("whose numerator is not in [2, 4096]"));
  timing.set_samples_per_symbol_numerator(4);
  timing.set_samples_per_symbol_denominator(0);
  for (const double rolloff : {0.04, 1.1, std::nan(""), -0.2}) {
    timing.set_roll_off(rolloff);
    EXPECT_THAT(Refusal(group), HasSubstr("groups[0].timing.roll_off "));
  }
  timing.set_roll_off(0.2);
  for (const double error : {-1e-6, 1.1e-3, std::numeric_limits<double>::infinity()}) {
    timing.set_max_clock_error(error);
    EXPECT_THAT(Refusal(group), HasSubstr("groups[0].timing.max_clock_error "));
  }
}

TEST_F(SymbolTimingRefusalsTest, FramesOutOfRangeAreRefused) {
  v1::CarrierGroup group = Qpsk();
  group.mutable_timing()->set_max_clock_error(0);
  group.set_frame_samples(64);
  EXPECT_THAT(Refusal(group), HasSubstr("groups[0].frame_samples 64 is not in [65, 4194308]"));
  group.set_frame_samples(0xffffffffU);
  group.set_count(0xffffffffU);
  v1::RecoverCarrierRequest request;
  *request.add_groups() = group;
  request.set_payload("none");
  v1::RecoverCarrierResponse response;
  EXPECT_THAT(Call(*stub_, request, &response).error_message(), HasSubstr("count 4294967295"));
  request.mutable_groups(0)->set_count(1);
  EXPECT_THAT(Call(*stub_, request, &response).error_message(),
              HasSubstr("frame_samples 4294967295 is not in [65, "));
  request.mutable_groups(0)->set_frame_samples(4000000);
  EXPECT_THAT(Call(*stub_, request, &response).error_message(),
              HasSubstr("payload has 4 bytes, the groups describe 32000000"));

  group = Qpsk();
  group.set_frame_symbols(64);
  EXPECT_THAT(Refusal(group), HasSubstr("frame_symbols 64 is not 0: with timing"));
  group.clear_timing();
  EXPECT_THAT(Refusal(group), HasSubstr("frame_samples 1000 is not 0: without timing"));
}

TEST_F(SymbolTimingRefusalsTest, KnownSymbolsBeyondTheFramesAreRefused) {
  v1::CarrierGroup group = Qpsk();
  group.mutable_timing()->set_max_clock_error(0);
  group.mutable_known()->add_positions(249);  // 999 / 4 - 1, and one
  group.mutable_known()->add_values(1);
  group.mutable_known()->add_values(0);
  EXPECT_THAT(Refusal(group), HasSubstr("known.positions[0] 249 is not in [0, 248]"));
}

TEST_F(SymbolTimingRefusalsTest, ASampleThatIsNoneIsRefusedByItsPlace) {
  for (const float bad : {std::nanf(""), -std::numeric_limits<float>::infinity(), 1e20F}) {
    CarrierRequest request;
    const uint32_t samples =
        AddSampledFrames(SpecOf(2, 1, 0.35, 1), 100, 2, v1::SAMPLE_FORMAT_FLOAT32, &request)
            .frame_samples();
    const size_t at = samples + 171;
    std::memcpy(&(*request.message.mutable_payload())[at * 8], &bad, sizeof(bad));
    v1::RecoverCarrierResponse response;
    const grpc::Status status = Call(*stub_, request.message, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(
        status.error_message(),
        HasSubstr(absl::StrCat("payload: sample 171 of frame 1 times its scale is (", bad, ", ")));
    EXPECT_THAT(status.error_message(),
                HasSubstr(": not finite, or not of a magnitude below 1e+15"));
  }
}

TEST_F(SymbolTimingRefusalsTest, SymbolsThatTheFilterMakesTooLargeAreRefusedByTheirFrame) {
  constexpr float kMost = 0.999e15F;
  CarrierRequest request;
  const size_t num_samples =
      AddSampledFrames(SpecOf(2, 1, 0.35, 1), 1000, 2, v1::SAMPLE_FORMAT_FLOAT32, &request)
          .frame_samples();
  const auto refusal = [&](const std::vector<std::complex<float>>& samples) {
    request.message.set_payload(samples.data(), samples.size() * sizeof(samples[0]));
    v1::RecoverCarrierResponse response;
    return Call(*stub_, request.message, &response).error_message();
  };
  std::vector<std::complex<float>> samples(2 * num_samples);
  std::memcpy(static_cast<void*>(samples.data()), request.message.payload().data(),
              request.message.payload().size());
  float greatest = 0;
  for (const std::complex<float>& sample : samples) {
    greatest = std::max(greatest, std::abs(sample));
  }
  for (std::complex<float>& sample : samples) sample *= kMost / greatest;
  EXPECT_EQ(refusal(samples), "");
  // Around symbol 500 all samples have the signs of the filter's taps.
  for (size_t n = 990; n < 1020; ++n) {
    const double t = 0.5 * static_cast<double>(n) - (0.37 + 500 * (1 - 42e-6));
    samples[num_samples + n] = timing::RootRaisedCosine(0.35, t) < 0 ? -kMost : kMost;
  }
  EXPECT_THAT(refusal(samples),
              HasSubstr("payload: frame 1 has symbols that are, behind the matched filter, of a "
                        "magnitude above 1e+15"));
}

}  // namespace
}  // namespace baseband::testing
