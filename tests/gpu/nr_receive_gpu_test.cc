// LaunchRateDematch and LaunchCheckCrc against the CPU's version, bit for bit; and what they
// refuse.
#include <algorithm>
#include <string>

#include "tests/gpu/nr_launch.h"

namespace baseband::nr {
namespace {

class NrRateDematchGpuTest : public NrGpuTest {};
class NrCheckCrcGpuTest : public NrGpuTest {};

std::string Describe(const ReceiveJob& job) {
  return job.shape.Describe() +
         (job.as_symbols ? ", symbols of format " + std::to_string(int(job.demap.layout.format)) +
                               (job.demap.log_sum ? ", log-sum" : "") + ", noise " +
                               std::to_string(int(job.demap.noise_format))
                         : ", LLRs of format " + std::to_string(int(job.llr_format))) +
         (job.c_init != kNoScrambling ? ", scrambled" : "") +
         (job.old_soft.empty() ? "" : ", combined");
}

void ExpectEqualToCpu(const std::vector<ReceiveJob>& jobs, size_t first_byte = 1,
                      bool in_place = false) {
  const std::vector<Received> received = DematchLaunch(jobs, first_byte, in_place).Run();
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Received expected = ReceivedByCpu(jobs[i]);
    EXPECT_TRUE(received[i].soft == expected.soft) << Describe(jobs[i]);
    EXPECT_EQ(received[i].unusable, expected.unusable) << Describe(jobs[i]);
  }
}

TEST_F(NrRateDematchGpuTest, MixedSlotsEqualTheCpu) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<ReceiveJob> jobs;
    while (jobs.size() < 30) {
      jobs.push_back(RandomReceiveJob(random, RandomShape(random, seed % 4 == 0 ? 20000 : 3000)));
    }
    ExpectEqualToCpu(jobs, seed % 5, seed % 3 == 0);
  }
}

TEST_F(NrRateDematchGpuTest, EveryLiftingSizeEqualsTheCpu) {
  Random random(30);
  for (const int base_graph : {1, 2}) {
    std::vector<ReceiveJob> jobs;
    for (const int zc : ldpc::NrLiftingSizes()) {
      for (const int qm : {1, 2, 4, 6, 8, 10}) {
        CodeBlock block;
        block.base_graph = base_graph;
        block.zc = zc;
        block.qm = qm;
        block.rv = random.Below(4);
        block.num_filler = random.Below(2) == 0 ? 0 : random.Below(zc);
        block.e = qm * int64_t{1 + random.Below((base_graph == 1 ? 70 : 55) * zc / qm + 1)};
        jobs.push_back(RandomReceiveJob(random, MakeShape(block)));
      }
    }
    ExpectEqualToCpu(jobs);
  }
}

TEST_F(NrRateDematchGpuTest, ManyRepetitionsEqualTheCpu) {
  Random random(31);
  std::vector<ReceiveJob> jobs;
  for (const int qm : {1, 2, 4, 6, 8, 10}) {
    for (const int zc : {2, 24, 384}) {
      CodeBlock block;
      block.base_graph = 1 + random.Below(2);
      block.zc = zc;
      block.qm = qm;
      block.e = qm * int64_t{200000 / qm};
      if (zc == 2) block.n_cb = 1 + random.Below(40);
      jobs.push_back(RandomReceiveJob(random, MakeShape(block)));
    }
  }
  ExpectEqualToCpu(jobs);
}

// What was added up is clipped once, whatever its size.
TEST_F(NrRateDematchGpuTest, SumsAreClippedOnce) {
  Random random(32);
  CodeBlock block;
  block.base_graph = 2;
  block.zc = 16;
  block.e = 9600;  // 12 times around
  ReceiveJob job;
  job.shape = MakeShape(block);
  for (int64_t i = 0; i < block.e; ++i) {
    job.received.push_back(static_cast<uint8_t>(i < block.e / 2 ? 127 : random.Below(3) - 127));
  }
  job.old_soft = {Llrs(800, -128)};
  job.soft_counts = {800};
  ExpectEqualToCpu({job});
}

TEST_F(NrRateDematchGpuTest, APermutedSlotGivesThePermutedResult) {
  Random random(33);
  std::vector<ReceiveJob> jobs;
  while (jobs.size() < 40) jobs.push_back(RandomReceiveJob(random, RandomShape(random, 6000)));
  std::vector<Received> received = DematchLaunch(jobs).Run();
  std::reverse(jobs.begin(), jobs.end());
  std::reverse(received.begin(), received.end());
  EXPECT_TRUE(DematchLaunch(jobs, 2).Run() == received);
}

TEST_F(NrRateDematchGpuTest, NobodyNeedsToAskForWhatIsUnusable) {
  Random random(34);
  const std::vector<ReceiveJob> jobs(3, RandomReceiveJob(random, RandomShape(random, 500)));
  DematchLaunch launch(jobs);
  launch.batch().unusable = nullptr;
  for (const Received& received : launch.Run()) {
    EXPECT_TRUE(received.soft == ReceivedByCpu(jobs[0]).soft);
    EXPECT_THAT(received.unusable, Each(kGuard));
  }
}

