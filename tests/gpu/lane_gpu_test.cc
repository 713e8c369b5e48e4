// Batches on the lanes of a GPU against the same batches on the CPU.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/minimize/expression_functional.h"
#include "kernels/minimize/schwefel.h"
#include "kernels/minimize/sinusoids.h"
#include "server/device/cuda_device.h"
#include "server/jobs/self_test.h"
#include "server/operations/decode/decode.h"
#include "server/operations/downconvert/downconvert.h"
#include "server/operations/encode/encode.h"
#include "server/operations/minimize/minimize.h"
#include "server/operations/recover_carrier/recover_carrier.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/downconvert_signals.h"
#include "tests/support/gpu_test.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

using ::baseband::testing::IsOk;

constexpr int kNumLanes = 2;

// Whose jobs these are.
template <typename J>
Operation& OperationOf() {
  return TestOperation(std::is_same_v<J, EncodeJob>   ? "Encode"
                       : std::is_same_v<J, DecodeJob> ? "Decode"
                                                      : "RecoverCarrier");
}

class LaneGpuTest : public ::baseband::testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    CudaDeviceOptions options;
    options.num_lanes = kNumLanes;
    options.lane = {16 << 20, 16 << 20, 4 << 20};
    options.workspace_bytes = TestOperations().cuda_workspace_bytes();
    options.prepare = [] { return TestOperations().PrepareCuda(); };
    auto device = CudaDevice::Create(options);
    ASSERT_THAT(device, IsOk());
    device_ = *std::move(device);
    pool_ = *CreatePinnedPool(64 << 20);
  }

  template <typename J, typename Group>
  JobPtr MakeJob(const std::vector<Group>& groups, const std::string& payload) {
    return WithPayload(std::make_unique<J>(OperationOf<J>(), groups), payload);
  }
  JobPtr WithPayload(JobPtr job, const std::string& payload) {
    EXPECT_EQ(job->payload_bytes, static_cast<int64_t>(payload.size()));
    HostLease input = *pool_->Lease(job->input_bytes());
    job->reply = *pool_->Lease(job->reply_bytes);
    std::copy(payload.begin(), payload.end(), job->WritePrefix(input.data()));
    job->SetInput(std::move(input));
    return job;
  }
  static std::vector<JobPtr> OnCpu(std::vector<JobPtr> jobs) {
    const std::unique_ptr<Batch> batch = MakeBatch(std::move(jobs));
    for (int piece = 0; piece < batch->num_pieces(); ++piece) batch->RunPiece(piece);
    EXPECT_THAT(batch->Finish(), IsOk());
    return batch->TakeJobs();
  }
  std::vector<JobPtr> OnGpu(std::vector<JobPtr> jobs, int lane = 0) {
    const std::unique_ptr<Batch> batch = MakeBatch(std::move(jobs));
    absl::Notification ended;
    device_->lanes()[static_cast<size_t>(lane)]->Start(
        batch.get(), [&](absl::Status status, const StageTimes& times) {
          EXPECT_THAT(status, IsOk());
          EXPECT_GT(times.kernel, absl::ZeroDuration());
          ended.Notify();
        });
    ended.WaitForNotification();
    EXPECT_THAT(batch->Finish(), IsOk());
    return batch->TakeJobs();
  }
  std::string Random(int64_t bytes) {
    std::string text;
    for (int64_t i = 0; i < bytes; ++i) text.push_back(static_cast<char>(random_()));
    return text;
  }

  std::mt19937 random_{5};
  std::shared_ptr<HostPool> pool_;
  std::unique_ptr<CudaDevice> device_;
};

std::vector<ldpc::CodePtr> Codes() {
  return {*ldpc::NrCode(1, 384),  *ldpc::NrCode(2, 3),           *ldpc::NrCode(2, 13, 7),
          *ldpc::NrCode(1, 20),   *ldpc::WimaxCode("3/4B", 672), *ldpc::WifiCode("5/6", 648),
          *ldpc::NrCode(1, 64, 4)};
}

TEST_F(LaneGpuTest, PassesTheSelfTest) {
  EXPECT_THAT(RunSelfTest(*device_, TestOperations(), *pool_, *pool_), IsOk());
  EXPECT_EQ(pool_->used(), 0);
}

