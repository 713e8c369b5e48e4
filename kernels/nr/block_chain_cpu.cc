#include <algorithm>
#include <memory>

#include "kernels/base/bits.h"
#include "kernels/crc/crc.h"
#include "kernels/ldpc/encode.h"
#include "kernels/nr/block_chain.h"
#include "kernels/nr/crc_math.h"

namespace baseband::nr {
namespace {

constexpr int kPuncturedColumns = 2;
constexpr int kMaxInfoBytes = 22 * 384 / 8;
constexpr int kMaxParityBytes = 46 * 384 / 8;
constexpr int kMaxBufferBytes = 66 * 384 / 8;

// What a thread works in. On the heap: static thread storage would come out of every thread's
// stack.
struct ChainArena {
  uint8_t info[kMaxInfoBytes];
  uint8_t parity[kMaxParityBytes];
  uint8_t buffer[kMaxBufferBytes];

  static ChainArena& OfThisThread() {
    static thread_local const auto arena = std::make_unique<ChainArena>();
    return *arena;
  }
};

Crc TbCrcOf(const TransportBlockPlan& plan) {
  return plan.tb_crc_bits == 24 ? Crc::kCrc24A : Crc::kCrc16;
}

// Writes the `count` low bits of `crc`, the highest first.
void PutCrc(uint8_t* target, int64_t bit, uint32_t crc, int count) {
  for (int i = count - 1; i >= 0; --i, ++bit) {
    const int mask = 0x80 >> bit % 8;
    uint8_t& byte = target[bit / 8];
    byte = static_cast<uint8_t>((crc >> i & 1) != 0 ? byte | mask : byte & ~mask);
  }
}

// The code word of `info` as the circular buffer: without its punctured columns, and nothing in
// particular in the place of fillers.
void FillBuffer(const ldpc::Code& code, int num_filler, absl::Span<const uint8_t> info,
                ChainArena* arena) {
  const int info_bits = code.k() - num_filler;
  const int punctured = kPuncturedColumns * code.zc();
  ldpc::EncodeOnCpu(code, info, info_bits, absl::MakeSpan(arena->parity));
  CopyBits(arena->buffer, 0, info.data(), punctured, info_bits - punctured);
  CopyBits(arena->buffer, code.k() - punctured, arena->parity, 0, code.parity_bits());
}

// Bits of the payload that block r carries: [info_begin(r), this).
int64_t PayloadEnd(const TransportBlockPlan& plan, int r) {
  return std::min(plan.info_begin(r) + plan.info_bits(), plan.tb_bits);
}

// The bits of code block r, fillers excepted.
void GatherInfo(const TransportBlockPlan& plan, absl::Span<const uint8_t> tb, uint32_t tb_crc,
                int r, uint8_t* info) {
  const int64_t begin = plan.info_begin(r);
  const int64_t payload_bits = PayloadEnd(plan, r) - begin;
  CopyBits(info, 0, tb.data(), begin, payload_bits);
  if (r == plan.num_blocks - 1) PutCrc(info, payload_bits, tb_crc, plan.tb_crc_bits);
  if (plan.block_crc_bits != 0) {
    PutCrc(info, plan.info_bits(), CrcOfBits(Crc::kCrc24B, info, 0, plan.info_bits()),
           plan.block_crc_bits);
  }
}

bool IsAnyNotZero(absl::Span<const uint8_t> bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte != 0; });
}
SoftSigns SignsOf(absl::Span<const int8_t> soft) {
  SoftSigns signs;
  for (const int8_t value : soft) {
    signs.known += value != 0 ? 1U : 0U;
    signs.ones += value < 0 ? 1U : 0U;
  }
  return signs;
}

}  // namespace

void EncodeCodeBlockOnCpu(const ldpc::Code& code, const RateMatch& rate_match, int num_filler,
                          absl::Span<const uint8_t> info, uint8_t* out, int64_t out_bit) {
  ChainArena& arena = ChainArena::OfThisThread();
  FillBuffer(code, num_filler, info, &arena);
  RateMatchOnCpu(rate_match, arena.buffer, out, out_bit);
}

ldpc::DecodeResult DecodeCodeBlockOnCpu(const ldpc::Code& code, const RateMatch& rate_match,
                                        const ldpc::DecodeParameters& parameters, int num_filler,
                                        absl::Span<const int8_t> llr, bool combine,
                                        absl::Span<int8_t> soft, absl::Span<uint8_t> bits) {
  RateDematchOnCpu(rate_match, llr, combine, soft);
  const size_t used = std::min<size_t>(rate_match.n_cb, static_cast<size_t>(code.num_sent()));
  return ldpc::DecodeOnCpu(code, parameters, num_filler, soft.first(used), bits, {});
}

