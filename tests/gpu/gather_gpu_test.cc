// Scattered pieces come together, byte for byte, and nothing beside them is touched.
#include <cstdint>
#include <cstring>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/gather.h"
#include "tests/support/channel.h"
#include "tests/support/gpu_test.h"
#include "tests/support/status_matchers.h"

namespace baseband::cuda {
namespace {

using ::baseband::testing::IsOk;
using testing::Random;

constexpr size_t kSource = 4 << 20;
constexpr uint8_t kUntouched = 0xa5;

class GatherGpuTest : public ::baseband::testing::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    auto source = CreatePinnedBuffer<uint8_t>(kSource);
    auto pieces = CreatePinnedBuffer<GatherPiece>(5000);
    auto stream = Stream::Create();
    ASSERT_THAT(source, IsOk());
    ASSERT_THAT(pieces, IsOk());
    ASSERT_THAT(stream, IsOk());
    source_ = *std::move(source);
    pieces_ = *std::move(pieces);
    stream_ = *std::move(stream);
    Random random(3);
    for (size_t i = 0; i < kSource; ++i) source_.data()[i] = static_cast<uint8_t>(random.Next());
    ASSERT_THAT(PrepareGather(), IsOk());
  }

  // Gathers pieces of these sizes from random places, `gap` bytes apart in the target, which begins
  // `shift` bytes into its memory, and compares all of it.
  void Try(const std::vector<int64_t>& sizes, int64_t gap, int64_t shift, Random& random) {
    std::vector<uint8_t> expected(static_cast<size_t>(shift), kUntouched);
    std::vector<int64_t> from;
    for (const int64_t size : sizes) {
      from.push_back(static_cast<int64_t>(random.Next() % (kSource - static_cast<size_t>(size))));
      expected.insert(expected.end(), source_.data() + from.back(),
                      source_.data() + from.back() + size);
      expected.insert(expected.end(), static_cast<size_t>(gap), kUntouched);
    }
    expected.insert(expected.end(), 64, kUntouched);
    auto target = testing::ToDevice(std::vector<uint8_t>(expected.size(), kUntouched));
    int64_t to = shift;
    for (size_t i = 0; i < sizes.size(); ++i) {
      pieces_.data()[i] = {source_.data() + from[i], target.data() + to, sizes[i]};
      to += sizes[i] + gap;
    }
    ASSERT_THAT(LaunchGather(pieces_.data(), static_cast<int>(sizes.size()), stream_.get()),
                IsOk());
    ASSERT_TRUE(testing::ToHost(target) == expected) << sizes.size() << " pieces, " << gap;
  }

  PinnedBuffer<uint8_t> source_;
  PinnedBuffer<GatherPiece> pieces_;
  Stream stream_;
};

TEST_F(GatherGpuTest, PiecesOfEverySmallSizeAndAlignmentArrive) {
  Random random(5);
  std::vector<int64_t> sizes;
  for (int64_t size = 0; size < 100; ++size) sizes.push_back(size);
  for (int64_t gap = 0; gap < 17; ++gap) {
    for (int64_t shift = 0; shift < 5; ++shift) Try(sizes, gap, shift, random);
  }
}

TEST_F(GatherGpuTest, ThousandsOfSlicesArrive) {
  Random random(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<int64_t> sizes;
    for (int i = 1 + random.Below(4999); i > 0; --i) sizes.push_back(random.Below(4000));
    Try(sizes, random.Below(3), random.Below(64), random);
  }
}

TEST_F(GatherGpuTest, NoPieceIsNothing) {
  Random random(9);
  Try({}, 0, 3, random);
}

}  // namespace
}  // namespace baseband::cuda