TEST_F(NrRateDematchGpuTest, RefusesWhatTheHeaderSaysAndWritesNothing) {
  Random random(35);
  const std::vector<ReceiveJob> jobs(2, RandomReceiveJob(random, RandomShape(random, 500)));
  const auto expect_refused = [&](const char* message, const auto& spoil) {
    DematchLaunch launch(jobs);
    spoil(launch.batch());
    EXPECT_THAT(LaunchRateDematch(launch.batch(), cudaStreamPerThread), IsInvalid(message));
    for (const Received& received : launch.Read()) {
      for (const Llrs& soft : received.soft) {
        EXPECT_THAT(soft, Each(static_cast<int8_t>(kGuard))) << message;
      }
    }
  };
  expect_refused("num_blocks 0", [](DematchBatch& b) { b.num_blocks = 0; });
  expect_refused("num_blocks 1048577", [](DematchBatch& b) { b.num_blocks = (1 << 20) + 1; });
  expect_refused("shared_bytes 0", [](DematchBatch& b) { b.shared_bytes = 0; });
  expect_refused("shared_bytes 131073", [](DematchBatch& b) { b.shared_bytes = (128 << 10) + 1; });
  expect_refused("tbs", [](DematchBatch& b) { b.tbs = nullptr; });
  expect_refused("blocks", [](DematchBatch& b) { b.blocks = nullptr; });
}

// The code blocks of a random payload, some of them with bits turned.
CheckJob RandomCheckJob(Random& random, const Shape& shape) {
  CheckJob job = MakeCheckJob(
      shape,
      CodeBlocksOf(shape, RandomBytes(random, static_cast<size_t>((shape.plan.tb_bits + 7) / 8))));
  if (random.Below(2) == 0) {
    for (Bytes& block : job.blocks) {
      if (random.Below(3) != 0) continue;
      for (int n = 1 + random.Below(3); n > 0; --n) {
        const int bit = random.Below(shape.plan.k_prime);
        block[static_cast<size_t>(bit / 8)] ^= static_cast<uint8_t>(0x80 >> bit % 8);
      }
    }
  }
  return job;
}

void ExpectEqualToCpu(const std::vector<CheckJob>& jobs) {
  const std::vector<Checked> checked = CheckLaunch(jobs).Run();
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Checked expected = CheckedByCpu(jobs[i]);
    const std::string what = jobs[i].shape.Describe();
    EXPECT_TRUE(checked[i].payload == expected.payload) << what;
    EXPECT_EQ(checked[i].block_ok, expected.block_ok) << what;
    EXPECT_EQ(checked[i].tb_ok, expected.tb_ok) << what;
  }
}

TEST_F(NrCheckCrcGpuTest, MixedSlotsEqualTheCpu) {
  for (uint64_t seed = 40; seed < 52; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<CheckJob> jobs;
    while (jobs.size() < 50) {
      jobs.push_back(RandomCheckJob(random, RandomShape(random, seed % 4 == 0 ? 40000 : 6000)));
    }
    ExpectEqualToCpu(jobs);
  }
}

TEST_F(NrCheckCrcGpuTest, TheLargestTransportBlockEqualsTheCpu) {
  Random random(53);
  for (const int base_graph : {1, 2}) {
    TransportBlock block;
    block.base_graph = base_graph;
    for (block.tb_bytes = kMaxTransportBlockBytes;; --block.tb_bytes) {
      block.g = block.tb_bytes * 9 / 2 * 2;
      if (MakePlan(block).ok()) break;
    }
    const Shape shape = MakeShape(block);
    const CheckJob job = MakeCheckJob(
        shape, CodeBlocksOf(shape, RandomBytes(random, static_cast<size_t>(block.tb_bytes))));
    const std::vector<Checked> checked = CheckLaunch({job}).Run();
    EXPECT_TRUE(checked[0].tb_ok);
    EXPECT_THAT(checked[0].block_ok, Each(true));
    ExpectEqualToCpu({job});
    ExpectEqualToCpu({RandomCheckJob(random, shape)});
  }
}

// One bit of any block at any place is found, by its own CRC and by that of the transport block.
TEST_F(NrCheckCrcGpuTest, EveryTurnedBitIsFound) {
  Random random(54);
  TransportBlock block;
  block.tb_bytes = 3849;
  block.g = 40000;
  const Shape shape = MakeShape(block);
  const std::vector<Bytes> blocks =
      CodeBlocksOf(shape, RandomBytes(random, static_cast<size_t>(block.tb_bytes)));
  std::vector<CheckJob> jobs;
  std::vector<std::pair<int, int>> turned;
  for (int n = 0; n < 200; ++n) {
    const int r = random.Below(shape.plan.num_blocks);
    const int bit = random.Below(shape.plan.info_bits());
    CheckJob job = MakeCheckJob(shape, blocks);
    job.blocks[static_cast<size_t>(r)][static_cast<size_t>(bit / 8)] ^=
        static_cast<uint8_t>(0x80 >> bit % 8);
    jobs.push_back(job);
    turned.emplace_back(r, bit);
  }
  const std::vector<Checked> checked = CheckLaunch(jobs).Run();
  for (size_t i = 0; i < jobs.size(); ++i) {
    for (int r = 0; r < shape.plan.num_blocks; ++r) {
      EXPECT_EQ(checked[i].block_ok[static_cast<size_t>(r)], r != turned[i].first);
    }
    EXPECT_FALSE(checked[i].tb_ok) << "bit " << turned[i].second;
  }
}

