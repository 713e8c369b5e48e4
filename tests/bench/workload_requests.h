// The requests of the workloads: the same bytes in every run.
#ifndef BASEBAND_TESTS_BENCH_WORKLOAD_REQUESTS_H_
#define BASEBAND_TESTS_BENCH_WORKLOAD_REQUESTS_H_

#include <cstdint>
#include <string>

#include "baseband/v1/baseband.pb.h"

namespace baseband::bench {

// Blocks of BG1 with Zc = 384.
inline constexpr int kInfoBytes = 22 * 384 / 8;
v1::EncodeRequest EncodeOf(int blocks);
// The code words of all blocks, received with noise of a simple kind: every 9th value is wrong.
v1::DecodeRequest DecodeOf(const std::string& words, int blocks);

// Offset of all frames, cycles a symbol.
inline constexpr double kFrequency = 0.00213;
// Frames of mixed constellations and lengths, int16, above their operating SNRs.
v1::RecoverCarrierRequest RecoverOf(int frames);

// Taps and decimation of all channels.
inline constexpr int kTaps = 64;
inline constexpr int kDown = 8;
// A tone of half the full scale, complex int16, for `channels` channels of 64 taps that decimate by
// 8; the first one has it at 0 Hz, with a gain of 2.
v1::DownconvertRequest DownconvertOf(int64_t samples, int channels);

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_WORKLOAD_REQUESTS_H_
