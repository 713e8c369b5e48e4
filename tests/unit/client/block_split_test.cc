#include "client/cpp/block_split.h"

#include <string>
#include <vector>

#include "client/cpp/messages.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace baseband::client {
namespace {

using ::baseband::testing::IsOk;
using ::baseband::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

v1::LdpcCode Nr(uint32_t base_graph, uint32_t zc) {
  v1::LdpcCode code;
  code.mutable_nr()->set_base_graph(base_graph);
  code.mutable_nr()->set_zc(zc);
  return code;
}

// 7 blocks of 1056 bytes, 5 of 8 and 1 of 12; all bytes of the payload differ from their
// neighbours.
v1::EncodeRequest MixedRequest() {
  v1::EncodeRequest request;
  v1::EncodeGroup* group = request.add_groups();
  *group->mutable_code() = Nr(1, 384);
  group->set_count(7);
  group->set_output(v1::ENCODE_OUTPUT_CODEWORD);
  group = request.add_groups();
  *group->mutable_code() = Nr(2, 8);
  group->set_count(5);
  group->set_n_filler(17);  // 63 bits are left
  group = request.add_groups();
  *group->mutable_code() = Nr(2, 10);
  group->set_count(1);
  group->set_n_filler(4);  // 96 bits
  for (int i = 0; i < 7 * 1056 + 5 * 8 + 12; ++i) {
    request.mutable_payload()->push_back(static_cast<char>(i % 251));
  }
  return request;
}

template <typename Request>
std::vector<Request> Split(Request request, int parts) {
  const size_t payload_bytes = request.payload().size();
  const grpc::ByteBuffer payload = ToByteBuffer(request.payload());
  request.clear_payload();
  const grpc::ByteBuffer whole =
      WithField(request.SerializeAsString(), Request::kPayloadFieldNumber, payload);
  std::vector<Request> messages;
  for (grpc::ByteBuffer& message : SplitBlocks(request, whole, payload_bytes, parts)) {
    EXPECT_THAT(ParseInto(&message, &messages.emplace_back()), IsOk());
  }
  return messages;
}

// The groups with a count of 1 each, one after the other.
std::vector<std::string> Blocks(const std::vector<v1::EncodeRequest>& requests) {
  std::vector<std::string> blocks;
  for (const auto& request : requests) {
    for (v1::EncodeGroup group : request.groups()) {
      const uint32_t count = group.count();
      group.set_count(1);
      blocks.insert(blocks.end(), count, group.SerializeAsString());
    }
  }
  return blocks;
}

TEST(SplitBlocksTest, ThePartsHaveAllBlocksInOrderAndAboutAsManyBytesEach) {
  const v1::EncodeRequest request = MixedRequest();
  for (const int parts : {2, 3, 5, 7}) {
    SCOPED_TRACE(parts);
    const std::vector<v1::EncodeRequest> split = Split(request, parts);
    ASSERT_THAT(split, SizeIs(parts));
    EXPECT_EQ(Blocks(split), Blocks({request}));
    std::string payload;
    for (const v1::EncodeRequest& part : split) {
      EXPECT_NEAR(static_cast<double>(part.payload().size()),
                  static_cast<double>(request.payload().size()) / parts, 1056);
      size_t bytes = 0;
      for (const v1::EncodeGroup& group : part.groups()) {
        bytes += group.count() * (group.code().nr().zc() == 384 ? 1056
                                  : group.code().nr().zc() == 8 ? 8
                                                                : 12);
      }
      EXPECT_EQ(part.payload().size(), bytes);
      payload += part.payload();
    }
    EXPECT_EQ(payload, request.payload());
  }
}

TEST(SplitBlocksTest, ThereAreNoMorePartsThanBlocks) {
  EXPECT_THAT(Split(MixedRequest(), 64), SizeIs(8));  // the small ones are together
  v1::EncodeRequest one;
  *one.add_groups()->mutable_code() = Nr(1, 384);
  one.mutable_groups(0)->set_count(1);
  one.set_payload(std::string(1056, 'b'));
  EXPECT_THAT(Split(one, 4), IsEmpty());
}

TEST(SplitBlocksTest, TheLlrsOfADecodeRequestGoWithTheirBlocks) {
  v1::DecodeRequest request;
  v1::DecodeGroup* group = request.add_groups();
  *group->mutable_code() = Nr(2, 8);
  group->mutable_code()->set_parity_rows(10);
  group->set_count(4);  // (10 + 10 - 2) * 8 LLRs each
  group = request.add_groups();
  *group->mutable_code() = Nr(2, 8);
  group->set_llr_count(144);
  group->set_count(4);
  group->set_soft_output(true);
  request.set_payload(std::string(4 * 144, 'a') + std::string(4 * 144, 'b'));
  const std::vector<v1::DecodeRequest> split = Split(request, 2);
  ASSERT_THAT(split, SizeIs(2));
  EXPECT_EQ(split[0].payload(), std::string(4 * 144, 'a'));
  EXPECT_EQ(split[1].payload(), std::string(4 * 144, 'b'));
  EXPECT_FALSE(split[0].groups(0).soft_output());
  EXPECT_TRUE(split[1].groups(0).soft_output());
}

TEST(SplitBlocksTest, WhatIsWrongOrNamesMemoryIsNotDivided) {
  EXPECT_THAT(Split(MixedRequest(), 1), IsEmpty());
  v1::EncodeRequest request = MixedRequest();
  request.mutable_payload()->push_back('b');
  EXPECT_THAT(Split(request, 2), IsEmpty());
  request.mutable_payload()->resize(request.payload().size() - 2);
  EXPECT_THAT(Split(request, 2), IsEmpty());
  for (const uint32_t count : {0u, 8u, UINT32_MAX}) {
    request = MixedRequest();
    request.mutable_groups(0)->set_count(count);
    EXPECT_THAT(Split(request, 2), IsEmpty());
  }
  request = MixedRequest();
  request.mutable_groups(0)->mutable_code()->mutable_nr()->set_zc(383);
  EXPECT_THAT(Split(request, 2), IsEmpty());
  request = MixedRequest();
  request.mutable_groups(1)->set_n_filler(80);
  EXPECT_THAT(Split(request, 2), IsEmpty());
  request = MixedRequest();
  request.mutable_reply_at();
  EXPECT_THAT(Split(request, 2), IsEmpty());
}

v1::DecodeResponse Answer(const std::string& bits, const std::string& soft, uint32_t kernel_us) {
  v1::DecodeResponse response;
  response.set_payload(bits);
  response.set_soft(soft);
  response.add_iterations(static_cast<uint32_t>(bits.size()));
  response.add_parity_ok(bits.size() > 1);
  response.mutable_timing()->set_kernel_us(kernel_us);
  return response;
}

TEST(JoinBlocksTest, AnswersFollowEachOtherAndTheTimingIsTheSlowest) {
  std::vector<grpc::ByteBuffer> answers;
  for (const auto& answer : {Answer("ab", "", 7), Answer("c", "xyz", 9), Answer("def", "u", 8)}) {
    answers.push_back(*Serialize(answer));
  }
  const auto joined = JoinBlocks<v1::DecodeResponse>(std::move(answers));
  ASSERT_THAT(joined, IsOk());
  EXPECT_EQ(joined->payload(), "abcdef");
  EXPECT_EQ(joined->soft(), "xyzu");
  EXPECT_THAT(joined->iterations(), ElementsAre(2, 1, 3));
  EXPECT_THAT(joined->parity_ok(), ElementsAre(true, false, true));
  EXPECT_EQ(joined->timing().kernel_us(), 9);
}

TEST(JoinBlocksTest, AnAnswerThatCannotBeParsedIsInternal) {
  for (const std::string& bad : {std::string("\x7a\x05"
                                             "abc"),
                                 std::string("\xff\xff\xff")}) {
    std::vector<grpc::ByteBuffer> answers = {*Serialize(v1::EncodeResponse()), ToByteBuffer(bad)};
    EXPECT_THAT(JoinBlocks<v1::EncodeResponse>(std::move(answers)),
                StatusIs(absl::StatusCode::kInternal, ::testing::HasSubstr("parsed")));
  }
}

}  // namespace
}  // namespace baseband::client
