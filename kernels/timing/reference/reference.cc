#include "kernels/timing/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "kernels/timing/math/pulse_math.h"

namespace baseband::timing {
namespace {

double Likelihood(const PulseShape& shape, absl::Span<const carrier::Iq> samples,
                  absl::Span<const carrier::Iq> sent, int taper, const SymbolClock& clock) {
  const std::vector<Complex> symbols =
      ReferenceSymbols(shape, samples, clock, static_cast<int>(sent.size()));
  Complex sum = 0.0;
  for (size_t k = 0; k < sent.size(); ++k) {
    const double turns = clock.frequency * (1.0 + clock.clock_error) * static_cast<double>(k);
    const auto from_end = static_cast<double>(std::min(k, sent.size() - 1 - k));
    const double weight = std::min((from_end + 0.5) / taper, 1.0);
    sum += weight * std::conj(Complex(sent[k].i, sent[k].q)) * symbols[k] *
           std::polar(1.0, -2.0 * kPi * turns);
  }
  return std::abs(sum);
}

}  // namespace

ReferencePulse::ReferencePulse(const PulseShape& shape) : shape_(shape) {
  if (shape.taps == nullptr) return;
  const std::vector<float>& taps = shape.taps->values;
  double energy = 0.0;
  for (size_t n = 0; n < taps.size(); ++n) {
    for (size_t m = 0; m < taps.size(); ++m) {
      const double apart =
          (static_cast<double>(n) - static_cast<double>(m)) / shape.taps->per_symbol;
      energy += double{taps[n]} * double{taps[m]} * 0.5 * Sinc(2.0 * apart);
    }
  }
  scale_ = 1.0 / std::sqrt(energy);
}

double ReferencePulse::At(double t) const {
  if (shape_.taps == nullptr) return RootRaisedCosine(shape_.rolloff, t);
  const std::vector<float>& taps = shape_.taps->values;
  const double middle = 0.5 * static_cast<double>(taps.size() - 1);
  double sum = 0.0;
  for (size_t n = 0; n < taps.size(); ++n) {
    sum += double{taps[n]} *
           Sinc(2.0 * (t - (static_cast<double>(n) - middle) / shape_.taps->per_symbol));
  }
  return scale_ * sum;
}

std::vector<Complex> ReferenceSymbols(const PulseShape& shape,
                                      absl::Span<const carrier::Iq> samples,
                                      const SymbolClock& clock, int num_symbols) {
  const double spacing = 1.0 / shape.samples_per_symbol();
  const ReferencePulse pulse(shape);
  std::vector<Complex> turned;
  for (size_t m = 0; m < samples.size(); ++m) {
    const double turns = clock.frequency * spacing * static_cast<double>(m);
    turned.push_back(Complex(samples[m].i, samples[m].q) * std::polar(1.0, -2.0 * kPi * turns));
  }
  std::vector<Complex> symbols;
  for (int k = 0; k < num_symbols; ++k) {
    const double t = clock.offset + k * (1.0 + clock.clock_error);
    Complex sum = 0.0;
    for (size_t m = 0; m < samples.size(); ++m) {
      sum += turned[m] * pulse.At(static_cast<double>(m) * spacing - t);
    }
    symbols.push_back(sum * spacing * std::polar(1.0, 2.0 * kPi * clock.frequency * t));
  }
  return symbols;
}

SymbolClock ReferenceClock(const PulseShape& shape, absl::Span<const carrier::Iq> samples,
                           absl::Span<const carrier::Iq> sent, int taper, const SymbolClock& start,
                           double step) {
  const auto n = static_cast<double>(sent.size());
  SymbolClock best = start;
  double greatest = Likelihood(shape, samples, sent, taper, best);
  for (double size = step; size > step / 100.0;) {
    bool moved = false;
    for (const auto& [middle, slope] :
         {std::pair{1.0, 0.0}, {-1.0, 0.0}, {0.0, 1.0}, {0.0, -1.0}}) {
      SymbolClock next = best;
      next.clock_error += slope * size / n;
      next.offset += middle * size - 0.5 * slope * size;
      const double here = Likelihood(shape, samples, sent, taper, next);
      if (here <= greatest) continue;
      greatest = here;
      best = next;
      moved = true;
    }
    if (!moved) size *= 0.5;
  }
  return best;
}

double ReferenceVariance(const carrier::Constellation& constellation, double snr_db, int draws) {
  std::mt19937_64 random(1);
  const double noise = std::pow(10.0, -0.1 * snr_db);
  std::normal_distribution<double> normal(0.0, std::sqrt(0.5 * noise));
  const auto points = constellation.points();
  double variance = 0.0;
  for (int draw = 0; draw < draws; ++draw) {
    const carrier::Iq& sent = points[random() % points.size()];
    const Complex s(sent.i, sent.q);
    const Complex y = s + Complex(normal(random), normal(random));
    double weights = 0.0;
    Complex mean = 0.0;
    for (const carrier::Iq& point : points) {
      const Complex p(point.i, point.q);
      const double weight = std::exp((std::norm(y - s) - std::norm(y - p)) / noise);
      weights += weight;
      mean += weight * p;
    }
    variance += std::norm(s - mean / weights);
  }
  return variance / draws;
}

double ReferenceBlindShare(const carrier::Constellation& constellation, double snr_db,
                           double neighbour_share, int draws) {
  const double variance = ReferenceVariance(constellation, snr_db, draws);
  return 1.0 - variance - variance * neighbour_share * std::pow(10.0, 0.1 * snr_db);
}

}  // namespace baseband::timing
