// LaunchEncode against known answers and the CPU's version, which ldpc_encode_test holds against
// the reference.
#include <algorithm>
#include <numeric>

#include "absl/cleanup/cleanup.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "kernels/cuda/resident.h"
#include "kernels/ldpc/encode_gpu.h"
#include "kernels/ldpc/encode_math.h"
#include "kernels/ldpc/encode_program.h"
#include "kernels/ldpc/reference.h"
#include "tests/gpu/ldpc_encode_launch.h"
#include "tests/support/custom_codes.h"
#include "tests/support/ldpc_vectors.h"
#include "tests/support/matchers.h"

namespace baseband::ldpc {
namespace {

using ::baseband::testing::FullMatrix;

TEST_F(LdpcEncodeGpuTest, KnownAnswersOfTheStandardsAreMetInOneLaunch) {
  const std::vector<testing::EncodeVector> vectors = testing::ReadEncodeVectors();
  std::vector<Block> blocks;
  for (const testing::EncodeVector& vector : vectors) {
    blocks.push_back({vector.code, vector.info, vector.code->k()});
  }
  const std::vector<Bytes> parities = EncodeOnGpu(blocks);
  for (size_t i = 0; i < vectors.size(); ++i) {
    const Code& code = *vectors[i].code;
    Bits word = UnpackBits(vectors[i].info, code.k());
    const Bits tail = UnpackBits(parities[i], code.parity_bits());
    word.insert(word.end(), tail.begin(), tail.end());
    EXPECT_EQ(PackBits(word), vectors[i].codeword) << code.name();
  }
}

TEST_F(LdpcEncodeGpuTest, EveryCodeOfTheStandardsEqualsTheCpu) {
  std::mt19937 random(1);
  std::vector<Block> blocks;
  for (const CodePtr& code : testing::IeeeCodes()) {
    blocks.push_back(RandomBlock(code, code->k(), &random));
  }
  for (const int base_graph : {1, 2}) {
    for (const int zc : NrLiftingSizes()) {
      const int step = zc == 384 || zc == 30 || zc == 3 ? 1 : 11;
      for (int rows = 4; rows <= (base_graph == 1 ? 46 : 42); rows += step) {
        const CodePtr code = *NrCode(base_graph, zc, rows);
        blocks.push_back(RandomBlock(code, code->k(), &random));
      }
    }
  }
  ExpectEqualToCpu(blocks, EncodeOnGpu(blocks));
}

TEST_F(LdpcEncodeGpuTest, CustomCodesEqualTheCpu) {
  std::mt19937 random(2);
  std::vector<Block> blocks;
  for (const int zc : {1, 2, 7, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 511, 512}) {
    const auto code = Code::Create(testing::TriangularMatrix(6, 14, zc, &random), Family::kCustom,
                                   "triangular zc=" + std::to_string(zc));
    blocks.push_back(RandomBlock(*code, (*code)->k(), &random));
  }
  for (const int zc : {1, 2, 4, 8, 16, 32, 64}) {
    const auto code = Code::Create(FullMatrix(4, 9, zc, true, &random), Family::kCustom,
                                   "full zc=" + std::to_string(zc));
    blocks.push_back(RandomBlock(*code, (*code)->k(), &random));
  }
  // Too many sources for shared memory, with groups of whole words and without.
  for (const auto& matrix :
       {FullMatrix(6, 12, 128, true, &random), FullMatrix(18, 40, 16, true, &random)}) {
    const auto code = Code::Create(matrix, Family::kCustom, "dense");
    ASSERT_THAT(code, IsOk());
    ASSERT_THAT((*code)->encode_plan(), IsOk());
    const uint32_t* const table = (*(*code)->encode_plan())->table().data();
    EXPECT_EQ(reinterpret_cast<const EncodeTableHeader*>(table)->copied_words, 0u);
    blocks.push_back(RandomBlock(*code, (*code)->k(), &random));
  }
  // The most shared memory there is: all columns, all rows, the largest lifting size.
  const auto largest =
      Code::Create(testing::TriangularMatrix(kMaxRows, kMaxColumns, kMaxZc - 1, &random),
                   Family::kCustom, "largest");
  ASSERT_THAT(largest, IsOk());
  EXPECT_LE(EncodeSharedBytes(**largest), 48 << 10);
  blocks.push_back(RandomBlock(*largest, (*largest)->k(), &random));
  ExpectEqualToCpu(blocks, EncodeOnGpu(blocks));
}

TEST_F(LdpcEncodeGpuTest, FillersAndAnyByteOffsetEqualTheCpu) {
  std::mt19937 random(3);
  std::vector<Block> blocks;
  for (const CodePtr& code :
       {*NrCode(1, 384), *NrCode(1, 22), *NrCode(2, 7), *NrCode(2, 352), *WifiCode("1/2", 648)}) {
    for (const int info_bits : {1, 7, 8, 9, 31, 32, 33, 50, code->k() - 1, code->k()}) {
      blocks.push_back(RandomBlock(code, std::min(info_bits, code->k()), &random));
    }
  }
  for (size_t first_byte = 0; first_byte < 4; ++first_byte) {
    ExpectEqualToCpu(blocks, EncodeOnGpu(blocks, first_byte));
  }
}

TEST_F(LdpcEncodeGpuTest, PermutedBlocksHavePermutedParities) {
  std::mt19937 random(4);
  std::vector<Block> blocks;
  for (int i = 0; i < 500; ++i) {
    const int zc = NrLiftingSizes()[random() % NrLiftingSizes().size()];
    const CodePtr code = *NrCode(1 + static_cast<int>(random() % 2), zc);
    blocks.push_back(RandomBlock(code, code->k(), &random));
  }
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  std::vector<Block> permuted;
  for (const size_t i : order) {
    permuted.push_back(blocks[i]);
  }
  const std::vector<Bytes> parities = EncodeOnGpu(blocks);
  const std::vector<Bytes> permuted_parities = EncodeOnGpu(permuted, 1);
  for (size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(permuted_parities[i], parities[order[i]]);
  }
}

TEST_F(LdpcEncodeGpuTest, DescriptorsOfTheHostAreReadBeforeTheLaunchReturns) {
  std::mt19937 random(6);
  std::vector<Block> blocks;
  for (int i = 0; i < 18; ++i) {
    const CodePtr code = *NrCode(1 + i % 2, NrLiftingSizes()[random() % NrLiftingSizes().size()]);
    blocks.push_back(RandomBlock(code, 1 + static_cast<int>(random() % code->k()), &random));
    ExpectEqualToCpu(blocks, EncodeOnGpu(blocks, i % 4, Descriptors::kAlsoOnHost));
  }
}

TEST_F(LdpcEncodeGpuTest, PinnedHostMemoryIsReadAndWrittenInPlace) {
  std::mt19937 random(5);
  const std::vector<Block> blocks = {RandomBlock(*NrCode(1, 384), 8448, &random),
                                     RandomBlock(*NrCode(2, 11), 110, &random)};
  const Layout layout = Lay(blocks, 0);
  const auto tables = ToDevice(layout.tables);
  auto info = cuda::CreatePinnedBuffer<uint8_t>(layout.info.size() + 16);
  auto parity = cuda::CreatePinnedBuffer<uint8_t>(layout.parity_bytes);
  ASSERT_THAT(info, IsOk());
  ASSERT_THAT(parity, IsOk());
  std::copy(layout.info.begin(), layout.info.end(), info->data());
  // The first block's information is the device's, the second's the host's.
  const auto device_info = ToDevice(layout.info, 16);
  std::vector<EncodeBlock> placed = layout.BlocksAt(info->data());
  placed[0] = layout.BlocksAt(device_info.data())[0];
  const auto entries = ToDevice(placed);
  EncodeBatch batch;
  batch.blocks = entries.data();
  batch.num_blocks = 2;
  batch.tables = reinterpret_cast<const uint8_t*>(tables.data());
  batch.parity = parity->data();
  batch.shared_bytes = layout.shared_bytes;
  ASSERT_THAT(LaunchEncode(batch, cudaStreamPerThread), IsOk());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const uint8_t* const begin = parity->data() + layout.blocks[i].parity_offset;
    EXPECT_EQ(Bytes(begin, begin + 4 * ParityWords(*blocks[i].code)), Expected(blocks[i]));
  }
}

// Information, parity and tables change at their places, and the kernel goes and comes.
TEST_F(LdpcEncodeGpuTest, AKernelThatStaysEncodesWhatIsThereNow) {
  constexpr size_t kMost = 64 << 10;
  const auto tables = ToDevice(std::vector<uint32_t>(kMost / 4));
  auto info = cuda::CreatePinnedBuffer<uint8_t>(kMost);
  auto parity = cuda::CreatePinnedBuffer<uint8_t>(kMost);
  auto resident = cuda::ResidentKernel::Create();
  ASSERT_THAT(info, IsOk());
  ASSERT_THAT(parity, IsOk());
  ASSERT_THAT(resident, IsOk());
  const absl::Cleanup leave = [&resident] { EXPECT_THAT(resident->Leave(), IsOk()); };
  std::mt19937 random(7);
  std::vector<CodePtr> codes;
  for (int round = 0; round < 2000; ++round) {
    if (round % 100 == 0) {
      codes.clear();
      for (int i = 0; i < 2; ++i) {
        const int zc = NrLiftingSizes()[random() % NrLiftingSizes().size()];
        codes.push_back(*NrCode(1 + static_cast<int>(random() % 2), zc));
      }
    }
    std::vector<Block> blocks;
    for (const CodePtr& code : codes) blocks.push_back(RandomBlock(code, code->k(), &random));
    for (size_t more = random() % 7; more > 0; --more) {
      const CodePtr& code = codes[random() % codes.size()];
      blocks.push_back(RandomBlock(code, 1 + static_cast<int>(random() % code->k()), &random));
    }
    const Layout layout = Lay(blocks, random() % 4);
    ASSERT_LE(layout.info.size() + 16, kMost);
    ASSERT_LE(layout.parity_bytes, kMost);
    ASSERT_LE(layout.tables.size() * 4, kMost);
    if (round % 100 == 0) {
      resident->Retire();
      ASSERT_EQ(cudaMemcpy(tables.data(), layout.tables.data(), layout.tables.size() * 4,
                           cudaMemcpyHostToDevice),
                cudaSuccess);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
    std::copy(layout.info.begin(), layout.info.end(), info->data());
    std::fill_n(parity->data(), layout.parity_bytes, kGuard);
    std::vector<EncodeBlock> placed = layout.BlocksAt(info->data());
    EncodeBatch batch;
    batch.blocks = placed.data();  // not read
    batch.blocks_host = placed.data();
    batch.num_blocks = static_cast<int>(blocks.size());
    batch.tables = reinterpret_cast<const uint8_t*>(tables.data());
    batch.parity = parity->data();
    batch.shared_bytes = layout.shared_bytes;
    ASSERT_TRUE(FitsResident(batch));
    ASSERT_THAT(PostEncode(batch, &*resident), IsOk());
    EXPECT_TRUE(resident->has_task());
    placed.assign(placed.size(), EncodeBlock());
    for (absl::StatusOr<bool> is_done = false; !*is_done;) {
      is_done = resident->IsDone();
      ASSERT_THAT(is_done, IsOk());
      ASSERT_THAT(resident->Check(), IsOk());
    }
    EXPECT_FALSE(resident->has_task());
    for (size_t i = 0; i < blocks.size(); ++i) {
      const uint8_t* const begin = parity->data() + layout.blocks[i].parity_offset;
      const uint8_t* const end = begin + 4 * ParityWords(*blocks[i].code);
      ASSERT_EQ(Bytes(begin, end), Expected(blocks[i])) << "round " << round << ", block " << i;
      ASSERT_TRUE(std::all_of(end, end + 4 * kGuardWords, [](uint8_t b) { return b == kGuard; }));
    }
    if (random() % 50 == 0) absl::SleepFor(absl::Microseconds(random() % 400));
  }
}

// Needs no GPU: nothing is enqueued.
TEST(LdpcEncodeGpuRefusalTest, BrokenBatchesAreRefusedByName) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  alignas(16) uint8_t memory[64] = {};
  EncodeBatch good;
  good.blocks = reinterpret_cast<const EncodeBlock*>(memory);
  good.num_blocks = 1;
  good.tables = memory;
  good.parity = memory;
  good.shared_bytes = 1024;

  EncodeBatch batch = good;
  batch.num_blocks = 0;
  EXPECT_THAT(LaunchEncode(batch, nullptr),
              StatusIs(kInvalid, "num_blocks 0 is not in [1, 1048576]"));
  batch.num_blocks = (1 << 20) + 1;
  EXPECT_THAT(LaunchEncode(batch, nullptr), IsInvalid("num_blocks 1048577"));
  batch = good;
  batch.tile_bytes = -1;
  EXPECT_THAT(LaunchEncode(batch, nullptr), IsInvalid("tile_bytes -1"));
  batch = good;
  batch.shared_bytes = 0;
  EXPECT_THAT(LaunchEncode(batch, nullptr), IsInvalid("shared_bytes 0"));
  batch.shared_bytes = 49153;
  EXPECT_THAT(LaunchEncode(batch, nullptr), IsInvalid("shared_bytes 49153"));
  batch = good;
  batch.blocks = nullptr;
  EXPECT_THAT(LaunchEncode(batch, nullptr), IsInvalid("blocks is null"));
  batch = good;
  batch.tables = memory + 4;
  EXPECT_THAT(LaunchEncode(batch, nullptr), IsInvalid("tables is null or"));
  batch = good;
  batch.parity = nullptr;
  EXPECT_THAT(LaunchEncode(batch, nullptr), IsInvalid("parity is null"));

  cuda::ResidentKernel none;
  batch = good;
  EXPECT_FALSE(FitsResident(batch));
  EXPECT_THAT(PostEncode(batch, &none), IsInvalid("blocks_host is null, num_blocks 1"));
  const EncodeBlock blocks[17] = {};
  batch.blocks_host = blocks;
  batch.num_blocks = 16;
  batch.shared_bytes = 40 << 10;
  EXPECT_TRUE(FitsResident(batch));
  ++batch.num_blocks;
  EXPECT_THAT(PostEncode(batch, &none), IsInvalid("num_blocks 17 is not in [1, 16]"));
  batch.num_blocks = 16;
  ++batch.shared_bytes;
  EXPECT_THAT(PostEncode(batch, &none), IsInvalid("shared_bytes 40961 is not in [1, 40960]"));
}

}  // namespace
}  // namespace baseband::ldpc