TEST_F(LaneGpuTest, MixedEncodeJobsGiveWhatTheCpuGives) {
  for (int round = 0; round < 20; ++round) {
    std::vector<JobPtr> cpu;
    std::vector<JobPtr> gpu;
    for (int j = 0; j < 5; ++j) {
      std::vector<EncodeGroup> groups;
      int64_t bytes = 0;
      for (const ldpc::CodePtr& code : Codes()) {
        EncodeGroup group;
        group.code = code;
        group.count = 1 + random_() % 5;
        group.num_filler = random_() % 2 == 0 ? 0 : static_cast<int>(random_() % code->k());
        group.output = static_cast<EncodeOutput>(random_() % 3);
        bytes += group.count * group.info_bytes();
        groups.push_back(group);
        if (j == 0) break;  // one job that needs no packing: Zc = 384, parity only
      }
      if (j == 0) groups[0].output = EncodeOutput::kParity;
      const std::string payload = Random(bytes);
      cpu.push_back(MakeJob<EncodeJob>(groups, payload));
      gpu.push_back(MakeJob<EncodeJob>(groups, payload));
    }
    std::shuffle(gpu.begin(), gpu.end(), std::mt19937(9));
    std::shuffle(cpu.begin(), cpu.end(), std::mt19937(9));
    cpu = OnCpu(std::move(cpu));
    gpu = OnGpu(std::move(gpu), round % kNumLanes);
    for (size_t j = 0; j < cpu.size(); ++j) {
      ASSERT_TRUE(cpu[j]->reply.span() == gpu[j]->reply.span()) << "round " << round;
    }
  }
}

