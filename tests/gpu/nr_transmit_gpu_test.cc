// LaunchTransmit against known answers and the CPU's version, bit for bit; and what it refuses.
#include <algorithm>
#include <string>

#include "tests/gpu/nr_launch.h"
#include "tests/support/nr_vectors.h"

namespace baseband::nr {
namespace {

class NrTransmitGpuTest : public NrGpuTest {};

void ExpectEqualToCpu(const std::vector<SendJob>& jobs, size_t first_byte = 1) {
  const std::vector<Bytes> sent = TransmitLaunch(jobs, first_byte).Run();
  for (size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_TRUE(sent[i] == SentByCpu(jobs[i]))
        << jobs[i].shape.Describe() << (jobs[i].as_symbols ? ", symbols" : "")
        << (jobs[i].c_init != kNoScrambling ? ", scrambled" : "");
  }
}

Bytes InWords(Bytes bytes) {
  bytes.resize((bytes.size() + 3) / 4 * 4, 0);
  return bytes;
}

TEST_F(NrTransmitGpuTest, RateMatchedBlocksAreTheKnownAnswers) {
  std::vector<SendJob> jobs;
  const std::vector<testing::NrRateMatchVector> vectors = testing::ReadNrRateMatchVectors();
  for (const testing::NrRateMatchVector& vector : vectors) {
    SendJob job;
    job.shape = MakeShape(vector.block);
    job.payload = vector.info;
    jobs.push_back(job);
  }
  ASSERT_FALSE(jobs.empty());
  const std::vector<Bytes> sent = TransmitOnGpu(jobs);
  for (size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_EQ(sent[i], InWords(vectors[i].out)) << "case " << vectors[i].number;
  }
}

TEST_F(NrTransmitGpuTest, TransportBlocksAreTheKnownAnswers) {
  std::vector<SendJob> jobs;
  const std::vector<testing::NrChainVector> vectors = testing::ReadNrChainVectors();
  for (const testing::NrChainVector& vector : vectors) {
    SendJob job;
    job.shape = MakeShape(vector.plan.block);
    job.payload = vector.plan.tb;
    jobs.push_back(job);
  }
  ASSERT_FALSE(jobs.empty());
  const std::vector<Bytes> sent = TransmitOnGpu(jobs);
  for (size_t i = 0; i < jobs.size(); ++i) {
    EXPECT_EQ(sent[i], InWords(vectors[i].out)) << "case " << vectors[i].plan.number;
  }
}

TEST_F(NrTransmitGpuTest, MixedSlotsEqualTheCpu) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<SendJob> jobs;
    while (jobs.size() < 30) jobs.push_back(RandomSendJob(random, seed % 4 == 0 ? 40000 : 4000));
    ExpectEqualToCpu(jobs, seed % 5);
  }
}

TEST_F(NrTransmitGpuTest, EveryLiftingSizeEqualsTheCpu) {
  Random random(20);
  for (const int base_graph : {1, 2}) {
    std::vector<SendJob> jobs;
    for (const int zc : ldpc::NrLiftingSizes()) {
      for (const int qm : {1, 2, 4, 6, 8, 10}) {
        CodeBlock block;
        block.base_graph = base_graph;
        block.zc = zc;
        block.qm = qm;
        block.rv = random.Below(4);
        block.num_filler = random.Below(2) == 0 ? 0 : random.Below(zc);
        block.e = qm * int64_t{1 + random.Below((base_graph == 1 ? 70 : 55) * zc / qm + 1)};
        SendJob job;
        job.shape = MakeShape(block);
        job.payload = RandomBytes(random, static_cast<size_t>(job.shape.plan.k_prime + 7) / 8);
        jobs.push_back(job);
      }
    }
    ExpectEqualToCpu(jobs);
  }
}

// Blocks that end anywhere in a word, or send fewer bits than one holds, or more than a piece.
TEST_F(NrTransmitGpuTest, BlocksThatShareWordsEqualTheCpu) {
  Random random(21);
  std::vector<SendJob> jobs;
  for (const int64_t symbols : {4, 5, 7, 31, 32, 33, 63, 64, 65, 127, 1000, 4321, 170002}) {
    for (const int qm : {1, 2, 6, 10}) {
      TransportBlock block;
      block.tb_bytes = 3849;  // four blocks of base graph 1
      block.qm = qm;
      block.g = symbols * qm;
      block.rv = random.Below(4);
      if (!MakePlan(block).ok()) continue;
      SendJob job;
      job.shape = MakeShape(block);
      job.payload = RandomBytes(random, static_cast<size_t>(block.tb_bytes));
      if (symbols % 2 != 0) job.c_init = 12345;
      jobs.push_back(job);
    }
  }
  ASSERT_GT(jobs.size(), 20u);
  ExpectEqualToCpu(jobs);
}

