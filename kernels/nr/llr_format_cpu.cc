#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/base/simd_targets.h"
#include "kernels/nr/llr_format.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/nr/llr_format_cpu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/nr/narrow_cpu-inl.h"

HWY_BEFORE_NAMESPACE();
namespace baseband::nr::HWY_NAMESPACE {
namespace {

const hn::ScalableTag<uint8_t> du8;
const hn::ScalableTag<uint16_t> du16;

// LLRs that any vector function takes at a time: a multiple of the lanes of all processors and of
// the four of a group of packed ones.
constexpr size_t kPiece = 256;

// ---- int8 ----

void ClampInt8(const uint8_t* from, int8_t* to) {
  for (size_t i = 0; i < kPiece; i += hn::Lanes(di8)) {
    const auto value = hn::LoadU(di8, reinterpret_cast<const int8_t*>(from + i));
    hn::StoreU(hn::Max(value, hn::Set(di8, -127)), di8, to + i);
  }
}

// ---- int16 and float16 ----

HWY_INLINE VF FloatsOfInt16(const uint8_t* from) {
  const hn::Rebind<int16_t, decltype(df)> d;
  return hn::ConvertTo(df,
                       hn::PromoteTo(di32, hn::LoadU(d, reinterpret_cast<const int16_t*>(from))));
}

void ScaleInt16(const uint8_t* from, float scale, int8_t* to) {
  const size_t lanes = hn::Lanes(df);
  const auto factor = hn::Set(df, scale);
  for (size_t i = 0; i < kPiece; i += 4 * lanes) {
    VI32 rounded[4];
    for (size_t v = 0; v < 4; ++v) {
      rounded[v] = RoundLlr(hn::Mul(FloatsOfInt16(from + 2 * (i + v * lanes)), factor));
    }
    hn::StoreU(NarrowLlrs(rounded[0], rounded[1], rounded[2], rounded[3]), di8, to + i);
  }
}

// Returns whether some are NaN, which are made zero.
bool ScaleFloat16(const uint8_t* from, float scale, int8_t* to) {
  const size_t lanes = hn::Lanes(df);
  const auto factor = hn::Set(df, scale);
  auto greatest = hn::Zero(di32);  // magnitudes, as integers
  for (size_t i = 0; i < kPiece; i += 4 * lanes) {
    VI32 rounded[4];
    for (size_t v = 0; v < 4; ++v) {
      const auto values = FloatsOfHalves(from + 2 * (i + v * lanes));
      greatest = hn::Max(greatest, hn::BitCast(di32, hn::Abs(values)));
      const auto scaled = hn::Mul(values, factor);
      rounded[v] = RoundLlr(hn::IfThenElseZero(hn::Eq(values, values), scaled));
    }
    hn::StoreU(NarrowLlrs(rounded[0], rounded[1], rounded[2], rounded[3]), di8, to + i);
  }
  return !hn::AllFalse(di32, hn::Gt(greatest, hn::Set(di32, 0x7f800000)));
}

// ---- packed ----

// What each value of a packed LLR is as int8: of 4 bits in table[0 .. 15], of 6 in all.
struct PackedTable {
  PackedTable(int bits, float scale) {
    const int half = 1 << (bits - 1);
    for (int i = 0; i < 2 * half; ++i) {
      values[i] = ScaledLlr(static_cast<float>((i ^ half) - half), scale);
    }
  }
  alignas(16) int8_t values[64] = {};
};

void Unpack4(const uint8_t* from, const PackedTable& table, int8_t* to) {
  const auto values = hn::LoadDup128(di8, table.values);
  const size_t lanes = hn::Lanes(du8);
  for (size_t i = 0; i < kPiece / 2; i += lanes) {
    const auto octets = hn::LoadU(du8, from + i);
    const auto upper =
        hn::And(hn::BitCast(du8, hn::ShiftRight<4>(hn::BitCast(du16, octets))), hn::Set(du8, 0x0f));
    const auto lower = hn::And(octets, hn::Set(du8, 0x0f));
    hn::StoreInterleaved2(hn::BitCast(du8, hn::TableLookupBytes(values, upper)),
                          hn::BitCast(du8, hn::TableLookupBytes(values, lower)), du8,
                          reinterpret_cast<uint8_t*>(to) + 2 * i);
  }
}

void Unpack6(const uint8_t* from, const PackedTable& table, int8_t* to) {
  const auto* const values = reinterpret_cast<const uint8_t*>(table.values);
  for (size_t i = 0; i < kPiece; i += 4, from += 3) {
    const uint32_t group = static_cast<uint32_t>(from[0]) << 16 |
                           static_cast<uint32_t>(from[1]) << 8 | static_cast<uint32_t>(from[2]);
    const uint32_t four = values[group >> 18] | values[group >> 12 & 0x3f] << 8 |
                          values[group >> 6 & 0x3f] << 16 |
                          static_cast<uint32_t>(values[group & 0x3f]) << 24;
    std::memcpy(to + i, &four, 4);
  }
}

// Runs `convert(bytes, int8)` over pieces of a row: of whole ones where they lie, of others on a
// copy. A row that does not begin at a whole octet (of packed LLRs) is begun at the one before.
template <typename Convert>
void ForPieces(LlrFormat format, const uint8_t* row, int64_t first, int8_t* llr, int64_t count,
               const Convert& convert) {
  const int64_t group = format == LlrFormat::kPacked6 ? 4 : format == LlrFormat::kPacked4 ? 2 : 1;
  const auto skip = static_cast<size_t>(first % group);
  const uint8_t* from = row + LlrBytes(format, first - static_cast<int64_t>(skip));
  const auto piece_bytes = static_cast<size_t>(LlrBytes(format, kPiece));
  size_t begin = skip;  // of the piece's LLRs, the first that is wanted
  auto left = static_cast<size_t>(count);
  while (left > 0) {
    const size_t here = std::min(left, kPiece - begin);
    if (here == kPiece) {
      convert(from, llr);
    } else {
      HWY_ALIGN uint8_t bytes[2 * kPiece] = {};
      HWY_ALIGN int8_t made[kPiece];
      std::memcpy(bytes, from,
                  static_cast<size_t>(LlrBytes(format, static_cast<int64_t>(begin + here))));
      convert(bytes, made);
      std::memcpy(llr, made + begin, here);
    }
    from += piece_bytes;
    llr += here;
    left -= here;
    begin = 0;
  }
}

int64_t CountNans(const uint8_t* row, int64_t first, int64_t count) {
  int64_t nans = 0;
  for (int64_t i = first; i < first + count; ++i) {
    uint16_t half;
    std::memcpy(&half, row + 2 * i, sizeof(half));
    nans += (half & 0x7fff) > 0x7c00 ? 1 : 0;
  }
  return nans;
}

int64_t ToInt8(LlrFormat format, float scale, const uint8_t* row, int64_t first, int8_t* llr,
               int64_t count) {
  bool has_nan = false;
  switch (format) {
    case LlrFormat::kInt8:
      ForPieces(format, row, first, llr, count, ClampInt8);
      break;
    case LlrFormat::kInt16:
      ForPieces(format, row, first, llr, count,
                [&](const uint8_t* from, int8_t* to) { ScaleInt16(from, scale, to); });
      break;
    case LlrFormat::kFloat16:
      ForPieces(format, row, first, llr, count, [&](const uint8_t* from, int8_t* to) {
        if (ScaleFloat16(from, scale, to)) has_nan = true;
      });
      break;
    case LlrFormat::kPacked6: {
      const PackedTable table(6, scale);
      ForPieces(format, row, first, llr, count,
                [&](const uint8_t* from, int8_t* to) { Unpack6(from, table, to); });
      break;
    }
    case LlrFormat::kPacked4: {
      const PackedTable table(4, scale);
      ForPieces(format, row, first, llr, count,
                [&](const uint8_t* from, int8_t* to) { Unpack4(from, table, to); });
      break;
    }
  }
  return has_nan ? CountNans(row, first, count) : 0;
}

uint64_t MagnitudeSum(const uint8_t* row, int64_t first, int64_t count) {
  uint64_t total = 0;
  const size_t lanes = hn::Lanes(di16);
  const auto low_half = hn::Set(du32, 0xffff);
  const uint8_t* from = row + 2 * first;
  auto left = static_cast<size_t>(count);
  while (left > 0) {
    // Of so few vectors no lane's sum of magnitudes up to 2^15 overflows.
    const size_t here = std::min<size_t>(left, lanes * 4096);
    auto sums = hn::Zero(du32);
    const auto add = [&](const uint8_t* at) HWY_ATTR {
      const auto values = hn::LoadU(di16, reinterpret_cast<const int16_t*>(at));
      const auto magnitudes = hn::BitCast(du32, hn::Abs(values));  // 2^15 stays 2^15, unsigned
      sums = hn::Add(sums, hn::And(magnitudes, low_half));
      sums = hn::Add(sums, hn::ShiftRight<16>(magnitudes));
    };
    size_t i = 0;
    for (; i + lanes <= here; i += lanes) add(from + 2 * i);
    if (i < here) {
      HWY_ALIGN uint8_t tail[HWY_MAX_BYTES] = {};
      std::memcpy(tail, from + 2 * i, 2 * (here - i));
      add(tail);
    }
    HWY_ALIGN uint32_t lane_sums[HWY_MAX_BYTES / 4];
    hn::Store(sums, du32, lane_sums);
    for (size_t l = 0; l < hn::Lanes(du32); ++l) total += lane_sums[l];
    from += 2 * here;
    left -= here;
  }
  return total;
}

}  // namespace
}  // namespace baseband::nr::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace baseband::nr {

