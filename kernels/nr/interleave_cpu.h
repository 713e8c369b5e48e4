// The inner loops of rate matching on a CPU. SIMD, chosen for this processor at run time; no call
// allocates, all are thread-safe.
#ifndef BASEBAND_KERNELS_NR_INTERLEAVE_CPU_H_
#define BASEBAND_KERNELS_NR_INTERLEAVE_CPU_H_

#include <cstdint>

namespace baseband::nr {

inline constexpr int kMaxColumnsOfCall = 1024;
// What vectors may read or write past the end of an array, in bytes.
inline constexpr int kInterleaveSlack = 32;

// Bit i + j qm of `out` is bit row_begin[i] + j of `bits`, 0 <= i < qm, 0 <= j < columns <=
// kMaxColumnsOfCall. qm 2, 4, 6, 8 or 10. Bits are packed, most significant first. Slack past the
// end of `bits` is read, and `out` written as if there were kMaxColumnsOfCall columns, with slack.
void InterleaveBits(int qm, const uint8_t* bits, const int64_t* row_begin, int columns,
                    uint8_t* out);

// rows[i * kLlrRowStride + j] is llr[i + j qm], 0 <= i < qm, 0 <= j < columns <=
// kMaxColumnsOfCall. qm as above. No byte past the end of `llr` is read.
inline constexpr int kLlrRowStride = kMaxColumnsOfCall + kInterleaveSlack;
void DeinterleaveLlrs(int qm, const int8_t* llr, int columns, int8_t* rows);

// soft[i] = clip(soft[i] + llr[i], -127, 127), -128 read as -127. Nothing past the end is touched;
// so are the following.
void AddLlrs(const int8_t* llr, int count, int8_t* soft);
// sums[i] += llr[i], -128 read as -127.
void AddLlrsToSums(const int8_t* llr, int count, int32_t* sums);
// soft[i] = clip(soft[i] + sums[i], -127, 127), soft[i] = -128 read as -127; |sums[i]| < 2^30.
void AddSums(const int32_t* sums, int count, int8_t* soft);

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_INTERLEAVE_CPU_H_
