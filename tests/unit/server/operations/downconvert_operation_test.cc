// Downconvert's requests: what becomes of them, what they may claim, and what is refused.
#include "server/operations/downconvert/downconvert_operation.h"

#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/operations/downconvert/downconvert.h"
#include "server/operations/downconvert/downconvert_filters.h"
#include "server/operations/downconvert/downconvert_setup.h"
#include "tests/support/convert_request.h"
#include "tests/support/run_on_cpu.h"
#include "tests/unit/server/operations/downconvert_operation_fixture.h"

namespace baseband::testing {
namespace {

using server::Conversion;
using server::DownconvertJob;
using server::JobPtr;
using ::testing::HasSubstr;

// ------------------------------------------------------------------------------------- samples

class NonFiniteTest : public DownconvertOperationTest,
                      public ::testing::WithParamInterface<v1::WidebandFormat> {
 protected:
  NonFiniteTest() { request_.mutable_setup()->set_format(GetParam()); }
  int64_t components() const { return GetParam() == v1::WIDEBAND_FORMAT_COMPLEX_FLOAT32 ? 2 : 1; }
  void SetSamples(int64_t count) {
    request_.set_payload(std::string(static_cast<size_t>(4 * components() * count), '\0'));
  }
  // As a refusal writes a sample whose first component is `value`.
  std::string Bad(const std::string& value) const {
    return components() == 1 ? value : "(" + value + ", 0)";
  }
  void Spoil(int64_t sample) {
    const float bad = sample % 2 == 0 ? std::numeric_limits<float>::quiet_NaN()
                                      : -std::numeric_limits<float>::infinity();
    std::memcpy(request_.mutable_payload()->data() + 4 * components() * sample, &bad, 4);
  }
};

TEST_P(NonFiniteTest, TheFirstSampleThatIsNoneIsNamed) {
  SetSamples(5000);
  EXPECT_THAT(Answer(), IsOk());
  Spoil(4999);
  EXPECT_THAT(Answer(), StatusIs(absl::StatusCode::kInvalidArgument,
                                 "payload: sample 4999, at 4999 of the signal, is " + Bad("-inf") +
                                     ": not finite"));
  Spoil(1001);
  request_.set_first_sample(70000);
  request_.set_history(63);
  EXPECT_THAT(Answer(), StatusIs(absl::StatusCode::kInvalidArgument,
                                 "payload: sample 1001, at 71001 of the signal, is " + Bad("-inf") +
                                     ": not finite"));
}

TEST_P(NonFiniteTest, ZerosForTheHistoryAreNoneOfThePayload) {
  SetSamples(100);
  Spoil(3);
  request_.set_first_sample(70000);
  request_.set_zero_history(true);
  EXPECT_THAT(Answer(), StatusIs(absl::StatusCode::kInvalidArgument,
                                 "payload: sample 3, at 70003 of the signal, is " + Bad("-inf") +
                                     ": not finite"));
}

TEST_P(NonFiniteTest, SamplesThatNoOutputNeedsAreLookedAt) {
  SetSamples(3);
  Filter().set_down(4096);
  request_.set_first_sample(1);
  request_.set_zero_history(true);
  EXPECT_THAT(Answer(), IsOk());
  Spoil(2);
  EXPECT_THAT(Answer(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sample 2,")));
}

INSTANTIATE_TEST_SUITE_P(Floats, NonFiniteTest,
                         ::testing::Values(v1::WIDEBAND_FORMAT_COMPLEX_FLOAT32,
                                           v1::WIDEBAND_FORMAT_REAL_FLOAT32));

// ---------------------------------------------------------------------------------------- work

TEST_F(DownconvertOperationTest, NoJobIsWithoutWork) {
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    request_.mutable_setup()->set_format(static_cast<v1::WidebandFormat>(1 + random() % 6));
    Filter().set_down(1 + random() % 4096);
    Filter().set_up(1 + random() % 4);
    request_.set_first_sample(random() % 3 == 0 ? 0 : random());
    request_.set_zero_history(true);
    request_.set_payload(std::string(8 * (1 + random() % 50), '\0'));
    const auto made = Make();
    ASSERT_THAT(made, IsOk());
    const auto& job = static_cast<const DownconvertJob&>(**made);
    EXPECT_GE(job.work.units, static_cast<double>(job.block().num_samples));
    EXPECT_TRUE(std::isfinite(job.work.units));
  }
}

// -------------------------------------------------------------------------------------- history

TEST_F(DownconvertOperationTest, ZerosAreCountedAndNotKept) {
  request_.set_first_sample(5000);
  request_.set_zero_history(true);
  const auto made = Make();
  ASSERT_THAT(made, IsOk());
  EXPECT_EQ((*made)->prefix_zeros, 63 * 4);
  EXPECT_TRUE((*made)->prefix.empty());
  EXPECT_EQ((*made)->payload_bytes, 4000);
  EXPECT_EQ((*made)->input_bytes(), 4252);
}

// Filters may need much; what they need is held against what there may be before it is there.
TEST_F(DownconvertOperationTest, ZerosAreHeldAgainstWhatAServerTakes) {
  constexpr double kOutputRateHz = 1e6 / 4096;
  request_.mutable_setup()->set_format(v1::WIDEBAND_FORMAT_COMPLEX_FLOAT32);
  Filter().clear_taps();
  Filter().set_down(4096);
  Filter().mutable_mask()->set_pass_edge_hz(0.4 * kOutputRateHz);
  Filter().mutable_mask()->set_ripple_db(3);
  Filter().mutable_mask()->set_attenuation_db(20);
  Filter().mutable_mask()->set_stop_edge_hz(0.42 * kOutputRateHz);
  Filter().mutable_mask()->set_design(v1::FILTER_DESIGN_KAISER);
  request_.set_first_sample(uint64_t{1} << 40);
  request_.set_zero_history(true);
  request_.set_payload(std::string(8, '\1'));
  const auto made = Make();
  ASSERT_THAT(made, IsOk());
  EXPECT_GT((*made)->prefix_zeros, 1 << 20);
  limits_.max_input_bytes = 1 << 20;
  EXPECT_THAT(Make(), StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("payload has 1 samples, and the filters need ")));
  limits_.max_input_bytes = int64_t{1} << 40;
  Filter().mutable_mask()->set_stop_edge_hz(0.401 * kOutputRateHz);
  EXPECT_THAT(Make(), StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("setup.channels[0].filter needs ")));
}

// -------------------------------------------------------------------------------------- retunes

TEST_F(DownconvertOperationTest, RetunesOfAChannelAreBounded) {
  AddRetunes(server::kMaxRetunesOfChannel, 0, 1);
  EXPECT_THAT(Make(), IsOk());
  AddRetunes(1, 0, 5000);
  EXPECT_THAT(Make(), StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("retunes of channel 0 that are not over come to 4097, "
                                         "more than 4096")));
  // One of them is over.
  request_.set_first_sample(500);
  request_.set_history(63);
  EXPECT_THAT(Make(), IsOk());
}

