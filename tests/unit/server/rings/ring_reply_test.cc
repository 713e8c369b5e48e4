// Large replies are written where the client wants them, by whatever writes them.
#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/fake_device.h"
#include "tests/unit/server/rings/ring_session_fixture.h"

namespace baseband::server {
namespace {

constexpr uint64_t kAt = 64 << 10;           // of the payload
constexpr uint64_t kLargeReply = 128 << 10;  // where it begins

class RingReplyTest : public RingSessionFixture {
 protected:
  RingReplyTest() : RingSessionFixture(kEntries) {
    environment_.limits.max_blocks_per_request = 100;
  }

  // `count` blocks of 1056 bytes, for 2112 each; with `output`.
  BasebandSubmission Large(uint32_t count, v1::EncodeOutput output = v1::ENCODE_OUTPUT_PARITY) {
    v1::EncodeRequest request;
    v1::EncodeGroup& group = *request.add_groups();
    group.mutable_code()->mutable_nr()->set_base_graph(1);
    group.mutable_code()->mutable_nr()->set_zc(384);
    group.set_count(count);
    group.set_output(output);
    const std::string header = request.SerializeAsString();
    header.copy(reinterpret_cast<char*>(memory_->region().base) + kHeader, header.size());
    BasebandSubmission submission{};
    submission.header_offset = kHeader;
    submission.header_bytes = static_cast<uint32_t>(header.size());
    submission.payload_offset = kAt;
    submission.payload_bytes = count * 1056;
    submission.reply_offset = kLargeReply;
    submission.reply_bytes = 64 << 10;
    submission.operation = v1::SubmitRequest::kEncodeFieldNumber;
    return submission;
  }
  // Of the job that the device has.
  HostLease& Reply() { return static_cast<Batch*>(device_.task(0))->jobs().front()->reply; }
  uint8_t* Base() const { return memory_->region().base; }
};

TEST_F(RingReplyTest, ALargeOneIsTheClientsMemory) {
  Submit(Large(20));
  TakeAll();
  EXPECT_EQ(Reply().data(), Base() + kLargeReply);
  EXPECT_EQ(Reply().region(), &memory_->region());
  EXPECT_EQ(environment_.reply->used(), 0);
  const auto bytes = static_cast<size_t>(Reply().size());
  std::fill_n(Reply().data(), bytes, uint8_t{7});
  Base()[kLargeReply + bytes] = 9;
  device_.End();
  const BasebandCompletion done = Next();
  EXPECT_EQ(done.code, 0U);
  EXPECT_EQ(done.payload_offset, kLargeReply);
  EXPECT_EQ(done.payload_bytes, bytes);
  EXPECT_EQ(std::count(Base() + kLargeReply, Base() + kLargeReply + bytes, uint8_t{7}),
            static_cast<int64_t>(bytes));
}

TEST_F(RingReplyTest, ASmallOneIsCopiedThere) {
  Submit(Large(2));
  TakeAll();
  EXPECT_EQ(Reply().region(), &environment_.reply->region());
  const auto bytes = static_cast<size_t>(Reply().size());
  std::fill_n(Reply().data(), bytes, uint8_t{7});
  device_.End();
  EXPECT_EQ(Next().payload_bytes, bytes);
  EXPECT_EQ(Base()[kLargeReply + bytes - 1], 7);
  EXPECT_EQ(environment_.reply->used(), 0);
}

TEST_F(RingReplyTest, TheMemoryStaysForALostDeviceThatMayStillWriteThere) {
  Submit(Large(20));
  TakeAll();
  ASSERT_TRUE(dispatcher_->LoseDevice("puppet", DeviceLoss::kInjected, "a trial").ok());
  const BasebandCompletion lost = Next();
  EXPECT_EQ(lost.code, static_cast<uint32_t>(absl::StatusCode::kUnavailable));
  EXPECT_EQ(lost.value, 1U);
  // Where the device does not write.
  EXPECT_THAT(TextOf(lost), ::testing::HasSubstr("a trial"));
  EXPECT_GE(lost.header_offset, kLargeReply + static_cast<uint64_t>(Reply().size()));
  // Its client leaves, and its region with it.
  uint8_t* const there = Reply().data();
  const std::weak_ptr<SharedMemory> memory = memory_;
  session_->End();
  session_.reset();
  memory_.reset();
  ASSERT_FALSE(memory.expired());
  there[0] = 1;
  device_.End();
  EXPECT_TRUE(memory.expired());
}

TEST_F(RingReplyTest, OfWhatALostDeviceHadNotBegunNothingIsWritten) {
  Submit(Large(20));
  TakeAll();
  Submit(Large(2));
  Submit(Large(20));  // waits
  TakeAll();
  ASSERT_TRUE(dispatcher_->LoseDevice("puppet", DeviceLoss::kInjected, "a trial").ok());
  for (int i = 0; i < 3; ++i) {
    const BasebandCompletion lost = Next();
    EXPECT_NE(lost.code, 0U);
    EXPECT_EQ(lost.value, lost.id == 0 ? 1U : 0U) << lost.id;
  }
  device_.End();
}

class CopyingDevice final : public FakeDevice {
 public:
  CopyingDevice() : FakeDevice("fake", "gpu", /*standby=*/false) {}
  bool copies_payloads() const override { return true; }
};

TEST_F(RingReplyTest, ARegionThatNoGpuHasLockedIsCopiedFromAndTo) {
  CopyingDevice gpu;
  environment_.devices = {&gpu};
  Submit(Large(20));
  TakeAll();
  EXPECT_EQ(Reply().region(), &environment_.reply->region());
  const Job& job = *static_cast<Batch*>(device_.task(0))->jobs().front();
  EXPECT_EQ(job.input.pieces().front().region, &environment_.staging->region());
  std::fill_n(Reply().data(), Reply().size(), uint8_t{7});
  device_.End();
  EXPECT_EQ(Next().code, 0U);
  EXPECT_EQ(Base()[kLargeReply], 7);
}

}  // namespace
}  // namespace baseband::server
