#include <cstdint>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

extern "C" {
#include "client/oai/code.h"
}

namespace baseband::testing {
namespace {

TEST(OaiCodeTest, CrcFollowsFromTheTransportBlock) {
  EXPECT_EQ(bo_code_of(1, 384, 8448, 0, 100000, 12, 0).crc, 2U);
  EXPECT_EQ(bo_code_of(1, 192, 4224, 0, 4000, 1, 0).crc, 1U);
  EXPECT_EQ(bo_code_of(2, 384, 3840, 0, 3824, 1, 0).crc, 3U);
  EXPECT_EQ(bo_code_of(2, 384, 3840, 0, 3824, 1, 0).crc_bits, 16U);
}

TEST(OaiCodeTest, TheBufferIsLimitedByTheLargestTransportBlock) {
  EXPECT_EQ(bo_code_of(1, 384, 8448, 0, 100000, 12, 0).n_cb, 66U * 384);
  EXPECT_EQ(bo_code_of(2, 10, 100, 0, 100, 1, 0).n_cb, 500U);
  EXPECT_EQ(bo_code_of(1, 384, 8448, 0, 100000, 12, 120000).n_cb, 15000U);  // 3/2 of a 12th
  EXPECT_EQ(bo_code_of(1, 384, 8448, 0, 100000, 12, 12000000).n_cb, 66U * 384);
}

TEST(OaiCodeTest, WhatTheServerHasNotIsNotAskedOfIt) {
  bo_code code = bo_code_of(1, 384, 8448, 24, 100000, 12, 0);
  EXPECT_TRUE(bo_code_is_served(&code));
  code.n_filler = 23;  // not of whole bytes
  EXPECT_FALSE(bo_code_is_served(&code));
  code = bo_code_of(3, 384, 8448, 24, 100000, 12, 0);
  EXPECT_FALSE(bo_code_is_served(&code));
  code = bo_code_of(1, 384, 8440, 24, 100000, 12, 0);
  EXPECT_FALSE(bo_code_is_served(&code));
  code = bo_code_of(2, 20, 200, 160, 24, 1, 0);  // no more bits than those that are never sent
  EXPECT_FALSE(bo_code_is_served(&code));
}

// Clauses 5.4.2.1 and 5.4.2.2 as they are written: e_k, then f_i + j Q_m = e_i E / Q_m + j.
std::vector<uint32_t> PlacesOf(const bo_code& code, uint32_t qm, uint32_t rv, uint32_t e) {
  const uint32_t kStarts[2][4] = {{0, 17, 33, 56}, {0, 13, 25, 43}};
  const uint32_t columns = code.base_graph == 1 ? 66 : 50;
  const uint32_t begin =
      kStarts[code.base_graph - 1][rv] * code.n_cb / (columns * code.zc) * code.zc;
  std::vector<uint32_t> selected;
  for (uint32_t j = 0; selected.size() < e; ++j) {
    const uint32_t place = (begin + j) % code.n_cb;
    const bool is_filler =
        place >= code.k - 2 * code.zc - code.n_filler && place < code.k - 2 * code.zc;
    if (!is_filler) selected.push_back(place);
  }
  std::vector<uint32_t> sent(e);
  for (uint32_t j = 0; j < e / qm; ++j) {
    for (uint32_t i = 0; i < qm; ++i) sent[i + j * qm] = selected[i * (e / qm) + j];
  }
  return sent;
}

TEST(OaiCodeTest, WhatIsReceivedIsAddedWhereItBelongs) {
  std::mt19937 engine(6);
  const auto random = [&engine] { return static_cast<uint32_t>(engine()); };
  for (int i = 0; i < 60; ++i) {
    const uint32_t graph = 1 + random() % 2;
    const uint32_t zc = 8 * (1 + random() % 6);
    const uint32_t k = (graph == 1 ? 22 : 10) * zc;
    const bo_code code =
        bo_code_of(graph, zc, k, 8 * (random() % 9), 4000, 1, random() % 2 == 0 ? 0 : 20 * zc);
    const uint32_t qm = std::vector<uint32_t>{1, 2, 4, 6, 8, 10}[random() % 6];
    const uint32_t rv = random() % 4;
    const uint32_t e = qm * (1 + random() % (2 * code.n_cb / qm));  // up to twice the buffer
    std::vector<int16_t> llrs(e);
    for (int16_t& llr : llrs) llr = static_cast<int16_t>(random() % 1000 - 500);
    std::vector<int16_t> soft(code.n_cb);
    for (int16_t& value : soft) value = static_cast<int16_t>(random() % 1000 - 500);
    std::vector<int16_t> expected = soft;
    const std::vector<uint32_t> places = PlacesOf(code, qm, rv, e);
    for (uint32_t j = 0; j < e; ++j) {
      expected[places[j]] = static_cast<int16_t>(expected[places[j]] + llrs[j]);
    }
    bo_add_received(&code, qm, rv, llrs.data(), e, soft.data());
    ASSERT_EQ(soft, expected) << i;
  }
}

TEST(OaiCodeTest, SumsStayWithin16Bits) {
  const bo_code code = bo_code_of(2, 8, 80, 0, 40, 1, 0);
  const std::vector<int16_t> llrs = {30000, -30000};
  std::vector<int16_t> soft(code.n_cb, 0);
  soft[0] = 20000;
  soft[1] = -20000;
  bo_add_received(&code, 1, 0, llrs.data(), 2, soft.data());
  EXPECT_EQ(soft[0], INT16_MAX);
  EXPECT_EQ(soft[1], INT16_MIN);
}

TEST(OaiCodeTest, AllSoftBitsAreATransmissionOfTheWholeBuffer) {
  for (const uint32_t limit : {0U, 100U}) {  // with 150, and in the middle of the fillers
    const bo_code code = bo_code_of(2, 20, 200, 40, 100, 1, limit);
    std::vector<int16_t> soft(code.n_cb);
    for (size_t i = 0; i < soft.size(); ++i) soft[i] = static_cast<int16_t>(i + 1);
    std::vector<int16_t> packed(bo_soft_bits(&code));
    bo_pack_soft(&code, soft.data(), packed.data());
    const std::vector<uint32_t> places = PlacesOf(code, 1, 0, static_cast<uint32_t>(packed.size()));
    for (size_t i = 0; i < packed.size(); ++i) EXPECT_EQ(packed[i], soft[places[i]]);
    std::vector<int16_t> again(code.n_cb, -1);
    bo_unpack_soft(&code, packed.data(), again.data());
    for (size_t i = 0; i < packed.size(); ++i) EXPECT_EQ(again[places[i]], packed[i]);
  }
}

}  // namespace
}  // namespace baseband::testing