// Zeros have a right CRC: more speaks for them or against them.
TEST_F(NrCheckCrcGpuTest, BlocksOfNothingButZerosEqualTheCpu) {
  Random random(57);
  std::vector<CheckJob> jobs;
  for (int i = 0; i < 60; ++i) {
    const Shape shape = RandomShape(random, 20000);
    std::vector<Bytes> blocks =
        CodeBlocksOf(shape, RandomBytes(random, static_cast<size_t>((shape.plan.tb_bits + 7) / 8)));
    for (Bytes& block : blocks) {
      if (random.Below(4) != 0) std::fill(block.begin(), block.end(), uint8_t{0});
    }
    CheckJob job = MakeCheckJob(shape, blocks);
    const auto soft_count = static_cast<size_t>(1 + random.Below(20000));
    for (size_t r = 0; r < blocks.size(); ++r) {
      job.parity_ok[r] = random.Below(3) != 0;
      if (i % 3 == 0) continue;
      job.soft.emplace_back(soft_count, int8_t{0});
      // Nothing known, one bit, or many of which any part speaks for ones.
      const int kind = random.Below(4);
      const int ones = random.Below(100);
      for (int8_t& value : job.soft.back()) {
        if (kind > 1) value = static_cast<int8_t>(random.Below(100) < ones ? -1 : random.Below(3));
      }
      if (kind == 1) {
        job.soft.back()[static_cast<size_t>(random.Below(static_cast<int>(soft_count)))] =
            static_cast<int8_t>(random.Below(2) == 0 ? -127 : 1);
      }
      // Some ones among what is known: more or fewer than a third.
      if (random.Below(2) == 0) {
        const int of_six = random.Below(7);
        for (int8_t& value : job.soft.back()) {
          value = static_cast<int8_t>(random.Below(6) < of_six ? -5 : 7);
        }
      }
    }
    jobs.push_back(job);
  }
  ExpectEqualToCpu(jobs);
  CheckLaunch without_results(jobs);
  without_results.batch().decode_results = nullptr;
  const std::vector<Checked> checked = without_results.Run();
  for (size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].parity_ok.assign(jobs[i].parity_ok.size(), true);
    EXPECT_EQ(checked[i].block_ok, CheckedByCpu(jobs[i]).block_ok);
  }
}

TEST_F(NrCheckCrcGpuTest, APayloadThatIsNotWantedIsNotWritten) {
  Random random(55);
  const std::vector<CheckJob> jobs(3, RandomCheckJob(random, RandomShape(random, 9000)));
  CheckLaunch launch(jobs);
  std::vector<CheckTb> tbs(3);
  ASSERT_EQ(cudaMemcpy(tbs.data(), launch.batch().tbs, sizeof(CheckTb) * 3, cudaMemcpyDeviceToHost),
            cudaSuccess);
  for (CheckTb& tb : tbs) tb.payload = nullptr;
  const auto device_tbs = testing::ToDevice(tbs);
  launch.batch().tbs = device_tbs.data();
  for (const Checked& checked : launch.Run()) {
    EXPECT_THAT(checked.payload, Each(kGuard));
    EXPECT_EQ(checked.block_ok, CheckedByCpu(jobs[0]).block_ok);
  }
}

TEST_F(NrCheckCrcGpuTest, RefusesWhatTheHeaderSaysAndWritesNothing) {
  Random random(56);
  const std::vector<CheckJob> jobs(2, RandomCheckJob(random, RandomShape(random, 500)));
  const auto expect_refused = [&](const char* message, const auto& spoil) {
    CheckLaunch launch(jobs);
    CheckBatch batch = launch.batch();
    spoil(batch);
    EXPECT_THAT(LaunchCheckCrc(batch, cudaStreamPerThread), IsInvalid(message));
  };
  expect_refused("num_blocks 0", [](CheckBatch& b) { b.num_blocks = 0; });
  expect_refused("num_blocks 1048577", [](CheckBatch& b) { b.num_blocks = (1 << 20) + 1; });
  expect_refused("tbs", [](CheckBatch& b) { b.tbs = nullptr; });
  expect_refused("blocks", [](CheckBatch& b) { b.blocks = nullptr; });
  expect_refused("results", [](CheckBatch& b) { b.results = nullptr; });
}

}  // namespace
}  // namespace baseband::nr
