#include "client/ctl/studies/carrier_bounds.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "client/ctl/common/angles.h"

namespace baseband::ctl {
namespace {

// exp(-(x - x_k)^2 / s2) along one axis: [node][point], and where a point still counts.
struct AxisTable {
  double low = 0;
  double step = 0;
  int nodes = 0;
  std::vector<double> values;

  AxisTable(absl::Span<const double> coordinates, double s2) {
    const double deviation = std::sqrt(s2 / 2);
    const auto ends = std::minmax_element(coordinates.begin(), coordinates.end());
    // A trapezoid sum over Gaussians converges beyond all powers of the step.
    step = deviation / 4;
    low = *ends.first - 6.5 * deviation;
    nodes = static_cast<int>((*ends.second - *ends.first + 13 * deviation) / step) + 2;
    values.reserve(nodes * coordinates.size());
    for (int node = 0; node < nodes; ++node) {
      for (const double coordinate : coordinates) {
        const double distance = low + node * step - coordinate;
        values.push_back(std::exp(-distance * distance / s2));
      }
    }
  }
};

}  // namespace

double KnownInformation(double snr) { return 2 * snr; }

double BlindInformation(absl::Span<const Complex> points, double snr) {
  const double s2 = 1 / snr;
  std::vector<double> in_phase;
  std::vector<double> quadrature;
  for (const Complex& point : points) {
    in_phase.push_back(point.real());
    quadrature.push_back(point.imag());
  }
  const AxisTable x(in_phase, s2);
  const AxisTable y(quadrature, s2);
  const size_t count = points.size();
  double sum = 0;
  for (int row = 0; row < y.nodes; ++row) {
    const double* of_row = &y.values[row * count];
    // Points far from this row are nothing to it.
    std::vector<int> near;
    for (size_t k = 0; k < count; ++k) {
      if (of_row[k] > 1e-25) {
        near.push_back(static_cast<int>(k));
      }
    }
    const double q = y.low + row * y.step;
    for (int column = 0; column < x.nodes; ++column) {
      const double* of_column = &x.values[column * count];
      double density = 0;
      double soft_i = 0;
      double soft_q = 0;
      for (const int k : near) {
        const double weight = of_row[k] * of_column[k];
        density += weight;
        soft_i += weight * in_phase[k];
        soft_q += weight * quadrature[k];
      }
      if (density > 1e-25) {
        // (2 / s2) Im(z conj(soft)), times the density.
        const double i = x.low + column * x.step;
        const double score = 2 / s2 * (q * soft_i - i * soft_q);
        sum += score * score / density;
      }
    }
  }
  return sum * x.step * y.step / (kPi * s2 * static_cast<double>(count));
}

double PhaseBound(double information, int64_t num_symbols) {
  return 1 / std::sqrt(information * static_cast<double>(num_symbols));
}

double FrequencyBound(double information, int64_t num_symbols) {
  const double n = static_cast<double>(num_symbols);
  return std::sqrt(12 / (information * n * (n * n - 1))) / (2 * kPi);
}

double FrequencyBound(double information, absl::Span<const uint32_t> positions) {
  double mean = 0;
  for (const uint32_t position : positions) {
    mean += position;
  }
  mean /= static_cast<double>(positions.size());
  double moment = 0;
  for (const uint32_t position : positions) {
    moment += (position - mean) * (position - mean);
  }
  return 1 / (2 * kPi * std::sqrt(information * moment));
}

}  // namespace baseband::ctl
