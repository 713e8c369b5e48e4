// Digital down-conversion of a wideband block to many channels: what is computed, whatever the
// device.
//
//   mixed_c[n] = gain_c * x[n] * exp(-j phase_c(n)),   x[n] = scale * sample n (real: Q is 0)
//   out_c[m]   = the filter's stages one after the other (filter.h), in float32
// phase_c is that of the channel's PhaseTrack (nco.h) at the absolute index n of the sample. Out
// comes the same, to the bit, whatever chunk an output is computed in, alone or among other
// channels.
//
// With one exception to the latter: where 8 channels or more have first stages of as many taps and
// the same decimation, without interpolation, and samples are complex integers, a GPU computes
// those stages exactly, in integers, if that is no less accurate (fixed_taps.h; gpu_plan.h has the
// other limits). A channel is then the same among any others that make it so; alone, its last bits
// are others. The list of channels, the format and the scale say which ones are: the pieces of a
// stream are alike.
//
// A first stage whose window has one frequency may be computed with taps that were turned
// beforehand,
//   out[m] = gain_c scale exp(-j phase_c(n0)) * sum_k (h[..] exp(+j 2 pi f k)) sample n0 - k,
// so that the oscillator costs a sine an output, not one a sample; a window that holds a retune
// mixes sample by sample, and so does every window where that is less work. Which of the two
// depends on the channel, the format of the samples and m alone. Nothing has to be prepared for a
// channel: a core turns 64 taps in less than half a microsecond.
//
// Devices differ in the order of their sums: see kDeviceTolerance.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_DOWNCONVERT_H_
#define BASEBAND_KERNELS_DOWNCONVERT_DOWNCONVERT_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/downconvert/filter.h"
#include "kernels/downconvert/nco.h"

namespace baseband::downconvert {

inline constexpr int kMaxChannels = 1024;

// Little endian; complex samples are I, then Q.
enum class InputFormat : uint8_t { kInt8, kInt16, kFloat32, kRealInt8, kRealInt16, kRealFloat32 };
constexpr int BytesPerSample(InputFormat format) {
  constexpr int kBytes[] = {2, 4, 8, 1, 2, 4};
  return kBytes[static_cast<int>(format)];
}
// Complex always. float16: IEEE 754 binary16, to nearest, ties to even. int16: value * 32767
// likewise, saturated; a NaN becomes 0.
enum class OutputFormat : uint8_t { kFloat32, kFloat16, kInt16 };
constexpr int BytesPerOutput(OutputFormat format) {
  return format == OutputFormat::kFloat32 ? 8 : 4;
}

// How the phase is computed. All but kExact are the paper's, for study: see study.h. They mix
// sample by sample, and know no retunes; their blocks begin at sample 0 and have at most
// kMaxStudySamples.
inline constexpr int64_t kMaxStudySamples = int64_t{1} << 22;
enum class NcoMethod : uint8_t {
  kExact,
  kFloat,
  kSegmented,
  kFast2Sum,
  kTwoSum,
  kDouble,
  kAccumulated,
};

struct Channel {
  PhaseTrack phase;
  FilterPtr filter;
  float gain = 1.0F;
  OutputFormat output = OutputFormat::kFloat32;
  NcoMethod nco = NcoMethod::kExact;
  int study_segment = 1024;  // samples between the removals of whole cycles; kExact, kFloat: unused
};

// A piece of the wideband signal.
struct Block {
  InputFormat format = InputFormat::kInt16;
  float scale = 1.0F;       // finite, > 0
  int64_t first_index = 0;  // of the first sample in `samples`, absolute
  // The first `history` of the samples were there before: they only fill the filters. Fewer than a
  // channel's filter->history() and first_index > 0: refused. Samples before index 0 are zero.
  int64_t history = 0;
  int64_t num_samples = 0;  // history included

  bool operator==(const Block& other) const {
    return format == other.format && scale == other.scale && first_index == other.first_index &&
           history == other.history && num_samples == other.num_samples;
  }
};

// Outputs [first, first + count) of a channel: those whose newest input is in the block, past its
// history.
struct OutputRange {
  int64_t first = 0;
  int64_t count = 0;
};
// Of a checked block: from ceil((first_index + history) up / down) on.
OutputRange OutputsOf(const Channel& channel, const Block& block);

// Samples of history that `channels` need: the most that any filter has.
int64_t HistoryOf(absl::Span<const Channel> channels);

// OK if the block can be converted so: the shape that the client sent is possible, and no index, of
// a sample, of an output or between two stages, leaves int64. InvalidArgument names the field as
// baseband.proto has it, its value and its range.
absl::Status CheckBlock(absl::Span<const Channel> channels, const Block& block);

// What became of one channel.
struct ChannelResult {
  int64_t saturated = 0;  // I and Q components, rounded, that did not fit int16; NaNs too
  // Not 0: this part of the work has met a sample that is not finite, an infinity or a NaN.
  int64_t has_non_finite = 0;
};
// Which one is the first: its place in the block, or num_samples if all are finite.
int64_t FindNonFinite(const Block& block, absl::Span<const uint8_t> samples);

// Largest difference of two devices' outputs, relative to scale * gain * largest |sample| * the sum
// of |taps| of all stages; tested.
inline constexpr double kDeviceTolerance = 2e-6;

// Converts one channel of a checked block on the calling thread; `samples` are the block's
// num_samples, and `output` holds OutputsOf().count samples. SIMD, chosen for this processor at run
// time. Allocates nothing once a thread has done a block of this size. Thread-safe: channels of a
// block may run on several threads, and a long block in several calls, for outputs [part.first,
// part.first + part.count) of its range; `output` then holds part.count samples. The largest filter
// makes a thread keep about 4 MiB.
//
// What comes of samples that are not finite is not said. With `check` the calls of a channel's
// parts together look for them among all samples of the block, whatever the filter needs of those:
// each among its part's own, those that no earlier output has seen. (A range without outputs is one
// part.)
enum class SampleCheck : bool { kNo, kYes };
ChannelResult DownconvertOnCpu(const Channel& channel, const Block& block,
                               absl::Span<const uint8_t> samples, OutputRange part,
                               absl::Span<uint8_t> output, SampleCheck check = SampleCheck::kNo);

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_DOWNCONVERT_H_
