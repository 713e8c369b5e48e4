// How much work code blocks are: Job::work of Encode and Decode.
#ifndef BASEBAND_SERVER_OPERATIONS_LDPC_LDPC_WORK_H_
#define BASEBAND_SERVER_OPERATIONS_LDPC_LDPC_WORK_H_

#include "kernels/ldpc/code.h"

namespace baseband::server {

// Units of a block, an iteration: edges of the code's graph.
inline double EdgesOf(const ldpc::Code& code) {
  return static_cast<double>(code.edges().size()) * code.zc();
}

// Lifting sizes fill the registers alike within a factor of two: 1 .. 10.
inline int ShapeOf(const ldpc::Code& code) {
  int bits = 0;
  for (int zc = code.zc(); zc > 0; zc /= 2) ++bits;
  return bits;
}

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_LDPC_LDPC_WORK_H_
