// Designed filters against their masks: what they do to sines, summed tap by tap and not by the
// designer's own tables.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/downconvert/filter.h"
#include "tests/support/constants.h"
#include "tests/support/filter_spec.h"
#include "tests/support/status_matchers.h"

namespace baseband::downconvert {
namespace {

double Decibels(double gain) { return 20.0 * std::log10(std::max(gain, 1e-30)); }

void ExpectLinearPhase(const Filter& filter, double pass_edge) {
  for (const Stage& stage : filter.stages()) {
    ASSERT_EQ(stage.taps.size() % 2, 1U);
    for (size_t k = 0; k < stage.taps.size() / 2; ++k) {
      ASSERT_EQ(stage.taps[k], stage.taps[stage.taps.size() - 1 - k]);
    }
  }
  const FilterReport& report = filter.report();
  for (int k = 0; k <= 8; ++k) {
    const double f = pass_edge * k / 8;
    const double expected = -kTwoPi * f * report.group_delay;
    EXPECT_NEAR(std::remainder(ResponseOf(filter, f).phase - expected, kTwoPi), 0.0, 1e-6) << f;
  }
  EXPECT_NEAR(ResponseOf(filter, 0.0).magnitude, report.dc_gain, 1e-9);
  EXPECT_EQ(report.transient_inputs, filter.history());
}

class MaskTest : public ::testing::TestWithParam<Spec> {};

// At the edges, closely beyond them, about every frequency that folds onto an edge, and anywhere.
// The report is never better than what is seen here; 0.005 dB is for the ripple's two ends, each
// interpolated in a table (design.h).
TEST_P(MaskTest, ResponseIsWithinTheMaskAndPhaseLinear) {
  const Spec& spec = GetParam();
  const absl::StatusOr<FilterPtr> created = spec.Create();
  ASSERT_THAT(created, testing::IsOk());
  const Filter& filter = **created;
  EXPECT_EQ(filter.up(), spec.up);
  EXPECT_EQ(filter.down(), spec.down);
  EXPECT_LE(filter.stages().size(), static_cast<size_t>(kMaxStages));
  EXPECT_LE(filter.report().ripple_db, spec.ripple_db);
  EXPECT_GE(filter.report().attenuation_db, spec.attenuation_db);
  ExpectLinearPhase(filter, spec.mask().pass_edge);

  std::mt19937_64 random(11);
  const auto points = static_cast<int>(std::clamp<int64_t>(2000000 / TapsOf(filter), 40, 1000));
  const double pass_edge = spec.mask().pass_edge;
  double least = 1e9;
  double most = 0.0;
  for (int k = 0; k <= points; ++k) {
    const double gain = ResponseOf(filter, pass_edge * k / points).magnitude;
    least = std::min(least, gain);
    most = std::max(most, gain);
  }
  EXPECT_LE(Decibels(most), spec.ripple_db / 2 + 0.005);
  EXPECT_GE(Decibels(least), -spec.ripple_db / 2 - 0.005);
  EXPECT_LE(Decibels(most / least), filter.report().ripple_db + 0.005);

  const double stop_edge = spec.stop_edge();
  const double last = spec.up / 2.0;
  const double rate = static_cast<double>(spec.up) / spec.down;
  double leak = 0.0;
  const auto look = [&](double f) {
    if (f >= stop_edge && f <= last) {
      leak = std::max(leak, ResponseOf(filter, f).magnitude);
    }
  };
  const double lobe = 1.0 / static_cast<double>(filter.history() + 1);
  for (int k = 0; k <= points; ++k) {
    look(stop_edge + 6.0 * lobe * k / points);
    look(std::uniform_real_distribution<double>(stop_edge, last)(random));
    const double image = rate * std::floor(std::uniform_real_distribution<double>(
                                    1.0, std::max(last / rate, 1.0))(random));
    look(image - stop_edge);
    look(image + stop_edge);
    look(image + std::uniform_real_distribution<double>(-stop_edge, stop_edge)(random));
  }
  look(last);
  EXPECT_LE(Decibels(leak), -filter.report().attenuation_db);
}

std::vector<Spec> Grid() {
  std::vector<Spec> specs;
  for (const Design design : {Design::kKaiser, Design::kEquiripple}) {
    for (const double db : {20.0, 60.0, 80.0, 100.0, 120.0, 140.0}) {
      for (const int down : {1, 2, 3, 5, 8, 10, 36, 64, 127, 1000, 4096}) {
        specs.push_back({0.4, db, 1, down, design});
      }
    }
    for (const double db : {60.0, 80.0, 120.0}) {
      specs.push_back({0.4, db, 3, 2, design});
      specs.push_back({0.4, db, 2, 3, design});
      specs.push_back({0.4, db, 3, 1000, design});
      specs.push_back({0.35, db, 147, 160, design});
      specs.push_back({0.35, db, 160, 147, design});
      specs.push_back({0.35, db, 1000, 999, design});
      specs.push_back({0.35, db, 64, 1, design});
    }
    specs.push_back({0.45, 80.0, 1, 10, design, 0.01, 0.5});
    specs.push_back({0.48, 100.0, 1, 4096, design, 3.0});
    specs.push_back({0.1, 80.0, 1, 16, design, 0.1, 0.3});
    specs.push_back({0.02, 80.0, 1, 1, design, 0.001, 0.05});
    specs.push_back({0.35, 80.0, 4096, 1, design});
    specs.push_back({0.3, 60.0, 4095, 4096, design});
  }
  return specs;
}

std::string NameOf(const ::testing::TestParamInfo<Spec>& test) {
  const Spec& spec = test.param;
  return std::string(spec.design == Design::kKaiser ? "Kaiser" : "Equiripple") +
         std::to_string(spec.up) + "Over" + std::to_string(spec.down) + "At" +
         std::to_string(static_cast<int>(spec.attenuation_db)) + "Db" + std::to_string(test.index);
}

INSTANTIATE_TEST_SUITE_P(Grid, MaskTest, ::testing::ValuesIn(Grid()), NameOf);

}  // namespace
}  // namespace baseband::downconvert