TEST_F(DownconvertOperationTest, RetunesOfARequestAreBounded) {
  for (int c = 1; c < 5; ++c) AddChannel();
  for (uint32_t c = 0; c < 4; ++c) AddRetunes(server::kMaxRetunesOfChannel, c, 1);
  EXPECT_THAT(Make(), IsOk());
  AddRetunes(1, 4, 1);
  EXPECT_THAT(Make(), StatusIs(absl::StatusCode::kInvalidArgument,
                               "retunes has 16385 entries, more than 16384"));
}

TEST_F(DownconvertOperationTest, RetunesAscendOnEachChannel) {
  AddChannel();
  AddRetunes(1, 0, 7);
  AddRetunes(1, 1, 5);
  AddRetunes(1, 0, 8);
  EXPECT_THAT(Make(), IsOk());
  AddRetunes(1, 1, 5);
  EXPECT_THAT(Make(), StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("retunes[3].index 5 is not above 5")));
  request_.mutable_retunes(3)->set_index(0);
  EXPECT_THAT(Make(), StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("retunes[3].index 0 is not in [1, 2^62)")));
}

TEST_F(DownconvertOperationTest, RetunesThatAreOverTakeNothing) {
  AddRetunes(100, 0, 1);
  request_.set_first_sample(70000);
  request_.set_history(63);
  const auto made = Make();
  ASSERT_THAT(made, IsOk());
  EXPECT_EQ(static_cast<const DownconvertJob&>(**made).channels()[0].phase.segments().size(), 1U);
}

// --------------------------------------------------------------------------------------- designs

