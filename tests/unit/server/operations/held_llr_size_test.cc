// Soft bits that the server holds in fewer bits than they are decoded from.
#include <random>
#include <string>

#include "kernels/nr/soft_pack.h"
#include "tests/unit/server/operations/held_soft_bits_fixture.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

class HeldLlrSizeTest : public HeldSoftBitsTest {
 protected:
  static v1::DecodeSharedChannelRequest Sized(v1::DecodeSharedChannelRequest request, int size) {
    request.mutable_groups(0)->mutable_harq()->set_llr_size(static_cast<uint32_t>(size));
    return request;
  }
};

// What is held of soft bits, each code block's by itself.
std::string AsHeld(int size, std::string soft) {
  const size_t n_cb = soft.size() / 2;
  for (int r = 0; r < 2; ++r) {
    const absl::Span<int8_t> of_block(reinterpret_cast<int8_t*>(&soft[0]) + r * n_cb, n_cb);
    std::string packed(static_cast<size_t>(nr::HeldSoftBytes(size, n_cb)), '\0');
    nr::PackSoftOnCpu(size, of_block, reinterpret_cast<uint8_t*>(&packed[0]));
    nr::UnpackSoftOnCpu(size, reinterpret_cast<const uint8_t*>(packed.data()), of_block);
  }
  return soft;
}

TEST_F(HeldLlrSizeTest, WhatIsHeldDecodesAsWhatTravelsInThatSize) {
  std::string payload;
  std::mt19937 random(1);
  for (int i = 0; i < 1125; ++i) payload.push_back(static_cast<char>(random()));
  for (const int size : {6, 4}) {
    std::string soft;
    bool is_right = false;
    for (int transmission = 0; transmission < 4; ++transmission) {
      const std::string llr =
          Received(payload, transmission, /*sigma=*/1.25, static_cast<unsigned>(transmission));
      const auto held = Sized(Held("ue 7 process 3", transmission, llr), size);
      const auto a = Call(held);
      const auto b = Call(Travelling(soft, transmission, llr));
      ASSERT_THAT(a, IsOk());
      ASSERT_THAT(b, IsOk());
      soft = AsHeld(size, b->soft());
      EXPECT_NE(soft, b->soft());
      EXPECT_EQ(a->payload(), b->payload());
      for (int i = 0; i < 2; ++i) EXPECT_EQ(a->iterations(i), b->iterations(i));
      EXPECT_EQ(a->blocks(0).harq(),
                transmission == 0 ? v1::HARQ_OUTCOME_FIRST : v1::HARQ_OUTCOME_COMBINED);
      is_right = a->blocks(0).crc_ok();

      if (transmission == 0) continue;
      // The same again is decoded from what is held.
      v1::DecodeSharedChannelRequest again =
          RequestFor(soft + std::string(11000, '\0'), transmission);
      again.mutable_groups(0)->mutable_harq()->set_soft_in(true);
      const auto c = Call(held);
      const auto d = Call(again);
      ASSERT_THAT(c, IsOk());
      ASSERT_THAT(d, IsOk());
      EXPECT_EQ(c->blocks(0).harq(), v1::HARQ_OUTCOME_REPEATED);
      EXPECT_EQ(c->payload(), d->payload());
      for (int i = 0; i < 2; ++i) EXPECT_EQ(c->iterations(i), d->iterations(i));
    }
    EXPECT_TRUE(is_right) << size << " bits";
  }
}

TEST_F(HeldLlrSizeTest, FewerBitsTakeLessOfAQuota) {
  const auto block = *BlockFromProto(BlockOf(0));
  for (const int size : {8, 6, 4}) {
    const auto before = device_->objects()->usage().bytes;
    ASSERT_THAT(Call(Sized(Held(std::to_string(size), 0), size)), IsOk());
    EXPECT_NEAR(static_cast<double>(device_->objects()->usage().bytes - before),
                static_cast<double>(block.soft_bytes()) * size / 8, 4096);
  }
}

TEST_F(HeldLlrSizeTest, AnotherSizeThanThatOfWhatIsHeldIsRefused) {
  ASSERT_THAT(Call(Sized(Held("a", 0), 6)), IsOk());
  for (const int size : {0, 8, 4}) {
    EXPECT_THAT(Call(Sized(Held("a", 1), size)).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("is not that of what is held of the block, which is 6")));
  }
  EXPECT_EQ(OutcomeOf(Sized(Held("a", 1), 6)), v1::HARQ_OUTCOME_COMBINED);
  // Of another block it is nobody's business, and a first transmission begins anew.
  v1::DecodeSharedChannelRequest other = Sized(Held("a", 1), 4);
  other.mutable_groups(0)->mutable_harq()->set_block(7);
  EXPECT_EQ(OutcomeOf(other), v1::HARQ_OUTCOME_OTHER_BLOCK);
  EXPECT_EQ(OutcomeOf(Sized(Held("a", 0), 8)), v1::HARQ_OUTCOME_FIRST);
  EXPECT_EQ(OutcomeOf(Held("a", 1)), v1::HARQ_OUTCOME_COMBINED);
}

}  // namespace
}  // namespace baseband::server
