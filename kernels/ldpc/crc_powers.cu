#include <cuda_runtime.h>

#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"
#include "kernels/ldpc/crc_powers.h"

namespace baseband::ldpc {
namespace {

struct Powers {
  uint32_t of[3][kCrcPowers];
};

constexpr Powers MakePowers() {
  Powers powers = {};
  for (const Crc crc : {Crc::kCrc16, Crc::kCrc24A, Crc::kCrc24B}) {
    const CrcPolynomial p = PolynomialOf(crc);
    uint32_t power = 1;
    for (uint32_t& to : powers.of[static_cast<int>(crc)]) {
      to = power;
      power = CrcTimesX(p, power);
    }
  }
  return powers;
}

// Not const: of a constant, which no kernel of this file reads, nothing would be left.
__device__ Powers device_powers = MakePowers();

}  // namespace

absl::StatusOr<const uint32_t*> CrcPowersOnDevice(Crc crc) {
  void* address = nullptr;
  BASEBAND_RETURN_IF_ERROR(
      cuda::ToStatus(cudaGetSymbolAddress(&address, device_powers), "cudaGetSymbolAddress"));
  return static_cast<const Powers*>(address)->of[static_cast<int>(crc)];
}

}  // namespace baseband::ldpc
