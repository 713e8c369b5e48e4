// HARQ of DecodeSharedChannel: soft bits that travel and soft bits that the server holds are the
// same, and what is not there any more is told.
#include <random>
#include <string>
#include <utility>

#include "tests/unit/server/operations/held_soft_bits_fixture.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::RunOnCpu;
using ::baseband::testing::StatusIs;
using ::testing::HasSubstr;

TEST_F(HeldSoftBitsTest, WhatTheServerHoldsDecodesAsWhatTravels) {
  std::string payload;
  std::mt19937 random(1);
  for (int i = 0; i < 1125; ++i) payload.push_back(static_cast<char>(random()));
  std::string soft;
  bool was_right = false;
  int first_right = -1;
  for (int transmission = 0; transmission < 4; ++transmission) {
    const std::string llr =
        Received(payload, transmission, /*sigma=*/1.35, static_cast<unsigned>(transmission));
    const auto a = Call(Held("ue 7 process 3", transmission, llr));
    const auto b = Call(Travelling(soft, transmission, llr));
    ASSERT_THAT(a, IsOk());
    ASSERT_THAT(b, IsOk());
    soft = b->soft();
    EXPECT_EQ(a->payload(), b->payload());
    EXPECT_EQ(a->blocks(0).crc_ok(), b->blocks(0).crc_ok());
    for (int i = 0; i < 2; ++i) EXPECT_EQ(a->iterations(i), b->iterations(i));
    EXPECT_EQ(a->blocks(0).harq(),
              transmission == 0 ? v1::HARQ_OUTCOME_FIRST : v1::HARQ_OUTCOME_COMBINED);
    const bool is_right = a->blocks(0).crc_ok();
    EXPECT_EQ(is_right, a->payload() == payload);
    EXPECT_TRUE(is_right || !was_right) << "more transmissions decode less";
    if (is_right && first_right < 0) first_right = transmission;
    was_right = is_right;
  }
  EXPECT_TRUE(was_right);
  EXPECT_GT(first_right, 0) << "nothing is shown where the first transmission decodes alone";
}

TEST_F(HeldSoftBitsTest, ATransmissionThatComesAgainAddsNothing) {
  const auto first = Call(Held("a", 0));
  const auto second = Call(Held("a", 1));
  const auto again = Call(Held("a", 1));
  const auto third = Call(Held("a", 2));
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->blocks(0).harq(), v1::HARQ_OUTCOME_REPEATED);
  EXPECT_EQ(again->payload(), second->payload());
  EXPECT_EQ(again->iterations(0), second->iterations(0));
  EXPECT_EQ(third->blocks(0).harq(), v1::HARQ_OUTCOME_COMBINED);
  EXPECT_THAT(Call(Held("a", 1)).status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                                    HasSubstr("transmission 1 comes after")));
}

