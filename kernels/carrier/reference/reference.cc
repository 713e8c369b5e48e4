#include "kernels/carrier/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace baseband::carrier {
namespace {

constexpr double kPi = 3.14159265358979323846;

Complex PointAt(const Constellation& constellation, int label) {
  const Iq& point = constellation.points()[static_cast<size_t>(label)];
  return {point.i, point.q};
}

// ln of the sum of exp(terms).
double LogSumExp(const std::vector<double>& terms) {
  const double greatest = *std::max_element(terms.begin(), terms.end());
  double sum = 0.0;
  for (const double term : terms) {
    sum += std::exp(term - greatest);
  }
  return greatest + std::log(sum);
}

}  // namespace

std::vector<Complex> ToComplex(absl::Span<const Iq> symbols) {
  std::vector<Complex> out;
  for (const Iq& symbol : symbols) {
    out.emplace_back(symbol.i, symbol.q);
  }
  return out;
}

std::vector<Complex> ReferenceCorrected(absl::Span<const Complex> received,
                                        const Carrier& carrier) {
  std::vector<Complex> corrected;
  for (size_t n = 0; n < received.size(); ++n) {
    const double turns = carrier.frequency * static_cast<double>(n);
    const double angle = 2.0 * kPi * (turns - std::floor(turns)) + carrier.phase;
    corrected.push_back(received[n] * std::polar(1.0 / carrier.gain, -angle));
  }
  return corrected;
}

int ReferenceNearest(const Constellation& constellation, Complex z) {
  int nearest = 0;
  for (int label = 1; label < constellation.size(); ++label) {
    if (std::abs(z - PointAt(constellation, label)) <
        std::abs(z - PointAt(constellation, nearest))) {
      nearest = label;
    }
  }
  return nearest;
}

Complex ReferenceDecision(const Constellation& constellation, Complex z) {
  return PointAt(constellation, ReferenceNearest(constellation, z));
}

double ReferenceEvmSum(const Constellation& constellation, absl::Span<const Complex> corrected) {
  double sum = 0.0;
  for (const Complex& z : corrected) {
    const Complex decision = ReferenceDecision(constellation, z);
    if (std::abs(decision) > 0.0) {
      sum += std::abs(z - decision) / std::abs(decision);
    }
  }
  return sum;
}

double ReferenceEvmRms(const Constellation& constellation, absl::Span<const Complex> corrected) {
  double sum = 0.0;
  for (const Complex& z : corrected) {
    sum += std::norm(z - ReferenceDecision(constellation, z));
  }
  return std::sqrt(sum / static_cast<double>(corrected.size()));
}

double LogBesselI0(double x) {
  double sum = 1.0;
  double term = 1.0;
  if (x < 40.0) {  // sum of ((x/2)^k / k!)^2
    for (int k = 1; term > sum * 1e-17; ++k) {
      term *= x * x / (4.0 * k * k);
      sum += term;
    }
    return std::log(sum);
  }
  for (int k = 1; k < 12; ++k) {  // exp(x) / sqrt(2 pi x) times the asymptotic series
    term *= (2.0 * k - 1.0) * (2.0 * k - 1.0) / (8.0 * k * x);
    sum += term;
  }
  return x - 0.5 * std::log(2.0 * kPi * x) + std::log(sum);
}

SymbolFacts ReferenceSymbol(const Constellation& constellation, Complex z, double snr) {
  std::vector<double> as_received;  // ln of each point's part in p(z)
  std::vector<double> turned;       // and in its mean over a full turn
  for (int label = 0; label < constellation.size(); ++label) {
    const Complex point = PointAt(constellation, label);
    as_received.push_back(-std::norm(z - point) * snr);
    turned.push_back(-(std::norm(z) + std::norm(point)) * snr +
                     LogBesselI0(2.0 * std::abs(z) * std::abs(point) * snr));
  }
  const double log_sum = LogSumExp(as_received);
  SymbolFacts facts;
  for (int label = 0; label < constellation.size(); ++label) {
    const Complex point = PointAt(constellation, label);
    const double probability = std::exp(as_received[static_cast<size_t>(label)] - log_sum);
    facts.soft += probability * point;
    facts.energy += probability * std::norm(point);
  }
  facts.log_density = log_sum + std::log(snr / (kPi * constellation.size()));
  facts.fit = log_sum - LogSumExp(turned);
  return facts;
}

