// RecoverCarrier jobs of mixed models and lengths in one batch, run piece by piece as the CPU
// device does.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/operations/recover_carrier/recover_carrier.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/test_operations.h"
#include "tests/support/timing_frames.h"

namespace baseband::server {
namespace {

class RecoverCarrierOperationTest : public ::testing::Test {
 protected:
  // A group of one frame, and the frame's samples.
  struct Sent {
    RecoverCarrierGroup group;
    std::vector<uint8_t> samples;
  };
  static Sent Make(const char* constellation, int num_symbols, carrier::SampleFormat format,
                   bool corrected, bool curve, uint64_t seed) {
    testing::FrameSpec spec;
    spec.constellation = *carrier::Constellation::FromName(constellation);
    spec.num_symbols = num_symbols;
    spec.frequency = 0.003;
    spec.snr_db = spec.constellation->operating_snr_db() + 6;
    spec.seed = seed;
    Sent sent;
    sent.group.model = *carrier::Model::Create(spec.constellation, carrier::Amplitude::kWeighted,
                                               /*power=*/0);
    sent.group.count = 1;
    sent.group.frame_symbols = num_symbols;
    sent.group.parameters.format = format;
    const bool is_int16 = format == carrier::SampleFormat::kInt16;
    sent.group.parameters.scale = is_int16 ? 1.0F / 8192 : 1.0F;
    sent.group.parameters.want_corrected = corrected;
    sent.group.parameters.want_curve = curve;
    if (curve) {
      sent.group.curve = carrier::CurveOf(*sent.group.model, sent.group.parameters, num_symbols);
    }
    sent.samples =
        testing::ToSamples(testing::MakeFrame(spec).symbols, format, sent.group.parameters.scale);
    return sent;
  }

  // The same as samples, at 5/2 a symbol.
  static Sent MakeSampled(const char* constellation, int num_symbols, bool corrected, bool curve,
                          uint64_t seed) {
    Sent sent =
        Make(constellation, num_symbols, carrier::SampleFormat::kFloat32, corrected, curve, seed);
    testing::TimingSpec spec;
    spec.constellation = *carrier::Constellation::FromName(constellation);
    spec.shape.samples = 5;
    spec.shape.symbols = 2;
    spec.num_samples = timing::SamplesFor(spec.shape, sent.group.timing, num_symbols);
    spec.offset = 0.6;
    spec.frequency = 0.003;
    spec.snr_db = spec.constellation->operating_snr_db() + 6;
    spec.seed = seed;
    sent.group.pulse = *timing::Pulse::Create(spec.shape);
    sent.group.frame_samples = static_cast<int>(spec.num_samples);
    sent.samples =
        testing::ToSamples(testing::MakeSamples(spec).samples, carrier::SampleFormat::kFloat32);
    return sent;
  }

  struct Outcome {
    std::string result;
    std::string timing;
    std::string corrected;
    std::string curve;
    bool operator==(const Outcome& other) const {
      return result == other.result && timing == other.timing && corrected == other.corrected &&
             curve == other.curve;
    }
  };

  // The outcomes of all of `sent`, whose jobs have these members.
  std::vector<Outcome> Run(const std::vector<Sent>& sent,
                           const std::vector<std::vector<size_t>>& jobs_of) {
    std::vector<JobPtr> jobs;
    for (const std::vector<size_t>& members : jobs_of) {
      std::vector<RecoverCarrierGroup> groups;
      std::vector<uint8_t> payload;
      for (const size_t i : members) {
        groups.push_back(sent[i].group);
        payload.insert(payload.end(), sent[i].samples.begin(), sent[i].samples.end());
      }
      auto job =
          std::make_unique<RecoverCarrierJob>(TestOperation("RecoverCarrier"), std::move(groups));
      EXPECT_EQ(job->payload_bytes, static_cast<int64_t>(payload.size()));
      job->SetInput(*pool_->Lease(job->payload_bytes));
      job->reply = *pool_->Lease(job->reply_bytes);
      std::copy(payload.begin(), payload.end(), job->staging.data());
      jobs.push_back(std::move(job));
    }
    const std::unique_ptr<Batch> batch = MakeBatch(std::move(jobs));
    for (int piece = batch->num_pieces() - 1; piece >= 0; --piece) batch->RunPiece(piece);
    EXPECT_TRUE(batch->Finish().ok());
    jobs = batch->TakeJobs();
    std::vector<Outcome> outcomes(sent.size());
    for (size_t j = 0; j < jobs.size(); ++j) {
      const auto& job = static_cast<const RecoverCarrierJob&>(*jobs[j]);
      const auto* corrected = reinterpret_cast<const char*>(job.reply.data());
      const char* curve = corrected + job.curves_offset();
      const timing::Result* timing = job.timings.data();
      for (size_t f = 0; f < jobs_of[j].size(); ++f) {
        const RecoverCarrierGroup& group = job.groups()[f];
        EXPECT_EQ(job.results[f].lock, carrier::Lock::kLocked);
        std::string found;
        if (group.has_timing()) {
          EXPECT_EQ(timing->lock, timing::Lock::kLocked);
          found.assign(reinterpret_cast<const char*>(timing++), sizeof(timing::Result));
        }
        outcomes[jobs_of[j][f]] = {
            {reinterpret_cast<const char*>(&job.results[f]), sizeof(carrier::Result)},
            found,
            {corrected, static_cast<size_t>(group.corrected_bytes())},
            {curve, static_cast<size_t>(group.curve_bytes())}};
        corrected += group.corrected_bytes();
        curve += group.curve_bytes();
      }
    }
    return outcomes;
  }

