// What must not be locked, from simulations with fixed seeds: noise, and other constellations.
#include <cmath>
#include <cstdint>
#include <utility>

#include "gtest/gtest.h"
#include "kernels/carrier/recover.h"
#include "tests/support/carrier_frames.h"
#include "tests/unit/kernels/carrier/models.h"
#include "tests/unit/kernels/carrier/simulation.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::FrameSpec;
using ::baseband::testing::ToSamples;

TEST(CarrierLockTest, NoiseIsNeverLocked) {
  const Fine fines[] = {Fine::kInterpolate, Fine::kSweep, Fine::kRemodulate, Fine::kPll};
  for (const char* const name :
       {"BPSK", "QPSK", "16APSK 3/4", "64APSK 7/9", "256APSK 20/30", "16QAM", "256QAM"}) {
    const ModelPtr model = ModelOf(name);
    for (const int num_symbols : {16, 33, 64, 400, 3000}) {
      for (int k = 0; k < 40; ++k) {
        // A signal 300 dB below the noise.
        FrameSpec spec = SpecOf(name, -300.0);
        spec.num_symbols = num_symbols;
        spec.gain = 1e-15;
        spec.seed = static_cast<uint64_t>(k + 1);
        Parameters parameters;
        parameters.fine = fines[k % 4];
        parameters.sweep_step = 0.1 / num_symbols;
        const Result result = RecoverOnCpu(
            *model, parameters, ToSamples(testing::MakeFrame(spec).symbols, SampleFormat::kFloat32),
            {}, {}, {});
        EXPECT_NE(result.lock, Lock::kLocked) << name << " " << num_symbols << " " << k;
      }
    }
  }
}

// Where the method's line drowns, the greatest peak is noise's; at some of those the symbols lay at
// so many of the points that 1 of 65 locks was wrong, far from the carrier.
TEST(CarrierLockTest, APeakOfNoiseIsNotLocked) {
  const ConstellationPtr constellation = *Constellation::FromName("8APSK 100/180");
  const ModelPtr model = *Model::Create(constellation, Amplitude::kUnit, 0);
  FrameSpec spec;
  spec.constellation = constellation;
  spec.num_symbols = 256;
  spec.snr_db = constellation->operating_snr_db() + 10.0;
  constexpr int kFrames = 400;
  int locked = 0;
  for (int k = 0; k < kFrames; ++k) {
    spec.seed = static_cast<uint64_t>(7 * k + 256);
    const FrameSpec drawn = testing::WithRandomOffset(spec, 0.25);
    const Result result = RecoverOnCpu(
        *model, {}, testing::ToSamples(testing::MakeFrame(drawn).symbols, SampleFormat::kFloat32),
        {}, {}, {});
    if (result.lock != Lock::kLocked) continue;
    ++locked;
    const double off = testing::WrappedDifference(result.frequency, drawn.frequency, 0.5);
    EXPECT_LE(std::fabs(off) * spec.num_symbols, 1.0) << spec.seed;
  }
  EXPECT_GE(locked, kFrames / 5);
}

// Of pairs that can be told apart: QPSK lies on 8PSK's points, and at a few dB all QAM look alike.
TEST(CarrierLockTest, AnotherConstellationIsNeverLocked) {
  const std::pair<const char*, const char*> pairs[] = {{"8PSK", "QPSK"},
                                                       {"16QAM", "QPSK"},
                                                       {"16APSK 3/4", "QPSK"},
                                                       {"64QAM", "16QAM"},
                                                       {"16QAM", "64QAM"},
                                                       {"16APSK 3/4", "16QAM"},
                                                       {"16QAM", "16APSK 3/4"},
                                                       {"32APSK 3/4", "16APSK 3/4"},
                                                       {"64APSK 7/9", "64APSK 128/180"},
                                                       {"64APSK 128/180", "64APSK 7/9"},
                                                       {"256APSK 135/180", "32APSK 3/4"},
                                                       {"128APSK 135/180", "256APSK 20/30"},
                                                       {"QPSK", "16APSK 3/4"},
                                                       {"QPSK", "64QAM"}};
  for (const auto& [sent, expected] : pairs) {
    const ModelPtr model = ModelOf(expected);
    const double operating = (*Constellation::FromName(sent))->operating_snr_db();
    const FrameSpec spec = SpecOf(sent, operating + 8.0);
    const Outcome outcome = Simulate(*model, {}, spec, 0.9 * model->max_frequency(), 10);
    EXPECT_EQ(outcome.locked, 0) << sent << " as " << expected;
  }
}

}  // namespace
}  // namespace baseband::carrier
