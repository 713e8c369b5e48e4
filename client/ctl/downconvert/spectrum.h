// Power spectra by Welch's method.
#ifndef BASEBAND_CLIENT_CTL_DOWNCONVERT_SPECTRUM_H_
#define BASEBAND_CLIENT_CTL_DOWNCONVERT_SPECTRUM_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "client/ctl/common/symbols.h"

namespace baseband::ctl {

// Mean of windowed periodograms (four-term Blackman-Harris: what is 92 dB below a tone can be seen
// beside it), each of `size` samples, half of them shared with the next. Scaled so that a tone of
// amplitude a in the middle of a bin shows a^2 there: 0 dB is full scale.
class Spectrum {
 public:
  // `size`: a power of two, 8 .. 65536.
  explicit Spectrum(int size);

  // Takes at most `max_segments` of the samples' segments into the mean, evenly over them. Segments
  // do not reach from one call into the next.
  void Add(absl::Span<const Complex> samples, int max_segments);

  int size() const { return size_; }
  int64_t segments() const { return segments_; }
  // In dB, lowest frequency first: bin i is at (i - size / 2) / size of the sample rate. -400 where
  // nothing is, and everywhere if nothing was added.
  std::vector<double> Decibels() const;
  // Bandwidth of the noise that one bin shows, in bins.
  static constexpr double kNoiseBandwidthBins = 2.0044;

 private:
  void Transform();  // of work_, in place

  const int size_;
  std::vector<float> window_;
  std::vector<Complex> turns_;  // exp(-2 pi j k / size)
  std::vector<Complex> work_;
  std::vector<double> power_;
  int64_t segments_ = 0;
};

// The size for a signal of so many samples: some ten segments at least, if possible, and not more
// than `most`, a power of two.
int SpectrumSize(int64_t num_samples, int most);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_DOWNCONVERT_SPECTRUM_H_
