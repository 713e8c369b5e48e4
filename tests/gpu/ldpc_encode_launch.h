// Launches of the LDPC encoder with all that they need, random blocks for them, and what the CPU's
// version makes of these. For the tests of this folder.
#ifndef BASEBAND_TESTS_GPU_LDPC_ENCODE_LAUNCH_H_
#define BASEBAND_TESTS_GPU_LDPC_ENCODE_LAUNCH_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/ldpc/encode_gpu.h"
#include "tests/support/gpu_test.h"
#include "tests/support/ldpc_vectors.h"
#include "tests/support/matchers.h"

namespace baseband::ldpc {

using ::baseband::testing::IsOk;
using ::baseband::testing::ToDevice;
using ::baseband::testing::ToHost;

using Bytes = std::vector<uint8_t>;
inline constexpr uint8_t kGuard = 0xa5;   // fills the parity buffer before a launch
inline constexpr size_t kGuardWords = 1;  // between two blocks' parities

struct Block {
  CodePtr code;
  Bytes info;
  int info_bits = 0;
};

// Blocks laid out for a launch: information without gaps, as clients send it, so at any byte.
struct Layout {
  // With the information at `base`, as the device addresses it.
  std::vector<EncodeBlock> BlocksAt(const uint8_t* base) const {
    std::vector<EncodeBlock> placed = blocks;
    for (size_t i = 0; i < placed.size(); ++i) placed[i].info = base + info_offsets[i];
    return placed;
  }

  std::vector<EncodeBlock> blocks;
  std::vector<size_t> info_offsets;  // by block
  std::vector<uint32_t> tables;
  Bytes info;
  size_t parity_bytes = 0;
  int shared_bytes = 0;
  int tile_bytes = 0;
};

inline size_t ParityWords(const Code& code) {
  return static_cast<size_t>(code.parity_bits() + 31) / 32;
}

inline Layout Lay(const std::vector<Block>& blocks, size_t first_byte) {
  Layout layout;
  std::map<const Code*, uint32_t> table_of;
  layout.info.assign(first_byte, 0xff);
  for (const Block& block : blocks) {
    const Code& code = *block.code;
    const auto [table, is_new] =
        table_of.emplace(&code, static_cast<uint32_t>(layout.tables.size() * 4));
    if (is_new) {
      const auto words = (*code.encode_plan())->table();
      EXPECT_EQ(words.size() % 4, 0u) << "tables follow each other at multiples of 16 bytes";
      layout.tables.insert(layout.tables.end(), words.begin(), words.end());
    }
    EncodeBlock entry;
    entry.table_offset = table->second;
    layout.info_offsets.push_back(layout.info.size());
    entry.info_bits = static_cast<uint32_t>(block.info_bits);
    entry.parity_offset = static_cast<uint32_t>(layout.parity_bytes);
    layout.blocks.push_back(entry);
    layout.info.insert(layout.info.end(), block.info.begin(), block.info.end());
    layout.parity_bytes += 4 * (ParityWords(code) + kGuardWords);
    layout.shared_bytes = std::max(layout.shared_bytes, EncodeSharedBytes(code));
    layout.tile_bytes = std::max(layout.tile_bytes, EncodeTileBytes(code));
  }
  return layout;
}

enum class Descriptors { kOnDevice, kAlsoOnHost };
enum class Together { kNone, kTiles };

// The parity of each block, in whole words; checks that nothing between them was written.
inline std::vector<Bytes> EncodeOnGpu(const std::vector<Block>& blocks, size_t first_byte = 0,
                                      Descriptors descriptors = Descriptors::kOnDevice,
                                      Together together = Together::kNone) {
  const Layout layout = Lay(blocks, first_byte);
  const auto tables = ToDevice(layout.tables);
  const auto info = ToDevice(layout.info, 16);
  std::vector<EncodeBlock> placed = layout.BlocksAt(info.data());
  const auto entries = ToDevice(placed);
  const auto parity = ToDevice(Bytes(layout.parity_bytes, kGuard));
  EncodeBatch batch;
  batch.blocks = entries.data();
  batch.num_blocks = static_cast<int>(blocks.size());
  batch.tables = reinterpret_cast<const uint8_t*>(tables.data());
  batch.parity = parity.data();
  batch.shared_bytes = layout.shared_bytes;
  if (descriptors == Descriptors::kAlsoOnHost) batch.blocks_host = placed.data();
  if (together == Together::kTiles) batch.tile_bytes = layout.tile_bytes;
  EXPECT_THAT(LaunchEncode(batch, cudaStreamPerThread), IsOk());
  std::fill(placed.begin(), placed.end(), EncodeBlock());

  const Bytes all = ToHost(parity);
  std::vector<Bytes> parities;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto begin = all.begin() + layout.blocks[i].parity_offset;
    const auto end = begin + static_cast<std::ptrdiff_t>(4 * ParityWords(*blocks[i].code));
    parities.emplace_back(begin, end);
    EXPECT_TRUE(std::all_of(end, end + 4 * kGuardWords, [](uint8_t b) { return b == kGuard; }))
        << "written past the parity of block " << i << ", " << blocks[i].code->name();
  }
  return parities;
}

inline Bytes Expected(const Block& block) {
  Bytes parity(4 * ParityWords(*block.code), 0);
  EncodeOnCpu(*block.code, block.info, block.info_bits, absl::MakeSpan(parity));
  return parity;
}

inline Block RandomBlock(const CodePtr& code, int info_bits, std::mt19937* random) {
  Block block;
  block.code = code;
  block.info_bits = info_bits;
  block.info = testing::RandomBytes(static_cast<size_t>(info_bits + 7) / 8, random);
  return block;
}

inline void ExpectEqualToCpu(const std::vector<Block>& blocks, const std::vector<Bytes>& parities) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(parities[i], Expected(blocks[i])) << "block " << i << ", " << blocks[i].code->name()
                                                << ", " << blocks[i].info_bits << " bits";
  }
}

class LdpcEncodeGpuTest : public testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) {
      ASSERT_THAT(PrepareEncodeKernels(), IsOk());
    }
  }
};

}  // namespace baseband::ldpc

#endif  // BASEBAND_TESTS_GPU_LDPC_ENCODE_LAUNCH_H_
