// The part of downconvert_gpu_bench that times oscillators.
#ifndef BASEBAND_TESTS_BENCH_DOWNCONVERT_NCO_BENCH_H_
#define BASEBAND_TESTS_BENCH_DOWNCONVERT_NCO_BENCH_H_

namespace baseband::downconvert::bench {

// Prints what an oscillator costs: nothing but a mixer, where it costs most, and a channel.
void Nco();

}  // namespace baseband::downconvert::bench

#endif  // BASEBAND_TESTS_BENCH_DOWNCONVERT_NCO_BENCH_H_
