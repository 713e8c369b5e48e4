// What a GPU and its bus allow, measured.
#ifndef BASEBAND_TESTS_BENCH_GPU_LIMITS_H_
#define BASEBAND_TESTS_BENCH_GPU_LIMITS_H_

#include <cuda_runtime_api.h>

#include "tests/bench/rows.h"

namespace baseband::bench {

struct Limit {
  double count = 0.0;  // of bytes or operations, in each of `times`
  Times times;

  double rate() const { return count / times.median; }  // a second
};

// Bytes of copies within the device: read and written.
Limit DeviceCopy(cudaStream_t stream);
// Float32 fused multiply-adds, and the clock's cycles while all of the device makes them. One is
// one instruction of a thread, so this is the rate of instructions, too.
Limit FusedMultiplyAdds(cudaStream_t stream, double* clock_hz);
// Bytes of copies from page-locked memory to the device, or back.
Limit LinkCopy(cudaStream_t stream, bool is_back);

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_GPU_LIMITS_H_