TEST_F(HeldSoftBitsTest, WhatIsNotThereIsToldWithItsReason) {
  std::string why;
  EXPECT_EQ(OutcomeOf(Held("never", 1), &why), v1::HARQ_OUTCOME_LOST);
  EXPECT_THAT(why, HasSubstr("is not there"));
  EXPECT_EQ(OutcomeOf(Held("never", 2)), v1::HARQ_OUTCOME_COMBINED) << "it is held from then on";

  EXPECT_EQ(OutcomeOf(Held("old", 0)), v1::HARQ_OUTCOME_FIRST);
  now_ += absl::Seconds(61);
  EXPECT_EQ(OutcomeOf(Held("old", 1), &why), v1::HARQ_OUTCOME_LOST);
  EXPECT_THAT(why, HasSubstr("nobody used it for too long"));

  EXPECT_EQ(OutcomeOf(Held("freed", 0)), v1::HARQ_OUTCOME_FIRST);
  v1::DecodeSharedChannelRequest other = Held("other", 0);
  other.add_free_keys("freed");
  EXPECT_EQ(OutcomeOf(other), v1::HARQ_OUTCOME_FIRST);
  EXPECT_EQ(OutcomeOf(Held("freed", 1)), v1::HARQ_OUTCOME_LOST);

  for (int i = 0; i < 200; ++i) OutcomeOf(Held("many " + std::to_string(i), 0));
  EXPECT_EQ(OutcomeOf(Held("many 0", 1), &why), v1::HARQ_OUTCOME_LOST);
  EXPECT_THAT(why, HasSubstr("more than they may"));
  EXPECT_EQ(OutcomeOf(Held("many 199", 1)), v1::HARQ_OUTCOME_COMBINED);

  EXPECT_EQ(OutcomeOf(Held("device", 0)), v1::HARQ_OUTCOME_FIRST);
  device_->objects()->Lose();
  EXPECT_EQ(Bound(Held("device", 1)).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(HeldSoftBitsTest, AKeyIsAnyBytesAndAnAnswerIsText) {
  const auto response = Call(Held(std::string("\x01\xff\x80", 3), 1));
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->blocks(0).harq(), v1::HARQ_OUTCOME_LOST);
  EXPECT_THAT(response->blocks(0).harq_message(), HasSubstr("\\xff\\x80"));
}

TEST_F(HeldSoftBitsTest, ARepeatedTransmissionThatIsCancelledLosesNothing) {
  EXPECT_EQ(OutcomeOf(Held("a", 0)), v1::HARQ_OUTCOME_FIRST);
  EXPECT_EQ(OutcomeOf(Held("a", 1)), v1::HARQ_OUTCOME_COMBINED);
  absl::StatusOr<JobPtr> job = Bound(Held("a", 1));
  ASSERT_THAT(job, IsOk());
  (*job)->cancelled = std::make_shared<std::atomic<bool>>(true);
  (void)RunOnCpu(*std::move(job), RequestOf(Held("a", 1)).payload);
  EXPECT_EQ(OutcomeOf(Held("a", 2)), v1::HARQ_OUTCOME_COMBINED);
}

TEST_F(HeldSoftBitsTest, AnotherClientsKeyIsAnotherOne) {
  EXPECT_EQ(OutcomeOf(Held("a", 0)), v1::HARQ_OUTCOME_FIRST);
  const auto other = Call(Held("a", 1), "cell 2");
  ASSERT_THAT(other, IsOk());
  EXPECT_EQ(other->blocks(0).harq(), v1::HARQ_OUTCOME_LOST);
}

TEST_F(HeldSoftBitsTest, AnotherBlockUnderAKeyIsNotAddedToIt) {
  EXPECT_EQ(OutcomeOf(Held("a", 0)), v1::HARQ_OUTCOME_FIRST);
  v1::DecodeSharedChannelRequest request = Held("a", 1);
  request.mutable_groups(0)->mutable_block()->mutable_transport_block()->set_tb_bytes(1101);
  EXPECT_EQ(OutcomeOf(request), v1::HARQ_OUTCOME_OTHER_BLOCK);
}

TEST_F(HeldSoftBitsTest, ABlockThatItsClientNumbersIsNotAddedToAnotherOfItsSize) {
  const auto numbered = [&](int transmission, uint32_t block) {
    v1::DecodeSharedChannelRequest request = Held("a", transmission);
    request.mutable_groups(0)->mutable_harq()->set_block(block);
    return OutcomeOf(request);
  };
  EXPECT_EQ(numbered(0, 7), v1::HARQ_OUTCOME_FIRST);
  EXPECT_EQ(numbered(1, 7), v1::HARQ_OUTCOME_COMBINED);
  // Whose first transmission was refused.
  EXPECT_EQ(numbered(1, 8), v1::HARQ_OUTCOME_OTHER_BLOCK);
  EXPECT_EQ(numbered(2, 8), v1::HARQ_OUTCOME_COMBINED);
}

TEST_F(HeldSoftBitsTest, OneTransmissionOfABlockIsInFlightAtATime) {
  EXPECT_EQ(OutcomeOf(Held("a", 0)), v1::HARQ_OUTCOME_FIRST);
  absl::StatusOr<JobPtr> in_flight = Bound(Held("a", 1));
  ASSERT_THAT(in_flight, IsOk());
  EXPECT_THAT(Bound(Held("a", 2)).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("in use")));
  Device* const device = device_.get();
  EXPECT_THAT((*in_flight)->Hold({&device, 1}), IsOk()) << "admission is tried again";
  (*in_flight)->LetGo();
  EXPECT_THAT(Bound(Held("a", 2)), IsOk()) << "it was refused";
}

TEST_F(HeldSoftBitsTest, WhatWasNotDecodedToItsEndIsLost) {
  EXPECT_EQ(OutcomeOf(Held("a", 0)), v1::HARQ_OUTCOME_FIRST);
  {
    absl::StatusOr<JobPtr> job = Bound(Held("a", 1));
    ASSERT_THAT(job, IsOk());
    (*job)->cancelled = std::make_shared<std::atomic<bool>>(true);
    (void)RunOnCpu(*std::move(job), RequestOf(Held("a", 1)).payload);
  }
  std::string why;
  EXPECT_EQ(OutcomeOf(Held("a", 1), &why), v1::HARQ_OUTCOME_LOST);
  EXPECT_THAT(why, HasSubstr("not decoded to its end"));
  // A first transmission that was refused after it was given memory holds nothing either.
  { ASSERT_THAT(Bound(Held("b", 0)), IsOk()); }
  EXPECT_EQ(OutcomeOf(Held("b", 1)), v1::HARQ_OUTCOME_LOST);
}

