// Figure 13 of the paper (kernels/carrier/recover.h names it) from simulations with fixed seeds:
// QPSK, N = 32400, offset 0.02 and a random part of a bin.
#include <cmath>

#include "gtest/gtest.h"
#include "kernels/carrier/recover.h"
#include "tests/unit/kernels/carrier/models.h"
#include "tests/unit/kernels/carrier/simulation.h"

namespace baseband::carrier {
namespace {

Outcome Figure13(const Parameters& parameters, double snr_db, int frames = 20) {
  const ModelPtr model = ModelOf("QPSK");
  testing::FrameSpec spec = SpecOf("QPSK", snr_db);
  spec.frequency = 0.02;
  return Simulate(*model, parameters, spec, 0.5 / spec.num_symbols, frames);
}

TEST(CarrierFigure13Test, TheDefaultMethodLosesNothing) {
  for (const double snr_db : {2.0, 10.0, 20.0}) {
    EXPECT_LT(Figure13({}, snr_db).nmse_times_snr, 1.01) << snr_db;
  }
}

TEST(CarrierFigure13Test, TheFineSweepLosesNothingTheCoarseOneAtHighSnr) {
  Parameters parameters;
  parameters.fine = Fine::kSweep;
  parameters.sweep_range = 1.0 / (8 * 32400);  // half a bin of the line
  parameters.sweep_step = 5e-7;
  for (const double snr_db : {2.0, 10.0, 20.0}) {
    EXPECT_LT(Figure13(parameters, snr_db).nmse_times_snr, 1.02) << snr_db;
  }
  // Three candidates, the outermost 1.8e-6 from the edge: (pi d N)^2 / 3 of what is left of d.
  parameters.sweep_step = 2e-6;
  const double penalty = Figure13(parameters, 20.0, 60).nmse_times_snr;
  EXPECT_GT(penalty, 1.15);
  EXPECT_LT(penalty, 1.5);
}

// The figures of dsp.md section 1.7, from 30 frames there.
TEST(CarrierFigure13Test, TheLoopIsAsInTheTable) {
  Parameters parameters;
  parameters.fine = Fine::kPll;
  struct Row {
    float bandwidth;
    double snr_db;
    double nmse;
  };
  for (const Row& row : {Row{0.002F, 4.0, 0.401},
                         {0.002F, 10.0, 0.1008},
                         {0.002F, 20.0, 0.0105},
                         {0.005F, 4.0, 0.403},
                         {0.005F, 10.0, 0.1006},
                         {0.005F, 20.0, 0.0102},
                         {0.02F, 8.0, 0.1619},
                         {0.02F, 20.0, 0.0103}}) {
    parameters.pll_bandwidth = row.bandwidth;
    const double expected = row.nmse * std::pow(10.0, 0.1 * row.snr_db);
    EXPECT_NEAR(Figure13(parameters, row.snr_db).nmse_times_snr, expected, 0.04 * expected)
        << row.bandwidth << " " << row.snr_db;
  }
}

}  // namespace
}  // namespace baseband::carrier
