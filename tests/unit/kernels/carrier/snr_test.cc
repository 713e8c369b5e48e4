// Whether the SNR that a frame is said to have is the one it was sent at, from simulations with
// fixed seeds.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/carrier/recover.h"
#include "tests/support/carrier_frames.h"
#include "tests/unit/kernels/carrier/one_frame.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::Pilots;
using ::baseband::testing::WithRandomOffset;

// dB by which the SNR is off, over some frames: its mean.
double MeanError(const Model& model, const Parameters& parameters, const FrameSpec& spec,
                 int frames) {
  double sum = 0.0;
  for (int k = 0; k < frames; ++k) {
    FrameSpec seeded = spec;
    seeded.seed = static_cast<uint64_t>(k + 1);
    const Result result =
        Recover(model, parameters, MakeFrame(WithRandomOffset(seeded, 0.4 / model.power())));
    EXPECT_EQ(result.lock, Lock::kLocked) << spec.snr_db << " dB, seed " << k + 1;
    sum += double{result.snr_db} - spec.snr_db;
  }
  return sum / frames;
}

// Four deviations of a mean over so many symbols, dB. The distances near the operating point move
// by 0.6 of what the noise does; above, by all of it.
double Chance(double symbols, double above_db) {
  return 4.0 * 10.0 / std::log(10.0) / std::sqrt(symbols) / (above_db < 4.0 ? 0.6 : 0.9);
}

// Soft decisions alone were off by up to 18 dB: their tables' facts were sums over nodes further
// apart than the noise is wide. Close points of 256APSK cost another 15 dB beyond the tables.
TEST(CarrierSnrTest, IsTrueFromTheOperatingPointOn) {
  constexpr int kSymbols = 16000;
  constexpr int kFrames = 4;
  for (const char* const name :
       {"BPSK", "QPSK", "8PSK", "16QAM", "32QAM", "64QAM", "128QAM", "256QAM", "512QAM", "1024QAM",
        "16APSK 3/4", "64APSK 7/9", "256APSK 116/180", "256APSK 20/30"}) {
    const ModelPtr model = ModelOf(name);
    const double operating = model->constellation().operating_snr_db();
    const bool has_close_points = std::string(name).find("256APSK") == 0;
    std::vector<double> snrs = {operating + 4.0, operating + 7.0, operating + 10.0};
    for (const double snr_db : {35.0, 38.0, 40.0, 42.0, 45.0, 50.0, 55.0, 58.0}) {
      if (snr_db > operating + 4.0) snrs.push_back(snr_db);
    }
    // Not of those whose line takes more symbols then.
    if (model->power() <= 8) snrs.push_back(operating + 1.5);
    for (const double snr_db : snrs) {
      const double above = snr_db - operating;
      const FrameSpec spec = SpecOf(*Constellation::FromName(name), snr_db, 1, kSymbols);
      const bool beyond = above > static_cast<double>(kSnrsAbove);
      EXPECT_NEAR(MeanError(*model, {}, spec, kFrames), 0.0,
                  (has_close_points && beyond ? 0.3 : 0.1) + Chance(kFrames * kSymbols, above))
          << name << " at " << snr_db << " dB";
    }
  }
}

// Between two tables the gain of QPSK was off by 1.6 %, and the distances that the SNR is told by
// are in its scale.
TEST(CarrierSnrTest, GainAndSnrAreTrueBetweenTheTables) {
  constexpr int kFrames = 20;
  for (const char* const name : {"QPSK", "8PSK", "16QAM"}) {
    const ModelPtr model = ModelOf(name);
    for (const double above : {1.5, 2.5, 3.0, 3.5, 5.0}) {
      SCOPED_TRACE(name + std::string(" ") + std::to_string(above));
      const double snr_db = model->constellation().operating_snr_db() + above;
      const FrameSpec spec = SpecOf(*Constellation::FromName(name), snr_db, 1, 16000);
      EXPECT_NEAR(MeanError(*model, {}, spec, kFrames), 0.0, 0.1);
      double gain = 0.0;
      for (int k = 0; k < kFrames; ++k) {
        FrameSpec seeded = spec;
        seeded.seed = static_cast<uint64_t>(k + 1);
        const FrameSpec drawn = WithRandomOffset(seeded, 0.4 / model->power());
        gain += double{Recover(*model, {}, MakeFrame(drawn)).gain} / spec.gain / kFrames;
      }
      EXPECT_NEAR(gain, 1.0, 0.008);
    }
  }
}

// A known symbol's distance is the noise, wherever decisions would be wrong.
TEST(CarrierSnrTest, IsTrueOfKnownSymbols) {
  for (const char* const name : {"QPSK", "256QAM", "1024QAM", "256APSK 20/30"}) {
    const ModelPtr model = ModelOf(name);
    for (const Pilots pilots : {Pilots::kDvbS2, Pilots::kAll}) {
      Parameters parameters;
      parameters.coarse = Coarse::kKnown;
      for (const double above : {2.0, 6.0, 14.0, 25.0}) {
        FrameSpec spec = SpecOf(*Constellation::FromName(name),
                                model->constellation().operating_snr_db() + above, 1, 6000);
        spec.pilots = pilots;
        EXPECT_NEAR(MeanError(*model, parameters, spec, 4), 0.0, 0.25 + Chance(4 * 6000, above))
            << name << " " << above << " dB above";
      }
    }
  }
}

// Rounds of soft decisions may end with a table for far more noise than there is: where decisions
// are right, what they leave is the noise.
TEST(CarrierSnrTest, IsTheMerWhereDecisionsAreRight) {
  for (const char* const name : {"512QAM", "1024QAM"}) {
    const ModelPtr model = ModelOf(name);
    const double operating = model->constellation().operating_snr_db();
    int told = 0;
    for (const int num_symbols : {300, 1000}) {
      for (const double above : {4.0, 6.0, 9.0, 14.0, 24.0}) {
        for (uint64_t seed = 1; seed <= 30; ++seed) {
          const FrameSpec spec = WithRandomOffset(
              SpecOf(*Constellation::FromName(name), operating + above, seed, num_symbols), 0.05);
          const Result result = Recover(*model, {}, MakeFrame(spec));
          const double mer_db = -20.0 * std::log10(double{result.evm});
          if (result.lock != Lock::kLocked || mer_db < operating + 3.5) continue;
          ++told;
          EXPECT_NEAR(result.snr_db, mer_db, 0.25)
              << name << ", " << num_symbols << " symbols, " << above << " dB above, seed " << seed;
        }
      }
    }
    EXPECT_GE(told, 200) << name;
  }
}

}  // namespace
}  // namespace baseband::carrier
