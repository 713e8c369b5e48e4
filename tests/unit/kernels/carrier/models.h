// Models as the tests of recovery take them: weighted amplitudes, the power that is best if none is
// named.
#ifndef BASEBAND_TESTS_UNIT_KERNELS_CARRIER_MODELS_H_
#define BASEBAND_TESTS_UNIT_KERNELS_CARRIER_MODELS_H_

#include <string>
#include <utility>

#include "kernels/carrier/model.h"

namespace baseband::carrier {

inline ModelPtr ModelOf(ConstellationPtr constellation, int power = 0) {
  return *Model::Create(std::move(constellation), Amplitude::kWeighted, power);
}

inline ModelPtr ModelOf(const std::string& name, int power = 0) {
  return ModelOf(*Constellation::FromName(name), power);
}

}  // namespace baseband::carrier

#endif  // BASEBAND_TESTS_UNIT_KERNELS_CARRIER_MODELS_H_
