// What call_counter.cc, loaded into a server before all else, counts for call_cost_bench.
#ifndef BASEBAND_TESTS_BENCH_CALL_COUNTER_H_
#define BASEBAND_TESTS_BENCH_CALL_COUNTER_H_

#include <atomic>
#include <cstdint>

namespace baseband::bench {

// Names the file that both processes map; without it nothing is counted.
inline constexpr char kCallCounterFile[] = "BASEBAND_CALL_COUNTER_FILE";
// Of copies: shorter ones are headers and names, not what a call carries.
inline constexpr uint64_t kLeastCopyBytes = 512;

struct CallCounts {
  std::atomic<uint64_t> allocations;
  std::atomic<uint64_t> allocated_bytes;
  std::atomic<uint64_t> copies;  // of at least kLeastCopyBytes
  std::atomic<uint64_t> copied_bytes;
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace baseband::bench

#endif  // BASEBAND_TESTS_BENCH_CALL_COUNTER_H_
