// What a launch of the NR decoder (decode_nr.cuh) is given. Device code.
#ifndef BASEBAND_KERNELS_LDPC_DECODE_NR_PARAMETERS_CUH_
#define BASEBAND_KERNELS_LDPC_DECODE_NR_PARAMETERS_CUH_

#include "kernels/ldpc/decode_device.cuh"
#include "kernels/ldpc/decode_nr_extension.cuh"
#include "kernels/ldpc/decode_nr_rows.cuh"

namespace baseband::ldpc::device {

struct NrParameters {
  DecodeIo io;
  DecodeShape shape;
  NrScales scales;
  NrShifts shifts;
  uint32_t ahead;  // how many thread blocks later the one is whose LLRs are fetched
};

enum class NrKind {
  kLayered,
  kLayeredCrc,  // a CRC may stop code words, and none has soft output
  kFlooding,
};

// A launch's shape, with what the graph says of it as constants.
template <class Graph>
__device__ __forceinline__ decltype(auto) ShapeOf(const DecodeShape& launched) {
  if constexpr (Graph::kZc == 0) {
    return (launched);
  } else {
    DecodeShape shape = launched;
    shape.zc = Graph::kZc;
    shape.zc_magic = static_cast<uint32_t>((uint64_t{1} << 32) / Graph::kZc) + 1;
    shape.pairs = Graph::kMaxZc / Graph::kZc;
    return shape;
  }
}

}  // namespace baseband::ldpc::device

#endif  // BASEBAND_KERNELS_LDPC_DECODE_NR_PARAMETERS_CUH_
