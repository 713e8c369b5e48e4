// What the server still does when it is sent more bytes than it can take: the calls of
// `overload_bench bytes`, which are large and cost the device next to nothing.
#ifndef BASEBAND_TESTS_BENCH_OVERLOAD_BYTES_H_
#define BASEBAND_TESTS_BENCH_OVERLOAD_BYTES_H_

#include <string>
#include <vector>

namespace baseband::bench {

// Starts a server with `flags` and prints a table: what a bare echo and the server answer in a
// closed loop, and how much of the latter it answers in time at a multiple of that rate, in the
// rhythm of slots, by unary calls and Submit streams. Deadlines are 2 and 20 ms on a GPU, else 20
// and 200 times what a call takes alone. Takes a minute and a half. Every answer is checked; false
// if a call ended otherwise than by one, a refusal or its deadline.
bool MeasureBytes(const std::vector<std::string>& flags, bool is_gpu);

// In main(), first: whether this process was started to measure one row of the table, which it has.
bool RunAsRow(int argc, char** argv);

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_OVERLOAD_BYTES_H_
