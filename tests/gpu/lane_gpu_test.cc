// Decode's and RecoverCarrier's batches on the lanes of a GPU against the same batches on the CPU,
// and the lanes.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "server/jobs/self_test.h"
#include "server/operations/decode/decode.h"
#include "server/operations/recover_carrier/recover_carrier.h"
#include "tests/gpu/group_lane_gpu_fixture.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/matchers.h"

namespace baseband::server {
namespace {

TEST_F(LaneGpuTest, PassesTheSelfTest) {
  EXPECT_THAT(RunSelfTest(*device_, TestOperations(), *pool_, *pool_), IsOk());
  EXPECT_EQ(pool_->used(), 0);
}

TEST_F(GroupLaneGpuTest, MixedDecodeJobsGiveWhatTheCpuGives) {
  for (int round = 0; round < 20; ++round) {
    std::vector<JobPtr> cpu;
    std::vector<JobPtr> gpu;
    for (int j = 0; j < 5; ++j) {
      std::vector<DecodeGroup> groups;
      int64_t bytes = 0;
      for (const ldpc::CodePtr& code : Codes()) {
        DecodeGroup group;
        group.code = code;
        group.count = 1 + random_() % 5;
        group.num_filler = random_() % 2 == 0 ? 0 : static_cast<int>(random_() % code->k());
        group.llr_count = code->num_sent();
        group.soft_output = random_() % 2 == 0;
        group.parameters.max_iterations = 1 + static_cast<int>(random_() % 2) * 7;
        group.parameters.early_termination = random_() % 2 == 0;
        group.parameters.schedule =
            random_() % 4 == 0 ? ldpc::Schedule::kFlooding : ldpc::Schedule::kLayered;
        bytes += group.count * group.llr_count;
        groups.push_back(group);
      }
      std::string payload = Random(bytes);
      for (char& llr : payload) llr = static_cast<char>(llr / 8 + 6);  // mostly zeros, noisy
      cpu.push_back(MakeJob<DecodeJob>(groups, payload));
      gpu.push_back(MakeJob<DecodeJob>(groups, payload));
    }
    cpu = OnCpu(std::move(cpu));
    gpu = OnGpu(std::move(gpu), round % kNumLanes);
    for (size_t j = 0; j < cpu.size(); ++j) {
      const auto& expected = static_cast<const DecodeJob&>(*cpu[j]);
      const auto& got = static_cast<const DecodeJob&>(*gpu[j]);
      for (size_t b = 0; b < expected.results.size(); ++b) {
        ASSERT_EQ(got.results[b].iterations, expected.results[b].iterations);
        ASSERT_EQ(got.results[b].parity_ok, expected.results[b].parity_ok);
      }
      const auto bits = static_cast<size_t>(expected.bits_bytes());
      ASSERT_TRUE(got.reply.span().first(bits) == expected.reply.span().first(bits));
      const auto soft = static_cast<size_t>(expected.soft_offset());
      const auto soft_bytes = static_cast<size_t>(expected.soft_bytes());
      if (soft_bytes > 0) {
        ASSERT_TRUE(got.reply.span().subspan(soft, soft_bytes) ==
                    expected.reply.span().subspan(soft, soft_bytes));
      }
    }
  }
}

// The scratch memory belongs to all lanes: users of it take turns.
TEST_F(GroupLaneGpuTest, LanesShareTheWorkspace) {
  DecodeGroup group;
  group.code = *ldpc::NrCode(1, 384);
  group.count = 40;
  group.llr_count = group.code->num_sent();
  group.parameters.algorithm = ldpc::Algorithm::kSumProduct;
  std::string payload(static_cast<size_t>(group.count * group.llr_count), 12);
  for (size_t i = 3; i < payload.size(); i += 11) payload[i] = -5;
  std::vector<std::unique_ptr<Batch>> batches;
  std::vector<absl::Notification> ended(6);
  for (size_t i = 0; i < ended.size(); i += kNumLanes) {
    for (size_t lane = 0; lane < kNumLanes; ++lane) {
      std::vector<JobPtr> jobs;
      jobs.push_back(MakeJob<DecodeJob>(std::vector<DecodeGroup>{group}, payload));
      batches.push_back(MakeBatch(std::move(jobs)));
      device_->lanes()[lane]->Start(batches.back().get(),
                                    [&ended, n = i + lane](absl::Status status, const StageTimes&) {
                                      EXPECT_THAT(status, IsOk());
                                      ended[n].Notify();
                                    });
    }
    for (size_t lane = 0; lane < kNumLanes; ++lane) ended[i + lane].WaitForNotification();
  }
  for (const auto& batch : batches) {
    EXPECT_THAT(batch->Finish(), IsOk());
    const auto& job = static_cast<const DecodeJob&>(*batch->jobs().front());
    for (const ldpc::DecodeResult& result : job.results) EXPECT_EQ(result.parity_ok, 1);
    for (const uint8_t byte : job.reply.span()) ASSERT_EQ(byte, 0);
  }
}

// Mixed constellations, lengths and formats in jobs that share launches.
TEST_F(GroupLaneGpuTest, MixedRecoverCarrierJobsGiveWhatTheCpuGives) {
  const auto make = [this] {
    std::vector<JobPtr> jobs;
    for (int j = 0; j < 4; ++j) {
      std::vector<RecoverCarrierGroup> groups;
      std::string payload;
      for (const char* name : {"QPSK", "16APSK 3/4", "64QAM"}) {
        testing::FrameSpec spec;
        spec.constellation = *carrier::Constellation::FromName(name);
        spec.num_symbols = 2000 + 777 * j;
        spec.frequency = 0.0031 * (j + 1);
        spec.snr_db = spec.constellation->operating_snr_db() + 6;
        spec.seed = static_cast<uint64_t>(j + 1);
        RecoverCarrierGroup group;
        group.model = *carrier::Model::Create(spec.constellation, carrier::Amplitude::kWeighted, 0);
        group.count = 2;
        group.frame_symbols = spec.num_symbols;
        group.parameters.format =
            j == 2 ? carrier::SampleFormat::kFloat16 : carrier::SampleFormat::kFloat32;
        group.parameters.want_corrected = j != 1;
        group.parameters.want_curve = j == 1;
        if (j == 1) {
          group.curve = carrier::CurveOf(*group.model, group.parameters, spec.num_symbols);
        }
        for (int f = 0; f < group.count; ++f, ++spec.seed) {
          const testing::CarrierFrame frame = testing::MakeFrame(spec);
          const auto samples = testing::ToSamples(frame.symbols, group.parameters.format);
          payload.append(samples.begin(), samples.end());
        }
        groups.push_back(group);
      }
      jobs.push_back(MakeJob<RecoverCarrierJob>(groups, payload));
    }
    return jobs;
  };
  const std::vector<JobPtr> expected = OnCpu(make());
  const std::vector<JobPtr> got = OnGpu(make());

  for (size_t j = 0; j < got.size(); ++j) {
    const auto& gpu = static_cast<const RecoverCarrierJob&>(*got[j]);
    const auto& cpu = static_cast<const RecoverCarrierJob&>(*expected[j]);
    ASSERT_EQ(gpu.results.size(), cpu.results.size());
    for (size_t f = 0; f < gpu.results.size(); ++f) {
      const carrier::Result& a = gpu.results[f];
      const carrier::Result& b = cpu.results[f];
      EXPECT_EQ(a.lock, carrier::Lock::kLocked);
      EXPECT_EQ(a.lock, b.lock);
      EXPECT_NEAR(a.frequency, b.frequency, 0.05 * b.frequency_stddev);
      EXPECT_NEAR(a.evm, b.evm, 2e-3 * b.evm);
    }
  }
}

TEST_F(LaneGpuTest, SomeLanesAreForBackgroundWork) {
  int background = 0;
  for (const std::unique_ptr<Lane>& lane : device_->lanes()) background += lane->background();
  EXPECT_EQ(background, 2);
  EXPECT_EQ(static_cast<int>(device_->lanes().size()), kNumLanes + background);
}

}  // namespace
}  // namespace baseband::server
