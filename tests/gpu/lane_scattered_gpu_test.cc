// Payloads that lie as gRPC received them, in pieces that begin anywhere, against the same in one.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "server/operations/decode/decode.h"
#include "tests/gpu/lane_gpu_fixture.h"
#include "tests/support/matchers.h"

namespace baseband::server {
namespace {

class ScatteredLaneGpuTest : public LaneGpuTest {
 protected:
  std::string RandomLlrs(int64_t bytes) {
    std::string text;
    for (int64_t i = 0; i < bytes; ++i) text.push_back(static_cast<char>(random_() % 19));
    return text;
  }

  // As WithPayload, in pieces of at most `most` bytes, with some of others between them.
  JobPtr WithScattered(JobPtr job, const std::string& payload, int64_t most) {
    job = WithPayload(std::move(job), payload);
    auto leases = std::make_shared<std::vector<HostLease>>();
    Payload scattered({}, leases);
    for (size_t begin = 0; begin < payload.size();) {
      const size_t bytes =
          std::min<size_t>(1 + random_() % static_cast<size_t>(most), payload.size() - begin);
      const size_t shift = 1 + random_() % 40;
      leases->push_back(*pool_->Lease(static_cast<int64_t>(bytes + 2 * shift)));
      uint8_t* const data = leases->back().data() + shift;
      std::fill_n(leases->back().data(), bytes + 2 * shift, uint8_t{0x81});
      std::copy_n(payload.data() + begin, bytes, data);
      scattered.Add({data, static_cast<int64_t>(bytes), leases->back().region()});
      begin += bytes;
    }
    job->DropInput();
    job->input = scattered;
    return job;
  }

  static void ExpectSame(const Job& cpu, const Job& gpu) {
    EXPECT_TRUE(cpu.reply.span() == gpu.reply.span());
    const auto& expected = static_cast<const DecodeJob&>(cpu).results;
    const auto& results = static_cast<const DecodeJob&>(gpu).results;
    ASSERT_EQ(results.size(), expected.size());
    for (size_t b = 0; b < results.size(); ++b) {
      EXPECT_EQ(results[b].iterations, expected[b].iterations) << b;
      EXPECT_EQ(results[b].parity_ok, expected[b].parity_ok) << b;
    }
  }

  std::mt19937 random_{11};
};

TEST_F(ScatteredLaneGpuTest, ScatteredWordsDecodeToTheSameBits) {
  DecodeGroup group;
  group.code = *ldpc::NrCode(1, 384, 4);
  group.llr_count = static_cast<int>(group.code->num_sent());
  for (const int64_t most : {20000, 3000, 70000, 100}) {
    SCOPED_TRACE(most);
    std::vector<JobPtr> cpu;
    std::vector<JobPtr> gpu;
    for (const int count : {1, 20, 3, 7}) {
      group.count = count;
      const std::vector<DecodeGroup> groups = {group};
      const auto make = [&] {
        return std::make_unique<DecodeJob>(TestOperation("Decode"), groups);
      };
      const std::string payload = RandomLlrs(make()->payload_bytes);
      cpu.push_back(WithPayload(make(), payload));
      // Some among them lie in one piece.
      gpu.push_back(count == 3 ? WithPayload(make(), payload)
                               : WithScattered(make(), payload, most));
    }
    cpu = OnCpu(std::move(cpu));
    gpu = OnGpu(std::move(gpu));
    for (size_t j = 0; j < cpu.size(); ++j) {
      SCOPED_TRACE(j);
      ExpectSame(*cpu[j], *gpu[j]);
    }
  }
}

// So small that kernels would read it in place if it were aligned.
TEST_F(ScatteredLaneGpuTest, OnePieceThatBeginsAnywhereDecodesToTheSameBits) {
  DecodeGroup group;
  group.code = *ldpc::NrCode(2, 13, 7);
  group.llr_count = static_cast<int>(group.code->num_sent());
  group.count = 1;
  const auto make = [&] {
    return std::make_unique<DecodeJob>(TestOperation("Decode"), std::vector<DecodeGroup>{group});
  };
  for (int round = 0; round < 64; ++round) {
    const std::string payload = RandomLlrs(make()->payload_bytes);
    std::vector<JobPtr> cpu;
    std::vector<JobPtr> gpu;
    cpu.push_back(WithPayload(make(), payload));
    gpu.push_back(WithScattered(make(), payload, INT32_MAX));
    cpu = OnCpu(std::move(cpu));
    gpu = OnGpu(std::move(gpu));
    SCOPED_TRACE(round);
    ExpectSame(*cpu[0], *gpu[0]);
  }
}

}  // namespace
}  // namespace baseband::server
