#include <algorithm>
#include <cstring>

#include "kernels/nr/soft_pack.h"
#include "kernels/nr/soft_pack_math.h"

namespace baseband::nr {
namespace {

template <int kSize>
constexpr SoftCodes kCodes = MakeSoftCodes<kSize>();

template <int kSize>
void Pack(absl::Span<const int8_t> soft, uint8_t* packed) {
  for (size_t i = 0; i < soft.size(); i += kSoftGroup) {
    uint32_t words[4] = {};
    uint32_t codes[kSize / 2];
    std::memcpy(words, soft.data() + i, std::min<size_t>(kSoftGroup, soft.size() - i));
    PackSoftGroup<kSize>(
        words, [](int m) { return uint32_t{kCodes<kSize>.code_of[m]}; }, codes);
    std::memcpy(packed, codes, sizeof(codes));
    packed += sizeof(codes);
  }
}

template <int kSize>
void Unpack(const uint8_t* packed, absl::Span<int8_t> soft) {
  for (size_t i = 0; i < soft.size(); i += kSoftGroup) {
    uint32_t words[4];
    uint32_t codes[kSize / 2];
    std::memcpy(codes, packed, sizeof(codes));
    packed += sizeof(codes);
    UnpackSoftGroup<kSize>(
        codes, [](uint32_t code) { return kCodes<kSize>.value_of[code]; }, words);
    std::memcpy(soft.data() + i, words, std::min<size_t>(kSoftGroup, soft.size() - i));
  }
}

}  // namespace

void PackSoftOnCpu(int size, absl::Span<const int8_t> soft, uint8_t* packed) {
  size == 4 ? Pack<4>(soft, packed) : Pack<6>(soft, packed);
}

void UnpackSoftOnCpu(int size, const uint8_t* packed, absl::Span<int8_t> soft) {
  size == 4 ? Unpack<4>(packed, soft) : Unpack<6>(packed, soft);
}

}  // namespace baseband::nr
