// What bbdev operations ask of a server, and what is left in their mbufs: what dpdk-test-bbdev
// cannot ask for, and what no server answers.
#include <rte_bbdev_op.h>
#include <rte_mbuf.h>

extern "C" {
#include "client/bbdev/work.h"
}

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/crc/crc.h"

namespace baseband {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StrEq;

// An mbuf of no pool.
class Mbuf {
 public:
  explicit Mbuf(size_t room) : memory_(room, 0xa5) {
    std::memset(&mbuf_, 0, sizeof(mbuf_));
    mbuf_.buf_addr = memory_.data();
    mbuf_.buf_len = static_cast<uint16_t>(room);
    mbuf_.nb_segs = 1;
  }
  rte_bbdev_op_data data(uint32_t length = 0) { return {&mbuf_, 0, length}; }
  std::vector<uint8_t> content() const {
    return {memory_.begin(), memory_.begin() + mbuf_.data_len};
  }

 private:
  std::vector<uint8_t> memory_;
  rte_mbuf mbuf_;
};

rte_bbdev_op_ldpc_enc EncodeOp() {
  rte_bbdev_op_ldpc_enc op = {};
  op.op_flags = RTE_BBDEV_LDPC_RATE_MATCH;
  op.basegraph = 2;
  op.z_c = 8;
  op.n_cb = 50 * 8;
  op.q_m = 2;
  op.input.length = 10;
  op.code_block_mode = RTE_BBDEV_CODE_BLOCK;
  op.cb_params.e = 100;
  return op;
}

rte_bbdev_op_ldpc_dec DecodeOp() {
  rte_bbdev_op_ldpc_dec op = {};
  op.op_flags = RTE_BBDEV_LDPC_ITERATION_STOP_ENABLE;
  op.basegraph = 2;
  op.z_c = 8;
  op.n_cb = 50 * 8;
  op.q_m = 2;
  op.iter_max = 8;
  op.input.length = 100;
  op.code_block_mode = RTE_BBDEV_CODE_BLOCK;
  op.cb_params.e = 100;
  return op;
}

// Bit i of packed ones.
int Bit(const std::vector<uint8_t>& bytes, size_t i) { return bytes[i / 8] >> (7 - i % 8) & 1; }

TEST(BbdevCrcTest, HoldsForTheCrcThatTheKernelsCalculateAndForNoOtherBits) {
  std::mt19937 random(1);
  constexpr struct {
    bb_crc crc;
    Crc same;
  } kCrcs[] = {{BB_CRC_24A, Crc::kCrc24A}, {BB_CRC_24B, Crc::kCrc24B}, {BB_CRC_16, Crc::kCrc16}};
  for (const auto& crc : kCrcs) {
    for (const uint32_t bits : {1u, 7u, 8u, 31u, 32u, 33u, 64u, 100u, 8424u}) {
      std::vector<uint8_t> word((bits + 24 + 7) / 8);
      for (uint32_t i = 0; i < bits; ++i) {
        word[i / 8] = static_cast<uint8_t>(word[i / 8] | (random() & 1) << (7 - i % 8));
      }
      const uint32_t value = CrcOfBits(crc.same, word.data(), 0, bits);
      const uint32_t crc_bits = bb_crc_bits(crc.crc);
      for (uint32_t i = 0; i < crc_bits; ++i) {
        const uint32_t bit = value >> (crc_bits - 1 - i) & 1;
        word[(bits + i) / 8] =
            static_cast<uint8_t>(word[(bits + i) / 8] | bit << (7 - (bits + i) % 8));
      }

      EXPECT_EQ(basebandd_crc(crc.crc, word.data(), bits + crc_bits), 0u) << crc.crc << " " << bits;
      for (uint32_t i = 0; i < bits + crc_bits; ++i) {
        word[i / 8] = static_cast<uint8_t>(word[i / 8] ^ 0x80 >> i % 8);
        ASSERT_NE(basebandd_crc(crc.crc, word.data(), bits + crc_bits), 0u) << i;
        word[i / 8] = static_cast<uint8_t>(word[i / 8] ^ 0x80 >> i % 8);
      }
    }
  }
}

TEST(BbdevShapeTest, FieldsThatAreWrongAreNamed) {
  bb_shape shape;
  const auto encode = [&shape](void (*change)(rte_bbdev_op_ldpc_enc*)) {
    rte_bbdev_op_ldpc_enc op = EncodeOp();
    change(&op);
    const char* const wrong = bb_encode_shape(&op, &shape);
    return std::string(wrong == nullptr ? "" : wrong);
  };
  const auto decode = [&shape](void (*change)(rte_bbdev_op_ldpc_dec*)) {
    rte_bbdev_op_ldpc_dec op = DecodeOp();
    change(&op);
    const char* const wrong = bb_decode_shape(&op, &shape);
    return std::string(wrong == nullptr ? "" : wrong);
  };
  EXPECT_THAT(encode([](auto* op) { op->q_m = 0; }), StrEq(""));
  EXPECT_THAT(encode([](auto* op) { op->op_flags = 0; }), StrEq(""));  // rates are matched anyway
  EXPECT_THAT(encode([](auto* op) { op->basegraph = 3; }), HasSubstr("basegraph"));
  EXPECT_THAT(encode([](auto* op) { op->z_c = 1; }), HasSubstr("z_c"));
  EXPECT_THAT(encode([](auto* op) { op->z_c = 385; }), HasSubstr("z_c"));
  EXPECT_THAT(encode([](auto* op) { op->n_cb = 401; }), HasSubstr("n_cb"));
  EXPECT_THAT(encode([](auto* op) { op->n_filler = 80; }), HasSubstr("n_filler"));
  EXPECT_THAT(decode([](auto* op) { op->n_cb = 0; }), HasSubstr("n_cb"));
  EXPECT_THAT(decode([](auto* op) { op->iter_max = 0; }), HasSubstr("iter_max"));
  EXPECT_THAT(decode([](auto* op) { op->op_flags |= RTE_BBDEV_LDPC_SOFT_OUT_ENABLE; }),
              HasSubstr("SOFT_OUT_ENABLE"));
  EXPECT_THAT(encode([](auto* op) {
                op->op_flags |= RTE_BBDEV_LDPC_CRC_24B_ATTACH | RTE_BBDEV_LDPC_CRC_16_ATTACH;
              }),
              HasSubstr("more than one CRC"));
  EXPECT_THAT(decode([](auto* op) {
                op->op_flags |=
                    RTE_BBDEV_LDPC_CRC_TYPE_24B_CHECK | RTE_BBDEV_LDPC_CRC_TYPE_24A_CHECK;
              }),
              HasSubstr("more than one CRC"));
  EXPECT_THAT(decode([](auto* op) {
                op->op_flags |= RTE_BBDEV_LDPC_CRC_TYPE_24B_DROP | RTE_BBDEV_LDPC_CRC_TYPE_16_CHECK;
              }),
              HasSubstr("drops"));
  EXPECT_THAT(decode([](auto* op) {
                op->op_flags |= RTE_BBDEV_LDPC_HQ_COMBINE_OUT_ENABLE;
                op->code_block_mode = RTE_BBDEV_TRANSPORT_BLOCK;
              }),
              HasSubstr("HARQ"));
}

TEST(BbdevShapeTest, ATransportBlockHasTheCodeBlocksOfWhichTheInputHasABeginning) {
  rte_bbdev_op_ldpc_enc op = EncodeOp();
  op.code_block_mode = RTE_BBDEV_TRANSPORT_BLOCK;
  op.tb_params.ea = 100;
  op.tb_params.eb = 102;
  op.tb_params.c = 5;
  op.tb_params.r = 1;
  op.tb_params.cab = 3;
  bb_shape shape;
  for (const auto& [length, a, b] : std::vector<std::array<uint32_t, 3>>{
           {10, 1, 0}, {20, 2, 0}, {30, 2, 1}, {40, 2, 2}, {43, 2, 2}}) {
    op.input.length = length;

    ASSERT_EQ(bb_encode_shape(&op, &shape), nullptr) << length;

    EXPECT_EQ(shape.count_a, a) << length;
    EXPECT_EQ(shape.count_b, b) << length;
  }
  for (const uint32_t length : {0u, 1u, 21u, 39u}) {  // bits that are not there are no zeros
    op.input.length = length;
    EXPECT_NE(bb_encode_shape(&op, &shape), nullptr) << length;
  }
  op.input.length = 40;
  op.op_flags |= RTE_BBDEV_LDPC_CRC_24A_ATTACH;
  EXPECT_THAT(bb_encode_shape(&op, &shape), HasSubstr("CRC24A"));
}

TEST(BbdevEncodeTest, ConcatenatedOutputIsBitAfterBit) {
  constexpr uint32_t kE = 13;
  rte_bbdev_op_ldpc_enc op = EncodeOp();
  op.op_flags |= RTE_BBDEV_LDPC_ENC_CONCATENATION;
  op.code_block_mode = RTE_BBDEV_TRANSPORT_BLOCK;
  op.tb_params.ea = op.tb_params.eb = kE;
  op.tb_params.c = 20;
  op.input.length = 200;
  Mbuf output(64);
  op.output = output.data();
  bb_shape shape;
  ASSERT_EQ(bb_encode_shape(&op, &shape), nullptr);
  std::mt19937 random(2);
  std::vector<uint8_t> blocks(20 * 2);  // each of 13 bits, and 3 zeros
  for (size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = static_cast<uint8_t>(random() & (i % 2 == 1 ? 0xf8 : 0xff));
  }
  basebandd_answer answer = {};
  answer.payload = blocks.data();
  answer.payload_bytes = blocks.size();

  ASSERT_EQ(bb_encode_finish(&op, &shape, &answer), 0);

  const std::vector<uint8_t> joined = output.content();
  ASSERT_EQ(joined.size(), (20 * kE + 7) / 8);
  for (size_t i = 0; i < 20 * kE; ++i) {
    ASSERT_EQ(Bit(joined, i), Bit(blocks, i / kE * 16 + i % kE)) << i;
  }
  for (size_t i = 20 * kE; i < 8 * joined.size(); ++i) EXPECT_EQ(Bit(joined, i), 0);
}

TEST(BbdevEncodeTest, WhatWasNotDoneLeavesBitsOfTheFullLengthThatAreNoZeros) {
  rte_bbdev_op_ldpc_enc op = EncodeOp();
  Mbuf output(64);
  op.output = output.data();
  bb_shape shape;
  ASSERT_EQ(bb_encode_shape(&op, &shape), nullptr);

  bb_encode_fail(&op, &shape);

  EXPECT_EQ(output.content().size(), 13u);
  EXPECT_THAT(output.content(), Not(Contains(0)));
}

TEST(BbdevDecodeTest, WhatWasNotDoneLeavesBitsWithoutACrcAndSoftBitsAsTheyWere) {
  rte_bbdev_op_ldpc_dec op = DecodeOp();
  op.op_flags |= RTE_BBDEV_LDPC_HQ_COMBINE_IN_ENABLE | RTE_BBDEV_LDPC_HQ_COMBINE_OUT_ENABLE;
  Mbuf hard(64);
  op.hard_output = hard.data();
  op.harq_combined_input.length = op.n_cb;
  bb_harq* const harq = bb_harq_create(1 << 20);
  std::vector<int8_t> soft(op.n_cb);
  for (size_t i = 0; i < soft.size(); ++i) soft[i] = static_cast<int8_t>(i % 200 - 100);
  ASSERT_TRUE(bb_harq_write(harq, 0, soft.data(), soft.size()));
  bb_shape shape;
  ASSERT_EQ(bb_decode_shape(&op, &shape), nullptr);

  bb_decode_fail(&op, &shape, harq);

  EXPECT_EQ(op.iter_count, op.iter_max);
  const std::vector<uint8_t> bits = hard.content();
  ASSERT_EQ(bits.size(), 10u);
  for (const bb_crc crc : {BB_CRC_24A, BB_CRC_24B, BB_CRC_16}) {
    EXPECT_NE(basebandd_crc(crc, bits.data(), 80), 0u);
  }
  EXPECT_EQ(op.harq_combined_output.length, op.n_cb);
  std::vector<int8_t> kept(soft.size());
  ASSERT_TRUE(bb_harq_read(harq, 0, kept.data(), kept.size()));
  EXPECT_EQ(kept, soft);
  bb_harq_destroy(harq);
}

TEST(BbdevDecodeTest, LlrsThatTheInputLacksAreZeros) {
  rte_bbdev_op_ldpc_dec op = DecodeOp();
  Mbuf input(200);
  op.input = input.data(30);
  bb_shape shape;
  ASSERT_EQ(bb_decode_shape(&op, &shape), nullptr);
  std::vector<uint8_t> payload(bb_payload_bytes(&shape), 1);

  ASSERT_EQ(bb_decode_fill(&op, &shape, nullptr, payload.data()), nullptr);

  ASSERT_EQ(payload.size(), 100u);
  EXPECT_EQ(payload[29], 0xa5);
  EXPECT_THAT(std::vector<uint8_t>(payload.begin() + 30, payload.end()), Each(0));
}

TEST(BbdevEncodeTest, AnOutputWithoutRoomIsADataErrorAndAnotherLengthNoAnswer) {
  rte_bbdev_op_ldpc_enc op = EncodeOp();
  Mbuf output(12);
  op.output = output.data();
  bb_shape shape;
  ASSERT_EQ(bb_encode_shape(&op, &shape), nullptr);
  const std::vector<uint8_t> bits(13);
  basebandd_answer answer = {};
  answer.payload = bits.data();
  answer.payload_bytes = bits.size();

  EXPECT_EQ(bb_encode_finish(&op, &shape, &answer), BB_DATA_ERROR);

  answer.payload_bytes = 12;
  EXPECT_EQ(bb_encode_finish(&op, &shape, &answer), -1);
}

}  // namespace
}  // namespace baseband