SymbolFacts ReferenceKnownSymbol(Complex sent, Complex z, double snr) {
  SymbolFacts facts;
  facts.soft = sent;
  facts.energy = std::norm(sent);
  facts.log_density = -std::norm(z - sent) * snr + std::log(snr / kPi);
  facts.fit = 2.0 * std::real(z * std::conj(sent)) * snr -
              LogBesselI0(2.0 * std::abs(z) * std::abs(sent) * snr);
  return facts;
}

double ReferenceScore(const SymbolFacts& facts, Complex z, double snr) {
  return 2.0 * snr * std::imag(z * std::conj(facts.soft));
}

double ReferenceInformation(const Constellation& constellation, double snr) {
  const double deviation = std::sqrt(0.5 / snr);  // of I and of Q
  double radius = 0.0;
  for (const Iq& point : constellation.points()) {
    radius = std::max(radius, static_cast<double>(std::hypot(point.i, point.q)));
  }
  // The integrand is smooth and vanishes outside: equal steps are as good as any rule.
  const double step = deviation / 4.0;
  const int reach = static_cast<int>(std::ceil((radius + 7.0 * deviation) / step));
  double information = 0.0;
  for (int row = -reach; row <= reach; ++row) {
    for (int column = -reach; column <= reach; ++column) {
      const Complex z(column * step, row * step);
      double density = 0.0;
      Complex soft;
      for (int label = 0; label < constellation.size(); ++label) {
        const Complex point = PointAt(constellation, label);
        const double part = std::exp(-std::norm(z - point) * snr);
        density += part;
        soft += part * point;
      }
      if (density > 0.0) {
        const double score = 2.0 * snr * std::imag(z * std::conj(soft)) / density;
        information += score * score * density;
      }
    }
  }
  return information * step * step * snr / (kPi * constellation.size());
}

Complex ReferenceWeight(const Constellation& constellation, int power, double snr, double rho) {
  constexpr int kPlaces = 4096;
  std::vector<double> log_density;
  for (int m = 0; m < kPlaces; ++m) {
    std::vector<double> parts;
    for (int label = 0; label < constellation.size(); ++label) {
      const Complex z = std::polar(rho, 2.0 * kPi * m / kPlaces);
      parts.push_back(-std::norm(z - PointAt(constellation, label)) * snr);
    }
    log_density.push_back(LogSumExp(parts));
  }
  const double greatest = *std::max_element(log_density.begin(), log_density.end());
  double sum = 0.0;
  Complex line;
  for (int m = 0; m < kPlaces; ++m) {
    const double density = std::exp(log_density[static_cast<size_t>(m)] - greatest);
    sum += density;
    line += density * std::polar(1.0, 2.0 * kPi * m / kPlaces * power);
  }
  return std::conj(line / sum);
}

Bounds ReferenceBounds(absl::Span<const double> information, double position) {
  // Fisher's matrix of (phase at `position`, frequency): a symbol's phase is phase + w frequency.
  double phase = 0.0;
  double mixed = 0.0;
  double frequency = 0.0;
  for (size_t n = 0; n < information.size(); ++n) {
    const double w = 2.0 * kPi * (static_cast<double>(n) - position);
    phase += information[n];
    mixed += information[n] * w;
    frequency += information[n] * w * w;
  }
  const double determinant = phase * frequency - mixed * mixed;
  return {std::sqrt(phase / determinant), std::sqrt(frequency / determinant)};
}

}  // namespace baseband::carrier
