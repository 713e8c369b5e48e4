// The defaults of RecoverCarrier's sweep, through the real server.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/integration/carrier_refusals.h"
#include "tests/support/carrier_traffic.h"
#include "tests/support/server_test.h"

namespace baseband::testing {
namespace {

using ::testing::HasSubstr;

class CarrierSweepTest : public CarrierRefusalsTest {};

// The defaults follow from the frame's length: 16 and 1048576 symbols are the ends of the contract.
TEST_F(CarrierSweepTest, ASweepWithItsDefaultsTakesFramesOfEveryLength) {
  constexpr double kPaperStep = 5e-7;
  for (const int symbols : {16, 244, 245, 32400, 33334, 1000001, 1048576}) {
    FrameSpec spec = FramesOf("QPSK", symbols, 4);
    spec.snr_db = 20;
    spec.frequency = 0.0421;
    CarrierRequest request;
    v1::CarrierGroup& group = AddFrames(spec, 1, v1::SAMPLE_FORMAT_FLOAT32, &request);
    group.set_fine(v1::FINE_METHOD_SWEEP);
    group.set_curve(true);
    v1::RecoverCarrierResponse response;
    const grpc::Status status = Call(*stub_, request.message, &response);
    ASSERT_TRUE(status.ok()) << symbols << ": " << status.error_message();

    // Steps of a part of half a bin, at most half of 8191 candidates and at least 30.
    const double range = 0.5 / symbols;
    const double step = std::min(std::max(kPaperStep, range / 4095), range / 30);
    ASSERT_EQ(response.curves_size(), 1);
    EXPECT_DOUBLE_EQ(response.curves(0).step(), step) << symbols;
    EXPECT_EQ(response.curves(0).num_points(), 2 * std::floor(range / step * (1 + 1e-9)) + 1)
        << symbols;
    if (symbols < 245) continue;  // of which blind recovery is not to be sure
    EXPECT_EQ(response.frames(0).lock(), v1::CARRIER_LOCK_LOCKED) << symbols;
    EXPECT_NEAR(response.frames(0).frequency(), spec.frequency, range / 2) << symbols;
  }
}

// A range of one's own, too, is swept in thirty steps at least, and not in more than there may be:
// where it is wide for its frame, that is said, not coarse steps taken that pass the line by.
TEST_F(CarrierSweepTest, TheDefaultStepOfASweepFollowsItsRange) {
  const auto step_of = [&](int symbols, double range, int guard_bins) {
    CarrierRequest request;
    v1::CarrierGroup& group =
        AddFrames(FramesOf("QPSK", symbols, 4), 1, v1::SAMPLE_FORMAT_FLOAT32, &request);
    group.set_fine(v1::FINE_METHOD_SWEEP);
    group.mutable_sweep()->set_range(range);
    group.mutable_sweep()->set_guard_bins(guard_bins);
    group.set_curve(true);
    v1::RecoverCarrierResponse response;
    const grpc::Status status = Call(*stub_, request.message, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.curves_size() == 1 ? response.curves(0).step() : 0;
  };
  EXPECT_DOUBLE_EQ(step_of(5000, 3e-7, 0), 3e-7 / 30);
  EXPECT_DOUBLE_EQ(step_of(5000, 1e-4, 16), 5e-7);
  EXPECT_DOUBLE_EQ(step_of(64, 0, 16), 0.5 / 64 / (4095 - 16));
  EXPECT_DOUBLE_EQ(step_of(64, 0.2, 0), 0.2 / 4095);
  v1::CarrierGroup group;
  group.mutable_constellation()->set_name("QPSK");
  group.set_count(1);
  group.set_frame_symbols(10000);
  group.set_fine(v1::FINE_METHOD_SWEEP);
  group.mutable_sweep()->set_range(0.1);
  EXPECT_THAT(Refusal(group), HasSubstr("8192 is the most"));
}

}  // namespace
}  // namespace baseband::testing
