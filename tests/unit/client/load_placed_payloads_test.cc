// Payloads that lie in memory before a load begins.
#include <set>
#include <string>
#include <vector>

#include "client/load/placed_payloads.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::load {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

constexpr int64_t kPlenty = 1 << 20;
constexpr int64_t kRound = 128 + 64 + 192;  // of those below, each from a multiple of 64 on

class PlacedPayloadsTest : public ::testing::Test {
 protected:
  PlacedPayloadsTest() {
    Add({std::string(100, 'a'), std::string(64, 'b')});
    Add({std::string(129, 'c')});
  }
  void Add(const std::vector<std::string>& payloads) {
    workloads_.emplace_back();
    for (const std::string& payload : payloads) {
      workloads_.back().requests.emplace_back().payload = payload;
    }
  }

  std::vector<Workload> workloads_;
};

TEST_F(PlacedPayloadsTest, EveryTurnHasItsRequestsBytesAndThoseInFlightLieApart) {
  constexpr int kInFlight = 6;
  auto placed = PlacedPayloads::Create(&workloads_, kInFlight, kPlenty);
  ASSERT_THAT(placed, IsOk());
  EXPECT_EQ(placed->bytes(), kInFlight * kRound);
  std::vector<uint8_t> memory(static_cast<size_t>(placed->bytes()));
  placed->Fill(memory.data());
  for (size_t workload = 0; workload < workloads_.size(); ++workload) {
    const std::vector<Request>& requests = workloads_[workload].requests;
    for (size_t begin = 0; begin < 20; ++begin) {
      std::set<const char*> places;
      for (size_t turn = begin; turn < begin + kInFlight; ++turn) {
        const absl::string_view payload = placed->At(workload, turn);
        EXPECT_EQ(payload, requests[turn % requests.size()].payload);
        EXPECT_EQ((payload.data() - reinterpret_cast<const char*>(memory.data())) % 64, 0);
        places.insert(payload.data());
      }
      EXPECT_EQ(places.size(), kInFlight);
    }
  }
}

TEST_F(PlacedPayloadsTest, ThereAreAsManyAsFit) {
  const auto two = PlacedPayloads::Create(&workloads_, 1000, 3 * kRound - 1);
  ASSERT_THAT(two, IsOk());
  EXPECT_EQ(two->bytes(), 2 * kRound);
  EXPECT_THAT(PlacedPayloads::Create(&workloads_, 1, kRound), IsOk());
  EXPECT_THAT(
      PlacedPayloads::Create(&workloads_, 1, kRound - 1),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("takes 384 bytes, and 383 of each")));
}

}  // namespace
}  // namespace baseband::load
