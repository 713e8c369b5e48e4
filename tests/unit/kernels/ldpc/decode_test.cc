// DecodeOnCpu's integer engine against known answers and the definition, on every instruction set
// that this build and processor have.
#include "kernels/ldpc/decode.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/custom_codes.h"
#include "tests/support/every_target.h"
#include "tests/support/ldpc_vectors.h"
#include "tests/unit/kernels/ldpc/decode_on_cpu.h"

namespace baseband::ldpc {
namespace {

using ::baseband::testing::OnEveryTarget;
using ::baseband::testing::RandomWord;

TEST(LdpcDecodeTest, NoisyWordsOfTheStandardsDecode) {
  const std::vector<nlohmann::json> cases = testing::ReadJsonLines("ldpc/noisy_decode.jsonl");
  ASSERT_FALSE(cases.empty());
  OnEveryTarget([&] {
    for (const nlohmann::json& test : cases) {
      SCOPED_TRACE(std::string(test.at("group")) + " " + test.at("case").dump());
      absl::StatusOr<CodePtr> code;
      int num_filler = 0;
      if (test.at("standard") == "38.212") {
        code = NrCode(test.at("bg"), test.at("zc"));
        num_filler = test.at("filler");
      } else if (test.at("standard") == "802.16e") {
        code = WimaxCode(test.at("rate"), test.at("n"));
      } else {
        code = WifiCode(test.at("rate"), test.at("n"));
      }
      ASSERT_TRUE(code.ok()) << code.status();
      const std::vector<uint8_t> bytes = testing::FromHex(test.at("llr"));
      std::vector<int8_t> llr(bytes.size());
      std::memcpy(llr.data(), bytes.data(), bytes.size());

      const Decoded decoded = Decode(**code, DecodeParameters(), num_filler, llr);

      EXPECT_EQ(decoded.bits, testing::FromHex(test.at("info")));
      EXPECT_EQ(decoded.result.parity_ok, 1);
      EXPECT_LE(decoded.result.iterations, 10);
    }
  });
}

TEST(LdpcDecodeTest, NoiselessWordsDecodeInOneIterationWhereNothingIsPunctured) {
  Random random(9);
  for (const CodePtr& code : testing::IeeeCodes()) {
    const std::vector<uint8_t> word = RandomWord(*code, 0, random);
    std::vector<int8_t> llr;
    for (uint8_t bit : word) llr.push_back(bit != 0 ? -20 : 20);

    const Decoded decoded = Decode(*code, DecodeParameters(), 0, llr);

    EXPECT_EQ(decoded.result.iterations, 1) << code->name();
    EXPECT_EQ(decoded.result.parity_ok, 1) << code->name();
    EXPECT_EQ(decoded.bits, testing::PackBits(absl::MakeSpan(word).subspan(0, code->k())));
  }
}

TEST(LdpcDecodeTest, NoiselessWordsOfNrDecodeInAFewIterations) {
  // The two punctured columns meet in all of the first four rows but one; their bits come in over
  // the rows that see only one of them.
  Random random(10);
  for (int base_graph : {1, 2}) {
    for (int zc : NrLiftingSizes()) {
      for (int rows : {4, 5, 10, 0}) {
        const CodePtr code = *NrCode(base_graph, zc, rows);
        const int num_filler = random.Below(zc);
        const std::vector<uint8_t> word = RandomWord(*code, num_filler, random);
        std::vector<int8_t> llr;
        for (uint8_t bit : testing::SentBits(*code, word)) llr.push_back(bit != 0 ? -20 : 20);

        const Decoded decoded = Decode(*code, DecodeParameters(), num_filler, llr);

        EXPECT_LE(decoded.result.iterations, 3) << code->name();
        EXPECT_EQ(decoded.result.parity_ok, 1) << code->name();
        EXPECT_EQ(decoded.bits,
                  testing::PackBits(absl::MakeSpan(word).subspan(0, code->k() - num_filler)))
            << code->name();
      }
    }
  }
}

TEST(LdpcDecodeTest, ATranslatedWordDecodesToTheTranslatedBits) {
  // Signs of LLRs turned round where a code word has a one: the bits turn there, too.
  Random random(11);
  for (const CodePtr& code : {*NrCode(1, 128), *NrCode(2, 208, 20), *WifiCode("1/2", 1944)}) {
    std::vector<int8_t> llr = NoisyLlr(*code, random);
    const Decoded of_zeros = Decode(*code, DecodeParameters(), 0, llr);
    ASSERT_EQ(of_zeros.result.parity_ok, 1) << code->name();
    const std::vector<uint8_t> word = RandomWord(*code, 0, random);
    const absl::Span<const uint8_t> sent = testing::SentBits(*code, word);
    for (size_t i = 0; i < llr.size(); ++i) {
      if (sent[i] != 0) llr[i] = static_cast<int8_t>(-std::max<int>(llr[i], -127));
    }

    const Decoded of_word = Decode(*code, DecodeParameters(), 0, llr);

    std::vector<uint8_t> expected = testing::PackBits(absl::MakeSpan(word).subspan(0, code->k()));
    for (size_t i = 0; i < expected.size(); ++i) expected[i] ^= of_zeros.bits[i];
    EXPECT_EQ(of_word.bits, expected) << code->name();
  }
}

TEST(LdpcDecodeTest, MinusOneHundredAndTwentyEightIsReadAsMinusOneHundredAndTwentySeven) {
  Random random(12);
  const CodePtr code = *NrCode(2, 56);
  for (Algorithm algorithm :
       {Algorithm::kNormalizedMinSum, Algorithm::kSumProduct, Algorithm::kBitFlipping}) {
    DecodeParameters parameters;
    parameters.algorithm = algorithm;
    std::vector<int8_t> llr = NoisyLlr(*code, random);
    for (int i = 0; i < 100; ++i) {
      llr[static_cast<size_t>(random.Below(code->num_sent()))] = -128;
    }
    const Decoded with_128 = Decode(*code, parameters, 0, llr);
    for (int8_t& value : llr) value = std::max<int8_t>(value, -127);
    const Decoded with_127 = Decode(*code, parameters, 0, llr);
    EXPECT_EQ(with_128.bits, with_127.bits);
    EXPECT_EQ(with_128.soft, with_127.soft);
    EXPECT_EQ(with_128.result.iterations, with_127.result.iterations);
  }
}

TEST(LdpcDecodeTest, UnknownLlrsGiveTheZeroWordInOneIteration) {
  for (const CodePtr& code : {*NrCode(1, 384), *NrCode(2, 2), *WimaxCode("5/6", 2304)}) {
    for (Algorithm algorithm :
         {Algorithm::kNormalizedMinSum, Algorithm::kSumProduct, Algorithm::kBitFlipping}) {
      for (Schedule schedule : {Schedule::kLayered, Schedule::kFlooding}) {
        DecodeParameters parameters;
        parameters.algorithm = algorithm;
        parameters.schedule = schedule;
        const std::vector<int8_t> llr(static_cast<size_t>(code->num_sent()), 0);
        const Decoded decoded = Decode(*code, parameters, 0, llr);
        EXPECT_THAT(decoded.bits, ::testing::Each(0));
        EXPECT_THAT(decoded.soft, ::testing::Each(0));
        EXPECT_EQ(decoded.result.iterations, 1);
        EXPECT_EQ(decoded.result.parity_ok, 1);
      }
    }
  }
}

TEST(LdpcDecodeTest, LiesAnywhereInMemoryAndWritesNothingElse) {
  Random random(13);
  const CodePtr code = *NrCode(2, 26, 12);
  const int num_filler = 3;
  const std::vector<int8_t> llr = NoisyLlr(*code, random);
  const Decoded expected = Decode(*code, DecodeParameters(), num_filler, llr);
  OnEveryTarget([&] {
    for (size_t offset = 0; offset < 65; offset += 7) {
      std::vector<int8_t> moved(llr.size() + offset, 99);
      std::copy(llr.begin(), llr.end(), moved.begin() + static_cast<int64_t>(offset));
      std::vector<uint8_t> bits(expected.bits.size() + offset + 1, 0xa5);
      std::vector<int8_t> soft(expected.soft.size() + offset + 1, 0x5a);
      DecodeOnCpu(*code, DecodeParameters(), num_filler, absl::MakeSpan(moved).subspan(offset),
                  absl::MakeSpan(bits).subspan(offset, expected.bits.size()),
                  absl::MakeSpan(soft).subspan(offset, expected.soft.size()));
      EXPECT_TRUE(std::equal(expected.bits.begin(), expected.bits.end(),
                             bits.begin() + static_cast<int64_t>(offset)));
      EXPECT_TRUE(std::equal(expected.soft.begin(), expected.soft.end(),
                             soft.begin() + static_cast<int64_t>(offset)));
      for (size_t i = 0; i < offset; ++i) EXPECT_EQ(bits[i], 0xa5);
      for (size_t i = 0; i < offset; ++i) EXPECT_EQ(soft[i], 0x5a);
      EXPECT_EQ(bits.back(), 0xa5);
      EXPECT_EQ(soft.back(), 0x5a);
    }
  });
}

TEST(LdpcDecodeTest, DependsNeitherOnEarlierBlocksNorOnTheThread) {
  // Codes of all kinds in random order on several threads at once, each with its own LLRs.
  struct Job {
    CodePtr code;
    DecodeParameters parameters;
    std::vector<int8_t> llr;
    Decoded expected;
  };
  Random random(14);
  std::vector<Job> jobs;
  for (const CodePtr& code : {*NrCode(1, 96), *NrCode(1, 7, 8), *NrCode(2, 384, 9), *NrCode(2, 3),
                              *WimaxCode("3/4B", 1056), *WifiCode("2/3", 1296)}) {
    for (Algorithm algorithm :
         {Algorithm::kNormalizedMinSum, Algorithm::kSumProduct, Algorithm::kBitFlipping}) {
      for (Schedule schedule : {Schedule::kLayered, Schedule::kFlooding}) {
        Job job;
        job.code = code;
        job.parameters.algorithm = algorithm;
        job.parameters.schedule = schedule;
        job.llr = NoisyLlr(*code, random);
        std::thread([&job] {
          job.expected = Decode(*job.code, job.parameters, 0, job.llr);
        }).join();
        jobs.push_back(std::move(job));
      }
    }
  }
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    threads.emplace_back([seed, &jobs] {
      Random order(seed);
      for (int i = 0; i < 150; ++i) {
        const Job& job = jobs[static_cast<size_t>(order.Below(static_cast<int>(jobs.size())))];
        const Decoded decoded = Decode(*job.code, job.parameters, 0, job.llr);
        EXPECT_EQ(decoded.bits, job.expected.bits) << job.code->name();
        EXPECT_EQ(decoded.soft, job.expected.soft) << job.code->name();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(LdpcDecodeTest, TheEngineRoundsToTheNearestOddFactorAndBoundsMessages) {
  const CodePtr code = *NrCode(1, 2);
  ASSERT_EQ(code->max_column_degree(), 30);
  DecodeParameters parameters;
  for (float factor : {0.0001f, 0.25f, 0.5f, 0.6301f, 0.75f, 0.79f, 0.999f, 1.0f}) {
    for (float heavy_factor : {0.0f, 0.3f, 0.67f, 1.0f}) {
      for (int offset : {0, 1}) {
        parameters.scaling = {factor, heavy_factor, offset};
        const Engine engine = MakeEngine(*code, parameters);
        const float heavy = heavy_factor > 0.0f ? heavy_factor : factor;
        EXPECT_EQ(engine.factor % 2, 1);
        EXPECT_EQ(engine.heavy_factor % 2, 1);
        EXPECT_LE(std::abs(static_cast<float>(engine.factor) - factor * 2048.0f), 1.0f);
        EXPECT_LE(std::abs(static_cast<float>(engine.heavy_factor) - heavy * 2048.0f), 1.0f);
        EXPECT_EQ(engine.offset, engine.heavy_factor > 1024 ? offset : 0);
        EXPECT_FALSE(engine.hard_input);
        const int limit = engine.magnitude_limit;
        const int message_limit = 1792 / 30;
        EXPECT_LE(std::lround(limit * engine.factor / 2048.0), message_limit);
        EXPECT_LE(std::lround(limit * engine.heavy_factor / 2048.0) - engine.offset, message_limit);
        EXPECT_TRUE(limit == 127 || (limit + 1) * engine.factor > message_limit * 2048 ||
                    (limit + 1) * engine.heavy_factor > (message_limit + engine.offset) * 2048);
      }
    }
  }
  // Elsewhere all checks are scaled alike.
  parameters.scaling = {0.8f, 0.6f, 1};
  for (const CodePtr& other : {*WimaxCode("1/2", 576), *NrCode(1, 2, 4), *NrCode(2, 2, 4)}) {
    EXPECT_EQ(MakeEngine(*other, parameters).heavy_factor, MakeEngine(*other, parameters).factor);
    EXPECT_EQ(MakeEngine(*other, parameters).offset, 0);
  }
  parameters.algorithm = Algorithm::kBitFlipping;
  EXPECT_EQ(MakeEngine(*code, parameters).factor, 2047);
  EXPECT_EQ(MakeEngine(*code, parameters).heavy_factor, 2047);
  EXPECT_EQ(MakeEngine(*code, parameters).offset, 0);
  EXPECT_EQ(MakeEngine(*code, parameters).magnitude_limit, 1);
  EXPECT_TRUE(MakeEngine(*code, parameters).hard_input);
}

}  // namespace
}  // namespace baseband::ldpc
