// Runs of bits that meet inside bytes.
#include "kernels/nr/bit_run.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/ldpc/reference.h"
#include "tests/support/ldpc_vectors.h"

namespace baseband::nr {
namespace {

using ldpc::Bits;

// Writes bits [begin, end) of `bits` into `array` by pieces of random lengths, from a source that
// begins inside a byte.
EdgeBits WriteRun(const Bits& bits, int64_t begin, int64_t end, std::mt19937* random,
                  uint8_t* array) {
  BitRun run(array, begin, end);
  for (int64_t bit = begin; bit < end;) {
    const int64_t count = std::min<int64_t>(end - bit, 1 + (*random)() % 40);
    const auto skipped = static_cast<int64_t>((*random)() % 8);
    Bits source(static_cast<size_t>(skipped), 1);
    source.insert(source.end(), bits.begin() + bit, bits.begin() + bit + count);
    run.Put(bit, ldpc::PackBits(source).data(), skipped, count);
    bit += count;
  }
  return run.edges();
}

TEST(NrBitRunTest, EveryBeginAndEndWritesItsOwnBytesAndHandsTheOthersOut) {
  std::mt19937 random(1);
  const Bits bits = ldpc::UnpackBits(testing::RandomBytes(8, &random), 64);
  for (int64_t begin = 0; begin < 64; ++begin) {
    for (int64_t end = begin + 1; end <= 64; ++end) {
      std::vector<uint8_t> array(8, 0xa5);
      const std::vector<uint8_t> before = array;
      const EdgeBits edges = WriteRun(bits, begin, end, &random, array.data());
      for (int64_t byte = 0; byte < 8; ++byte) {
        if (8 * byte >= begin && 8 * byte + 8 <= end) continue;
        ASSERT_EQ(array[static_cast<size_t>(byte)], 0xa5) << begin << " " << end;
      }
      PutEdges(array.data(), begin, end, edges);
      Bits expected = ldpc::UnpackBits(before, 64);
      std::copy(bits.begin() + begin, bits.begin() + end, expected.begin() + begin);
      ASSERT_EQ(array, ldpc::PackBits(expected)) << begin << " " << end;
    }
  }
}

TEST(NrBitRunTest, RunsThatMeetInBytesFillTheArrayInAnyOrder) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 300; ++trial) {
    const Bits bits = ldpc::UnpackBits(testing::RandomBytes(50, &random), 400);
    std::vector<int64_t> bounds = {0};
    while (bounds.back() < 400) {
      const int64_t most = trial % 2 == 0 ? 5 : 60;
      bounds.push_back(std::min<int64_t>(400, bounds.back() + 1 + random() % most));
    }
    std::vector<size_t> order(bounds.size() - 1);
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random);
    std::vector<uint8_t> array(50, 0x5a);
    std::vector<EdgeBits> edges(order.size());
    for (const size_t i : order) {
      edges[i] = WriteRun(bits, bounds[i], bounds[i + 1], &random, array.data());
    }
    for (const size_t i : order) PutEdges(array.data(), bounds[i], bounds[i + 1], edges[i]);
    ASSERT_EQ(array, ldpc::PackBits(bits));
  }
}

}  // namespace
}  // namespace baseband::nr
