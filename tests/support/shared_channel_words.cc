#include "tests/support/shared_channel_words.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/types/span.h"
#include "kernels/nr/block_chain.h"
#include "kernels/nr/float_math.h"
#include "kernels/nr/modulation.h"
#include "kernels/nr/scrambling.h"

namespace baseband::testing {
namespace {

template <typename T>
void Append(T value, std::string* bytes) {
  char text[sizeof(T)];
  std::memcpy(text, &value, sizeof(T));
  bytes->append(text, sizeof(T));
}

// Held to the integers of `bits` bits.
int Whole(double value, int bits) {
  const double most = std::exp2(bits - 1);
  return static_cast<int>(std::clamp(std::round(value), -most, most - 1));
}

// Integers of `bits` bits each, the first in the upper bits of the first byte.
std::string Packed(const std::vector<int>& values, int bits) {
  std::string bytes((values.size() * static_cast<size_t>(bits) + 7) / 8, '\0');
  size_t at = 0;
  for (const int value : values) {
    for (int bit = bits - 1; bit >= 0; --bit, ++at) {
      if ((value >> bit & 1) != 0)
        bytes[at / 8] = static_cast<char>(bytes[at / 8] | 0x80 >> at % 8);
    }
  }
  return bytes;
}

std::string LlrsOf(const server::SharedChannelBlock& block, const std::vector<uint8_t>& sent,
                   const v1::DecodeSharedChannelGroup& group, double snr_db, Random& random) {
  const double variance = std::pow(10.0, -0.1 * snr_db);
  // Of the natural LLR, so that the server makes eight times that of it.
  constexpr double kLlrScale = 8.0;
  const bool has_scale = group.llr_scale() != 0.0F;
  const double scale = has_scale ? kLlrScale / static_cast<double>(group.llr_scale()) : 1.0;
  std::string bytes;
  std::vector<int> small;
  for (int64_t i = 0; i < block.plan.g(); ++i) {
    const bool one = (sent[static_cast<size_t>(i / 8)] >> (7 - i % 8) & 1) != 0;
    const double y = (one ? -1.0 : 1.0) + std::sqrt(variance) * random.Normal();
    const double llr = 2.0 * y / variance;
    switch (group.input()) {
      case v1::SHARED_CHANNEL_INPUT_LLR_INT16:
        Append(static_cast<int16_t>(Whole(llr * (has_scale ? scale : 37.0), 16)), &bytes);
        break;
      case v1::SHARED_CHANNEL_INPUT_LLR_FLOAT16:
        Append(nr::HalfOfFloat(static_cast<float>(llr * scale)), &bytes);
        break;
      case v1::SHARED_CHANNEL_INPUT_LLR_INT6:
        small.push_back(Whole(llr * scale, 6));
        break;
      case v1::SHARED_CHANNEL_INPUT_LLR_INT4:
        small.push_back(Whole(llr * scale, 4));
        break;
      default:
        Append(static_cast<int8_t>(Whole(llr * kLlrScale, 8)), &bytes);
        break;
    }
  }
  if (group.input() == v1::SHARED_CHANNEL_INPUT_LLR_INT6) bytes = Packed(small, 6);
  if (group.input() == v1::SHARED_CHANNEL_INPUT_LLR_INT4) bytes = Packed(small, 4);
  return bytes;
}

std::string SymbolsOf(const server::SharedChannelBlock& block, const std::vector<uint8_t>& sent,
                      const v1::DecodeSharedChannelGroup& group, double snr_db, Random& random) {
  const int64_t count = block.num_symbols();
  std::vector<float> points(static_cast<size_t>(2 * count));
  nr::ModulateOnCpu(
      block.qm(), sent, 0, 0, count, nr::SymbolLayout(),
      absl::MakeSpan(reinterpret_cast<uint8_t*>(points.data()), points.size() * sizeof(float)));
  const bool is_int8 = group.input() == v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT8;
  const bool is_int16 = group.input() == v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT16;
  const double scale = group.symbol_scale() != 0.0F ? static_cast<double>(group.symbol_scale())
                       : is_int8                    ? 64.0
                       : is_int16                   ? 8192.0
                                                    : 1.0;
  const double variance = std::pow(10.0, -0.1 * snr_db);  // of I and Q together
  std::string bytes;
  for (const float point : points) {
    const double y =
        scale * (static_cast<double>(point) + std::sqrt(variance / 2) * random.Normal());
    if (is_int8) {
      Append(static_cast<int8_t>(Whole(y, 8)), &bytes);
    } else if (is_int16) {
      Append(static_cast<int16_t>(Whole(y, 16)), &bytes);
    } else if (group.input() == v1::SHARED_CHANNEL_INPUT_SYMBOLS_FLOAT16) {
      Append(nr::HalfOfFloat(static_cast<float>(y)), &bytes);
    } else {
      Append(static_cast<float>(y), &bytes);
    }
  }
  return bytes;
}

}  // namespace

std::vector<uint8_t> SentBitsOf(const server::SharedChannelBlock& block,
                                const std::string& payload) {
  const nr::TransportBlockPlan& plan = block.plan;
  const ldpc::CodePtr code = *ldpc::NrCode(plan.base_graph, plan.zc, plan.num_rows);
  const absl::Span<const uint8_t> tb(reinterpret_cast<const uint8_t*>(payload.data()),
                                     payload.size());
  std::vector<uint8_t> coded(static_cast<size_t>(block.coded_bytes()));
  std::vector<nr::EdgeBits> edges;
  const uint32_t crc = nr::TransportBlockCrcOnCpu(plan, tb);
  for (int r = 0; r < plan.num_blocks; ++r) {
    edges.push_back(nr::EncodeBlockOnCpu(plan, *code, tb, crc, r, absl::MakeSpan(coded)));
  }
  nr::JoinCodedBits(plan, edges, absl::MakeSpan(coded));
  if (block.c_init.has_value()) {
    nr::ScrambleBits(*block.c_init, 0, absl::MakeSpan(coded), 0, plan.g());
  }
  return coded;
}

std::string ReceivedOf(const server::SharedChannelBlock& block, const std::vector<uint8_t>& sent,
                       const v1::DecodeSharedChannelGroup& group, double snr_db, Random& random,
                       const std::string& soft) {
  const bool has_symbols = HasSymbols(group.input());
  std::string bytes = soft + (has_symbols ? SymbolsOf(block, sent, group, snr_db, random)
                                          : LlrsOf(block, sent, group, snr_db, random));
  bytes.resize((bytes.size() + 3) / 4 * 4);
  if (has_symbols && !group.has_noise_variance()) {
    const auto variance = static_cast<float>(std::pow(10.0, -0.1 * snr_db));
    for (int64_t i = 0; i < block.num_symbols(); ++i) Append(variance, &bytes);
  }
  return bytes;
}

}  // namespace baseband::testing
