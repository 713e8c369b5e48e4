#include "kernels/carrier/reference/reference_recover.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace baseband::carrier {
namespace {

constexpr double kPi = 3.14159265358979323846;

double WrappedTurns(double turns) { return turns - std::floor(turns); }

// A symbol with its modulation taken off, as model.h says of each Amplitude.
Complex Line(const Constellation& constellation, Complex z, const SweepOptions& options) {
  const double rho = std::abs(z);
  const Complex unit = rho == 0.0 ? Complex() : std::polar(1.0, std::arg(z) * options.power);
  switch (options.amplitude) {
    case Amplitude::kPlain:
      return std::pow(rho, options.power) * unit;
    case Amplitude::kWeighted:
      return ReferenceWeight(constellation, options.power, options.snr, rho) * unit;
    case Amplitude::kUnit:
      break;
  }
  return unit;
}

// The line of the points themselves: its phase is the constellation's own. Weights take it off.
Complex OwnLine(const Constellation& constellation, const SweepOptions& options) {
  if (options.amplitude == Amplitude::kWeighted) {
    return 1.0;
  }
  Complex sum;
  for (const Complex& point : ToComplex(constellation.points())) {
    sum += Line(constellation, point, options);
  }
  return sum;
}

// Sum of x_n exp(-j 2 pi f n).
Complex LineAt(absl::Span<const Complex> x, double frequency) {
  Complex sum;
  for (size_t n = 0; n < x.size(); ++n) {
    sum += x[n] * std::polar(1.0, -2.0 * kPi * WrappedTurns(frequency * static_cast<double>(n)));
  }
  return sum;
}

bool IsKnown(absl::Span<const Complex> known, size_t n) {
  return !known.empty() && known[n] != Complex();
}

SymbolFacts FactsAt(const Constellation& constellation, absl::Span<const Complex> known, size_t n,
                    Complex z, double snr) {
  return IsKnown(known, n) ? ReferenceKnownSymbol(known[n], z, snr)
                           : ReferenceSymbol(constellation, z, snr);
}

// Frequency of the strongest bin of the symbols' power.
double CoarseFrequency(absl::Span<const Complex> x, const SweepOptions& options) {
  const int size = ReferenceFftSize(static_cast<int>(x.size()));
  const std::vector<Complex> spectrum = ReferenceFft(x, size);
  double best = 0.0;
  double greatest = -1.0;
  // From the centre out, so that the lowest |f| comes first.
  for (int k = 0; k <= size / 2; ++k) {
    for (const int bin : {k, -k}) {
      const double frequency = static_cast<double>(bin) / size / options.power;
      const double power = std::norm(spectrum[static_cast<size_t>((bin + size) % size)]);
      if (std::fabs(frequency) <= options.max_frequency && power > greatest) {
        greatest = power;
        best = frequency;
      }
    }
  }
  return best;
}

}  // namespace

std::vector<Complex> ReferenceFft(absl::Span<const Complex> x, int size) {
  std::vector<Complex> padded(x.begin(), x.end());
  padded.resize(static_cast<size_t>(size));
  if (size == 1) {
    return padded;
  }
  std::vector<Complex> even;
  std::vector<Complex> odd;
  for (size_t n = 0; n < padded.size(); n += 2) {
    even.push_back(padded[n]);
    odd.push_back(padded[n + 1]);
  }
  const int half = size / 2;
  even = ReferenceFft(even, half);
  odd = ReferenceFft(odd, half);
  for (int k = 0; k < half; ++k) {
    const auto index = static_cast<size_t>(k);
    const Complex turned = odd[index] * std::polar(1.0, -2.0 * kPi * k / size);
    padded[index] = even[index] + turned;
    padded[index + static_cast<size_t>(half)] = even[index] - turned;
  }
  return padded;
}

int ReferenceFftSize(int num_symbols) {
  int size = 64;
  while (size < num_symbols) {
    size *= 2;
  }
  return size;
}

SweepResult ReferenceSweep(const Constellation& constellation, absl::Span<const Complex> received,
                           const SweepOptions& options) {
  std::vector<Complex> raised;
  for (const Complex& r : received) {
    raised.push_back(Line(constellation, r / options.gain, options));
  }
  const Complex own = OwnLine(constellation, options);
  SweepResult result;
  result.coarse_frequency = CoarseFrequency(raised, options);

  const auto candidate = [&](double frequency, int branch) {
    const Complex line = LineAt(raised, frequency * options.power);
    const double phase = (std::arg(line * std::conj(own)) + 2.0 * kPi * branch) / options.power;
    return Carrier{frequency, phase, options.gain};
  };
  const auto evm = [&](const Carrier& carrier) {
    return ReferenceEvmSum(constellation, ReferenceCorrected(received, carrier)) /
           static_cast<double>(received.size());
  };
  int best_branch = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int branch = 0; branch < options.power / constellation.symmetry(); ++branch) {
    const double metric = evm(candidate(result.coarse_frequency, branch));
    if (metric < least) {
      least = metric;
      best_branch = branch;
    }
  }
  const int reach = static_cast<int>(std::floor(options.range / options.step)) + options.guard_bins;
  least = std::numeric_limits<double>::infinity();
  for (int k = -reach; k <= reach; ++k) {
    const Carrier carrier = candidate(result.coarse_frequency + k * options.step, best_branch);
    result.evm.push_back(evm(carrier));
    if (result.evm.back() < least) {
      least = result.evm.back();
      result.carrier = carrier;
    }
  }
  return result;
}

