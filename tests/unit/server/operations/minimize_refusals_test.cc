// Numbers of a Minimize payload that are none: the refusal says where they are, and what.
#include <cstring>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/operations/minimize/minimize_converter.h"
#include "tests/support/convert_request.h"
#include "tests/support/status_matchers.h"

namespace baseband::testing {
namespace {

constexpr int kSamples = 8;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class MinimizeNumbersTest : public ::testing::Test {
 protected:
  MinimizeNumbersTest() {
    AddAxis();
    request_.mutable_sinusoids()->set_num_samples(kSamples);
    request_.mutable_sinusoids()->set_sampling_interval_s(1.0);
  }
  void AddAxis() {
    v1::GridAxis& axis = *request_.add_axes();
    axis.set_step(0.01);
    axis.set_count(10);
  }

  // What is said of a payload of `count` ones, number `at` of which is `number`.
  std::string Refusal(int count, int at, double number) {
    std::string payload(sizeof(double) * static_cast<size_t>(count), '\0');
    for (int i = 0; i < count; ++i) {
      const double value = i == at ? number : 1.0;
      std::memcpy(&payload[sizeof(value) * static_cast<size_t>(i)], &value, sizeof(value));
    }
    request_.set_payload(payload);
    const server::Request request = server::RequestOf(request_);
    const auto parsed = server::ParseSearch(request);
    if (!parsed.ok()) return std::string(parsed.status().message());
    return std::string(server::MakeSearch(*parsed, request.payload).status().message());
  }

  v1::MinimizeRequest request_;
};

TEST_F(MinimizeNumbersTest, ASampleOfSinusoidsThatIsNotFiniteIsNamed) {
  for (const int axes : {1, 2}) {  // one sinusoid, or several
    EXPECT_EQ(Refusal(kSamples, 5, kNan), "payload: signal[5] nan is not finite");
    EXPECT_EQ(Refusal(kSamples, 0, -kInfinity), "payload: signal[0] -inf is not finite");
    if (axes == 1) AddAxis();
  }
}

TEST_F(MinimizeNumbersTest, AFixedColumnsSampleThatIsNotFiniteIsNamed) {
  request_.mutable_sinusoids()->set_fixed_columns(2);
  EXPECT_EQ(Refusal(3 * kSamples, 2 * kSamples + 3, kInfinity),
            "payload: columns[1][3] inf is not finite");
}

TEST_F(MinimizeNumbersTest, OfAComplexSampleBothPartsAreTold) {
  request_.mutable_sinusoids()->set_is_complex(true);
  EXPECT_EQ(Refusal(2 * kSamples, 2 * 6 + 1, kNan), "payload: signal[6] (1, nan) is not finite");
  request_.mutable_chirp()->set_num_samples(kSamples);
  request_.mutable_chirp()->set_sampling_interval_s(1.0);
  AddAxis();
  EXPECT_EQ(Refusal(2 * kSamples, 2 * 7, kNan), "payload: signal[7] (nan, 1) is not finite");
  request_.mutable_delay_doppler()->set_num_samples(kSamples);
  request_.mutable_delay_doppler()->set_sampling_interval_s(1.0);
  EXPECT_EQ(Refusal(4 * kSamples, 2 * 7, kNan), "payload: signal[7] (nan, 1) is not finite");
  EXPECT_EQ(Refusal(4 * kSamples, 2 * (kSamples + 2) + 1, -kInfinity),
            "payload: replica[2] (1, -inf) is not finite");
}

TEST_F(MinimizeNumbersTest, AnExpressionsArraysMayHoldWhatDoublesHold) {
  v1::Expression& expression = *request_.mutable_expression();
  expression.set_text("x + a[0]");
  expression.add_arrays()->set_name("a");
  expression.mutable_arrays(0)->set_size(2);
  EXPECT_EQ(Refusal(2, 1, kNan), "");
  EXPECT_EQ(Refusal(2, 0, kInfinity), "");
}

}  // namespace
}  // namespace baseband::testing
