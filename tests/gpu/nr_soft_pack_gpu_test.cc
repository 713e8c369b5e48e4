// LaunchPackSoft and LaunchUnpackSoft against the CPU's version, bit for bit; and what they refuse.
#include <vector>

#include "kernels/nr/soft_pack.h"
#include "kernels/nr/soft_pack_gpu.h"
#include "tests/gpu/nr_launch.h"

namespace baseband::nr {
namespace {

using NrSoftPackGpuTest = NrGpuTest;
using ::baseband::testing::ToDevice;
using ::baseband::testing::ToHost;

constexpr uint8_t kGuard = 0xa5;

TEST_F(NrSoftPackGpuTest, EqualsTheCpuThereAndBack) {
  ASSERT_THAT(PrepareSoftPackKernels(), IsOk());
  Random random(1);
  const std::vector<uint32_t> counts = {1,   15,  16,  17,   31,   32,   33,
                                        100, 255, 256, 4096, 4097, 9600, 25344};
  std::vector<int8_t> soft;
  std::vector<uint8_t> packed;
  std::vector<SoftPackBlock> blocks;
  std::vector<size_t> soft_at;
  std::vector<size_t> packed_at;
  for (const int size : {6, 4}) {
    for (const uint32_t count : counts) {
      SoftPackBlock block;
      block.count = count;
      block.size = static_cast<uint32_t>(size);
      blocks.push_back(block);
      soft_at.push_back(soft.size());
      packed_at.push_back(packed.size());
      for (uint32_t i = 0; i < count; ++i) {
        soft.push_back(static_cast<int8_t>(random.Below(256) - 128));
      }
      soft.resize((soft.size() + 15) / 16 * 16, 0);
      packed.resize(packed.size() + static_cast<size_t>(HeldSoftBytes(size, count)) + 16, kGuard);
    }
  }
  const auto device_soft = ToDevice(soft);
  const auto device_packed = ToDevice(packed);
  for (size_t i = 0; i < blocks.size(); ++i) {
    blocks[i].soft = device_soft.data() + soft_at[i];
    blocks[i].packed = device_packed.data() + packed_at[i];
    PackSoftOnCpu(static_cast<int>(blocks[i].size),
                  absl::MakeConstSpan(soft).subspan(soft_at[i], blocks[i].count),
                  packed.data() + packed_at[i]);
  }
  const auto device_blocks = ToDevice(blocks);
  const auto count = static_cast<int>(blocks.size());
  ASSERT_THAT(LaunchPackSoft(device_blocks.data(), count, cudaStreamPerThread), IsOk());
  EXPECT_EQ(ToHost(device_packed), packed);

  ASSERT_THAT(LaunchUnpackSoft(device_blocks.data(), count, cudaStreamPerThread), IsOk());
  const std::vector<int8_t> unpacked = ToHost(device_soft);
  for (size_t i = 0; i < blocks.size(); ++i) {
    std::vector<int8_t> expected(blocks[i].count);
    UnpackSoftOnCpu(static_cast<int>(blocks[i].size), packed.data() + packed_at[i],
                    absl::MakeSpan(expected));
    expected.resize((expected.size() + 15) / 16 * 16, 0);  // filled up
    const auto begin = unpacked.begin() + static_cast<std::ptrdiff_t>(soft_at[i]);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), begin)) << blocks[i].count;
  }
}

TEST_F(NrSoftPackGpuTest, RefusesWhatTheHeaderSays) {
  const auto blocks = ToDevice(std::vector<SoftPackBlock>(1));
  for (const auto launch : {LaunchPackSoft, LaunchUnpackSoft}) {
    EXPECT_THAT(launch(nullptr, 1, cudaStreamPerThread), testing::IsInvalid("blocks is null"));
    EXPECT_THAT(launch(blocks.data(), 0, cudaStreamPerThread), testing::IsInvalid("num_blocks 0"));
    EXPECT_THAT(launch(blocks.data(), (1 << 20) + 1, cudaStreamPerThread),
                testing::IsInvalid("num_blocks 1048577"));
  }
}

}  // namespace
}  // namespace baseband::nr
