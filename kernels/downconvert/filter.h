// The filters that a channel is taken out with: one stage or a cascade of them, given by the client
// or designed here from a mask.
//
// A stage takes complex samples at one rate to samples at up / down times it:
//   out[m] = sum_k h[(m * down mod up) + k * up] * in[floor(m * down / up) - k],
// k = 0 .. ceil(taps / up) - 1, samples before the first one being zero: what interpolating by `up`
// with zeros, filtering with h and keeping every `down`-th sample gives. The index m is absolute,
// so that a sample comes out the same whichever chunk it is computed in.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_FILTER_H_
#define BASEBAND_KERNELS_DOWNCONVERT_FILTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace baseband::downconvert {

inline constexpr int kMaxTaps = 1 << 16;  // of a stage
inline constexpr int kMaxUp = 4096;
inline constexpr int kMaxDown = 4096;  // of all stages together, in lowest terms
inline constexpr int kMaxStages = 6;
// A flatter pass band shows in no output: taps and samples are float32, rounded by up to 2^-24 of
// themselves, which is 5.2e-7 dB. The search for taps that are flatter would only end where double
// precision does.
inline constexpr double kMinRippleDb = 5e-7;
inline constexpr double kMaxRippleDb = 3.0;

struct Stage {
  std::vector<float> taps;  // 1 .. kMaxTaps, finite, not all zero
  int up = 1;               // up / down is in lowest terms
  int down = 1;
  // Samples of the stage's input that an output needs beside its newest one.
  int64_t history() const { return (static_cast<int64_t>(taps.size()) + up - 1) / up - 1; }
  // The newest input of output m, floor(m * down / up), and m * down mod up, which of the `up` sets
  // of taps it is computed with; m in [0, 2^62].
  int64_t NewestInput(int64_t m) const { return static_cast<int64_t>(Upsampled(m) / up); }
  int TapPhase(int64_t m) const { return static_cast<int>(Upsampled(m) % up); }
  // The first output whose newest input is `begin` or later, ceil(begin * up / down); 2^63 - 1
  // where that is beyond int64; begin in [0, 2^63).
  int64_t FirstOutput(int64_t begin) const;

 private:
  __int128 Upsampled(int64_t m) const { return static_cast<__int128>(m) * down; }
};

// What is asked of a designed filter. Frequencies in cycles per input sample.
struct Mask {
  double pass_edge = 0.0;  // (0, half of the lower of the two rates): |f| up to it passes
  // |f| from it on is stopped, images of the input included. (pass_edge, edge of what would fold or
  // be imaged onto the pass band]: the lower of the two rates less pass_edge, at most 0.5 if the
  // input is not interpolated. 0: that edge, the easiest filter.
  double stop_edge = 0.0;
  // [kMinRippleDb, kMaxRippleDb]: |gain| in the pass band is within +- this / 2. What taps of
  // float32 reach of the lowest ones depends on the other numbers.
  double ripple_db = 0.1;
  double attenuation_db = 80.0;  // [20, 140]
};
enum class Design : uint8_t {
  kKaiser,      // windowed sinc
  kEquiripple,  // Parks and McClellan: the fewest taps
};

// What a filter does, measured on its own response (of all stages, on a dense grid).
struct FilterReport {
  // Input samples, at frequency 0; where nothing passes there, the centre of the taps' energy.
  double group_delay = 0.0;
  // Outputs whose newest input is before this sample have seen the zeros before sample 0.
  int64_t transient_inputs = 0;
  double ripple_db = 0.0;       // pass band, peak to peak; 0 if there is no mask
  double attenuation_db = 0.0;  // least of what is stopped; 0 if there is no mask
  double dc_gain = 0.0;
  std::string remark;  // what is not as it was asked for, and why; empty otherwise
};

class Filter;
using FilterPtr = std::shared_ptr<const Filter>;

// Immutable: shared by all threads.
class Filter {
 public:
  // The client's own taps, real, at `up` times the input rate. InvalidArgument names up, down or
  // the tap that is out of range. up / down need not be in lowest terms: where they are not,
  // outputs use every gcd(up, down)-th tap only, and those are kept.
  static absl::StatusOr<FilterPtr> FromTaps(absl::Span<const float> taps, int up, int down);
  // Meets `mask` at the rate up / down of the input; all stages are symmetric, so that the delay is
  // the same at all frequencies. One stage, or several where that takes less work (cascade.cc).
  // Equiripple taps that cannot be had (more than 8191, or an exchange that does not converge) are
  // replaced by Kaiser's, and report().remark says so. InvalidArgument names what cannot be: an
  // edge beyond what the output's rate can hold, or a mask that would take more than kMaxTaps.
  // Takes seconds for tens of thousands of taps: FilterDesign does the same step by step. The same
  // arguments give the same taps on processors of one kind; on others the last bit of a tap may
  // differ.
  static absl::StatusOr<FilterPtr> FromMask(const Mask& mask, Design design, int up, int down);

  absl::Span<const Stage> stages() const { return stages_; }
  const FilterReport& report() const { return report_; }
  int up() const { return up_; }  // of all stages, in lowest terms
  int down() const { return down_; }
  // Input samples that an output needs beside its newest one: what has to be there again when a
  // chunk begins elsewhere than at sample 0.
  int64_t history() const { return history_; }
  // The first output whose newest input is `begin` or later, stage by stage (rounding up at each):
  // outputs [FirstOutput(begin), FirstOutput(end)) are those of inputs [begin, end). Exact for
  // `begin` in [0, 2^62]; 2^63 - 1 where it is beyond int64.
  int64_t FirstOutput(int64_t begin) const;
  uint64_t id() const { return id_; }  // differs from that of every other filter of this process

 private:
  friend class FilterDesign;

  Filter() = default;
  // Of stages that keep their ranges; the report has no mask in it.
  static std::shared_ptr<Filter> FromStages(std::vector<Stage> stages);

  std::vector<Stage> stages_;
  FilterReport report_;
  int up_ = 1;
  int down_ = 1;
  int64_t history_ = 0;
  uint64_t id_ = 0;
};

// |H| of all stages at `cycles_per_sample` of the input, and its phase in radians, in double
// precision, for a gain of 1 to an input that is interpolated. With up > 1 the images of an input
// frequency f stand at f + 1, f + 2, ..: the period is `up`, not 1. Takes a sine a tap.
struct Response {
  double magnitude = 0.0;
  double phase = 0.0;
};
Response ResponseOf(const Filter& filter, double cycles_per_sample);

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_FILTER_H_