class DesignCheckTest : public DownconvertOperationTest {
 protected:
  DesignCheckTest() {
    Filter().clear_taps();
    Filter().set_down(1);
    Filter().mutable_mask()->set_pass_edge_hz(0.2091e6);
    Filter().mutable_mask()->set_stop_edge_hz(0.2109e6);
    Filter().mutable_mask()->set_attenuation_db(60);
  }
  // How often a design asks whether it may go on, if it is told no every `slice` times.
  int DesignIn(int slice) {
    int asked = 0;
    may_continue_ = [&asked, slice]() -> absl::Status {
      if (++asked % slice == 0) return absl::ResourceExhaustedError("mask: no time");
      return absl::OkStatus();
    };
    for (int calls = 0; calls < 10000; ++calls) {
      const absl::Status status = Make().status();
      if (status.ok()) return asked;
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                                   "setup.channels[0].filter.mask: no time"));
    }
    return -1;
  }
};

TEST_F(DesignCheckTest, NothingIsDesignedWhereThereIsNoTime) {
  const auto conversion = Convert();
  ASSERT_THAT(conversion, IsOk());
  EXPECT_EQ(conversion->job, nullptr);
  EXPECT_NE(conversion->preparation, nullptr);
  Filter().mutable_mask()->set_pass_edge_hz(0.6e6);
  EXPECT_THAT(Convert(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("setup.channels[0].filter.mask.pass_edge_hz 600000 is not in (0, "
                                 "500000)")));
  Filter().mutable_mask()->set_pass_edge_hz(0.2e6);
  Filter().mutable_mask()->set_ripple_db(1e-14);
  EXPECT_THAT(Convert(), StatusIs(absl::StatusCode::kInvalidArgument,
                                  HasSubstr("mask.ripple_db 1e-14 is not in [5e-07, 3]")));
}

TEST_F(DesignCheckTest, ADesignThatIsLeftGoesOnWhereItWas) {
  const int at_once = DesignIn(1 << 30);
  EXPECT_GE(at_once, 20);
  operation_ = server::MakeDownconvertOperation(std::make_shared<server::DownconvertFilters>());
  constexpr int kSlice = 7;  // every seventh time it is not done a step
  EXPECT_NEAR(DesignIn(kSlice), at_once * kSlice / (kSlice - 1.0), 2.0);
}

TEST(DownconvertFiltersTest, WhoAsksForManyPushesOutNobodyElses) {
  server::DownconvertFilters filters;
  const auto ask = [&](float first_tap, int taps, const char* client) {
    v1::ChannelFilter message;
    message.mutable_taps()->Resize(taps, 0.5F);
    message.set_taps(0, first_tap);
    return *filters.FromProto(message, 1e6, nullptr, {}, client);
  };
  const std::weak_ptr<const downconvert::Filter> other = ask(1.0F, 64, "b");
  std::weak_ptr<const downconvert::Filter> first;
  for (int i = 0; i < 100; ++i) {
    const auto filter = ask(static_cast<float>(i + 2), downconvert::kMaxTaps, "a");
    if (i == 0) first = filter;
  }
  EXPECT_TRUE(first.expired());
  EXPECT_FALSE(other.expired());
}

TEST(UnfinishedDesignsTest, ThoseLeftLastAreKept) {
  downconvert::Mask mask;
  mask.pass_edge = 0.1;
  const auto design = [&mask] {
    return std::make_unique<downconvert::FilterDesign>(
        *downconvert::FilterDesign::Create(mask, downconvert::Design::kKaiser, 1, 2));
  };
  const int64_t bytes = design()->MaxBytes() + 1;
  server::UnfinishedDesigns few(3, 100 * bytes);
  server::UnfinishedDesigns small(100, 2 * bytes);
  for (const char* key : {"a", "b", "c", "d"}) {
    few.Leave(key, design());
    small.Leave(key, design());
  }
  const auto has = [](server::UnfinishedDesigns& designs, const char* key) {
    const bool found = designs.Take(key) != nullptr;
    EXPECT_EQ(designs.Take(key), nullptr);
    return found;
  };
  EXPECT_FALSE(has(few, "a"));
  EXPECT_TRUE(has(few, "b"));
  EXPECT_TRUE(has(few, "d"));
  EXPECT_FALSE(has(small, "b"));
  EXPECT_TRUE(has(small, "c"));
  EXPECT_TRUE(has(small, "d"));
}

}  // namespace
}  // namespace baseband::testing
