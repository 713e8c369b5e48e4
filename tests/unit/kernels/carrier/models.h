// Models as the tests of recovery take them: weighted amplitudes, the power that is best if none is
// named.
#ifndef BASEBAND_TESTS_UNIT_KERNELS_CARRIER_MODELS_H_
#define BASEBAND_TESTS_UNIT_KERNELS_CARRIER_MODELS_H_

#include <cmath>
#include <complex>
#include <string>
#include <utility>

#include "kernels/carrier/model.h"
#include "tests/support/channel.h"

namespace baseband::carrier {

inline ModelPtr ModelOf(ConstellationPtr constellation, int power = 0) {
  return *Model::Create(std::move(constellation), Amplitude::kWeighted, power);
}

inline ModelPtr ModelOf(const std::string& name, int power = 0) {
  return ModelOf(*Constellation::FromName(name), power);
}

// A point of `constellation`, drawn, with noise of the variance `noise`.
inline std::complex<double> NoisySymbol(const Constellation& constellation, double noise,
                                        testing::Random& random) {
  const Iq& sent = constellation.points()[static_cast<size_t>(random.Below(constellation.size()))];
  const double deviation = std::sqrt(0.5 * noise);
  return {sent.i + deviation * random.Normal(), sent.q + deviation * random.Normal()};
}

}  // namespace baseband::carrier

#endif  // BASEBAND_TESTS_UNIT_KERNELS_CARRIER_MODELS_H_
