#include "client/ctl/carrier/carrier_signal.h"

#include <cmath>

#include "client/ctl/common/angles.h"

namespace baseband::ctl {

// By Marsaglia's polar method.
Complex Normal(Random* random) {
  for (;;) {
    const uint64_t word = random->Next();
    const auto uniform = [](uint32_t bits) {  // in (-1, 1)
      return (static_cast<double>(bits) + 0.5) * 0x1p-31 - 1;
    };
    const double x = uniform(static_cast<uint32_t>(word >> 32));
    const double y = uniform(static_cast<uint32_t>(word));
    const double square = x * x + y * y;
    if (square < 1) {
      const double scale = std::sqrt(-2 * std::log(square) / square);
      return Complex(static_cast<float>(x * scale), static_cast<float>(y * scale));
    }
  }
}

double Uniform(Random* random) { return static_cast<double>(random->Next() >> 11) * 0x1p-53; }

double Uniform(Random* random, double low, double high) {
  return low + (high - low) * Uniform(random);
}

std::vector<Complex> RandomPilots(int64_t count, Random* random) {
  std::vector<Complex> pilots;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t word = random->Next();
    pilots.emplace_back((word & 1) != 0 ? -std::sqrt(0.5F) : std::sqrt(0.5F),
                        (word & 2) != 0 ? -std::sqrt(0.5F) : std::sqrt(0.5F));
  }
  return pilots;
}

double WrapPhase(double phase, int ambiguity) {
  const double turn = kTwoPi / ambiguity;
  return phase - turn * std::floor(phase / turn + 0.5);
}

void AppendFrame(const SignalSpec& spec, absl::Span<const uint32_t> known_positions,
                 absl::Span<const Complex> known, Random* random, std::vector<Complex>* sent,
                 std::vector<Complex>* received) {
  // Of I and of Q.
  const float deviation = static_cast<float>(std::sqrt(0.5 * std::pow(10, -spec.snr_db / 10)));
  size_t next_known = 0;
  received->reserve(received->size() + spec.num_symbols);
  for (int n = 0; n < spec.num_symbols; ++n) {
    // Drawn even where it is not used: layouts do not change the rest of the sequence.
    Complex symbol = spec.points[(random->Next() >> 32) * spec.points.size() >> 32];
    if (next_known < known_positions.size() &&
        known_positions[next_known] == static_cast<uint32_t>(n)) {
      symbol = known[next_known++];
    }
    if (sent != nullptr) {
      sent->push_back(symbol);
    }
    const double turns = spec.frequency * n;
    const double angle = spec.phase + kTwoPi * (turns - std::floor(turns));
    const Complex carrier(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)));
    received->push_back(symbol * carrier + deviation * Normal(random));
  }
}

}  // namespace baseband::ctl