// More than is kept of a block at a time, of what is sent and of the scrambling sequence.
TEST_F(NrTransmitGpuTest, ManyRepetitionsEqualTheCpu) {
  Random random(22);
  std::vector<SendJob> jobs;
  for (const int qm : {1, 2, 4, 6, 8, 10}) {
    for (const int zc : {2, 24, 384}) {
      CodeBlock block;
      block.base_graph = 1 + random.Below(2);
      block.zc = zc;
      block.qm = qm;
      block.e = qm * int64_t{200000 / qm};
      if (zc == 2) block.n_cb = 1 + random.Below(40);
      SendJob job;
      job.shape = MakeShape(block);
      job.payload = RandomBytes(random, static_cast<size_t>(job.shape.plan.k_prime + 7) / 8);
      jobs.push_back(job);
      job.c_init = static_cast<uint32_t>(random.Next()) & kMaxScramblingInit;
      jobs.push_back(job);
      job.as_symbols = true;
      job.layout = RandomLayout(random, SymbolFormat::kInt8, block.e / qm);
      jobs.push_back(job);
    }
  }
  ExpectEqualToCpu(jobs);
}

TEST_F(NrTransmitGpuTest, TheLargestTransportBlockEqualsTheCpu) {
  Random random(23);
  TransportBlock block;
  block.qm = 8;
  block.num_layers = 4;
  for (block.tb_bytes = kMaxTransportBlockBytes;; --block.tb_bytes) {
    block.g = block.tb_bytes * 9 / 32 * 32;
    if (MakePlan(block).ok()) break;
  }
  SendJob job;
  job.shape = MakeShape(block);
  job.payload = RandomBytes(random, static_cast<size_t>(block.tb_bytes));
  job.c_init = 77;
  ExpectEqualToCpu({job}, 3);
}

TEST_F(NrTransmitGpuTest, APermutedSlotGivesThePermutedResult) {
  Random random(24);
  std::vector<SendJob> jobs;
  while (jobs.size() < 40) jobs.push_back(RandomSendJob(random, 9000));
  std::vector<Bytes> sent = TransmitOnGpu(jobs);
  std::reverse(jobs.begin(), jobs.end());
  std::reverse(sent.begin(), sent.end());
  EXPECT_TRUE(TransmitLaunch(jobs, 2).Run() == sent);
}

TEST_F(NrTransmitGpuTest, ALaunchAgainGivesTheSame) {
  Random random(25);
  std::vector<SendJob> jobs;
  while (jobs.size() < 20) jobs.push_back(RandomSendJob(random, 9000));
  TransmitLaunch launch(jobs);
  const std::vector<Bytes> sent = launch.Run();
  EXPECT_TRUE(launch.Run() == sent);
  EXPECT_TRUE(launch.Run() == sent);
}

TEST_F(NrTransmitGpuTest, RefusesWhatTheHeaderSaysAndWritesNothing) {
  Random random(26);
  const std::vector<SendJob> jobs(2, RandomSendJob(random, 1000));
  const auto expect_refused = [&](const char* message, const auto& spoil) {
    TransmitLaunch launch(jobs);
    spoil(launch.batch());
    EXPECT_THAT(LaunchTransmit(launch.batch(), cudaStreamPerThread), IsInvalid(message));
    for (const Bytes& sent : launch.Read()) EXPECT_THAT(sent, Each(kGuard)) << message;
  };
  expect_refused("num_blocks 0", [](TransmitBatch& b) { b.num_blocks = 0; });
  expect_refused("num_blocks 1048577", [](TransmitBatch& b) { b.num_blocks = (1 << 20) + 1; });
  expect_refused("shared_bytes 0", [](TransmitBatch& b) { b.shared_bytes = 0; });
  expect_refused("shared_bytes 49153", [](TransmitBatch& b) { b.shared_bytes = (48 << 10) + 1; });
  expect_refused("tbs", [](TransmitBatch& b) { b.tbs = nullptr; });
  expect_refused("blocks", [](TransmitBatch& b) { b.blocks = nullptr; });
  expect_refused("tables", [](TransmitBatch& b) { b.tables += 4; });
  expect_refused("workspace", [](TransmitBatch& b) { b.workspace = nullptr; });
}

}  // namespace
}  // namespace baseband::nr
