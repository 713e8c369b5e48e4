#include "kernels/crc/crc.h"

#include <cstring>
#include <initializer_list>

#include "kernels/crc/crc_fold_cpu.h"

namespace baseband {
namespace {

struct Tables {
  CrcTable of[3];
};

constexpr Tables MakeTables() {
  Tables tables{};
  for (const Crc crc : {Crc::kCrc16, Crc::kCrc24A, Crc::kCrc24B}) {
    const CrcPolynomial p = PolynomialOf(crc);
    CrcTable& table = tables.of[static_cast<int>(crc)];
    for (uint32_t byte = 0; byte < 256; ++byte) {
      table[0][byte] = CrcOfWord(p, byte, 8) << (32 - p.bits);
    }
    for (int slice = 1; slice < kCrcTableSlices; ++slice) {
      for (uint32_t byte = 0; byte < 256; ++byte) {
        const uint32_t before = table[slice - 1][byte];
        table[slice][byte] = before << 8 ^ table[0][before >> 24];
      }
    }
  }
  return tables;
}

alignas(64) constexpr Tables kTables = MakeTables();

constexpr FoldPowers PowersOf(Crc crc) {
  const CrcPolynomial p = PolynomialOf(crc);
  return {CrcPowerOfX(p, 512), CrcPowerOfX(p, 576), CrcPowerOfX(p, 128), CrcPowerOfX(p, 192)};
}
constexpr FoldPowers kFoldPowers[3] = {PowersOf(Crc::kCrc16), PowersOf(Crc::kCrc24A),
                                       PowersOf(Crc::kCrc24B)};
constexpr int64_t kLeastFoldedBits = 1024;  // below, tables are as fast

// 64 message bits more.
uint32_t Advance(const CrcTable& table, uint32_t r, uint64_t word) {
  const uint32_t high = static_cast<uint32_t>(word >> 32) ^ r;
  const auto low = static_cast<uint32_t>(word);
  return table[7][high >> 24] ^ table[6][high >> 16 & 255] ^ table[5][high >> 8 & 255] ^
         table[4][high & 255] ^ table[3][low >> 24] ^ table[2][low >> 16 & 255] ^
         table[1][low >> 8 & 255] ^ table[0][low & 255];
}

uint64_t LoadWord(const uint8_t* from) {
  uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  return __builtin_bswap64(word);
}

}  // namespace

const CrcTable& CrcTableOf(Crc crc) { return kTables.of[static_cast<int>(crc)]; }

uint32_t CrcOfBits(Crc crc, const uint8_t* bits, int64_t first_bit, int64_t count) {
  const CrcTable& table = CrcTableOf(crc);
  // What is no whole word comes first, with zeros before it, which change nothing.
  uint64_t first = 0;
  const int64_t left_over = count % 64;
  for (int64_t bit = first_bit; bit < first_bit + left_over;) {
    const auto skipped = static_cast<int>(bit % 8);
    const auto taken = static_cast<int>(
        8 - skipped < first_bit + left_over - bit ? 8 - skipped : first_bit + left_over - bit);
    const auto byte = static_cast<uint8_t>(bits[bit / 8] << skipped);
    first = first << taken | byte >> (8 - taken);
    bit += taken;
  }
  uint32_t r = Advance(table, 0, first);

  const uint8_t* in = bits + (first_bit + left_over) / 8;
  const auto shift = static_cast<int>((first_bit + left_over) % 8);
  const bool folds = count >= kLeastFoldedBits && FoldsOnCpu();
  const int64_t by_tables = folds ? count % kFoldBits : count;
  for (int64_t words = by_tables / 64; words > 0; --words, in += 8) {
    uint64_t word = LoadWord(in);
    if (shift != 0) word = word << shift | in[8] >> (8 - shift);
    r = Advance(table, r, word);
  }
  if (folds) {
    // The register counts as the first bits of what follows.
    const Folded rest = FoldOnCpu(kFoldPowers[static_cast<int>(crc)], uint64_t{r} << 32, in, shift,
                                  count / kFoldBits);
    r = Advance(table, Advance(table, 0, rest.high), rest.low);
  }
  return r >> (32 - PolynomialOf(crc).bits);
}

}  // namespace baseband
