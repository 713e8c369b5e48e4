// Batches of shared channels' jobs, both ways, run piece by piece as the CPU device does.
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/operations/shared_channel/decode_shared_channel.h"
#include "server/operations/shared_channel/encode_shared_channel.h"
#include "tests/support/matchers.h"
#include "tests/support/random_requests.h"
#include "tests/support/shared_channel_answers.h"

namespace baseband::testing {
namespace {

// What differs between the two ways.
struct Encode {
  using Request = v1::EncodeSharedChannelRequest;
  using Answer = v1::EncodeSharedChannelResponse;
  using Job = server::EncodeSharedChannelJob;
  static Request Draw(Random& random) { return RandomEncodeSharedChannelRequest(random); }
  static int64_t BlockBytes(const server::EncodeSharedChannelGroup& group) {
    return group.block.payload_bytes();
  }
  static void Append(const Answer& answer, Answer* all) {
    all->mutable_payload()->append(answer.payload());
  }
  // At least, on a GPU: of the answer and of scratch.
  static int64_t OutputBytes(const server::EncodeSharedChannelGroup& group) {
    return group.count * ((group.output_bytes() + 7) / 8 * 8 + 8 * group.block.plan.num_blocks);
  }
  static constexpr int64_t kBlockBytes = 176;  // of descriptors
  static constexpr int64_t kCodeBlockBytes = 8;
};

struct Decode {
  using Request = v1::DecodeSharedChannelRequest;
  using Answer = v1::DecodeSharedChannelResponse;
  using Job = server::DecodeSharedChannelJob;
  static Request Draw(Random& random) {
    Request request = RandomDecodeSharedChannelRequest(random);
    // Whatever is held, no device holds it here.
    for (v1::DecodeSharedChannelGroup& group : *request.mutable_groups()) {
      group.mutable_harq()->clear_key();
      group.mutable_harq()->clear_transmission();
    }
    request.clear_free_keys();
    return request;
  }
  static int64_t BlockBytes(const server::DecodeSharedChannelGroup& group) {
    return (group.payload_bytes() + 3) / 4 * 4;
  }
  static void Append(const Answer& answer, Answer* all) {
    const std::string soft = all->soft() + answer.soft();
    const std::string payload = all->payload() + answer.payload();
    all->MergeFrom(answer);
    all->set_soft(soft);
    all->set_payload(payload);
  }
  // Payloads; soft bits, whether they are wanted or not; decided bits and results.
  static int64_t OutputBytes(const server::DecodeSharedChannelGroup& group) {
    const int64_t of_code_block = group.block.n_cb() + (group.block.plan.k_prime + 7) / 8 + 12;
    return group.count * ((group.block.payload_bytes() + 3) / 4 * 4 +
                          group.block.plan.num_blocks * of_code_block);
  }
  static constexpr int64_t kBlockBytes = 256;
  static constexpr int64_t kCodeBlockBytes = 64;
};

template <typename Way>
class SharedChannelBatchTest : public ::testing::Test {
 protected:
  using Request = typename Way::Request;
  using Answer = typename Way::Answer;
  using Job = typename Way::Job;

