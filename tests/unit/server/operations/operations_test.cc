// Jobs of mixed codes in one batch, run piece by piece as the CPU device does.
#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/ldpc/encode.h"
#include "server/jobs/layout.h"
#include "server/operations/decode/decode.h"
#include "server/operations/encode/encode.h"
#include "tests/support/test_operations.h"

namespace baseband::server {
namespace {

class OperationsTest : public ::testing::Test {
 protected:
  template <typename J, typename Group>
  std::unique_ptr<J> MakeJob(std::vector<Group> groups) {
    auto job = std::make_unique<J>(
        TestOperation(std::is_same_v<J, EncodeJob> ? "Encode" : "Decode"), std::move(groups));
    job->SetInput(*pool_->Lease(job->payload_bytes));
    job->reply = *pool_->Lease(job->reply_bytes);
    std::fill(job->reply.span().begin(), job->reply.span().end(), uint8_t{0xa5});
    return job;
  }
  static std::vector<JobPtr> RunAll(std::vector<JobPtr> jobs) {
    const std::unique_ptr<Batch> batch = MakeBatch(std::move(jobs));
    for (int piece = batch->num_pieces() - 1; piece >= 0; --piece) batch->RunPiece(piece);
    EXPECT_TRUE(batch->Finish().ok());
    return batch->TakeJobs();
  }

