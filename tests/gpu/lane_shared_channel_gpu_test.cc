// Batches of shared channels on the lanes of a GPU against known answers, and the same batches on
// the CPU: to the bit.
#include <string>
#include <utility>
#include <vector>

#include "server/operations/shared_channel/decode_shared_channel.h"
#include "server/operations/shared_channel/encode_shared_channel.h"
#include "tests/gpu/compare_answers.h"
#include "tests/gpu/lane_gpu_fixture.h"
#include "tests/support/nr_vectors.h"
#include "tests/support/random_requests.h"
#include "tests/support/shared_channel_answers.h"

namespace baseband::server {
namespace {

using testing::AnswerOf;
using testing::SharedChannelAnswer;
using testing::SharedChannelOperation;

class SharedChannelLaneGpuTest : public LaneGpuTest {
 protected:
  // Null: the request is refused.
  template <typename Message>
  JobPtr JobOf(const Message& request) {
    auto job = ConvertRequest(SharedChannelOperation<Message>(), request);
    return job.ok() ? WithPayload(*std::move(job), request.payload()) : nullptr;
  }
  template <typename Message>
  static SharedChannelAnswer<Message> Answer(Job& job) {
    const auto reply = SharedChannelOperation<Message>().ToReply(job);
    EXPECT_THAT(reply, IsOk());
    return AnswerOf<SharedChannelAnswer<Message>>(*reply);
  }
  // One request alone on the GPU.
  template <typename Message>
  SharedChannelAnswer<Message> AnswerOnGpu(const Message& request) {
    std::vector<JobPtr> jobs;
    jobs.push_back(JobOf(request));
    jobs = OnGpu(std::move(jobs));
    return Answer<Message>(*jobs.front());
  }

  // Batches of requests as `draw` draws them.
  template <typename Message, typename Compare>
  void ExpectWhatTheCpuGives(Message (*draw)(testing::Random&), const Compare& compare) {
    testing::Random random(21);
    for (int round = 0; round < 30; ++round) {
      std::vector<Message> requests;
      std::vector<JobPtr> cpu;
      std::vector<JobPtr> gpu;
      while (requests.size() < 5) {
        const Message request = draw(random);
        JobPtr job = JobOf(request);
        if (job == nullptr) continue;
        cpu.push_back(std::move(job));
        gpu.push_back(JobOf(request));
        requests.push_back(request);
      }
      cpu = OnCpu(std::move(cpu));
      gpu = OnGpu(std::move(gpu), round % kNumLanes);
      for (size_t j = 0; j < requests.size(); ++j) {
        ASSERT_EQ(compare(requests[j], Answer<Message>(*gpu[j]), Answer<Message>(*cpu[j])), "")
            << "round " << round;
      }
    }
  }
};

TEST_F(SharedChannelLaneGpuTest, MixedEncodeJobsGiveWhatTheCpuGives) {
  ExpectWhatTheCpuGives(testing::RandomEncodeSharedChannelRequest, CompareEncodeSharedChannel);
}

TEST_F(SharedChannelLaneGpuTest, MixedDecodeJobsGiveWhatTheCpuGives) {
  ExpectWhatTheCpuGives(testing::RandomDecodeSharedChannelRequest, CompareDecodeSharedChannel);
}

v1::SharedChannelBlock BlockOf(const testing::NrPlanVector& v, int rv) {
  v1::SharedChannelBlock block;
  block.set_rv(static_cast<uint32_t>(rv));
  block.set_qm(static_cast<uint32_t>(v.block.qm));
  block.set_layers(static_cast<uint32_t>(v.block.num_layers));
  v1::TransportBlock& tb = *block.mutable_transport_block();
  tb.set_tb_bytes(static_cast<uint32_t>(v.block.tb_bytes));
  tb.set_base_graph(static_cast<uint32_t>(v.block.base_graph));
  tb.set_g(static_cast<uint32_t>(v.block.g));
  tb.set_tbs_lbrm(static_cast<uint32_t>(v.block.tbs_lbrm));
  return block;
}

TEST_F(SharedChannelLaneGpuTest, KnownTransportBlocksOfOneSlotAreSentAsTheStandardSays) {
  v1::EncodeSharedChannelRequest request;
  std::string expected;
  for (const testing::NrChainVector& v : testing::ReadNrChainVectors()) {
    v1::EncodeSharedChannelGroup& group = *request.add_groups();
    *group.mutable_block() = BlockOf(v.plan, v.plan.block.rv);
    group.set_count(1);
    request.mutable_payload()->append(v.plan.tb.begin(), v.plan.tb.end());
    expected.append(v.out.begin(), v.out.end());
  }
  EXPECT_EQ(AnswerOnGpu(request).payload(), expected);
}

TEST_F(SharedChannelLaneGpuTest, KnownBlocksDecodeOnceEnoughOfTheirTransmissionsCame) {
  for (const testing::NrDecodeVector& v : testing::ReadNrDecodeVectors()) {
    std::string soft;
    for (size_t t = 0; t < v.transmissions.size(); ++t) {
      const auto& [rv, llr] = v.transmissions[t];
      v1::DecodeSharedChannelRequest request;
      v1::DecodeSharedChannelGroup& group = *request.add_groups();
      *group.mutable_block() = BlockOf(v.plan, rv);
      group.set_count(1);
      group.mutable_harq()->set_soft_in(t > 0);
      group.mutable_harq()->set_soft_out(true);
      request.set_payload(soft + std::string(llr.begin(), llr.end()));
      request.mutable_payload()->resize((request.payload().size() + 3) / 4 * 4);
      const v1::DecodeSharedChannelResponse answer = AnswerOnGpu(request);
      soft = answer.soft();
      if (t + 1 < v.transmissions.size()) continue;
      EXPECT_TRUE(answer.blocks(0).crc_ok()) << "case " << v.plan.number;
      EXPECT_EQ(answer.payload(), std::string(v.plan.tb.begin(), v.plan.tb.end()));
    }
  }
}

// All of whose blocks end on whole words, so that nothing is brought into shape on the host.
TEST_F(SharedChannelLaneGpuTest, WhatIsRightAsTheKernelsWriteItIsNotCopiedAgain) {
  v1::EncodeSharedChannelRequest request;
  v1::EncodeSharedChannelGroup& group = *request.add_groups();
  group.set_count(3);
  group.mutable_block()->set_qm(4);
  group.mutable_block()->set_c_init(3);
  v1::TransportBlock& tb = *group.mutable_block()->mutable_transport_block();
  tb.set_tb_bytes(500);
  tb.set_base_graph(1);
  tb.set_g(6400);
  testing::Random random(3);
  request.set_payload(testing::RandomBytes(1500, random));
  for (const auto output : {v1::SHARED_CHANNEL_OUTPUT_BITS, v1::SHARED_CHANNEL_OUTPUT_FLOAT16}) {
    group.set_output(output);
    EXPECT_EQ(AnswerOnGpu(request).payload(), testing::AnswerTo(request).payload());
  }
  group.set_output(v1::SHARED_CHANNEL_OUTPUT_FLOAT16);
  v1::DecodeSharedChannelRequest received;
  v1::DecodeSharedChannelGroup& back = *received.add_groups();
  *back.mutable_block() = group.block();
  back.set_count(3);
  back.set_input(v1::SHARED_CHANNEL_INPUT_SYMBOLS_FLOAT16);
  back.set_noise_variance(1e-3F);
  received.set_payload(AnswerOnGpu(request).payload());
  EXPECT_EQ(AnswerOnGpu(received).payload(), request.payload());
}

}  // namespace
}  // namespace baseband::server
