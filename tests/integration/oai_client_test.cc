// What OpenAirInterface's plug-in does with the real server; without OpenAirInterface.
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/sharing_server.h"

extern "C" {
#include "client/oai/client.h"
#include "client/oai/clock.h"
#include "client/oai/crc.h"
}

namespace baseband::testing {
namespace {

// A transport block on its way there and back.
class Block {
 public:
  Block(uint32_t segments, uint32_t n_filler, uint32_t qm, uint32_t e, std::mt19937* random)
      : random_(random), qm_(qm), e_(e) {
    const uint32_t k = 22 * 384;
    code_ = bo_code_of(1, 384, k, n_filler, segments * (k - n_filler - 24) - 24, segments, 0);
    for (uint32_t i = 0; i < segments; ++i) {
      sent_.emplace_back(k / 8, uint8_t{0});
      for (uint32_t j = 0; j < (k - n_filler) / 8; ++j) {
        sent_[i][j] = static_cast<uint8_t>((*random)());
      }
      bo_append_crc(code_.crc, sent_[i].data(), (k - n_filler) / 8 - 3);
      received_.emplace_back(k / 8, uint8_t{0xa5});
      soft_.emplace_back(code_.n_cb, int16_t{0});
    }
    output_.resize(segments * (e + qm) / 8 + 1);
  }

  uint32_t LengthOf(size_t segment) const { return e_ + static_cast<uint32_t>(segment % 2) * qm_; }

  bool Encode(bo_client* client, uint32_t rv) {
    std::vector<bo_sent> segments;
    for (size_t i = 0; i < sent_.size(); ++i) segments.push_back({sent_[i].data(), LengthOf(i)});
    const bo_downlink_block block{
        code_, qm_, rv, segments.data(), static_cast<uint32_t>(segments.size()), output_.data()};
    return bo_encode_slot(client, &block, 1);
  }

  // What was encoded is received with noise, and decoded.
  bo_verdict Decode(bo_client* client, uint32_t rv, bool is_first, double snr_db) {
    std::normal_distribution<double> noise(0, std::pow(10, -snr_db / 20));
    std::vector<std::vector<int16_t>> llrs;
    std::vector<bo_received> segments;
    size_t bit = 0;
    for (size_t i = 0; i < sent_.size(); ++i) {
      llrs.emplace_back(LengthOf(i));
      for (int16_t& llr : llrs.back()) {
        const double sign = (output_[bit / 8] >> (bit % 8) & 1) != 0 ? -1 : 1;
        llr = static_cast<int16_t>(std::lrint(300 * (sign + noise(*random_))));
        ++bit;
      }
    }
    for (size_t i = 0; i < sent_.size(); ++i) {
      segments.push_back(
          {llrs[i].data(), LengthOf(i), soft_[i].data(), received_[i].data(), false});
    }
    bo_uplink_block block{};
    block.code = code_;
    block.process = {9, soft_[0].data()};
    block.qm = qm_;
    block.rv = rv;
    block.max_iterations = 10;
    block.is_first = is_first;
    block.segments = segments.data();
    block.count = static_cast<uint32_t>(segments.size());
    bo_decode_slot(client, &block, 1);
    is_right_ = true;
    for (size_t i = 0; i < sent_.size(); ++i) is_right_ = is_right_ && segments[i].is_right;
    return block.verdict;
  }
  // Of the last Decode: all segments say that they are right, and are.
  bool IsRight() const { return is_right_ && received_ == sent_; }
  bool IsZeros() const {
    return !is_right_ && received_ == std::vector<std::vector<uint8_t>>(
                                          sent_.size(), std::vector<uint8_t>(code_.k / 8, 0));
  }

 private:
  std::mt19937* random_;
  uint32_t qm_;
  uint32_t e_;
  bo_code code_;
  std::vector<std::vector<uint8_t>> sent_;
  std::vector<std::vector<uint8_t>> received_;
  std::vector<std::vector<int16_t>> soft_;
  std::vector<uint8_t> output_;
  bool is_right_ = false;
};

class OaiClientTest : public SharingServerTest {
 protected:
  void SetUp() override {
    setenv("BASEBAND_SOCKET", socket_.c_str(), 1);
    setenv("BASEBAND_DEADLINE_US", "10000000", 1);  // sanitizers, and other tests beside this one
  }
  void TearDown() override { bo_stop(); }
  void Start() {
    client_ = bo_start();
    ASSERT_NE(client_, nullptr);
    client_->settings.harq_on_host = false;
  }
  // Until the server answers; false: it does not within a minute.
  bool WaitForServer(Block* block) {
    for (const uint64_t end = bo_now_ns() + 60'000'000'000; bo_now_ns() < end;) {
      if (block->Encode(client_, 0)) return true;
      const timespec pause{0, 20'000'000};
      nanosleep(&pause, nullptr);
    }
    return false;
  }

