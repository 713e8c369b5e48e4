// Small calls beside a long search: by how much their times grow.
#ifndef BASEBAND_TESTS_BENCH_CONTENTION_H_
#define BASEBAND_TESTS_BENCH_CONTENTION_H_

#include <string>

namespace baseband::bench {

// 1000 searches of 1000 points and 250 Encodes of one block, one call at a time, first with the
// server idle, then beside a search of 2^36 points that begins again whenever it ends. Prints the
// percentiles of both and the ratio of their p99, which is to be at most 3. Every answer is
// checked.
void MeasureContention(const std::string& target);

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_CONTENTION_H_
