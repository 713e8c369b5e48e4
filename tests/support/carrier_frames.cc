#include "tests/support/carrier_frames.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include "tests/support/channel.h"

namespace baseband::testing {
namespace {

using carrier::Iq;
using carrier::SampleFormat;
using Complex = std::complex<double>;

constexpr double kPi = 3.14159265358979323846;
constexpr int kHeaderSymbols = 90;
constexpr int kPilotSymbols = 36;
constexpr int kDataSymbols = 1440;  // between two groups of pilots

bool IsHeader(Pilots pilots, int n) { return pilots == Pilots::kDvbS2 && n < kHeaderSymbols; }

bool IsPilot(Pilots pilots, int n) {
  return pilots == Pilots::kDvbS2 && n >= kHeaderSymbols &&
         (n - kHeaderSymbols) % (kDataSymbols + kPilotSymbols) >= kDataSymbols;
}

Iq ToIq(Complex z) { return {static_cast<float>(z.real()), static_cast<float>(z.imag())}; }

// Symbol n of the frame, drawn from `random`.
Iq Draw(const FrameSpec& spec, int n, Random& random) {
  if (IsHeader(spec.pilots, n)) {
    return ToIq(std::polar(1.0, (n % 2 == 0 ? 0.25 : 0.75) * kPi + kPi * random.Below(2)));
  }
  if (IsPilot(spec.pilots, n)) {
    return ToIq(std::polar(1.0, (0.25 + 0.5 * random.Below(4)) * kPi));
  }
  const int label = random.Below(spec.constellation->size());
  return spec.constellation->points()[static_cast<size_t>(label)];
}

// IEEE 754 binary16 of `value`: to nearest, ties to even; infinity beyond 65520.
uint16_t ToHalf(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) {
    return sign | 0x7e00;
  }
  if (magnitude >= 65520.0) {
    return sign | 0x7c00;
  }
  // The step between neighbours: 2^-24 for subnormal numbers, else 2^(exponent - 10).
  const int exponent = magnitude < std::ldexp(1.0, -14) ? -14 : std::ilogb(magnitude);
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  // Rounding up to a power of two carries into the exponent by itself.
  const int bits = magnitude < std::ldexp(1.0, -14) ? steps : ((exponent + 14) * 1024 + steps);
  return static_cast<uint16_t>(sign | bits);
}

int16_t ToInt16(double value) {
  return static_cast<int16_t>(std::clamp(std::nearbyint(value), -32768.0, 32767.0));
}

template <typename T>
void Append(T value, std::vector<uint8_t>* bytes) {
  uint8_t raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));  // little endian, as all machines that this runs on
  bytes->insert(bytes->end(), raw, raw + sizeof(T));
}

void AppendSample(double value, SampleFormat format, std::vector<uint8_t>* bytes) {
  switch (format) {
    case SampleFormat::kFloat32:
      return Append(static_cast<float>(value), bytes);
    case SampleFormat::kFloat16:
      return Append(ToHalf(value), bytes);
    case SampleFormat::kInt16:
      return Append(ToInt16(value), bytes);
  }
}

}  // namespace

CarrierFrame MakeFrame(const FrameSpec& spec) {
  CarrierFrame frame;
  Random symbols(spec.seed);
  Random noise(~spec.seed);
  const double deviation =  // of I and of Q
      spec.snr_db == kNoNoise ? 0.0
                              : spec.gain * std::sqrt(0.5 * std::pow(10.0, -spec.snr_db / 10.0));
  for (int n = 0; n < spec.num_symbols; ++n) {
    const Iq sent = Draw(spec, n, symbols);
    const double turns = spec.frequency * n - std::floor(spec.frequency * n);
    const double noise_i = deviation * noise.Normal();
    const double noise_q = deviation * noise.Normal();
    frame.symbols.push_back(
        ToIq(Complex(sent.i, sent.q) * std::polar(spec.gain, 2.0 * kPi * turns + spec.phase) +
             Complex(noise_i, noise_q)));
    frame.sent.push_back(sent);
    if (spec.pilots != Pilots::kNone) {
      const bool known =
          spec.pilots == Pilots::kAll || IsHeader(spec.pilots, n) || IsPilot(spec.pilots, n);
      frame.known.push_back(known ? sent : Iq{});
    }
  }
  return frame;
}

FrameSpec WithRandomOffset(FrameSpec spec, double max_frequency) {
  Random random(spec.seed * 0x9e3779b97f4a7c15 + 1);
  spec.frequency = (2.0 * random.Uniform() - 1.0) * max_frequency;
  spec.phase = (2.0 * random.Uniform() - 1.0) * kPi;
  return spec;
}

std::vector<uint8_t> ToSamples(absl::Span<const Iq> symbols, SampleFormat format, double scale) {
  std::vector<uint8_t> bytes;
  bytes.reserve(symbols.size() * static_cast<size_t>(carrier::BytesPerSymbol(format)));
  for (const Iq& symbol : symbols) {
    AppendSample(symbol.i / scale, format, &bytes);
    AppendSample(symbol.q / scale, format, &bytes);
  }
  return bytes;
}

double WrappedDifference(double a, double b, double period) {
  const double turns = (a - b) / period;
  return period * (turns - std::floor(turns + 0.5));
}

}  // namespace baseband::testing