  const std::shared_ptr<HostPool> pool_ = *HostPool::CreatePageable(8 << 20);
  std::mt19937 random_{11};
};

std::vector<ldpc::CodePtr> Codes() {
  return {*ldpc::NrCode(1, 384), *ldpc::NrCode(2, 3),           *ldpc::NrCode(2, 13, 7),
          *ldpc::NrCode(1, 20),  *ldpc::WimaxCode("3/4B", 672), *ldpc::WifiCode("5/6", 648)};
}

bool BitOf(absl::Span<const uint8_t> bytes, int64_t bit) {
  return bytes[static_cast<size_t>(bit / 8)] >> (7 - bit % 8) & 1;
}

TEST_F(OperationsTest, EveryOutputOfEncodeIsItsPartOfTheCodeword) {
  for (const EncodeOutput output :
       {EncodeOutput::kParity, EncodeOutput::kCodeword, EncodeOutput::kFullCodeword}) {
    std::vector<EncodeGroup> groups;
    for (const ldpc::CodePtr& code : Codes()) {
      for (const int filler : {0, 1, code->zc(), code->k() - 1}) {
        EncodeGroup group;
        group.code = code;
        group.count = 3;
        group.num_filler = filler;
        group.output = output;
        groups.push_back(group);
      }
    }
    auto job = MakeJob<EncodeJob>(groups);
    for (uint8_t& byte : job->staging.span()) byte = static_cast<uint8_t>(random_());
    std::vector<JobPtr> jobs;
    jobs.push_back(std::move(job));
    jobs = RunAll(std::move(jobs));

    absl::Span<const uint8_t> info = jobs[0]->input.span();
    absl::Span<const uint8_t> reply = jobs[0]->reply.span();
    for (const EncodeGroup& group : groups) {
      const ldpc::Code& code = *group.code;
      const int first = output == EncodeOutput::kParity     ? code.k()
                        : output == EncodeOutput::kCodeword ? code.n() - code.num_sent()
                                                            : 0;
      for (int64_t b = 0; b < group.count; ++b) {
        std::vector<uint8_t> parity(static_cast<size_t>(group.parity_bytes()));
        ldpc::EncodeOnCpu(code, info.first(static_cast<size_t>(group.info_bytes())),
                          group.info_bits(), absl::MakeSpan(parity));
        for (int bit = first; bit < code.n(); ++bit) {
          const bool expected = bit < group.info_bits() ? BitOf(info, bit)
                                : bit < code.k()        ? false
                                                        : BitOf(parity, bit - code.k());
          ASSERT_EQ(BitOf(reply, bit - first), expected)
              << code.name() << ", filler " << group.num_filler << ", bit " << bit;
        }
        for (int64_t bit = code.n() - first; bit < 8 * group.output_bytes(); ++bit) {
          ASSERT_FALSE(BitOf(reply, bit)) << "the last byte is filled up with zeros";
        }
        info.remove_prefix(static_cast<size_t>(group.info_bytes()));
        reply.remove_prefix(static_cast<size_t>(group.output_bytes()));
      }
    }
  }
}

TEST_F(OperationsTest, ADecodedBlockDoesNotDependOnItsNeighboursOrItsPlace) {
  // The same noisy blocks alone, and together in another order across two jobs.
  const std::vector<ldpc::CodePtr> codes = Codes();
  std::vector<std::string> llrs;
  for (const ldpc::CodePtr& code : codes) {
    std::string llr;
    for (int i = 0; i < code->num_sent(); ++i) {
      llr.push_back(static_cast<char>(static_cast<int>(random_() % 40) - 8));
    }
    llrs.push_back(llr);
  }
  const auto group_of = [&](size_t i) {
    DecodeGroup group;
    group.code = codes[i];
    group.count = 1;
    group.llr_count = codes[i]->num_sent();
    group.num_filler = static_cast<int>(i);
    group.soft_output = i % 2 == 0;
    return group;
  };
  struct Outcome {
    std::vector<uint8_t> bits;
    std::vector<uint8_t> soft;
    int iterations;
    bool operator==(const Outcome& other) const {
      return bits == other.bits && soft == other.soft && iterations == other.iterations;
    }
  };
  const auto decode = [&](const std::vector<std::vector<size_t>>& jobs_of) {
    std::vector<JobPtr> jobs;
    for (const std::vector<size_t>& members : jobs_of) {
      std::vector<DecodeGroup> groups;
      std::string payload;
      for (const size_t i : members) {
        groups.push_back(group_of(i));
        payload += llrs[i];
      }
      auto job = MakeJob<DecodeJob>(groups);
      std::copy(payload.begin(), payload.end(), job->staging.data());
      jobs.push_back(std::move(job));
    }
    jobs = RunAll(std::move(jobs));
    std::vector<Outcome> outcomes(codes.size());
    for (size_t j = 0; j < jobs.size(); ++j) {
      const auto& job = static_cast<const DecodeJob&>(*jobs[j]);
      const uint8_t* bits = job.reply.data();
      const uint8_t* soft = bits + job.soft_offset();
      for (size_t b = 0; b < jobs_of[j].size(); ++b) {
        const DecodeGroup& group = job.groups()[b];
        outcomes[jobs_of[j][b]] = {{bits, bits + group.bits_bytes()},
                                   {soft, soft + group.soft_bytes()},
                                   job.results[b].iterations};
        bits += group.bits_bytes();
        soft += group.soft_bytes();
      }
    }
    return outcomes;
  };
  const std::vector<Outcome> alone = decode({{0}, {1}, {2}, {3}, {4}, {5}});
  EXPECT_TRUE(alone == decode({{5, 0, 3}, {4, 2, 1}}));
  EXPECT_TRUE(alone == decode({{1, 2, 3, 4, 5, 0}}));
}

TEST_F(OperationsTest, PiecesThatNobodyWaitsForAreLeftOutAndTheOthersAreNot) {
  DecodeGroup decode;
  decode.code = *ldpc::NrCode(2, 3);
  decode.count = 5;
  decode.llr_count = decode.code->num_sent();
  EncodeGroup encode;
  encode.code = decode.code;
  encode.count = 5;
  const auto run = [this](JobPtr gone, JobPtr wanted) {
    gone->cancelled = std::make_shared<std::atomic<bool>>(true);
    wanted->cancelled = std::make_shared<std::atomic<bool>>(false);
    std::vector<JobPtr> jobs;
    jobs.push_back(std::move(gone));
    jobs.push_back(std::move(wanted));
    jobs = RunAll(std::move(jobs));
    EXPECT_EQ(jobs[0]->pieces_cut, 5);
    EXPECT_EQ(jobs[0]->pieces, 5);
    EXPECT_EQ(jobs[0]->reply.data()[0], 0xa5) << "it was not written to";
    EXPECT_EQ(jobs[1]->pieces_cut, 0);
    EXPECT_NE(jobs[1]->reply.data()[0], 0xa5);
  };
  run(MakeJob<DecodeJob>(std::vector<DecodeGroup>{decode}),
      MakeJob<DecodeJob>(std::vector<DecodeGroup>{decode}));
  run(MakeJob<EncodeJob>(std::vector<EncodeGroup>{encode}),
      MakeJob<EncodeJob>(std::vector<EncodeGroup>{encode}));
}

TEST_F(OperationsTest, TheFootprintCoversWhatABatchTakes) {
  DecodeGroup group;
  group.code = *ldpc::NrCode(2, 3);
  group.count = 1000;
  group.llr_count = group.code->num_sent();
  group.soft_output = true;
  const DecodeJob job(TestOperation("Decode"), {group, group});
  EXPECT_EQ(job.footprint.blocks, 2000);
  EXPECT_EQ(job.payload_bytes, 2000 * 150);
  EXPECT_EQ(job.bits_bytes(), 2000 * 4);
  EXPECT_EQ(job.soft_bytes(), 2000 * 156);
  EXPECT_EQ(job.reply_bytes, job.soft_offset() + job.soft_bytes());
  EXPECT_GE(job.footprint.output_bytes, job.reply_bytes + 2000 * 4);
}

}  // namespace
}  // namespace baseband::server
