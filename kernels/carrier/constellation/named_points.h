// The constellations of the standards: names, points and labels.
#ifndef BASEBAND_KERNELS_CARRIER_CONSTELLATION_NAMED_POINTS_H_
#define BASEBAND_KERNELS_CARRIER_CONSTELLATION_NAMED_POINTS_H_

#include <complex>
#include <string>
#include <vector>

namespace baseband::carrier {

struct NamedPoints {
  std::string name;
  // The index is the label. In the scale of its source, the mean energy need not be one.
  std::vector<std::complex<double>> points;
  double operating_snr_db = 0.0;  // Es/N0
};

// How many there are, and the one at `index` in the order of ConstellationNames().
int NumNamedPoints();
std::string NameAt(int index);
NamedPoints NamedPointsAt(int index);

}  // namespace baseband::carrier

#endif  // BASEBAND_KERNELS_CARRIER_CONSTELLATION_NAMED_POINTS_H_