PllResult ReferencePll(const Constellation& constellation, absl::Span<const Complex> received,
                       const PllOptions& options) {
  const double t = options.bandwidth / (options.damping + 0.25 / options.damping);
  const double divisor = 1.0 + 2.0 * options.damping * t + t * t;
  const double proportional = 4.0 * options.damping * t / divisor;
  const double integral = 4.0 * t * t / divisor;
  double integrator = 2.0 * kPi * options.start.frequency;
  double angle = options.start.phase;
  double sum = 0.0;
  PllResult result;
  for (size_t n = 0; n < received.size(); ++n) {
    const Complex z = received[n] * std::polar(1.0 / options.start.gain, -angle);
    const Complex decision = ReferenceDecision(constellation, z);
    const double energy = std::norm(decision);
    const double error = energy > 0.0 ? std::imag(z * std::conj(decision)) / energy : 0.0;
    integrator += integral * error;
    angle += integrator + proportional * error;
    if (n >= received.size() / 2) {
      sum += integrator;
    }
    result.corrected.push_back(z);
  }
  const size_t averaged = received.size() - received.size() / 2;
  result.frequency = sum / static_cast<double>(averaged) / (2.0 * kPi);
  return result;
}

double ReferenceFit(const Constellation& constellation, absl::Span<const Complex> received,
                    absl::Span<const Complex> known, const Carrier& carrier, double snr) {
  const std::vector<Complex> z = ReferenceCorrected(received, carrier);
  double fit = 0.0;
  for (size_t n = 0; n < z.size(); ++n) {
    fit += FactsAt(constellation, known, n, z[n], snr).fit;
  }
  return fit;
}

Carrier ReferenceMaximumLikelihood(const Constellation& constellation,
                                   absl::Span<const Complex> received,
                                   absl::Span<const Complex> known, const Carrier& start,
                                   double snr, double frequency_reach) {
  // Frequency and phase at the frame's centre are nearly independent: they are searched there.
  const auto size = static_cast<double>(received.size());
  const double centre = (size - 1.0) / 2.0;
  const auto at_centre = [&](double frequency, double phase) {
    return Carrier{frequency, phase - 2.0 * kPi * WrappedTurns(frequency * centre), start.gain};
  };
  constexpr int kPhases = 128;
  const double frequency_step = 1.0 / (8.0 * size);
  const int reach = static_cast<int>(std::ceil(frequency_reach / frequency_step));
  double best_frequency = 0.0;
  double best_phase = 0.0;
  double greatest = -std::numeric_limits<double>::infinity();
  for (int k = -reach; k <= reach; ++k) {
    for (int m = 0; m < kPhases; ++m) {
      const double frequency = start.frequency + k * frequency_step;
      const double phase = 2.0 * kPi * m / kPhases;
      const double fit =
          ReferenceFit(constellation, received, known, at_centre(frequency, phase), snr);
      if (fit > greatest) {
        greatest = fit;
        best_frequency = frequency;
        best_phase = phase;
      }
    }
  }
  // Fisher scoring: d/d(phase, frequency) over its mean square, w n's share of the frequency.
  const double blind = ReferenceInformation(constellation, snr);
  for (int iteration = 0; iteration < 50; ++iteration) {
    const std::vector<Complex> z =
        ReferenceCorrected(received, at_centre(best_frequency, best_phase));
    double score_phase = 0.0;
    double score_frequency = 0.0;
    double phase = 0.0;  // Fisher's matrix
    double mixed = 0.0;
    double frequency = 0.0;
    for (size_t n = 0; n < z.size(); ++n) {
      const double w = 2.0 * kPi * (static_cast<double>(n) - centre);
      const double score = ReferenceScore(FactsAt(constellation, known, n, z[n], snr), z[n], snr);
      const double information = IsKnown(known, n) ? 2.0 * snr * std::norm(known[n]) : blind;
      score_phase += score;
      score_frequency += score * w;
      phase += information;
      mixed += information * w;
      frequency += information * w * w;
    }
    const double determinant = phase * frequency - mixed * mixed;
    const double phase_step = (frequency * score_phase - mixed * score_frequency) / determinant;
    const double frequency_newton = (phase * score_frequency - mixed * score_phase) / determinant;
    best_phase += phase_step;
    best_frequency += frequency_newton;
    if (std::fabs(phase_step) < 1e-12 && std::fabs(frequency_newton) * size < 1e-12) {
      break;
    }
  }
  return at_centre(best_frequency, best_phase);
}

}  // namespace baseband::carrier
