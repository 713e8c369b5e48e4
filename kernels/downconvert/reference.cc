#include "kernels/downconvert/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace baseband::downconvert {
namespace {

using Complex = std::complex<double>;

constexpr long double kTurn = 6.283185307179586476925286766559L;

// frac(num * n / den), with the sign of num.
long double Turns(const Frequency& frequency, int64_t n) {
  const __int128 den = frequency.den();
  const auto remainder = static_cast<__int128>(frequency.num()) * n % den;
  return static_cast<long double>(remainder) / static_cast<long double>(den);
}

template <typename T>
double Number(absl::Span<const uint8_t> bytes, size_t position) {
  T value;
  std::memcpy(&value, bytes.data() + position * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

// A stage's output or the mixer's, from index `first` on; zero elsewhere.
struct Piece {
  int64_t first = 0;
  std::vector<Complex> values;
  Complex At(int64_t n) const {
    const int64_t place = n - first;
    return place < 0 || place >= static_cast<int64_t>(values.size())
               ? Complex()
               : values[static_cast<size_t>(place)];
  }
};

Piece Convolve(const Stage& stage, const Piece& in, OutputRange range) {
  Piece out;
  out.first = range.first;
  for (int64_t m = range.first; m < range.first + range.count; ++m) {
    const __int128 upsampled = static_cast<__int128>(m) * stage.down;
    const auto newest = static_cast<int64_t>(upsampled / stage.up);
    Complex sum = 0.0;
    auto tap = static_cast<size_t>(upsampled % stage.up);
    for (int64_t k = 0; tap < stage.taps.size(); ++k, tap += static_cast<size_t>(stage.up)) {
      sum += static_cast<double>(stage.taps[tap]) * in.At(newest - k);
    }
    out.values.push_back(sum);
  }
  return out;
}

}  // namespace

long double ReferenceOscillator::PhaseTurns(int64_t n) const {
  const long double initial =
      std::remainder(static_cast<long double>(initial_phase), kTurn) / kTurn;
  long double turns = initial;  // at `origin`
  int64_t origin = 0;
  Frequency current = frequency;
  for (const Retune& retune : retunes) {
    if (retune.index > n) {
      break;
    }
    if (retune.mode == RetuneMode::kContinuous) {
      turns = std::remainder(turns + Turns(current, retune.index - origin), 1.0L);
      origin = retune.index;
    } else {
      turns = initial;
      origin = 0;
    }
    current = retune.frequency;
  }
  return std::remainder(turns + Turns(current, n - origin), 1.0L);
}

std::vector<Complex> ReferenceSamples(InputFormat format, absl::Span<const uint8_t> bytes) {
  const bool is_real = format >= InputFormat::kRealInt8;
  const size_t numbers_per_sample = is_real ? 1 : 2;
  const auto number = [&](size_t position) {
    switch (format) {
      case InputFormat::kInt8:
      case InputFormat::kRealInt8:
        return Number<int8_t>(bytes, position);
      case InputFormat::kInt16:
      case InputFormat::kRealInt16:
        return Number<int16_t>(bytes, position);
      default:
        return Number<float>(bytes, position);
    }
  };
  std::vector<Complex> samples(bytes.size() / static_cast<size_t>(BytesPerSample(format)));
  for (size_t n = 0; n < samples.size(); ++n) {
    const size_t position = n * numbers_per_sample;
    samples[n] = Complex(number(position), is_real ? 0.0 : number(position + 1));
  }
  return samples;
}

std::vector<Complex> ReferenceDownconvert(const ReferenceOscillator& oscillator, double gain,
                                          absl::Span<const Stage> stages, double scale,
                                          int64_t first_index, absl::Span<const Complex> samples,
                                          OutputRange range) {
  // What each stage has to put out, from the last one back.
  std::vector<OutputRange> ranges(stages.size());
  for (size_t s = stages.size(); s-- > 0;) {
    ranges[s] = range;
    const Stage& stage = stages[s];
    const int64_t oldest = std::max<int64_t>(stage.NewestInput(range.first) - stage.history(), 0);
    const int64_t newest = stage.NewestInput(range.first + range.count - 1);
    range.first = oldest;
    range.count = newest + 1 - oldest;
  }
  Piece piece;
  piece.first = first_index;
  for (size_t i = 0; i < samples.size(); ++i) {
    const long double angle = -kTurn * oscillator.PhaseTurns(first_index + static_cast<int64_t>(i));
    piece.values.push_back(
        gain * scale * samples[i] *
        Complex(static_cast<double>(std::cos(angle)), static_cast<double>(std::sin(angle))));
  }
  for (size_t s = 0; s < stages.size(); ++s) {
    piece = Convolve(stages[s], piece, ranges[s]);
  }
  return piece.values;
}

std::vector<Complex> ReferenceResample(absl::Span<const Complex> samples,
                                       absl::Span<const double> taps, int up, int down) {
  std::vector<Complex> stuffed(samples.size() * static_cast<size_t>(up));
  for (size_t n = 0; n < samples.size(); ++n) {
    stuffed[n * static_cast<size_t>(up)] = samples[n];
  }
  std::vector<Complex> out;
  for (size_t n = 0; n < stuffed.size(); n += static_cast<size_t>(down)) {
    Complex sum = 0.0;
    for (size_t k = 0; k < taps.size() && k <= n; ++k) {
      sum += taps[k] * stuffed[n - k];
    }
    out.push_back(sum);
  }
  return out;
}

}  // namespace baseband::downconvert
