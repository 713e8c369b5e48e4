// Frames of carrier recovery, recovered on the GPU and held against RecoverOnCpu.
#ifndef BASEBAND_TESTS_GPU_CARRIER_GPU_FIXTURE_H_
#define BASEBAND_TESTS_GPU_CARRIER_GPU_FIXTURE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/carrier/recover.h"
#include "kernels/carrier/recover_gpu.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/gpu_test.h"

namespace baseband::carrier {

using Bytes = std::vector<uint8_t>;

struct Frame {
  Bytes symbols;
  std::vector<Iq> known;
  int num_symbols = 0;
};

struct Recovered {
  Result result;
  Bytes corrected;
  std::vector<float> curve;
};

ModelPtr MakeModel(const std::string& name);
ModelPtr MakeModel(ConstellationPtr constellation, int power = 0);

inline constexpr Fine kFines[] = {Fine::kNone, Fine::kInterpolate, Fine::kSweep, Fine::kRemodulate,
                                  Fine::kPll};

// So far above the SNR where the constellation is used, without an offset.
testing::FrameSpec SpecAbove(ConstellationPtr constellation, int num_symbols, double above_db,
                             uint64_t seed);

// A frame that was made, as samples of the parameters' format.
Frame ToFrame(const Parameters& parameters, const testing::CarrierFrame& made);

// Frames of the model's constellation, a few dB above where it is used, anywhere within 0.8 of what
// blind recovery reaches.
Frame FrameOf(const Model& model, const Parameters& parameters, int num_symbols, uint64_t seed,
              testing::Pilots pilots = testing::Pilots::kNone, double above_db = 4.0);

Recovered RecoverOne(const Model& model, const Parameters& parameters, const Frame& frame);

// Recovers frames, which must be in ascending order of length, and checks that nothing between
// their outputs was written.
std::vector<Recovered> RecoverOnGpu(const Model& model, const Parameters& parameters,
                                    const std::vector<Frame>& frames, int64_t workspace_bytes = 0);

void ExpectNear(const Recovered& gpu, const Recovered& cpu, const Parameters& parameters,
                int num_symbols);
// On both devices; what the GPU found.
std::vector<Recovered> CompareAll(const Model& model, const Parameters& parameters,
                                  const std::vector<Frame>& frames);
void ExpectSame(const Recovered& a, const Recovered& b);

class CarrierGpuTest : public testing::GpuTest {};

}  // namespace baseband::carrier

#endif  // BASEBAND_TESTS_GPU_CARRIER_GPU_FIXTURE_H_