// The mean natural |LLR| at the rates 0.2, 0.35, .. 0.95, times 5, 7.5, and from 64QAM on 10:
// coarse enough that the decoder's offset of 1 counts, and fine enough for bits of unequal
// strength.
constexpr int kNumRates = 6;
constexpr float kMeanLlrs[5][kNumRates] = {
    {7, 11, 15, 21, 31, 61},       // QPSK, and BPSK
    {9, 16, 26, 41, 66, 147},      // 16QAM
    {11, 24, 44, 81, 154, 380},    // 64QAM
    {11, 28, 65, 138, 311, 917},   // 256QAM
    {12, 37, 107, 284, 734, 2313}  // 1024QAM
};

float MeanLlrFor(int qm, double code_rate) {
  const double place = (std::clamp(code_rate, 0.2, 0.95) - 0.2) / 0.15;
  const int i = std::min(static_cast<int>(place), kNumRates - 2);
  const float* const means = kMeanLlrs[qm <= 2 ? 0 : qm / 2 - 1];
  return static_cast<float>(means[i] + (means[i + 1] - means[i]) * (place - i));
}

HWY_EXPORT(ToInt8);
HWY_EXPORT(MagnitudeSum);

int64_t ToInt8LlrsOnCpu(LlrFormat format, float scale, absl::Span<const uint8_t> row, int64_t first,
                        absl::Span<int8_t> llr) {
  return HWY_DYNAMIC_DISPATCH(ToInt8)(format, scale, row.data(), first, llr.data(),
                                      static_cast<int64_t>(llr.size()));
}

uint64_t MagnitudeSumOnCpu(absl::Span<const uint8_t> row, int64_t first, int64_t count) {
  return HWY_DYNAMIC_DISPATCH(MagnitudeSum)(row.data(), first, count);
}

}  // namespace baseband::nr
#endif