TEST_F(LaneGpuTest, MixedDecodeJobsGiveWhatTheCpuGives) {
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
TEST_F(LaneGpuTest, LanesShareTheWorkspace) {
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
TEST_F(LaneGpuTest, MixedRecoverCarrierJobsGiveWhatTheCpuGives) {
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

// Three messages of a stream, by one plan that moves on, and what a fourth one's samples are not.
TEST_F(LaneGpuTest, AStreamsJobsGiveWhatTheCpuGivesByOnePlan) {
  using namespace downconvert;  // NOLINT
  constexpr int64_t kNew = 4000;
  auto channels = std::make_shared<std::vector<Channel>>(9);
  for (size_t c = 0; c < channels->size(); ++c) {
    Channel& channel = (*channels)[c];
    channel.phase =
        *PhaseTrack::Create(*Frequency::FromFraction(static_cast<int64_t>(c) + 1, 77), 0.2, {});
    channel.filter = *Filter::FromTaps(testing::SomeTaps(64, 1, 8, 1), 1, 8);
    channel.output = static_cast<OutputFormat>(c % 3);
  }
  Block block;
  block.format = InputFormat::kFloat32;
  block.history = HistoryOf(*channels);
  block.num_samples = block.history + kNew;
  block.first_index = 65000;
  DownconvertPlanPtr plan;
  const gpu::GpuPlan* first_plan = nullptr;
  for (int message = 0; message < 4; ++message, block.first_index += kNew) {
    std::vector<uint8_t> samples =
        testing::NoiseSamples(block.format, block.num_samples, static_cast<uint32_t>(message + 1));
    constexpr int64_t kBad = 1234;
    if (message == 3) std::fill_n(samples.begin() + 8 * (block.history + kBad), 8, 0xff);
    const auto split = samples.begin() + 8 * block.history;
    const auto make = [&](DownconvertPlanPtr last) {
      DownconvertPast past;
      past.received.assign(samples.begin(), split);
      std::vector<JobPtr> jobs;
      jobs.push_back(
          WithPayload(std::make_unique<DownconvertJob>(TestOperation("Downconvert"), channels,
                                                       block, std::move(past), std::move(last)),
                      std::string(split, samples.end())));
      return jobs;
    };
    const std::vector<JobPtr> expected = OnCpu(make(nullptr));
    const std::vector<JobPtr> got = OnGpu(make(std::move(plan)));
    auto& gpu = static_cast<DownconvertJob&>(*got[0]);
    const auto& cpu = static_cast<const DownconvertJob&>(*expected[0]);
    if (message == 0) first_plan = &gpu.plan()->gpu;
    EXPECT_EQ(&gpu.plan()->gpu, first_plan);
    EXPECT_EQ(gpu.plan()->gpu.block().first_index, block.first_index);
    EXPECT_EQ(gpu.has_non_finite(), message == 3);
    EXPECT_EQ(cpu.has_non_finite(), message == 3);
    EXPECT_EQ(FindNonFinite(block, gpu.input.span()),
              message == 3 ? block.history + kBad : block.num_samples);
    for (size_t c = 0; message < 3 && c < channels->size(); ++c) {
      const Channel& channel = (*channels)[c];
      const double limit = kDeviceTolerance * testing::GainLimitOf(*channel.filter);
      for (int64_t i = 0; i < 2 * gpu.ranges()[c].count; ++i) {
        const auto value = [&](const DownconvertJob& job) {
          return testing::ComponentOf(channel.output, job.reply.data() + job.reply_offsets()[c],
                                      static_cast<size_t>(i));
        };
        ASSERT_NEAR(value(gpu), value(cpu), limit + testing::RoundingOf(channel.output, value(cpu)))
            << "message " << message << ", channel " << c << ", output " << i / 2;
      }
    }
    plan = gpu.TakePlan();
  }
}

// Jobs of all input formats whose channels differ in filter, output and retunes, in one batch. The
// first job's outputs need no gaps between channels, and are written where the reply wants them.
TEST_F(LaneGpuTest, MixedDownconvertJobsGiveWhatTheCpuGives) {
  using namespace downconvert;  // NOLINT
  const FilterPtr filters[] = {*Filter::FromTaps(testing::SomeTaps(64, 1, 8, 1), 1, 8),
                               *Filter::FromTaps(testing::SomeTaps(50, 5, 3, 2), 5, 3),
                               *Filter::FromTaps(testing::SomeTaps(33, 1, 1, 3), 1, 1)};
  const auto make = [&] {
    std::vector<JobPtr> jobs;
    for (int j = 0; j < 6; ++j) {
      Block block;
      block.format = testing::kInputFormats[j];
      block.scale = testing::ScaleOf(block.format);
      block.history = 70;
      block.first_index = (int64_t{1} << 53) + 1 + 1000 * j;
      block.num_samples = block.history + 3000 + 137 * j;
      auto channels = std::make_shared<std::vector<Channel>>(static_cast<size_t>(1 + 4 * j));
      for (size_t c = 0; c < channels->size(); ++c) {
        Channel& channel = (*channels)[c];
        std::vector<Retune> retunes(c % 3 == 1 ? 1 : 0);
        for (Retune& retune : retunes) {
          retune.index = block.first_index + 1500;
          retune.frequency = *Frequency::FromFraction(-5, 17);
        }
        const auto num = 9123457 - 1000003 * static_cast<int64_t>(c);
        channel.phase = *PhaseTrack::Create(*Frequency::FromFraction(num, 64000000), 0.2, retunes);
        channel.filter = filters[c % 3];
        channel.output = static_cast<OutputFormat>(c / 2 % 3);
      }
      const int64_t before_bytes = block.history * BytesPerSample(block.format);
      const std::vector<uint8_t> samples =
          testing::NoiseSamples(block.format, block.num_samples, static_cast<uint32_t>(j + 1));
      DownconvertPast past;
      past.received.assign(samples.begin(), samples.begin() + before_bytes);
      const std::string payload(samples.begin() + before_bytes, samples.end());
      auto job = std::make_unique<DownconvertJob>(TestOperation("Downconvert"), channels, block,
                                                  std::move(past));
      jobs.push_back(WithPayload(std::move(job), payload));
    }
    return jobs;
  };
  const std::vector<JobPtr> expected = OnCpu(make());
  const std::vector<JobPtr> got = OnGpu(make());

  for (size_t j = 0; j < got.size(); ++j) {
    const auto& gpu = static_cast<const DownconvertJob&>(*got[j]);
    const auto& cpu = static_cast<const DownconvertJob&>(*expected[j]);
    for (size_t c = 0; c < gpu.channels().size(); ++c) {
      const Channel& channel = gpu.channels()[c];
      const double limit = kDeviceTolerance * testing::GainLimitOf(*channel.filter);
      for (int64_t i = 0; i < 2 * gpu.ranges()[c].count; ++i) {
        const auto value = [&](const DownconvertJob& job) {
          return testing::ComponentOf(channel.output, job.reply.data() + job.reply_offsets()[c],
                                      static_cast<size_t>(i));
        };
        ASSERT_NEAR(value(gpu), value(cpu), limit + testing::RoundingOf(channel.output, value(cpu)))
            << "job " << j << ", channel " << c << ", output " << i / 2;
      }
      EXPECT_LE(std::abs(gpu.results[c].saturated - cpu.results[c].saturated), 2)
          << "job " << j << ", channel " << c;
    }
  }
}

// Pieces of three searches, several of each, in one batch.
TEST_F(LaneGpuTest, PiecesOfMixedSearchesGiveWhatTheCpuGives) {
  using namespace minimize;  // NOLINT
  Names names;
  names.variables = {"x", "y"};
  names.arrays = {{"a", 3}};
  Observation observation;
  for (int n = 0; n < 500; ++n) observation.signal.emplace_back(std::sin(0.3 * n), 0.0);
  const FunctionalPtr functionals[] = {
      MakeSchwefel(2),
      *ExpressionFunctional::Create(
          *Expression::Parse("sum(j, 0, 2, (x - a[j])^2) + cos(y) + sqrt(x)", names), {},
          {{1.0, 2.0, 4.5}}),
      *MakeSinusoids(observation)};
  device_->set_healthy(true);
  Device* const devices[] = {device_.get()};
  std::vector<SearchPlanPtr> plans;
  for (const FunctionalPtr& functional : functionals) {
    Settings settings;
    settings.functional = functional;
    const Axis axes[] = {{-2.0, 0.01, 1000}, {0.0, 0.1, 60}};
    const Axis frequencies[] = {{0.0, 1e-5, 40000}};
    settings.grid = functional == functionals[2] ? *Grid::Create(frequencies) : *Grid::Create(axes);
    auto plan = std::make_shared<SearchPlan>();
    plan->problem = *Problem::Create(settings);
    EXPECT_THAT(MakePrograms(devices, plan.get()), IsOk());
    EXPECT_TRUE(FindPrograms(devices, plan.get()));
    EXPECT_EQ(plan->programs.size(), 1U);
    plan->image = *pool_->Lease(SearchImageBytes(*plan->problem, devices));
    WriteSearchImage(*plan->problem, plan->image.data());
    plans.push_back(std::move(plan));
  }
  const auto make = [&] {
    std::vector<JobPtr> jobs;
    for (const SearchPlanPtr& plan : plans) {
      for (int64_t first = 0; first + 9000 <= plan->problem->count(); first += 9000) {
        Piece piece;
        piece.first = first;
        piece.count = 9000;
        jobs.push_back(WithPayload(
            std::make_unique<MinimizeJob>(TestOperation("Minimize"), plan, piece, PieceLimits()),
            ""));
      }
    }
    return jobs;
  };
  const std::vector<JobPtr> expected = OnCpu(make());
  const std::vector<JobPtr> got = OnGpu(make());

  int64_t nans = 0;
  for (size_t j = 0; j < got.size(); ++j) {
    const auto& piece = static_cast<const MinimizeJob&>(*got[j]);
    const int64_t blocks = NumBlocks(*piece.plan().problem, piece.piece());
    const auto* const gpu = reinterpret_cast<const BlockResult*>(got[j]->reply.data());
    const auto* const cpu = reinterpret_cast<const BlockResult*>(expected[j]->reply.data());
    for (int64_t b = 0; b < blocks; ++b) {
      EXPECT_EQ(gpu[b].num_nan, cpu[b].num_nan) << "job " << j << ", block " << b;
      EXPECT_EQ(gpu[b].index >= 0, cpu[b].index >= 0) << "job " << j << ", block " << b;
      EXPECT_NEAR(gpu[b].value, cpu[b].value, 1e-8) << "job " << j << ", block " << b;
      nans += gpu[b].num_nan;
    }
  }
  EXPECT_GT(nans, 0);  // sqrt(x) for x < 0
}

// More expressions than the cache of programs has room for come after a search's own.
TEST_F(LaneGpuTest, ASearchKeepsItsProgramWhateverIsCompiledMeanwhile) {
  using namespace minimize;  // NOLINT
  constexpr int kMorePrograms = 256;
  device_->set_healthy(true);
  Device* const devices[] = {device_.get()};
  const auto make_plan = [&](const std::string& text) {
    Names names;
    names.variables = {"x"};
    Settings settings;
    settings.functional = *ExpressionFunctional::Create(*Expression::Parse(text, names), {}, {});
    const Axis axes[] = {{-2.0, 0.01, 1000}};
    settings.grid = *Grid::Create(axes);
    auto plan = std::make_shared<SearchPlan>();
    plan->problem = *Problem::Create(settings);
    EXPECT_THAT(MakePrograms(devices, plan.get()), IsOk());
    plan->image = *pool_->Lease(SearchImageBytes(*plan->problem, devices));
    WriteSearchImage(*plan->problem, plan->image.data());
    return plan;
  };
  const std::shared_ptr<SearchPlan> plan = make_plan("(x - 1)^2");
  for (int i = 0; i < kMorePrograms; ++i) (void)make_plan("x + " + std::to_string(i) + ".5");
  SearchPlan forgotten;
  forgotten.problem = plan->problem;
  ASSERT_FALSE(FindPrograms(devices, &forgotten));
  Piece piece;
  piece.count = 1000;
  for (int lane = 0; lane < static_cast<int>(device_->lanes().size()); ++lane) {
    std::vector<JobPtr> jobs;
    jobs.push_back(WithPayload(
        std::make_unique<MinimizeJob>(TestOperation("Minimize"), plan, piece, PieceLimits()), ""));
    const std::vector<JobPtr> got = OnGpu(std::move(jobs), lane);
    Search search = *Search::Create(plan->problem, PieceLimits());
    search.Add(*search.Next(), got[0]->reply.data());
    EXPECT_EQ(search.progress().index, 300);
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
