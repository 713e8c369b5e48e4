// What OpenAirInterface's plug-in does with the real server; without OpenAirInterface.
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/sharing_server.h"

extern "C" {
#include "client/oai/client.h"
#include "client/oai/clock.h"
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
      const uint32_t bits = k - n_filler - 24;
      const uint32_t crc = basebandd_crc(code_.crc, sent_[i].data(), bits);
      for (int j = 0; j < 3; ++j)
        sent_[i][bits / 8 + j] = static_cast<uint8_t>(crc >> (16 - 8 * j));
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

  // What was encoded is received with noise; bo_decode_slot answers to it.
  bo_uplink_block Receive(uint32_t rv, bool is_first, double snr_db, double strength = 300) {
    std::normal_distribution<double> noise(0, std::pow(10, -snr_db / 20));
    llrs_.assign(sent_.size(), {});
    segments_.clear();
    size_t bit = 0;
    for (size_t i = 0; i < sent_.size(); ++i) {
      llrs_[i].resize(LengthOf(i));
      for (int16_t& llr : llrs_[i]) {
        const double sign = (output_[bit / 8] >> (bit % 8) & 1) != 0 ? -1 : 1;
        llr = static_cast<int16_t>(std::lrint(strength * (sign + noise(*random_))));
        ++bit;
      }
      segments_.push_back(
          {llrs_[i].data(), LengthOf(i), soft_[i].data(), received_[i].data(), false});
    }
    bo_uplink_block block{};
    block.code = code_;
    block.process = {9, soft_[0].data()};
    block.qm = qm_;
    block.rv = rv;
    block.max_iterations = 10;
    block.is_first = is_first;
    block.segments = segments_.data();
    block.count = static_cast<uint32_t>(segments_.size());
    return block;
  }
  bo_verdict Decode(bo_client* client, uint32_t rv, bool is_first, double snr_db) {
    bo_uplink_block block = Receive(rv, is_first, snr_db);
    bo_decode_slot(client, &block, 1);
    return block.verdict;
  }
  // Of what was received last: all segments say that they are right, and are.
  bool IsRight() const { return SaysRight() && received_ == sent_; }
  bool IsZeros() const {
    return !SaysRight() && received_ == std::vector<std::vector<uint8_t>>(
                                            sent_.size(), std::vector<uint8_t>(code_.k / 8, 0));
  }
  bool HasSoftBits() const {
    return std::all_of(soft_.begin(), soft_.end(), [](const std::vector<int16_t>& soft) {
      return std::any_of(soft.begin(), soft.end(), [](int16_t llr) { return llr != 0; });
    });
  }

 private:
  bool SaysRight() const {
    return std::all_of(segments_.begin(), segments_.end(),
                       [](const bo_received& segment) { return segment.is_right; });
  }

  std::mt19937* random_;
  uint32_t qm_;
  uint32_t e_;
  bo_code code_;
  std::vector<std::vector<uint8_t>> sent_;
  std::vector<std::vector<uint8_t>> received_;
  std::vector<std::vector<int16_t>> soft_;
  std::vector<uint8_t> output_;
  std::vector<std::vector<int16_t>> llrs_;
  std::vector<bo_received> segments_;
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
    client_->health.is_said_away = false;
    client_->health.said_ns = 0;
  }
  // It stands still when this returns: a signal takes its time.
  void StopServer() {
    server_->process().Signal(SIGSTOP);
    std::string state;
    while (state.find(") T ") == std::string::npos) {
      std::ifstream stat(absl::StrCat("/proc/", server_->process().pid(), "/stat"));
      std::getline(stat, state);
    }
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

TEST_F(OaiClientTest, ABlockThatIsRefusedLeavesTheOthersOfItsSlotToTheServer) {
  Serve();
  Start();
  Block right(2, 0, 2, 20000, &random_);
  Block wrong(1, 0, 2, 20000, &random_);
  ASSERT_TRUE(right.Encode(client_, 0));
  bo_uplink_block blocks[] = {wrong.Receive(0, true, 12), right.Receive(0, true, 12)};
  blocks[0].code = bo_code_of(1, 17, 22 * 17, 6, 300, 1, 0);  // 17 is no lifting size
  bo_decode_slot(client_, blocks, 2);
  EXPECT_EQ(blocks[0].verdict, BO_LEFT);
  EXPECT_EQ(blocks[1].verdict, BO_DECODED);
  EXPECT_TRUE(right.IsRight());
}

TEST_F(OaiClientTest, WhatTheServerHasNoRoomForIsKeptForTheLibrary) {
  Serve({"--object-mib=0"});
  Start();
  Block block(2, 0, 2, 10000, &random_);
  ASSERT_TRUE(block.Encode(client_, 0));
  EXPECT_EQ(block.Decode(client_, 0, true, 12), BO_DECODED);
  EXPECT_TRUE(block.IsRight());
  EXPECT_EQ(block.Decode(client_, 0, true, 1), BO_DECODED_SOFT);
  EXPECT_FALSE(block.IsRight());
  EXPECT_TRUE(block.HasSoftBits());
  EXPECT_EQ(block.Decode(client_, 2, false, 1), BO_LEFT);
}

TEST_F(OaiClientTest, WhatComesAfterWeakNoiseIsDecodedAsWellAsAlone) {
  Serve();
  Start();
  Block block(2, 0, 2, 10000, &random_);
  ASSERT_TRUE(block.Encode(client_, 0));
  for (const bool follows_noise : {false, true}) {
    if (follows_noise) {
      bo_uplink_block noise = block.Receive(0, true, -40, 0.03);
      bo_decode_slot(client_, &noise, 1);
      ASSERT_EQ(noise.verdict, BO_DECODED);
      ASSERT_FALSE(block.IsRight());
    }
    EXPECT_EQ(block.Decode(client_, 0, !follows_noise, 6.5), BO_DECODED);
    EXPECT_TRUE(block.IsRight()) << follows_noise;
  }
}

TEST_F(OaiClientTest, ARequestThatCannotBeSubmittedLeavesTheConnectionAsItIs) {
  Serve();
  Start();
  char why[256];
  bo_session* const session = bo_take(&client_->pool, bo_now_ns(), why, sizeof(why));
  ASSERT_NE(session, nullptr) << why;
  bo_exchange exchange{};
  exchange.header_bytes = 8;
  exchange.payload_bytes = 64;
  exchange.reply_bytes = 64;
  ASSERT_TRUE(bo_reserve(session, &exchange, 8, why, sizeof(why)));
  basebandd_answer answer;
  EXPECT_EQ(bo_run(session, &exchange, &answer, why, sizeof(why)), -EINVAL);  // of no operation
  EXPECT_THAT(why, ::testing::HasSubstr("operation 0"));
  EXPECT_FALSE(session->is_broken);
  EXPECT_FALSE(session->may_run_late);
  bo_give_back(&client_->pool, session);
}

TEST_F(OaiClientTest, WhoComesAfterTheEndIsTold) {
  Serve();
  Start();
  bo_stop();
  char why[256] = "";
  EXPECT_EQ(bo_take(&client_->pool, bo_now_ns(), why, sizeof(why)), nullptr);
  EXPECT_STREQ(why, "the connections are being closed");
}

TEST_F(OaiClientTest, ASlotThatComesAgainIsDoneByItsNumberAsWell) {
  Serve();
  Start();
  Block block(2, 0, 2, 20000, &random_);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(block.Encode(client_, 0));
    ASSERT_EQ(block.Decode(client_, 0, true, 12), BO_DECODED);
    EXPECT_TRUE(block.IsRight());
  }
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
  EXPECT_THAT(said, ::testing::MatchesRegex(
                        "libldpc_baseband: not served: .*shm-listen=.., BASEBAND_SOCKET.*\n"));
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
  StopServer();
  const uint64_t begin = bo_now_ns();
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
