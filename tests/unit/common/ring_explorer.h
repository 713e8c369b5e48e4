// Runs the two sides of common/shm/ring.h against each other in every order of their accesses to
// what they share. ring_explorer.cc is compiled once with the protocol as it is, and once for each
// mistake that has to be found.
#ifndef BASEBAND_TESTS_UNIT_COMMON_RING_EXPLORER_H_
#define BASEBAND_TESTS_UNIT_COMMON_RING_EXPLORER_H_

#include <cstdint>
#include <string>

namespace baseband::testing {

// What becomes of stores that are not atomic, of entries that are copied into the ring.
enum class StoreOrder {
  kSequential,  // seen at once
  // x86-TSO (Owens, Sarkar, Sewell, TPHOLs 2009): they lie in a buffer of the writer's, which
  // others do not see, and leave it in order, at any time; at the latest before its next atomic
  // store or exchange is seen. An atomic load does not wait for them.
  kBuffered,
  kUnordered,  // the same, but they leave it in any order
};

struct RingRun {
  uint32_t entries = 1;
  int requests = 3;    // 1 .. 6
  uint64_t first = 0;  // number of the first request and of its completion
  StoreOrder order = StoreOrder::kSequential;
  bool has_two_threads = false;  // the client submits in one and polls in another
  int timeouts = 0;              // so often a client that sleeps wakes up by itself
};

struct RingRunResult {
  std::string mistake;  // and how it comes about; empty: there is none
  int64_t states = 0;
  int64_t steps = 0;
};

// At any moment any side may be the next to do one access; a client may submit or poll, a server
// take or complete, any of its jobs, whenever either has something to do, and sleeps otherwise. A
// mistake:
// - a side sleeps and nobody is about to wake it, though an entry is there for it, or none ever
// will;
// - an entry is seen twice, out of order, not at all, or not as it was written.
RingRunResult ExploreRing(const RingRun& run);
// With one mistake each: CMakeLists.txt has the lines.
RingRunResult ExploreSubmitThatLooksBeforeItStores(const RingRun& run);
RingRunResult ExploreCompletionThatLooksBeforeItStores(const RingRun& run);
RingRunResult ExploreSleeperThatLooksBeforeItStores(const RingRun& run);
RingRunResult ExploreSleeperThatDoesNotLook(const RingRun& run);
RingRunResult ExploreEntryThatIsCopiedTooLate(const RingRun& run);
RingRunResult ExploreEntryThatIsReadTooEarly(const RingRun& run);
RingRunResult ExploreStoresThatAreNotOrdered(const RingRun& run);

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_UNIT_COMMON_RING_EXPLORER_H_
