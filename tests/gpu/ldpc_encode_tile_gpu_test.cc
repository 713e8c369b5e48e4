// LaunchEncode of many code blocks at a time against the CPU's version, which ldpc_encode_test
// holds against the reference.
#include <random>
#include <string>
#include <vector>

#include "kernels/ldpc/encode_gpu.h"
#include "tests/gpu/ldpc_encode_launch.h"
#include "tests/support/custom_codes.h"

namespace baseband::ldpc {
namespace {

using LdpcEncodeTileGpuTest = LdpcEncodeGpuTest;

std::vector<Bytes> EncodeInTiles(const std::vector<Block>& blocks, size_t first_byte) {
  EXPECT_GE(blocks.size(), 4096u) << "few blocks are not encoded in tiles";
  return EncodeOnGpu(blocks, first_byte, Descriptors::kOnDevice, Together::kTiles);
}

// Runs of blocks that begin and end anywhere in a tile, fillers, and any alignment.
TEST_F(LdpcEncodeTileGpuTest, TilesOfEveryCodeEqualTheCpu) {
  std::mt19937 random(8);
  std::vector<CodePtr> codes = testing::IeeeCodes();
  for (const int base_graph : {1, 2}) {
    for (const int zc : NrLiftingSizes()) {
      for (const int rows : {4, 7, 20, base_graph == 1 ? 46 : 42}) {
        codes.push_back(*NrCode(base_graph, zc, rows));
      }
    }
  }
  for (const int zc : {1, 2, 7, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 511, 512}) {
    codes.push_back(*Code::Create(testing::TriangularMatrix(6, 14, zc, &random), Family::kCustom,
                                  "triangular zc=" + std::to_string(zc)));
  }
  for (size_t first_byte = 0; first_byte < 4; ++first_byte) {
    std::vector<Block> blocks;
    for (const CodePtr& code : codes) {
      const int k = code->k();
      for (size_t more = 1 + random() % 40; more > 0; --more) {
        const int info_bits = random() % 2 == 0 ? k : 1 + static_cast<int>(random() % k);
        blocks.push_back(RandomBlock(code, info_bits, &random));
      }
    }
    ExpectEqualToCpu(blocks, EncodeInTiles(blocks, first_byte));
  }
}

TEST_F(LdpcEncodeTileGpuTest, TilesWhoseBlocksAreOfManyCodesEqualTheCpu) {
  std::mt19937 random(9);
  std::vector<Block> blocks;
  while (blocks.size() < 4200) {
    const int zc = NrLiftingSizes()[random() % NrLiftingSizes().size()];
    const CodePtr code = *NrCode(1 + static_cast<int>(random() % 2), zc);
    blocks.push_back(RandomBlock(code, code->k(), &random));
  }
  ExpectEqualToCpu(blocks, EncodeInTiles(blocks, 0));
}

TEST_F(LdpcEncodeTileGpuTest, FullTilesAndALastBlockEqualTheCpu) {
  std::mt19937 random(10);
  for (const CodePtr& code : {*NrCode(1, 384), *NrCode(1, 30), *NrCode(2, 208, 13)}) {
    std::vector<Block> blocks;
    while (blocks.size() < 4097) blocks.push_back(RandomBlock(code, code->k(), &random));
    ExpectEqualToCpu(blocks, EncodeInTiles(blocks, 0));
  }
}

TEST_F(LdpcEncodeTileGpuTest, ACodeTooLargeForTilesIsEncodedAmongOthers) {
  std::mt19937 random(11);
  const auto largest =
      Code::Create(testing::TriangularMatrix(kMaxRows, kMaxColumns, kMaxZc - 1, &random),
                   Family::kCustom, "largest");
  ASSERT_THAT(largest, IsOk());
  std::vector<Block> blocks = {RandomBlock(*largest, (*largest)->k(), &random)};
  while (blocks.size() < 4096) blocks.push_back(RandomBlock(*NrCode(2, 5), 50, &random));
  ExpectEqualToCpu(blocks, EncodeInTiles(blocks, 0));
}

// Kernels change with the number of blocks; tiles are allowed to all.
TEST_F(LdpcEncodeTileGpuTest, BatchesOfEverySizeEqualTheCpu) {
  std::mt19937 random(12);
  std::vector<CodePtr> codes = {*NrCode(1, 384),     *NrCode(1, 22, 46),      *NrCode(2, 7),
                                *NrCode(2, 208, 13), *WimaxCode("3/4B", 672), *WifiCode("1/2", 648),
                                *NrCode(1, 320, 4)};
  for (const int zc : {1, 33, 100, 512}) {
    codes.push_back(*Code::Create(testing::TriangularMatrix(6, 14, zc, &random), Family::kCustom,
                                  "triangular zc=" + std::to_string(zc)));
  }
  codes.push_back(
      *Code::Create(testing::FullMatrix(6, 12, 128, true, &random), Family::kCustom, "dense"));
  for (const size_t num_blocks : {511u, 512u, 513u, 2000u, 4095u, 4096u}) {
    SCOPED_TRACE(num_blocks);
    std::vector<Block> blocks;
    while (blocks.size() < num_blocks) {
      const CodePtr& code = codes[random() % codes.size()];
      const int k = code->k();
      const int info_bits = random() % 2 == 0 ? k : 1 + static_cast<int>(random() % k);
      blocks.push_back(RandomBlock(code, info_bits, &random));
    }
    ExpectEqualToCpu(blocks,
                     EncodeOnGpu(blocks, num_blocks % 4, Descriptors::kOnDevice, Together::kTiles));
  }
}

}  // namespace
}  // namespace baseband::ldpc