  const std::shared_ptr<HostPool> pool_ = *HostPool::CreatePageable(8 << 20);
};

TEST_F(RecoverCarrierOperationTest, AFramesOutcomeDoesNotDependOnItsNeighbours) {
  using carrier::SampleFormat;
  const std::vector<Sent> sent = {
      Make("QPSK", 999, SampleFormat::kFloat32, true, false, 1),
      Make("16APSK 3/4", 1500, SampleFormat::kInt16, true, true, 2),
      Make("QPSK", 3001, SampleFormat::kFloat16, false, true, 3),
      Make("64QAM", 2048, SampleFormat::kFloat32, false, false, 4),
      MakeSampled("QPSK", 1501, true, true, 5),
      MakeSampled("16QAM", 999, true, false, 6),
  };
  const std::vector<Outcome> alone = Run(sent, {{0}, {1}, {2}, {3}, {4}, {5}});
  EXPECT_TRUE(alone == Run(sent, {{3, 4, 0, 2}, {1}, {5}}));
  EXPECT_TRUE(alone == Run(sent, {{5, 1, 2, 4, 3, 0}}));
}

TEST_F(RecoverCarrierOperationTest, TheFootprintCoversWhatABatchTakes) {
  RecoverCarrierGroup group =
      Make("QPSK", 1000, carrier::SampleFormat::kInt16, true, true, 1).group;
  group.count = 10;
  group.known.resize(1000);
  const RecoverCarrierJob job(TestOperation("RecoverCarrier"), {group, group});
  EXPECT_EQ(job.footprint.blocks, 20);
  EXPECT_EQ(job.payload_bytes, 20 * 4000);
  EXPECT_EQ(job.corrected_bytes(), 20 * 4000);
  EXPECT_EQ(job.curves_bytes(), 20 * 4 * group.curve.num_points);
  EXPECT_EQ(job.reply_bytes, job.curves_offset() + job.curves_bytes());
  EXPECT_GE(job.footprint.output_bytes,
            job.reply_bytes + 20 * static_cast<int64_t>(sizeof(carrier::Result)));
  EXPECT_GE(job.footprint.control_bytes, 20 * 32 + 2 * 8000);
}

TEST_F(RecoverCarrierOperationTest, TheFootprintOfSamplesIsTheirsAndTheReplySTheirSymbols) {
  RecoverCarrierGroup group = MakeSampled("QPSK", 1000, true, false, 1).group;
  group.count = 10;
  const RecoverCarrierJob job(TestOperation("RecoverCarrier"), {group});
  EXPECT_EQ(job.payload_bytes, 10 * 8 * group.frame_samples);
  EXPECT_EQ(job.corrected_bytes(), 10 * 8000);
  EXPECT_EQ(job.timings.size(), 10U);
  EXPECT_GE(job.footprint.output_bytes,
            job.reply_bytes +
                10 * static_cast<int64_t>(sizeof(carrier::Result) + sizeof(timing::Result)));
  // What takes longer costs more: as many symbols without their timing.
  RecoverCarrierGroup symbols = group;
  symbols.pulse = nullptr;
  const RecoverCarrierJob less(TestOperation("RecoverCarrier"), {symbols});
  EXPECT_GT(job.work.units, 1.5 * less.work.units);
  EXPECT_NE(job.work.shape, less.work.shape);
}

// A frame twice as long has twice the pieces and twice the drifts to compare.
TEST_F(RecoverCarrierOperationTest, TheCostOfALongFramesClockErrorsGrowsWithItsSquare) {
  RecoverCarrierGroup group = MakeSampled("QPSK", 1000, false, false, 1).group;
  const auto units_of = [&](int num_symbols, double max_clock_error) {
    group.timing.max_clock_error = max_clock_error;
    group.frame_symbols = num_symbols;
    group.frame_samples =
        static_cast<int>(timing::SamplesFor(group.pulse->shape(), group.timing, num_symbols));
    return RecoverCarrierJob(TestOperation("RecoverCarrier"), {group}).work.units;
  };
  const double half = units_of(1 << 19, timing::kMaxClockError);
  const double whole = units_of(1 << 20, timing::kMaxClockError);
  EXPECT_GT(whole, 2.2 * half);
  EXPECT_LT(whole, 4.0 * half);
  EXPECT_NEAR(units_of(1 << 20, 0.0) / units_of(1 << 19, 0.0), 2.0, 0.01);
}

}  // namespace
}  // namespace baseband::server
