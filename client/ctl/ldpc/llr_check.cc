#include "client/ctl/ldpc/llr_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace baseband::ctl {
namespace {

constexpr size_t kMostBytes = 1 << 20;  // that are looked at
constexpr size_t kLeastNumbers = 256;   // that tell their type
constexpr size_t kLeastSpread = 4096;   // that tell it by being anything
constexpr double kNearlyAll = 0.99;
// More of Concentration() than bytes of LLRs have from place to place, whose shares are alike.
constexpr double kUnlikePlaces = 0.3;
// Of high bytes that are 0, and of those that are -1: numbers have both signs.
constexpr double kLeastOfASign = 0.1;
// A sixteenth of all values has 0.0625 of bytes that are anything, and what chance adds to the
// commonest of kLeastSpread.
constexpr double kMostOfAnything = 0.12;
// What a code that decodes wants more than its rate, of short ones: bits of an LLR.
constexpr double kLossOfShortCodes = 0.08;
// Magnitudes of soft bits and symbols as numbers, zero apart. Of the 256 values of its highest
// byte a float32 has 2 * 17 in this range, a float64 2 * 3.
constexpr double kLeast = 1e-6;
constexpr double kMost = 1e4;

bool IsText(absl::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
           absl::ascii_isspace(static_cast<unsigned char>(c)) ||
           absl::string_view("+-.,;eE").find(c) != absl::string_view::npos;
  });
}

// The share of the bytes that are the commonest sixteenth of all values at their place in a number
// of kSize, place by place: numbers have few signs and exponents, and many last digits.
template <size_t kSize>
std::array<double, kSize> Concentration(absl::string_view bytes) {
  std::array<double, kSize> shares{};
  for (size_t place = 0; place < kSize; ++place) {
    std::array<int64_t, 256> counts{};
    for (size_t i = place; i < bytes.size(); i += kSize) ++counts[static_cast<uint8_t>(bytes[i])];
    std::sort(counts.rbegin(), counts.rend());
    int64_t common = 0;
    for (size_t i = 0; i < 16; ++i) common += counts[i];
    shares[place] = static_cast<double>(common) / static_cast<double>(bytes.size() / kSize);
  }
  return shares;
}

// Bytes of LLRs are alike at every place, but for what a constellation's bits differ in: these keep
// both signs at each. Numbers are not.
template <typename Float>
bool AreFloats(absl::string_view bytes) {
  const size_t count = bytes.size() / sizeof(Float);
  if (count < kLeastNumbers) return false;
  size_t likely = 0;
  for (size_t i = 0; i < count; ++i) {
    Float value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof(Float), sizeof(Float));
    const double magnitude = std::abs(static_cast<double>(value));
    likely += magnitude == 0 || (magnitude >= kLeast && magnitude <= kMost) ? 1 : 0;
  }
  if (static_cast<double>(likely) < kNearlyAll * static_cast<double>(count)) return false;
  const absl::string_view whole = bytes.substr(0, count * sizeof(Float));
  const auto shares = Concentration<sizeof(Float)>(whole);
  bool rounded = true;  // whole numbers, say, which have no last digits
  for (size_t i = 0; i < whole.size(); i += sizeof(Float)) rounded = rounded && whole[i] == 0;
  return rounded || shares.back() - *std::min_element(shares.begin(), shares.end()) > kUnlikePlaces;
}

// High bytes are near 0, while low ones are anything; those of small numbers are 0 and -1, and
// hardly ever 1.
bool AreInt16(absl::string_view bytes) {
  const size_t count = bytes.size() / 2;
  if (count < kLeastNumbers) return false;
  size_t zero = 0;
  size_t minus_one = 0;
  size_t small = 0;
  size_t low_alike = 0;
  for (size_t i = 0; i < count; ++i) {
    const auto high = static_cast<signed char>(bytes[2 * i + 1]);
    zero += high == 0 ? 1 : 0;
    minus_one += high == -1 ? 1 : 0;
    small += high >= -8 && high < 8 ? 1 : 0;
    low_alike += bytes[2 * i] == 0 || bytes[2 * i] == -1 ? 1 : 0;
  }
  const auto share = [count](size_t part) {
    return static_cast<double>(part) / static_cast<double>(count);
  };
  const bool both = share(zero) > kLeastOfASign && share(minus_one) > kLeastOfASign;
  const bool below_256 = both && share(zero + minus_one) >= kNearlyAll && 2 * low_alike < count;
  return below_256 || (count >= kLeastSpread && share(small) >= kNearlyAll &&
                       Concentration<2>(bytes.substr(0, 2 * count))[0] < kMostOfAnything);
}

std::string OfAnotherType(absl::string_view bytes) {
  const char* type = IsText(bytes)              ? "a text"
                     : AreFloats<float>(bytes)  ? "float32 numbers"
                     : AreFloats<double>(bytes) ? "float64 numbers"
                     : AreInt16(bytes)          ? "int16 numbers"
                                                : nullptr;
  return type == nullptr ? ""
                         : absl::StrCat("its bytes look like ", type,
                                        ", and a file of LLRs has a signed byte for each, -127 to"
                                        " 127");
}

// What the magnitudes say of an LLR: how likely its sign is wrong, and how many bits it tells.
struct Told {
  double wrong = 0;
  double bits = 0;
};
Told TellOf(int magnitude, double scale) {
  const double wrong = 1 / (1 + std::exp(magnitude / scale));
  const double right = 1 - wrong;
  const double entropy = wrong > 0 ? -wrong * std::log2(wrong) - right * std::log2(right) : 0;
  return {wrong, 1 - entropy};
}

}  // namespace

std::string WhyNoneDecoded(absl::string_view llrs, const LlrBlocks& blocks) {
  const absl::string_view bytes = llrs.substr(0, kMostBytes);
  if (bytes.empty()) return "";
  if (std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; })) {
    return "its LLRs are 0, which says nothing of any bit";
  }
  if (const std::string other = OfAnotherType(bytes); !other.empty()) return other;
  Told all;
  for (const char byte : bytes) {
    const Told one =
        TellOf(std::abs(static_cast<int>(static_cast<signed char>(byte))), blocks.llr_scale);
    all.wrong += one.wrong;
    all.bits += one.bits;
  }
  const auto count = static_cast<double>(bytes.size());
  const auto sent = static_cast<double>(blocks.llrs_per_block);
  const double told = all.bits / count;  // of the most, 1
  const double rate = static_cast<double>(blocks.information_bits) / sent;
  const double with_fillers = static_cast<double>(blocks.information_bits + blocks.fillers) / sent;
  if (told > std::max((1 + with_fillers) / 2, with_fillers + kLossOfShortCodes)) {
    return absl::StrFormat(
        "by their magnitudes %.3g %% of its LLRs are wrong, of which this code corrects more: is it"
        " the sender's code (rows, zc, n, filler), are the bits in its order, is positive 0, and is"
        " --llr-scale %g what the magnitudes were made with?",
        100 * all.wrong / count, blocks.llr_scale);
  }
  if (told < rate) {
    return absl::StrFormat(
        "by their magnitudes its LLRs tell %.3g bits of a block's %d: there is too much noise for"
        " this code, or --llr-scale %g is not what they were made with",
        told * sent, blocks.information_bits, blocks.llr_scale);
  }
  return "";
}

}  // namespace baseband::ctl
