// Frames of samples, recovered on the GPU and held against the CPU device.
#ifndef BASEBAND_TESTS_GPU_TIMING_GPU_FIXTURE_H_
#define BASEBAND_TESTS_GPU_TIMING_GPU_FIXTURE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/timing/timing_cpu.h"
#include "kernels/timing/timing_gpu.h"
#include "tests/support/gpu_test.h"
#include "tests/support/timing_frames.h"

namespace baseband::timing {

using Bytes = std::vector<uint8_t>;

// What frames of a launch share.
struct Receiver {
  carrier::ModelPtr model;
  carrier::Parameters carrier;
  PulsePtr pulse;
  Parameters parameters;

  int64_t SymbolsOf(int64_t num_samples) const {
    return timing::SymbolsOf(pulse->shape(), parameters, num_samples);
  }
  int64_t SamplesFor(int64_t num_symbols) const {
    return timing::SamplesFor(pulse->shape(), parameters, num_symbols);
  }
};
// Corrected symbols and curves are wanted.
Receiver MakeReceiver(const std::string& constellation, const PulseShape& shape);

struct SampleFrame {
  Bytes samples;
  std::vector<carrier::Iq> known;
  int64_t num_samples = 0;
};

// A frame of the receiver, `above_db` above where its constellation is used, with offset, clock
// error, frequency and phase drawn; frequencies within 0.8 of what blind recovery reaches, 0.1 at
// most.
testing::TimingSpec SpecOf(const Receiver& receiver, int64_t num_symbols, uint64_t seed,
                           double above_db = 6.0);
SampleFrame ToFrame(const Receiver& receiver, const testing::TimingSpec& spec);
SampleFrame FrameOf(const Receiver& receiver, int64_t num_symbols, uint64_t seed,
                    double above_db = 6.0);

struct Answer {
  Recovered found;
  Bytes corrected;
  std::vector<float> curve;
};

Answer RecoverOne(const Receiver& receiver, const SampleFrame& frame);

// A batch in device memory, with its outputs.
class DeviceBatch {
 public:
  // `frames` in ascending order of length. `workspace_bytes` 0: what all of them take together.
  DeviceBatch(const Receiver& receiver, const std::vector<SampleFrame>& frames,
              int64_t workspace_bytes = 0);
  TimingBatch& batch() { return batch_; }
  // The answers, once the launch is through. Checks that nothing between them was written.
  std::vector<Answer> Answers() const;
  // Whether no output was written at all.
  bool IsUntouched() const;

 private:
  size_t CorrectedBytes(size_t frame) const;

  Receiver receiver_;
  std::vector<TimingFrame> descriptors_;
  std::vector<uint32_t> lengths_;
  std::vector<size_t> curve_points_;
  cuda::DeviceBuffer<TimingFrame> frames_;
  cuda::DeviceBuffer<uint8_t> samples_;
  cuda::DeviceBuffer<carrier::Iq> known_;
  cuda::DeviceBuffer<uint8_t> output_;
  cuda::DeviceBuffer<Result> results_;
  cuda::DeviceBuffer<carrier::Result> carrier_results_;
  cuda::DeviceBuffer<uint8_t> workspace_;
  TimingBatch batch_;
};

std::vector<Answer> RecoverOnGpu(const Receiver& receiver, const std::vector<SampleFrame>& frames,
                                 int64_t workspace_bytes = 0);

// As timing_gpu.h says. Returns whether the frame was locked.
bool ExpectNear(const Receiver& receiver, const Answer& gpu, const Answer& cpu,
                int64_t num_samples);
// On both devices; what the GPU found. Expects at least `least_locked` of them to be locked.
std::vector<Answer> CompareAll(const Receiver& receiver, const std::vector<SampleFrame>& frames,
                               size_t least_locked);
void ExpectSame(const Answer& a, const Answer& b);

class TimingGpuTest : public testing::GpuTest {};

}  // namespace baseband::timing

#endif  // BASEBAND_TESTS_GPU_TIMING_GPU_FIXTURE_H_
