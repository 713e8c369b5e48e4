// Channels of all kinds, converted on the GPU at once and in pieces.
#ifndef BASEBAND_TESTS_GPU_DOWNCONVERT_GPU_FIXTURE_H_
#define BASEBAND_TESTS_GPU_DOWNCONVERT_GPU_FIXTURE_H_

#include <cstdint>
#include <vector>

#include "kernels/downconvert/downconvert_gpu.h"
#include "tests/support/downconvert_gpu.h"
#include "tests/support/gpu_test.h"

namespace baseband::downconvert {

// Conversions by their bare names, for the tests too.
using testing::ConvertOnGpu;
using testing::MakeRecording;
using testing::Recording;

class DownconvertGpuTest : public testing::GpuTest {
 protected:
  void SetUp() override;
};

inline Frequency Ratio(int64_t num, uint64_t den) { return *Frequency::FromFraction(num, den); }

FilterPtr Taps(int count, int up, int down, uint32_t seed = 7);
FilterPtr Cascade(int up, int down);

// Of another frequency and phase by its number.
Channel MakeChannel(const FilterPtr& filter, int number, OutputFormat output);

// Channels of several filters and formats; if `is_retuned`, every other one is, within the samples.
std::vector<Channel> MixedChannels(int count, int64_t first, int64_t samples, bool is_retuned);

// The recording in pieces of `size` samples, or of random sizes if that is 0.
std::vector<testing::Converted> InPieces(const std::vector<Channel>& channels,
                                         const Recording& recording, int64_t size);

void ExpectSame(const std::vector<testing::Converted>& a, const std::vector<testing::Converted>& b);

}  // namespace baseband::downconvert

#endif  // BASEBAND_TESTS_GPU_DOWNCONVERT_GPU_FIXTURE_H_