  // Groups drawn at random, a request each.
  static std::vector<Request> Groups(size_t count, uint64_t seed) {
    std::vector<Request> groups;
    Random random(seed);
    while (groups.size() < count) {
      const Request request = Way::Draw(random);
      const auto job = server::ConvertRequest(SharedChannelOperation<Request>(), request);
      if (!job.ok()) continue;
      size_t at = 0;
      for (int g = 0; g < request.groups_size(); ++g) {
        const auto& group = static_cast<const Job&>(**job).groups()[static_cast<size_t>(g)];
        const auto bytes = static_cast<size_t>(group.count * Way::BlockBytes(group));
        groups.emplace_back();
        *groups.back().add_groups() = request.groups(g);
        groups.back().set_payload(request.payload().substr(at, bytes));
        at += bytes;
      }
    }
    return groups;
  }
  // Two blocks of two code blocks each, of garbage.
  static Request FourCodeBlocks() {
    Request request;
    auto& group = *request.add_groups();
    group.set_count(2);
    group.mutable_block()->set_qm(4);
    v1::TransportBlock& tb = *group.mutable_block()->mutable_transport_block();
    tb.set_tb_bytes(1125);
    tb.set_base_graph(1);
    tb.set_g(12000);
    const bool is_encode = std::is_same_v<Way, Encode>;
    request.set_payload(std::string(is_encode ? 2 * 1125 : 2 * 12000, '\7'));
    return request;
  }
};

using Ways = ::testing::Types<Encode, Decode>;
TYPED_TEST_SUITE(SharedChannelBatchTest, Ways);

TYPED_TEST(SharedChannelBatchTest, APermutedSlotGivesThePermutedAnswer) {
  auto groups = this->Groups(40, 5);
  Random random(6);
  for (int round = 0; round < 3; ++round) {
    for (size_t i = groups.size(); i > 1; --i) {
      std::swap(groups[i - 1], groups[static_cast<size_t>(random.Below(static_cast<int>(i)))]);
    }
    typename TypeParam::Request slot;
    typename TypeParam::Answer expected;
    for (const auto& request : groups) {
      *slot.add_groups() = request.groups(0);
      slot.mutable_payload()->append(request.payload());
      TypeParam::Append(AnswerTo(request), &expected);
    }
    EXPECT_EQ(AnswerTo(slot).SerializeAsString(), expected.SerializeAsString());
  }
}

TYPED_TEST(SharedChannelBatchTest, AnAnswerDoesNotDependOnItsNeighboursInABatch) {
  const auto groups = this->Groups(40, 7);
  const auto together = AnswersTo(groups);
  ASSERT_EQ(together.size(), groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    EXPECT_EQ(together[i].SerializeAsString(), AnswerTo(groups[i]).SerializeAsString())
        << groups[i].groups(0).ShortDebugString();
  }
}

// By rings, small requests of one registered job are one: of one group and of several.
TYPED_TEST(SharedChannelBatchTest, JoinedRequestsAreAnsweredAsEachAlone) {
  using Joined = typename TypeParam::Answer;
  auto groups = this->Groups(30, 11);
  for (size_t i = 0; i + 3 <= groups.size(); i += 3) {
    auto& several = groups[i];
    *several.add_groups() = groups[i + 1].groups(0);
    several.mutable_payload()->append(groups[i + 1].payload());
  }
  Random random(12);
  for (const auto& request : groups) {
    constexpr int kCopies = 3;
    std::string payloads;
    std::vector<Joined> expected;
    for (int copy = 0; copy < kCopies; ++copy) {
      auto alone = request;
      for (char& byte : *alone.mutable_payload()) {
        if (random.Below(4) == 0) byte = static_cast<char>(random.Below(256));
      }
      payloads += alone.payload();
      expected.push_back(AnswerTo(alone));
    }
    std::vector<server::JobPtr> jobs;
    jobs.push_back(SharedChannelJob(request)->CopyJoined(kCopies));
    ASSERT_NE(jobs[0], nullptr);
    ASSERT_EQ(jobs[0]->payload_bytes, static_cast<int64_t>(payloads.size()));
    jobs[0] = WithPayload(std::move(jobs[0]),
                          server::Payload({{reinterpret_cast<const uint8_t*>(payloads.data()),
                                            static_cast<int64_t>(payloads.size()), nullptr}},
                                          nullptr));

    jobs = RunSharedChannels(std::move(jobs));
    const auto replies = SharedChannelOperation<typename TypeParam::Request>().ToReplies(*jobs[0]);

    ASSERT_THAT(replies, IsOk());
    ASSERT_EQ(replies->size(), expected.size());
    for (size_t copy = 0; copy < expected.size(); ++copy) {
      EXPECT_EQ(AnswerIn<Joined>((*replies)[copy], jobs[0]->reply.data()).SerializeAsString(),
                expected[copy].SerializeAsString())
          << request.groups(0).ShortDebugString();
    }
  }
}

TEST(DecodeSharedChannelBatchTest, WhatHasToDoWithHeldSoftBitsIsNotJoined) {
  Random random(13);
  int held = 0;
  while (held < 10) {
    const v1::DecodeSharedChannelRequest request = RandomDecodeSharedChannelRequest(random);
    const auto job =
        server::ConvertRequest(SharedChannelOperation<v1::DecodeSharedChannelRequest>(), request);
    if (!job.ok()) continue;
    bool has_key = request.free_keys_size() > 0;
    for (const auto& group : request.groups()) has_key |= !group.harq().key().empty();
    EXPECT_EQ((*job)->CopyJoined(2) == nullptr, has_key) << request.ShortDebugString();
    held += has_key;
  }
}

TYPED_TEST(SharedChannelBatchTest, PiecesThatNobodyWaitsForAreLeftOutAndTheOthersAreNot) {
  const auto request = this->FourCodeBlocks();
  std::vector<server::JobPtr> jobs;
  for (const bool cancelled : {true, false}) {
    jobs.push_back(SharedChannelJob(request));
    jobs.back()->cancelled = std::make_shared<std::atomic<bool>>(cancelled);
  }
  jobs = RunSharedChannels(std::move(jobs));
  EXPECT_EQ(jobs[0]->pieces, 4);
  EXPECT_EQ(jobs[0]->pieces_cut, 4);
  for (const uint8_t byte : jobs[0]->reply.span()) ASSERT_EQ(byte, 0xa5) << "it was not written to";
  EXPECT_EQ(jobs[1]->pieces_cut, 0);
  const auto reply = SharedChannelOperation<typename TypeParam::Request>().ToReply(*jobs[1]);
  EXPECT_EQ(AnswerOf<typename TypeParam::Answer>(*reply).SerializeAsString(),
            AnswerTo(request).SerializeAsString());
}

TYPED_TEST(SharedChannelBatchTest, WhoIsGivenUpBetweenPiecesIsCutThereAndNotFinished) {
  std::vector<server::JobPtr> jobs;
  jobs.push_back(SharedChannelJob(this->FourCodeBlocks()));
  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  jobs.back()->cancelled = cancelled;
  const std::unique_ptr<server::Batch> batch = server::MakeBatch(std::move(jobs));
  ASSERT_EQ(batch->num_pieces(), 4);
  batch->RunPiece(0);
  *cancelled = true;
  for (int piece = 1; piece < 4; ++piece) batch->RunPiece(piece);
  EXPECT_THAT(batch->Finish(), IsOk());
  EXPECT_EQ(batch->jobs().front()->pieces_cut, 3);
}

TYPED_TEST(SharedChannelBatchTest, TheFootprintCoversWhatABatchTakes) {
  for (const auto& request : this->Groups(100, 9)) {
    const auto converted =
        server::ConvertRequest(SharedChannelOperation<typename TypeParam::Request>(), request);
    ASSERT_THAT(converted, IsOk());
    const auto& job = static_cast<const typename TypeParam::Job&>(**converted);
    const auto& group = job.groups().front();
    const int64_t code_blocks = group.count * group.block.plan.num_blocks;
    EXPECT_EQ(job.payload_bytes, static_cast<int64_t>(request.payload().size()));
    EXPECT_EQ(job.footprint.blocks, code_blocks);
    EXPECT_GE(job.footprint.input_bytes, job.payload_bytes);
    EXPECT_GE(job.footprint.output_bytes, TypeParam::OutputBytes(group));
    EXPECT_GE(job.footprint.control_bytes,
              group.count * TypeParam::kBlockBytes + code_blocks * TypeParam::kCodeBlockBytes);
    EXPECT_GT(job.work.units, 0);
    EXPECT_GE(job.work.shape, 0);
    EXPECT_LT(job.work.shape, server::kNumShapes);
  }
}

}  // namespace
}  // namespace baseband::testing
