// One frame of float32 samples and its carrier, for tests that look at the result alone.
#ifndef BASEBAND_TESTS_UNIT_KERNELS_CARRIER_ONE_FRAME_H_
#define BASEBAND_TESTS_UNIT_KERNELS_CARRIER_ONE_FRAME_H_

#include <cstdint>
#include <string>
#include <utility>

#include "kernels/carrier/recover.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/matchers.h"
#include "tests/unit/kernels/carrier/models.h"

namespace baseband::carrier {

// Frames by their bare names, for the tests too.
using testing::CarrierFrame;
using testing::FrameSpec;
using testing::MakeFrame;

inline FrameSpec SpecOf(ConstellationPtr constellation, double snr_db, uint64_t seed,
                        int num_symbols) {
  FrameSpec spec;
  spec.constellation = std::move(constellation);
  spec.num_symbols = num_symbols;
  spec.snr_db = snr_db;
  spec.gain = 1.3;
  spec.seed = seed;
  return spec;
}

// So far above a named constellation's operating SNR, its carrier anywhere in +-max_frequency.
inline FrameSpec SpecAbove(const std::string& name, int num_symbols, double above_db, uint64_t seed,
                           double max_frequency) {
  const ConstellationPtr constellation = *Constellation::FromName(name);
  return testing::WithRandomOffset(
      SpecOf(constellation, constellation->operating_snr_db() + above_db, seed, num_symbols),
      max_frequency);
}

inline Result Recover(const Model& model, const Parameters& parameters, const CarrierFrame& frame) {
  const auto num_symbols = static_cast<int>(frame.symbols.size());
  EXPECT_THAT(CheckParameters(model, parameters, num_symbols, frame.known), IsOk());
  return RecoverOnCpu(model, parameters, testing::ToSamples(frame.symbols, SampleFormat::kFloat32),
                      frame.known, {}, {});
}

}  // namespace baseband::carrier

#endif  // BASEBAND_TESTS_UNIT_KERNELS_CARRIER_ONE_FRAME_H_
