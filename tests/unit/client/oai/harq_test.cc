#include <cstring>
#include <memory>
#include <set>
#include <string>

#include "gtest/gtest.h"

extern "C" {
#include "client/oai/harq.h"
}

namespace baseband::testing {
namespace {

class OaiHarqTest : public ::testing::Test {
 protected:
  OaiHarqTest() { bo_harq_init(harq_.get()); }
  bo_transmission Begin(bool is_first, bool has_server = true) {
    return bo_harq_begin(harq_.get(), process_, is_first, has_server);
  }
  void End(const bo_transmission& transmission, bo_place place) {
    bo_harq_end(harq_.get(), process_, transmission, place);
  }

  std::unique_ptr<bo_harq> harq_ = std::make_unique<bo_harq>();
  char memory_[2] = {};
  bo_process process_{3, memory_};
};

TEST_F(OaiHarqTest, TransmissionsOfABlockAreCountedAndANewOneBeginsAt0) {
  for (uint32_t number = 0; number < 4; ++number) {
    bo_transmission next = Begin(number == 0);
    EXPECT_EQ(next.place, BO_AT_SERVER);
    EXPECT_EQ(next.number, number);
    if (number == 0) next.llr_scale = 0.25F;
    EXPECT_EQ(next.llr_scale, 0.25F);
    End(next, BO_AT_SERVER);
  }
  EXPECT_EQ(Begin(true).number, 0U);
  EXPECT_EQ(Begin(true).llr_scale, 0);
}

TEST_F(OaiHarqTest, ABlockThatBeganWithTheLibraryStaysThere) {
  End(Begin(true, false), BO_AT_LIBRARY);
  bo_transmission next = Begin(false);
  EXPECT_EQ(next.place, BO_AT_LIBRARY);
  EXPECT_FALSE(next.is_alone);
  End(next, BO_AT_LIBRARY);
  EXPECT_EQ(Begin(true).place, BO_AT_SERVER);
}

TEST_F(OaiHarqTest, ABlockOfWhichNothingIsKnownBeginsWithWhateverTransmissionComes) {
  bo_transmission next = Begin(false);
  EXPECT_EQ(next.place, BO_AT_SERVER);
  EXPECT_EQ(next.number, 0U);
  EXPECT_EQ(next.block, Begin(true).block);
  next = Begin(false, false);
  EXPECT_EQ(next.place, BO_AT_LIBRARY);
  EXPECT_TRUE(next.is_alone);  // what lies in its memory may be another block's
}

TEST_F(OaiHarqTest, WithoutTheServerWhatItHeldIsLost) {
  End(Begin(true), BO_AT_SERVER);
  const bo_transmission next = Begin(false, false);
  EXPECT_EQ(next.place, BO_AT_LIBRARY);
  EXPECT_TRUE(next.is_alone);
  End(next, BO_AT_LIBRARY);
  EXPECT_EQ(Begin(false).place, BO_AT_LIBRARY);  // though it is there again
  EXPECT_FALSE(Begin(false).is_alone);
}

TEST_F(OaiHarqTest, After255TransmissionsABlockIsTheLibrarys) {
  End(Begin(true), BO_AT_SERVER);
  for (int i = 0; i < 255; ++i) End(Begin(false), BO_AT_SERVER);
  const bo_transmission next = Begin(false);
  EXPECT_EQ(next.place, BO_AT_LIBRARY);
  EXPECT_TRUE(next.is_alone);
}

TEST_F(OaiHarqTest, BlocksThatBeginAfterACallWasGivenUpHaveAnotherNumber) {
  const bo_transmission before = Begin(true);
  End(before, BO_AT_SERVER);
  bo_harq_give_up(harq_.get());
  EXPECT_EQ(Begin(false).block, before.block);
  EXPECT_NE(Begin(true).block, before.block);
  EXPECT_NE(before.block, 0U);
}

TEST_F(OaiHarqTest, InstancesOfOneProgramAreTold) {
  End(Begin(true), BO_AT_SERVER);
  process_.memory = memory_ + 1;
  EXPECT_EQ(Begin(false).number, 0U);
}

TEST_F(OaiHarqTest, KeysAreThoseOfAProgramAProcessAndASegment) {
  auto other = std::make_unique<bo_harq>();
  bo_harq_init(other.get());
  std::set<std::string> keys;
  for (const bo_harq* harq : {harq_.get(), other.get()}) {
    for (const bo_process process : {process_, {4, memory_}, {3, memory_ + 1}}) {
      for (const uint32_t segment : {0U, 1U, 256U}) {
        uint8_t key[BO_KEY_BYTES];
        bo_harq_key(harq, process, segment, key);
        keys.emplace(reinterpret_cast<const char*>(key), sizeof(key));
      }
    }
  }
  EXPECT_EQ(keys.size(), 18U);
}

TEST_F(OaiHarqTest, OfMoreProcessesThanThereIsRoomForSomeAreForgotten) {
  int known = 0;
  for (uint32_t i = 0; i < 2 * BO_PROCESSES; ++i) {
    process_.number = i;
    End(Begin(true), BO_AT_SERVER);
    EXPECT_EQ(Begin(false).number, 1U);
  }
  for (uint32_t i = 0; i < 2 * BO_PROCESSES; ++i) {
    process_.number = i;
    known += bo_harq_begin(harq_.get(), process_, false, true).number == 1;
  }
  EXPECT_GT(known, 0);
  EXPECT_LE(known, static_cast<int>(BO_PROCESSES));
}

}  // namespace
}  // namespace baseband::testing
