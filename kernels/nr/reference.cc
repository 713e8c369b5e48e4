#include "kernels/nr/reference.h"

#include <algorithm>
#include <cstddef>

#include "kernels/ldpc/encode.h"

namespace baseband::nr {
namespace {

// The generators as clause 5.1 writes them: the powers of D that they are the sum of.
std::vector<int> PowersOf(Crc crc) {
  switch (crc) {
    case Crc::kCrc16:
      return {16, 12, 5, 0};
    case Crc::kCrc24A:
      return {24, 23, 18, 17, 14, 11, 10, 7, 6, 5, 4, 3, 1, 0};
    case Crc::kCrc24B:
      return {24, 23, 6, 5, 1, 0};
  }
  return {};
}

void Append(const Bits& more, Bits* bits) { bits->insert(bits->end(), more.begin(), more.end()); }

template <typename T>
bool AllZero(const std::vector<T>& values) {
  return std::count(values.begin(), values.end(), T{0}) == static_cast<ptrdiff_t>(values.size());
}

int64_t LengthOf(int base_graph, int zc) { return int64_t{base_graph == 1 ? 66 : 50} * zc; }
int InfoColumns(int base_graph) { return base_graph == 1 ? 22 : 10; }

// Table 5.4.2.1-2.
int64_t StartOf(int base_graph, int zc, int64_t n_cb, int rv) {
  const int64_t first[4] = {0, 17, 33, 56};
  const int64_t second[4] = {0, 13, 25, 43};
  const int64_t factor = base_graph == 1 ? first[rv] : second[rv];
  return factor * n_cb / LengthOf(base_graph, zc) * zc;
}

int64_t BufferBits(const CodeBlock& block) {
  return block.n_cb == 0 ? LengthOf(block.base_graph, block.zc) : block.n_cb;
}

bool IsFiller(const CodeBlock& block, int64_t place) {
  const int64_t end = int64_t{InfoColumns(block.base_graph) - 2} * block.zc;
  return place >= end - block.num_filler && place < end;
}

// What the code blocks of a transport block have in common, and each of its E_r.
struct Parts {
  ReferenceSegments segments;
  std::vector<CodeBlock> blocks;
};
Parts PartsOf(const TransportBlock& tb, const Bits& payload) {
  Parts parts;
  parts.segments = ReferenceSegment(tb.base_graph, payload);
  const auto c = static_cast<int>(parts.segments.blocks.size());
  const int64_t n = LengthOf(tb.base_graph, parts.segments.zc);
  for (const int64_t e : ReferenceBlockSizes(tb.g, tb.num_layers, tb.qm, c)) {
    CodeBlock block;
    block.base_graph = tb.base_graph;
    block.zc = parts.segments.zc;
    block.num_filler = parts.segments.k - parts.segments.k_prime;
    block.n_cb = static_cast<int>(tb.tbs_lbrm == 0 ? n : std::min(n, 3 * tb.tbs_lbrm / (2 * c)));
    block.rv = tb.rv;
    block.qm = tb.qm;
    block.e = e;
    parts.blocks.push_back(block);
  }
  return parts;
}

}  // namespace

Bits ReferenceCrc(Crc crc, const Bits& message) {
  const std::vector<int> powers = PowersOf(crc);
  const auto length = static_cast<size_t>(powers.front());
  Bits rest = message;
  rest.resize(message.size() + length, 0);
  for (size_t i = 0; i < message.size(); ++i) {
    if (rest[i] == 0) continue;
    for (const int power : powers) {
      rest[i + length - static_cast<size_t>(power)] ^= 1;
    }
  }
  return Bits(rest.end() - static_cast<ptrdiff_t>(length), rest.end());
}

ReferenceSegments ReferenceSegment(int base_graph, const Bits& payload) {
  ReferenceSegments out;
  out.tb_crc = payload.size() > 3824 ? Crc::kCrc24A : Crc::kCrc16;
  Bits b = payload;
  Append(ReferenceCrc(out.tb_crc, payload), &b);
  const size_t k_cb = base_graph == 1 ? 8448 : 3840;
  const size_t l = b.size() <= k_cb ? 0 : 24;
  const size_t c = l == 0 ? 1 : (b.size() + k_cb - l - 1) / (k_cb - l);
  const size_t info = b.size() / c;
  out.k_prime = static_cast<int>(info + l);
  int k_b = InfoColumns(base_graph);
  if (base_graph == 2 && b.size() <= 640) k_b = b.size() > 560 ? 9 : b.size() > 192 ? 8 : 6;
  for (const int zc : ldpc::NrLiftingSizes()) {
    if (out.zc == 0 && k_b * zc >= out.k_prime) out.zc = zc;
  }
  out.k = InfoColumns(base_graph) * out.zc;
  for (size_t r = 0; r < c; ++r) {
    const auto begin = b.begin() + static_cast<ptrdiff_t>(r * info);
    Bits block(begin, begin + static_cast<ptrdiff_t>(info));
    if (l != 0) Append(ReferenceCrc(Crc::kCrc24B, block), &block);
    out.blocks.push_back(block);
  }
  return out;
}

std::vector<int64_t> ReferenceBlockSizes(int64_t g, int num_layers, int qm, int num_blocks) {
  const int64_t unit = int64_t{num_layers} * qm;
  std::vector<int64_t> sizes;
  for (int64_t j = 0; j < num_blocks; ++j) {
    const bool low = j <= num_blocks - g / unit % num_blocks - 1;
    const int64_t whole = unit * num_blocks;
    sizes.push_back(unit * (low ? g / whole : (g + whole - 1) / whole));
  }
  return sizes;
}

std::vector<int64_t> ReferencePlaces(const CodeBlock& block) {
  const int64_t n_cb = BufferBits(block);
  const int64_t k0 = StartOf(block.base_graph, block.zc, n_cb, block.rv);
  std::vector<int64_t> selected;
  for (int64_t j = 0; static_cast<int64_t>(selected.size()) < block.e; ++j) {
    const int64_t place = (k0 + j) % n_cb;
    if (!IsFiller(block, place)) selected.push_back(place);
  }
  std::vector<int64_t> interleaved(selected.size());
  const int64_t columns = block.e / block.qm;
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < block.qm; ++i) {
      interleaved[static_cast<size_t>(i + j * block.qm)] =
          selected[static_cast<size_t>(i * columns + j)];
    }
  }
  return interleaved;
}

