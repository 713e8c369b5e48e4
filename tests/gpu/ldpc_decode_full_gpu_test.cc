// LaunchDecode of so many blocks that thread blocks hold as many of them as fit, against the CPU's
// version, bit for bit.
#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/gpu/ldpc_decode_launch.h"
#include "tests/support/custom_codes.h"

namespace baseband::ldpc {
namespace {

using LdpcDecodeFullGpuTest = LdpcDecodeGpuTest;

int Multiprocessors() {
  int count = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  return count;
}

// How code words that take few iterations and many lie among each other.
enum class Order { kRandom, kEarlyFirst, kLateFirst, kByTurns };

// `count` blocks, each one of `some`.
void ExpectManyEqualToCpu(const Code& code, const DecodeParameters& parameters,
                          const std::vector<Job>& some, size_t count, size_t first_byte,
                          Order order, Random& random) {
  std::vector<Decoded> expected;
  for (const Job& job : some) expected.push_back(ExpectedOf(code, parameters, job));
  std::vector<size_t> which;
  while (which.size() < count) which.push_back(static_cast<size_t>(random.Below(int(some.size()))));
  if (order != Order::kRandom) {
    std::stable_sort(which.begin(), which.end(), [&](size_t a, size_t b) {
      return expected[a].iterations < expected[b].iterations;
    });
  }
  if (order == Order::kLateFirst) std::reverse(which.begin(), which.end());
  if (order == Order::kByTurns) {
    for (size_t i = 1; i < count / 2; i += 2) std::swap(which[i], which[count - i]);
  }
  std::vector<Job> jobs;
  for (const size_t w : which) jobs.push_back(some[w]);
  const std::vector<Decoded> decoded = DecodeOnGpu(code, parameters, jobs, first_byte);
  size_t wrong = 0;
  for (size_t i = 0; i < count; ++i) wrong += decoded[i] == expected[which[i]] ? 0 : 1;
  EXPECT_EQ(wrong, 0u) << Describe(code, parameters) << ", " << count << " blocks from byte "
                       << first_byte << ", order " << int(order);
}

constexpr size_t kDifferent = 61;

void ExpectManyEqualToCpu(const Code& code, const DecodeParameters& parameters, size_t count,
                          size_t first_byte, bool wants_soft, Random& random) {
  ExpectManyEqualToCpu(code, parameters, RandomJobs(code, kDifferent, random, wants_soft), count,
                       first_byte, Order::kRandom, random);
}

// More than a thread block of `threads` takes of code words of `code`, on every multiprocessor.
size_t FullCount(const Code& code, int threads) {
  return static_cast<size_t>(2 * Multiprocessors() * (threads / code.zc()) + 1);
}

TEST_F(LdpcDecodeFullGpuTest, AsManyPairsAsFitEqualTheCpu) {
  Random random(1);
  size_t first_byte = 0;
  for (const int base_graph : {1, 2}) {
    for (const int zc : {2, 3, 15, 32, 36, 52, 96, 128, 144, 192}) {
      for (const int rows : {4, 5, 8, 9, 12, 13, 0}) {
        const CodePtr code = *NrCode(base_graph, zc, rows);
        const bool soft = random.Below(4) == 0;
        DecodeParameters parameters = Iterations(3, random.Below(2) == 0);
        parameters.schedule = random.Below(2) == 0 ? Schedule::kLayered : Schedule::kFlooding;
        ExpectManyEqualToCpu(*code, parameters, FullCount(*code, 384), first_byte++ % 19, soft,
                             random);
      }
    }
  }
}

TEST_F(LdpcDecodeFullGpuTest, AsManyPairsOfTheIeeeAsFitEqualTheCpu) {
  Random random(2);
  for (const CodePtr& code : {*WimaxCode("1/2", 576), *WimaxCode("1/2", 1056),
                              *WimaxCode("5/6", 576), *WifiCode("1/2", 648)}) {
    for (size_t first_byte = 0; first_byte < 17; first_byte += 3) {
      DecodeParameters parameters = Iterations(4, true);
      parameters.schedule = first_byte % 2 == 0 ? Schedule::kLayered : Schedule::kFlooding;
      ExpectManyEqualToCpu(*code, parameters, FullCount(*code, 384), first_byte, false, random);
    }
  }
}

// Thread blocks of one pair, several for each place on the device.
TEST_F(LdpcDecodeFullGpuTest, MoreWordsThanThereIsRoomForEqualTheCpu) {
  Random random(4);
  const auto places = static_cast<size_t>(2 * Multiprocessors());
  size_t first_byte = 0;
  for (const int base_graph : {1, 2}) {
    for (const int zc : {208, 240, 352, 384}) {
      for (const int rows : {4, 6, 8, 10, 13, 0}) {
        const CodePtr code = *NrCode(base_graph, zc, rows);
        const auto order = static_cast<Order>(random.Below(4));
        const std::vector<Job> some =
            RandomJobs(*code, kDifferent, random, /*wants_soft=*/random.Below(3) == 0);
        // Twice as many places where two thread blocks share a multiprocessor.
        const size_t count = (2 + static_cast<size_t>(random.Below(4))) * places + 1 +
                             static_cast<size_t>(random.Below(99));
        ExpectManyEqualToCpu(*code, Iterations(1 + random.Below(12), true), some, count,
                             first_byte++ % 19, order, random);
      }
    }
  }
}

TEST_F(LdpcDecodeFullGpuTest, EveryOrderOfEarlyAndLateWordsEqualsTheCpu) {
  Random random(5);
  const auto places = static_cast<size_t>(2 * Multiprocessors());
  const CodePtr code = *NrCode(1, 256);
  const std::vector<Job> some = RandomJobs(*code, kDifferent, random, /*wants_soft=*/false);
  for (const Order order :
       {Order::kRandom, Order::kEarlyFirst, Order::kLateFirst, Order::kByTurns}) {
    for (const size_t count : {places - 1, places, places + 1, places + 2, 3 * places - 1}) {
      ExpectManyEqualToCpu(*code, Iterations(20, true), some, count, 3, order, random);
    }
  }
}

// Of the structure of a matrix of 802.16e, but of lifting sizes that it does not have.
TEST_F(LdpcDecodeFullGpuTest, CodesOfAClientThatLookLikeTheIeeesEqualTheCpu) {
  Random random(3);
  const CodePtr model = *WimaxCode("1/2", 2304);
  for (const int zc : {1, 2, 3, 97}) {
    BaseMatrix matrix = testing::EmptyMatrix(model->rows(), model->columns(), zc);
    for (const Edge& edge : model->edges()) {
      testing::ShiftAt(&matrix, edge.row, edge.column) = edge.shift % zc;
    }
    const auto code = Code::Create(matrix, Family::kCustom, "custom zc=" + std::to_string(zc));
    ASSERT_THAT(code, IsOk());
    for (const Schedule schedule : {Schedule::kLayered, Schedule::kFlooding}) {
      DecodeParameters parameters = Iterations(4, true);
      parameters.schedule = schedule;
      ExpectManyEqualToCpu(**code, parameters, FullCount(**code, 96), 1, false, random);
    }
  }
}

}  // namespace
}  // namespace baseband::ldpc
