#include "kernels/minimize/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

namespace baseband::minimize {
namespace {

using Complex = std::complex<long double>;

// x of a x = b, by elimination with the largest pivots.
std::vector<Complex> Solve(std::vector<std::vector<Complex>> a, std::vector<Complex> b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t j = i; j < n; ++j) {
      if (std::abs(a[j][i]) > std::abs(a[pivot][i])) pivot = j;
    }
    std::swap(a[i], a[pivot]);
    std::swap(b[i], b[pivot]);
    for (size_t j = i + 1; j < n; ++j) {
      const Complex factor = a[j][i] / a[i][i];
      for (size_t k = i; k < n; ++k) a[j][k] -= factor * a[i][k];
      b[j] -= factor * b[i];
    }
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

constexpr long double kTurn = 2.0L * 3.14159265358979323846264338327950288L;

Complex Phasor(long double turns) {
  const long double rest = kTurn * (turns - std::nearbyint(turns));
  return {std::cos(rest), std::sin(rest)};
}

// Seconds from the middle.
long double Time(size_t n, size_t size, long double interval) {
  return (static_cast<long double>(n) - 0.5L * static_cast<long double>(size - 1)) * interval;
}

// |signal - a model|^2 at the best a.
long double Rest(const std::vector<std::complex<double>>& signal,
                 const std::vector<Complex>& model) {
  long double energy = 0.0L;
  long double of_model = 0.0L;
  Complex product = 0.0L;
  for (size_t n = 0; n < signal.size(); ++n) {
    const Complex y = signal[n];
    energy += std::norm(y);
    of_model += std::norm(model[n]);
    product += std::conj(model[n]) * y;
  }
  return energy - std::norm(product) / of_model;
}

}  // namespace

long double ReferenceChirp(const std::vector<std::complex<double>>& signal,
                           double sampling_interval_s, absl::Span<const double> coordinates) {
  const size_t last = coordinates.size() - 1;
  std::vector<Complex> model;
  for (size_t n = 0; n < signal.size(); ++n) {
    const long double t = Time(n, signal.size(), sampling_interval_s);
    long double turns = coordinates[last] * t + coordinates[last - 1] * t * t / 2.0L;
    if (last == 2) turns += coordinates[0] * t * t * t / 6.0L;
    model.push_back(Phasor(turns));
  }
  return Rest(signal, model);
}

std::vector<long double> ReferenceDelayDoppler(const std::vector<std::complex<double>>& signal,
                                               const std::vector<std::complex<double>>& replica,
                                               double sampling_interval_s, double delay_s,
                                               absl::Span<const double> frequencies) {
  const size_t size = signal.size();
  const auto samples = static_cast<long double>(size);
  const long double delay = static_cast<long double>(delay_s) / sampling_interval_s;
  std::vector<Complex> delayed(size);
  for (size_t i = 0; i < size; ++i) {
    const auto k = static_cast<long double>(i) - (2 * i < size ? 0.0L : samples);  // -N/2 ..
    Complex bin = 0.0L;
    for (size_t n = 0; n < size; ++n) {
      bin += Complex(replica[n]) * Phasor(-static_cast<long double>(i * n % size) / samples);
    }
    bin *= Phasor(-k * delay / samples) / samples;
    for (size_t n = 0; n < size; ++n) {
      delayed[n] += bin * Phasor(static_cast<long double>(i * n % size) / samples);
    }
  }
  std::vector<long double> values;
  for (const double frequency : frequencies) {
    std::vector<Complex> model(size);
    for (size_t n = 0; n < size; ++n) {
      model[n] = delayed[n] * Phasor(frequency * Time(n, size, sampling_interval_s));
    }
    values.push_back(Rest(signal, model));
  }
  return values;
}

long double ReferenceSinusoids(const Observation& observation,
                               absl::Span<const double> frequencies) {
  const size_t size = observation.signal.size();
  std::vector<std::vector<Complex>> columns;
  for (const auto& column : observation.columns) columns.emplace_back(column.begin(), column.end());
  for (const double frequency : frequencies) {
    std::vector<Complex> cosine(size);
    std::vector<Complex> sine(size);
    std::vector<Complex> both(size);
    for (size_t n = 0; n < size; ++n) {
      const long double phase = kTurn * static_cast<long double>(frequency) *
                                static_cast<long double>(observation.sampling_interval_s) *
                                static_cast<long double>(n);
      cosine[n] = std::cos(phase);
      sine[n] = std::sin(phase);
      both[n] = {std::cos(phase), std::sin(phase)};
    }
    if (observation.is_complex) {
      columns.push_back(both);
    } else {
      columns.push_back(cosine);
      columns.push_back(sine);
    }
  }
  std::vector<std::vector<Complex>> gram(columns.size(), std::vector<Complex>(columns.size()));
  std::vector<Complex> r(columns.size());
  Complex energy = 0;
  for (size_t n = 0; n < size; ++n) {
    const Complex y = observation.signal[n];
    energy += std::conj(y) * y;
    for (size_t i = 0; i < columns.size(); ++i) {
      r[i] += std::conj(columns[i][n]) * y;
      for (size_t j = 0; j < columns.size(); ++j) {
        gram[i][j] += std::conj(columns[i][n]) * columns[j][n];
      }
    }
  }
  const std::vector<Complex> amplitudes = Solve(gram, r);
  Complex explained = 0;
  for (size_t i = 0; i < columns.size(); ++i) explained += std::conj(r[i]) * amplitudes[i];
  return (energy - explained).real();
}

}  // namespace baseband::minimize