TEST_F(HeldSoftBitsTest, WhereThereIsNoRoomABlockIsDecodedAlone) {
  Serve(/*max_mib=*/0, /*client_mib=*/4);
  std::string why;
  EXPECT_EQ(OutcomeOf(Held("a", 0), &why), v1::HARQ_OUTCOME_NOT_HELD);
  EXPECT_THAT(why, HasSubstr("object_mib"));
  Serve(/*max_mib=*/1, /*client_mib=*/1);
  v1::DecodeSharedChannelRequest large = Held("a", 0);
  v1::TransportBlock& tb = *large.mutable_groups(0)->mutable_block()->mutable_transport_block();
  tb.set_tb_bytes(159749);  // 1,277,992 bits: 152 code blocks
  tb.set_g(152 * 40);
  large.set_payload(std::string(152 * 40, '\x03'));
  EXPECT_EQ(OutcomeOf(large, &why), v1::HARQ_OUTCOME_NOT_HELD);
  EXPECT_THAT(why, HasSubstr("bytes"));
}

TEST_F(HeldSoftBitsTest, NothingIsLeftOfManyProcesses) {
  for (int i = 0; i < 2000; ++i) {
    v1::DecodeSharedChannelRequest request = Held("process " + std::to_string(i), 0);
    if (i > 0) request.add_free_keys("process " + std::to_string(i - 1));
    const auto job = Bound(request);
    ASSERT_THAT(job, IsOk());
  }
  EXPECT_EQ(device_->objects()->usage().objects, 1);
}

TEST_F(HeldSoftBitsTest, NothingIsLeftOfAMillionProcesses) {
  Serve(/*max_mib=*/2, /*client_mib=*/1);
  const SharedChannelBlock block = *BlockFromProto(BlockOf(0));
  HeldAs as;
  as.bytes = 25'344;
  std::mt19937 random(1);
  int64_t lost = 0;
  for (int i = 0; i < 1'000'000; ++i, now_ += absl::Microseconds(100)) {
    const std::string client = i % 3 == 0 ? "cell 1" : "cell 2";
    const std::string key = std::to_string(i);
    const auto first = HoldSoftBits(client, key, 0, block, as, *device_);
    ASSERT_THAT(first, IsOk());
    ASSERT_NE(first->object, nullptr);
    first->object->set_mark(SoftBitsMark(block, as, 0));
    if (random() % 4 == 0) continue;  // its client forgets it
    if (random() % 4 == 0) {          // one of a while ago is sent again
      const auto late = HoldSoftBits(client, std::to_string(i - 30), 1, block, as, *device_);
      ASSERT_THAT(late, IsOk());
      lost += late->outcome == v1::HARQ_OUTCOME_LOST ? 1 : 0;
    }
    FreeSoftBits(client, key, *device_);
  }
  // One in 16 / 3 is sent again, and three in four of those were freed.
  EXPECT_NEAR(static_cast<double>(lost), 140'625, 3'000);
  now_ += absl::Seconds(61);
  const ObjectStore::Usage left = device_->objects()->usage();
  EXPECT_EQ(left.objects, 0);
  EXPECT_EQ(left.bytes, 0);
}

TEST_F(HeldSoftBitsTest, ARefusalNamesWhatIsWrong) {
  const auto refused = [&](const v1::DecodeSharedChannelRequest& request) {
    return std::string(Bound(request).status().message());
  };
  v1::DecodeSharedChannelRequest request = Held("a", 0);
  request.mutable_groups(0)->mutable_harq()->set_key(std::string(65, 'k'));
  EXPECT_THAT(refused(request), HasSubstr("groups[0].harq.key has 65 bytes, not 1 to 64"));
  request = Held("a", 0);
  request.mutable_groups(0)->mutable_harq()->set_transmission(256);
  EXPECT_THAT(refused(request), HasSubstr("harq.transmission 256 is not in [0, 255]"));
  request = Held("a", 0);
  request.mutable_groups(0)->mutable_harq()->clear_key();
  request.mutable_groups(0)->mutable_harq()->set_transmission(1);
  EXPECT_THAT(refused(request), HasSubstr("harq.transmission 1 is set without a key"));
  request = Held("a", 0);
  request.mutable_groups(0)->set_count(2);
  EXPECT_THAT(refused(request), HasSubstr("harq.key is set for 2 blocks"));
  request = Held("a", 0);
  request.mutable_groups(0)->mutable_harq()->set_soft_out(true);
  EXPECT_THAT(refused(request), HasSubstr("harq.key is set beside soft_in or soft_out"));
  request = Held("a", 0);
  *request.add_groups() = request.groups(0);
  request.set_payload(llr_ + llr_);
  EXPECT_THAT(refused(request), HasSubstr("groups[1].harq.key is that of a block before it"));
  request = Held("a", 0);
  for (int i = 0; i < 4097; ++i) request.add_free_keys("k");
  EXPECT_THAT(refused(request), HasSubstr("free_keys has 4097 keys"));
}

}  // namespace
}  // namespace baseband::server
