// Soft bits that a GPU holds between transmissions, in 8, 6 and 4 bits, against those that the CPU
// device holds: to the bit.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/device/cpu_device.h"
#include "server/operations/shared_channel/decode_shared_channel.h"
#include "tests/gpu/compare_answers.h"
#include "tests/gpu/lane_gpu_fixture.h"
#include "tests/support/convert_request.h"
#include "tests/support/random_requests.h"
#include "tests/support/shared_channel_answers.h"
#include "tests/support/shared_channel_words.h"

namespace baseband::server {
namespace {

using Request = v1::DecodeSharedChannelRequest;

class HeldSoftBitsLaneGpuTest : public LaneGpuTest {
 protected:
  void SetUp() override {
    LaneGpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    ObjectLimits limits;
    limits.max_bytes = limits.max_bytes_per_owner = 32 << 20;
    limits.time_to_live = absl::Seconds(60);
    CudaDeviceOptions options = OptionsOfLanes(kNumLanes);
    options.objects = limits;
    device_.reset();
    auto device = CudaDevice::Create(options);
    ASSERT_THAT(device, IsOk());
    device_ = *std::move(device);
    device_->set_healthy(true);
    cpu_ = std::make_unique<CpuDevice>(1, /*standby=*/false, limits);
    cpu_->set_healthy(true);
  }

  JobPtr JobOn(Device& device, const Request& request) {
    absl::StatusOr<JobPtr> job =
        ConvertRequest(testing::SharedChannelOperation<Request>(), request);
    EXPECT_THAT(job, IsOk());
    (*job)->caller.client = "cell 1";
    Device* const one = &device;
    EXPECT_THAT((*job)->Bind({&one, 1}), IsOk());
    EXPECT_THAT((*job)->Hold({&one, 1}), IsOk());
    return WithPayload(*std::move(job), request.payload());
  }
  v1::DecodeSharedChannelResponse Answer(Job& job) {
    const auto reply = testing::SharedChannelOperation<Request>().ToReply(job);
    EXPECT_THAT(reply, IsOk());
    return testing::AnswerOf<v1::DecodeSharedChannelResponse>(*reply);
  }

  std::unique_ptr<CpuDevice> cpu_;
};

// Users of one slot: of one and of several code blocks, with a limited buffer and without, each
// held in a size of its own; one has no key.
Request Slot(int transmission, uint32_t number, testing::Random& random) {
  Request request;
  const uint32_t bytes[] = {40, 600, 1125, 3000};
  for (int user = 0; user < 12; ++user) {
    v1::DecodeSharedChannelGroup& group = *request.add_groups();
    v1::SharedChannelBlock& block = *group.mutable_block();
    block.set_qm(4);
    block.set_rv(static_cast<uint32_t>((transmission * 2) % 4));
    v1::TransportBlock& tb = *block.mutable_transport_block();
    tb.set_tb_bytes(bytes[user % 4]);
    tb.set_base_graph(1);
    tb.set_g(tb.tb_bytes() * 12);
    if (user % 3 == 1) tb.set_tbs_lbrm(12 * tb.tb_bytes());
    group.set_count(1);
    group.set_early_stop(static_cast<v1::EarlyStop>(user % 4));
    if (user != 5) {
      v1::Harq& harq = *group.mutable_harq();
      harq.set_key(std::string(1, static_cast<char>('a' + user)));
      harq.set_transmission(number);
      const uint32_t sizes[] = {0, 4, 6, 4, 6};
      harq.set_llr_size(sizes[user % 5]);
    }
    const SharedChannelBlock shape = *BlockFromProto(block);
    testing::Random of_user(static_cast<uint64_t>(user + 1));
    const std::string payload = testing::RandomBytes(shape.payload_bytes(), of_user);
    request.mutable_payload()->append(testing::ReceivedOf(
        shape, testing::SentBitsOf(shape, payload), group, /*snr_db=*/0.5, random));
  }
  return request;
}

TEST_F(HeldSoftBitsLaneGpuTest, EveryTransmissionIsWhatTheCpuMakesOfIt) {
  testing::Random random(5);
  int right = 0;
  const std::pair<uint32_t, v1::HarqOutcome> kTransmissions[] = {
      {0, v1::HARQ_OUTCOME_FIRST},    {1, v1::HARQ_OUTCOME_COMBINED},
      {2, v1::HARQ_OUTCOME_COMBINED}, {2, v1::HARQ_OUTCOME_REPEATED},
      {3, v1::HARQ_OUTCOME_COMBINED}, {5, v1::HARQ_OUTCOME_COMBINED}};
  for (const auto& [number, outcome] : kTransmissions) {
    const Request request = Slot(static_cast<int>(number), number, random);
    std::vector<JobPtr> cpu;
    std::vector<JobPtr> gpu;
    cpu.push_back(JobOn(*cpu_, request));
    gpu.push_back(JobOn(*device_, request));
    cpu = OnCpu(std::move(cpu));
    gpu = OnGpu(std::move(gpu), static_cast<int>(number) % kNumLanes);
    const v1::DecodeSharedChannelResponse answer = Answer(*gpu[0]);
    EXPECT_EQ(CompareDecodeSharedChannel(request, answer, Answer(*cpu[0])), "")
        << "transmission " << number;
    for (int user = 0; user < 12; ++user) {
      right += answer.blocks(user).crc_ok();
      EXPECT_EQ(answer.blocks(user).harq(), user == 5 ? v1::HARQ_OUTCOME_UNSPECIFIED : outcome);
    }
  }
  EXPECT_GT(right, 12) << "nothing is decoded";
}

}  // namespace
}  // namespace baseband::server