int RowsOfSoft(int base_graph, int zc, absl::Span<const int8_t> soft) {
  size_t end = soft.size();
  while (end > 1 && soft[end - 1] == 0) --end;
  return RowsForBits(base_graph, zc, static_cast<int64_t>(std::max<size_t>(end, 1)));
}

uint32_t TransportBlockCrcOnCpu(const TransportBlockPlan& plan, absl::Span<const uint8_t> tb) {
  return CrcOfBits(TbCrcOf(plan), tb.data(), 0, plan.tb_bits);
}

EdgeBits EncodeBlockOnCpu(const TransportBlockPlan& plan, const ldpc::Code& code,
                          absl::Span<const uint8_t> tb, uint32_t tb_crc, int r,
                          absl::Span<uint8_t> coded) {
  ChainArena& arena = ChainArena::OfThisThread();
  GatherInfo(plan, tb, tb_crc, r, arena.info);
  FillBuffer(code, plan.num_filler(), arena.info, &arena);
  return RateMatchInsideOnCpu(plan.rate_match(r), arena.buffer, coded.data(), plan.e_begin(r));
}

void JoinCodedBits(const TransportBlockPlan& plan, absl::Span<const EdgeBits> edges,
                   absl::Span<uint8_t> coded) {
  if (plan.g() % 8 != 0) coded[static_cast<size_t>(plan.g() / 8)] = 0;
  for (int r = 0; r < plan.num_blocks; ++r) {
    PutEdges(coded.data(), plan.e_begin(r), plan.e_begin(r + 1), edges[static_cast<size_t>(r)]);
  }
}

BlockResult DecodeBlockOnCpu(const TransportBlockPlan& plan, const ldpc::Code& code,
                             const ldpc::DecodeParameters& parameters, int r,
                             absl::Span<const int8_t> llr, bool combine, absl::Span<int8_t> soft,
                             absl::Span<uint8_t> tb) {
  const auto bits = absl::MakeSpan(ChainArena::OfThisThread().info,
                                   static_cast<size_t>(BytesForBits(plan.k_prime)));
  BlockResult result;
  result.decode = DecodeCodeBlockOnCpu(code, plan.rate_match(r), parameters, plan.num_filler(), llr,
                                       combine, soft, bits);
  result.tb_crc = CrcOfBits(TbCrcOf(plan), bits.data(), 0, plan.info_bits());
  uint32_t crc = 0;
  if (plan.block_crc_bits != 0) {
    crc = CrcOfBits(Crc::kCrc24B, bits.data(), 0, plan.k_prime);
  } else if (plan.tb_crc_bits != 0) {
    crc = result.tb_crc;
  }
  const bool any_bit = IsAnyNotZero(bits);
  // Only zeros have to be looked at more closely.
  result.crc_ok = IsBlockRight(crc, any_bit, result.decode.parity_ok != 0,
                               any_bit ? SoftSigns() : SignsOf(soft));
  const int64_t begin = plan.info_begin(r);
  const int64_t end = PayloadEnd(plan, r);
  BitRun run(tb.data(), begin, end);
  run.Put(begin, bits.data(), 0, end - begin);
  result.edges = run.edges();
  return result;
}

bool JoinTransportBlock(const TransportBlockPlan& plan, absl::Span<const BlockResult> blocks,
                        absl::Span<uint8_t> tb) {
  // A code block alone may have none; then there is nothing that its parts make up.
  const bool has_tb_crc = plan.tb_crc_bits != 0;
  const CrcPolynomial p = PolynomialOf(TbCrcOf(plan));
  const uint32_t power = CrcPowerOfX(p, plan.info_bits());
  uint32_t crc = 0;
  bool blocks_ok = true;
  for (int r = 0; r < plan.num_blocks; ++r) {
    const BlockResult& block = blocks[static_cast<size_t>(r)];
    blocks_ok = blocks_ok && block.crc_ok;
    crc = CrcCombine(p, crc, block.tb_crc, power);
    PutEdges(tb.data(), plan.info_begin(r), PayloadEnd(plan, r), block.edges);
  }
  return blocks_ok && (crc == 0 || !has_tb_crc);
}

}  // namespace baseband::nr