Bits ReferenceRateMatch(const CodeBlock& block, const Bits& buffer) {
  Bits sent;
  for (const int64_t place : ReferencePlaces(block)) {
    sent.push_back(buffer[static_cast<size_t>(place)]);
  }
  return sent;
}

std::vector<int8_t> ReferenceRateDematch(const CodeBlock& block, const std::vector<int8_t>& llr,
                                         const std::vector<int8_t>& old) {
  std::vector<int64_t> sums(static_cast<size_t>(BufferBits(block)), 0);
  for (size_t i = 0; i < old.size(); ++i) sums[i] = std::max<int>(old[i], -127);
  const std::vector<int64_t> places = ReferencePlaces(block);
  for (size_t i = 0; i < places.size(); ++i) {
    sums[static_cast<size_t>(places[i])] += std::max<int>(llr[i], -127);
  }
  std::vector<int8_t> soft;
  for (size_t place = 0; place < sums.size(); ++place) {
    const auto clipped = std::clamp<int64_t>(sums[place], -127, 127);
    soft.push_back(static_cast<int8_t>(IsFiller(block, static_cast<int64_t>(place)) ? 0 : clipped));
  }
  return soft;
}

Bits ReferenceBuffer(int base_graph, int zc, const Bits& block) {
  const ldpc::CodePtr code = *ldpc::NrCode(base_graph, zc);
  std::vector<uint8_t> parity(static_cast<size_t>(code->parity_bits() + 7) / 8);
  ldpc::EncodeOnCpu(*code, ldpc::PackBits(block), static_cast<int>(block.size()),
                    absl::MakeSpan(parity));
  Bits word = block;
  word.resize(static_cast<size_t>(code->k()), 0);
  Append(ldpc::UnpackBits(parity, code->parity_bits()), &word);
  word.erase(word.begin(), word.begin() + 2 * zc);
  return word;
}

Bits ReferenceSend(const TransportBlock& tb, const Bits& payload) {
  const Parts parts = PartsOf(tb, payload);
  Bits coded;
  for (size_t r = 0; r < parts.blocks.size(); ++r) {
    const Bits buffer = ReferenceBuffer(tb.base_graph, parts.segments.zc, parts.segments.blocks[r]);
    Append(ReferenceRateMatch(parts.blocks[r], buffer), &coded);
  }
  return coded;
}

ReferenceReceived ReferenceReceive(const TransportBlock& tb,
                                   const ldpc::DecodeParameters& parameters,
                                   const std::vector<int8_t>& llr,
                                   const std::vector<std::vector<int8_t>>& old_soft, int rows) {
  const auto payload_bits = static_cast<size_t>(8 * tb.tb_bytes);
  const Parts parts = PartsOf(tb, Bits(payload_bits, 0));  // only for its sizes
  const ldpc::CodePtr code = *ldpc::NrCode(tb.base_graph, parts.segments.zc, rows);
  ReferenceReceived out;
  Bits b;
  auto next = llr.begin();
  for (size_t r = 0; r < parts.blocks.size(); ++r) {
    const CodeBlock& block = parts.blocks[r];
    const auto end = next + block.e;
    out.soft.push_back(
        ReferenceRateDematch(block, std::vector<int8_t>(next, end),
                             old_soft.empty() ? std::vector<int8_t>{} : old_soft[r]));
    next = end;
    const int k_prime = parts.segments.k_prime;
    std::vector<uint8_t> packed(static_cast<size_t>(k_prime + 7) / 8);
    const auto count = std::min(out.soft[r].size(), static_cast<size_t>(code->num_sent()));
    out.decode.push_back(ldpc::DecodeOnCpu(*code, parameters, block.num_filler,
                                           absl::MakeConstSpan(out.soft[r]).first(count),
                                           absl::MakeSpan(packed), {}));
    Bits bits = ldpc::UnpackBits(packed, k_prime);
    const bool split = parts.blocks.size() > 1;
    bool crc_ok = AllZero(ReferenceCrc(split ? Crc::kCrc24B : parts.segments.tb_crc, bits));
    if (crc_ok && AllZero(bits)) {
      int known = 0;
      int ones = 0;
      for (const int value : out.soft[r]) {
        if (value != 0) ++known;
        if (value < 0) ++ones;
      }
      crc_ok = known > 0 && (out.decode[r].parity_ok != 0 || 3 * ones < known);
    }
    out.block_crc_ok.push_back(crc_ok);
    if (split) bits.resize(bits.size() - 24);
    Append(bits, &b);
  }
  out.tb_crc_ok = AllZero(ReferenceCrc(parts.segments.tb_crc, b)) &&
                  std::count(out.block_crc_ok.begin(), out.block_crc_ok.end(), false) == 0;
  out.payload.assign(b.begin(), b.begin() + static_cast<ptrdiff_t>(payload_bits));
  return out;
}

}  // namespace baseband::nr
