// Frames of a constellation, as long as 64800 coded bits make them, and what recovery makes of many
// of them with random offsets: for the studies of this folder.
#ifndef BASEBAND_TESTS_UNIT_KERNELS_CARRIER_SIMULATION_H_
#define BASEBAND_TESTS_UNIT_KERNELS_CARRIER_SIMULATION_H_

#include <string>

#include "kernels/carrier/recover.h"
#include "tests/support/carrier_frames.h"

namespace baseband::carrier {

testing::FrameSpec SpecOf(const std::string& name, double snr_db);

// What came of some frames.
struct Outcome {
  int frames = 0;
  int locked = 0;
  int right = 0;       // within 0.3 of 1 / N
  int wrong_lock = 0;  // locked, but not right
  // Of the right ones: root mean squares, phase at the centre modulo what the result is sure of.
  double frequency_rms = 0.0;
  double phase_rms = 0.0;
  double predicted_frequency = 0.0;
  double predicted_phase = 0.0;
  // Error of the corrected symbols, the symmetry taken off, over A^2, times the SNR.
  double nmse_times_snr = 0.0;
};

// `spec` with offsets within +-max_frequency, seed after seed.
Outcome Simulate(const Model& model, Parameters parameters, const testing::FrameSpec& spec,
                 double max_frequency, int frames);

}  // namespace baseband::carrier

#endif  // BASEBAND_TESTS_UNIT_KERNELS_CARRIER_SIMULATION_H_
