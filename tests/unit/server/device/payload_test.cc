#include "server/device/payload.h"

#include <cstdint>
#include <string>

#include "gtest/gtest.h"

namespace baseband::server {
namespace {

PayloadPiece PieceOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), static_cast<int64_t>(text.size()),
          nullptr};
}

TEST(PayloadTest, EveryPartOfOneInPiecesIsCopiedAsItWasWhole) {
  const std::string whole = "abcdefghij";
  const std::string first = whole.substr(0, 3);
  const std::string second = whole.substr(3, 1);
  const std::string third = whole.substr(4);
  const Payload payload({PieceOf(first), PieceOf(second), PieceOf(third)});
  for (size_t begin = 0; begin <= whole.size(); ++begin) {
    for (size_t size = 0; begin + size <= whole.size(); ++size) {
      std::string copied(size + 1, '.');
      payload.CopyPart(static_cast<int64_t>(begin), static_cast<int64_t>(size),
                       reinterpret_cast<uint8_t*>(copied.data()));
      EXPECT_EQ(copied, whole.substr(begin, size) + ".");
    }
  }
}

TEST(PayloadTest, WhatContinuesAPieceInItsRegionBecomesAPartOfIt) {
  const std::string text = "abcdefgh";
  const auto* const data = reinterpret_cast<const uint8_t*>(text.data());
  const MemoryRegion mine;
  const MemoryRegion yours;
  Payload payload({{data, 2, &mine}, {data + 2, 1, &mine}});
  EXPECT_TRUE(payload.is_contiguous());
  EXPECT_EQ(payload.bytes(), 3);
  payload.Add({data + 3, 1, &yours});
  payload.Add({data + 5, 1, &yours});
  EXPECT_EQ(payload.pieces().size(), 3U);
}

TEST(PayloadTest, ACopyIsAlignedAndOutlivesWhatItIsOf) {
  Payload copy;
  {
    const std::string first = "ab";
    const std::string second = "cde";
    copy = Payload({PieceOf(first), PieceOf(second)}).Copy();
  }
  EXPECT_TRUE(copy.is_aligned());
  EXPECT_EQ(std::string(copy.span().begin(), copy.span().end()), "abcde");
  EXPECT_EQ(Payload().Copy().bytes(), 0);
}

// A stream's past without a sample has no memory. UBSan stops what copies nothing to nowhere.
TEST(PayloadTest, APartWithoutBytesNeedsNoTarget) {
  const std::string text = "abc";
  Payload({PieceOf(text), PieceOf(text)}).CopyPart(2, 0, nullptr);
  Payload().CopyTo(nullptr);
}

}  // namespace
}  // namespace baseband::server
