// The sweep of constellations of even rings on the GPU: its curves against the CPU's.
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/gpu/carrier_gpu_fixture.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::Pilots;

Parameters SweepOf(int candidates) {
  Parameters parameters;
  parameters.coarse = Coarse::kKnown;
  parameters.fine = Fine::kSweep;
  parameters.sweep_range = 7e-5;
  parameters.sweep_step = 7e-5 / (candidates / 2);
  parameters.want_curve = true;
  return parameters;
}

// Expects the CPU's curves of `on_gpu`, whether or not the frames are locked.
void ExpectSameCurves(const Model& model, const Parameters& parameters,
                      const std::vector<Frame>& frames, const std::vector<Recovered>& on_gpu) {
  for (size_t i = 0; i < frames.size(); ++i) {
    const Recovered on_cpu = RecoverOne(model, parameters, frames[i]);
    ASSERT_EQ(on_gpu[i].curve.size(), on_cpu.curve.size());
    // A symbol off by 1e-5 of its amplitude, over the least radius; rounding of the sum; and one
    // symbol that is decided otherwise, which counts less than 1 either way where neighbouring
    // radii are as 1 to 3.7 or closer.
    const float off = 1e-5F / model.view().rings.rings[0].radius +
                      1.0F / static_cast<float>(frames[i].num_symbols);
    for (size_t k = 0; k < on_gpu[i].curve.size(); ++k) {
      ASSERT_NEAR(on_gpu[i].curve[k], on_cpu.curve[k], off + 2e-5F * on_cpu.curve[k])
          << "frame " << i << " candidate " << k;
    }
  }
}

// Two rings, between which most symbols are.
ConstellationPtr TwoRings() {
  std::vector<Iq> points;
  for (int k = 0; k < 4; ++k) {
    const double angle = k * M_PI / 2;
    points.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
    points.push_back({static_cast<float>(2 * std::cos(angle + M_PI / 4)),
                      static_cast<float>(2 * std::sin(angle + M_PI / 4))});
  }
  return *Constellation::FromPoints(points);
}

// Lengths around the sweep's tile.
TEST_F(CarrierGpuTest, TheSweepOfEveryKindOfRingsEqualsTheCpu) {
  for (const char* const name : {"QPSK", "8PSK", "16APSK 3/4", "16APSK 90/180", "32APSK 3/4",
                                 "32APSK 2/3", "64APSK 7/9", "64APSK 132/180", "256APSK 135/180"}) {
    const ModelPtr model = MakeModel(name);
    for (const double above_db : {-6.0, 4.0, 30.0}) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(above_db) + " dB above");
      std::vector<Frame> frames;
      for (const int num_symbols : {4095, 4097, 6143}) {
        frames.push_back(
            FrameOf(*model, {}, num_symbols, frames.size() + 1, Pilots::kDvbS2, above_db));
      }
      const Parameters parameters = SweepOf(71);
      ExpectSameCurves(*model, parameters, frames, CompareAll(*model, parameters, frames));
    }
  }
}

// More symbols of a tile are between the two rings than a block has threads.
TEST_F(CarrierGpuTest, TheSweepOfSymbolsThatAreMostlyBetweenRingsEqualsTheCpu) {
  testing::FrameSpec spec;
  spec.constellation = TwoRings();
  const ModelPtr model = MakeModel(spec.constellation, 0);
  const EvenRings rings = model->view().rings;
  ASSERT_EQ(rings.count, 2);
  ASSERT_LT(rings.rings[0].next_from, rings.rings[1].radius);
  ASSERT_GT(rings.rings[0].own_to, rings.rings[1].radius);
  spec.pilots = Pilots::kDvbS2;
  spec.snr_db = 15.0;
  std::vector<Frame> frames;
  for (const int num_symbols : {2048, 5000}) {
    spec.num_symbols = num_symbols;
    spec.seed = frames.size() + 1;
    frames.push_back(ToFrame({}, testing::MakeFrame(testing::WithRandomOffset(spec, 0.01))));
  }
  const Parameters parameters = SweepOf(71);
  ExpectSameCurves(*model, parameters, frames, CompareAll(*model, parameters, frames));
}

// Of a frame alone a thread block measures 8 candidates, of a hundred together 104: more than
// between two of its meetings.
TEST_F(CarrierGpuTest, HowManyCandidatesABlockMeasuresChangesNothing) {
  const Parameters parameters = SweepOf(1023);
  for (const ConstellationPtr& constellation :
       {*Constellation::FromName("QPSK"), *Constellation::FromName("16APSK 3/4"), TwoRings()}) {
    SCOPED_TRACE(constellation->name());
    const ModelPtr model = MakeModel(constellation, 0);
    testing::FrameSpec spec;
    spec.constellation = constellation;
    spec.pilots = Pilots::kDvbS2;
    spec.snr_db = 15.0;
    spec.num_symbols = 1100;
    std::vector<Frame> frames;
    for (int i = 0; i < 100; ++i) {
      spec.seed = frames.size() + 1;
      frames.push_back(ToFrame({}, testing::MakeFrame(testing::WithRandomOffset(spec, 0.01))));
    }
    const std::vector<Recovered> together = RecoverOnGpu(*model, parameters, frames);
    ExpectSameCurves(*model, parameters, frames, together);
    for (const size_t i : {0U, 37U, 99U}) {
      ExpectSame(RecoverOnGpu(*model, parameters, {frames[i]})[0], together[i]);
    }
  }
}

}  // namespace
}  // namespace baseband::carrier