  std::mt19937 random_{12};
  bo_client* client_ = nullptr;
};

TEST_F(OaiClientTest, WhatIsSentIsReceived) {
  Serve();
  Start();
  for (const uint32_t rv : {0U, 2U}) {
    Block block(5, 40, 4, 20000, &random_);
    ASSERT_TRUE(block.Encode(client_, rv));
    EXPECT_EQ(block.Decode(client_, rv, true, 12), BO_DECODED);
    EXPECT_TRUE(block.IsRight());
    EXPECT_EQ(block.Decode(client_, rv, true, -20), BO_DECODED);
    EXPECT_TRUE(block.IsZeros());
  }
}

TEST_F(OaiClientTest, TransmissionsAreCombinedByTheServerOrInMemory) {
  Serve();
  Start();
  for (const bool is_on_host : {false, true}) {
    client_->settings.harq_on_host = is_on_host;
    Block block(3, 0, 2, 10000, &random_);
    ASSERT_TRUE(block.Encode(client_, 0));
    EXPECT_EQ(block.Decode(client_, 0, true, 1), is_on_host ? BO_DECODED_SOFT : BO_DECODED);
    EXPECT_FALSE(block.IsRight());
    ASSERT_TRUE(block.Encode(client_, 2));
    EXPECT_EQ(block.Decode(client_, 2, false, 2.5), BO_DECODED);
    EXPECT_TRUE(block.IsRight()) << is_on_host;
  }
}

TEST_F(OaiClientTest, ASlotThatComesAgainIsKnownByANumber) {
  Serve();
  Start();
  Block block(2, 0, 2, 20000, &random_);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(block.Encode(client_, 0));
    ASSERT_EQ(block.Decode(client_, 0, true, 12), BO_DECODED);
    EXPECT_TRUE(block.IsRight());
  }
  int known = 0;
  for (const bo_session& session : client_->pool.sessions) {
    for (const bo_job& job : session.jobs.jobs) known += job.state == BO_JOB_KNOWN;
  }
  EXPECT_EQ(known, 2);
}

TEST_F(OaiClientTest, WithoutAServerAllIsLeftToTheLibraryAndThatIsSaidOnce) {
  ::testing::internal::CaptureStderr();
  Start();
  Block block(2, 0, 2, 20000, &random_);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(block.Encode(client_, 0));
    EXPECT_EQ(block.Decode(client_, 0, true, 12), BO_LEFT);
    EXPECT_EQ(block.Decode(client_, 0, false, 12), BO_LEFT);
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, ::testing::MatchesRegex("libldpc_baseband: no answer from the server, .*\n"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(OaiClientTest, AServerThatEndsTakesItsSoftBitsAlongAndIsFoundAgain) {
  Serve();
  Start();
  Block block(2, 0, 2, 20000, &random_);
  ASSERT_TRUE(block.Encode(client_, 0));
  ASSERT_EQ(block.Decode(client_, 0, true, -20), BO_DECODED);
  server_->process().Signal(SIGKILL);
  server_->process().Wait(absl::Seconds(60));
  EXPECT_EQ(block.Decode(client_, 2, false, 12), BO_LEFT_ALONE);
  EXPECT_EQ(block.Decode(client_, 3, false, 12), BO_LEFT);  // with the library's from now on
  EXPECT_FALSE(block.Encode(client_, 0));
  Serve();
  ASSERT_TRUE(WaitForServer(&block));
  EXPECT_EQ(block.Decode(client_, 1, false, 12), BO_LEFT);
  EXPECT_EQ(block.Decode(client_, 0, true, 12), BO_DECODED);
  EXPECT_TRUE(block.IsRight());
}

TEST_F(OaiClientTest, AServerThatStandsStillKeepsACallForItsDeadline) {
  Serve();
  Start();
  Block block(2, 0, 2, 20000, &random_);
  ASSERT_TRUE(block.Encode(client_, 0));
  client_->settings.deadline_ns = 200'000'000;
  server_->process().Signal(SIGSTOP);
  uint64_t begin = bo_now_ns();
  EXPECT_EQ(block.Decode(client_, 0, true, 12), BO_LEFT);
  EXPECT_GE(bo_now_ns() - begin, 200'000'000U);
  EXPECT_LT(bo_now_ns() - begin, 5'000'000'000U);
  server_->process().Signal(SIGCONT);
  client_->settings.deadline_ns = 10'000'000'000;
  ASSERT_TRUE(WaitForServer(&block));
  EXPECT_EQ(block.Decode(client_, 0, true, 12), BO_DECODED);
  EXPECT_TRUE(block.IsRight());
}

TEST_F(OaiClientTest, SingleCodeBlocksGoThereAndBack) {
  Serve();
  Start();
  for (const bool is_flooding : {false, true}) {
    client_->settings.is_flooding = is_flooding;
    for (const uint32_t zc : {384U, 22U}) {
      const uint32_t k = 10 * zc;
      std::vector<std::vector<uint8_t>> segments(3, std::vector<uint8_t>((k + 7) / 8));
      const uint8_t* pointers[3];
      for (int j = 0; j < 3; ++j) {
        for (uint32_t i = 0; i < k; ++i) {
          const auto bit = static_cast<uint32_t>(random_() & 1U);
          segments[j][i / 8] = static_cast<uint8_t>(segments[j][i / 8] | bit << (7 - i % 8));
        }
        pointers[j] = segments[j].data();
      }
      std::vector<uint8_t> output(50 * zc + 8);
      ASSERT_TRUE(bo_encode_words(client_, 2, zc, pointers, 3, output.data()));
      for (int j = 0; j < 3; ++j) {
        std::vector<int8_t> llrs(30 * zc);
        for (size_t i = 0; i < llrs.size(); ++i) {
          llrs[i] = static_cast<int8_t>((output[i] >> j & 1) != 0 ? -20 : 20);
        }
        const bo_code_word word{2, zc, 10, 30 * zc};
        std::vector<uint8_t> bits(segments[j].size());
        EXPECT_LT(bo_decode_word(client_, &word, llrs.data(), bits.data()), 10);
        EXPECT_EQ(bits, segments[j]);
      }
    }
  }
}

}  // namespace
}  // namespace baseband::testing
