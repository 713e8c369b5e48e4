// Every order of accesses in which the two sides of a ring can meet, for small rings, and that the
// search for mistakes finds those that are put in.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "tests/unit/common/ring_explorer.h"

namespace baseband::testing {
namespace {

RingRun RingOf(uint32_t entries, int requests, StoreOrder order = StoreOrder::kSequential) {
  RingRun run;
  run.entries = entries;
  run.requests = requests;
  run.order = order;
  return run;
}

void ExpectNoMistake(const RingRun& run) {
  const RingRunResult result = ExploreRing(run);
  EXPECT_EQ(result.mistake, "");
  // Less would be a search that does not search.
  EXPECT_GT(result.states, 500);
  std::printf("%d requests, %u entries: %lld states, %lld steps\n", run.requests, run.entries,
              static_cast<long long>(result.states), static_cast<long long>(result.steps));
}

class RingInterleavingsTest : public ::testing::TestWithParam<StoreOrder> {};

TEST_P(RingInterleavingsTest, OneEntryServesThreeRequests) {
  ExpectNoMistake(RingOf(1, 3, GetParam()));
}

TEST_P(RingInterleavingsTest, TwoEntriesServeFourRequests) {
  ExpectNoMistake(RingOf(2, 4, GetParam()));
}

TEST_P(RingInterleavingsTest, FourEntriesServeThreeRequests) {
  ExpectNoMistake(RingOf(4, 3, GetParam()));
}

TEST_P(RingInterleavingsTest, SequencesMayWrapAround) {
  RingRun run = RingOf(2, 4, GetParam());
  run.first = (uint64_t{1} << 32) - 2;
  ExpectNoMistake(run);
}

TEST_P(RingInterleavingsTest, SleepersMayWakeByThemselves) {
  RingRun run = RingOf(2, 3, GetParam());
  run.timeouts = 2;
  ExpectNoMistake(run);
}

TEST_P(RingInterleavingsTest, OneThreadMaySubmitWhileAnotherPolls) {
  RingRun run = RingOf(2, 4, GetParam());
  run.has_two_threads = true;
  ExpectNoMistake(run);
}

INSTANTIATE_TEST_SUITE_P(Stores, RingInterleavingsTest,
                         ::testing::Values(StoreOrder::kSequential, StoreOrder::kBuffered,
                                           StoreOrder::kUnordered),
                         [](const auto& test) {
                           return std::string(test.param == StoreOrder::kSequential ? "Sequential"
                                              : test.param == StoreOrder::kBuffered ? "Buffered"
                                                                                    : "Unordered");
                         });

struct Mutant {
  const char* name;
  RingRunResult (*explore)(const RingRun& run);
  const char* mistake;
};

class RingMistakesTest : public ::testing::TestWithParam<Mutant> {};

TEST_P(RingMistakesTest, AreFound) {
  const RingRunResult result = GetParam().explore(RingOf(1, 3, StoreOrder::kBuffered));
  EXPECT_NE(result.mistake.find(GetParam().mistake), std::string::npos) << result.mistake;
}

INSTANTIATE_TEST_SUITE_P(
    Ring, RingMistakesTest,
    ::testing::Values(
        Mutant{"SubmitThatLooksBeforeItStores", ExploreSubmitThatLooksBeforeItStores,
               "the server sleeps"},
        Mutant{"CompletionThatLooksBeforeItStores", ExploreCompletionThatLooksBeforeItStores,
               "the client sleeps"},
        Mutant{"SleeperThatLooksBeforeItStores", ExploreSleeperThatLooksBeforeItStores, "sleeps"},
        Mutant{"SleeperThatDoesNotLook", ExploreSleeperThatDoesNotLook, "sleeps"},
        Mutant{"EntryThatIsCopiedTooLate", ExploreEntryThatIsCopiedTooLate, "not what was written"},
        Mutant{"EntryThatIsReadTooEarly", ExploreEntryThatIsReadTooEarly, "not what was written"},
        Mutant{"StoresThatAreNotOrdered", ExploreStoresThatAreNotOrdered, "sleeps"}),
    [](const auto& test) { return std::string(test.param.name); });

// What the order of stores is modelled for: without it this mistake does not show.
TEST(RingMistakesTest, StoresThatAreNotOrderedShowOnlyWhereStoresAreBuffered) {
  EXPECT_EQ(ExploreStoresThatAreNotOrdered(RingOf(1, 3, StoreOrder::kSequential)).mistake, "");
}

}  // namespace
}  // namespace baseband::testing
