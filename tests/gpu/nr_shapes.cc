// Shapes and jobs of nr_launch.h, and what the CPU makes of them.
#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/base/bits.h"
#include "kernels/crc/crc.h"
#include "kernels/nr/block_chain.h"
#include "kernels/nr/crc_math.h"
#include "kernels/nr/modulation.h"
#include "kernels/nr/rate_match.h"
#include "kernels/nr/scrambling.h"
#include "tests/gpu/nr_launch.h"

namespace baseband::nr {
namespace {

constexpr int kQms[] = {1, 2, 4, 6, 8, 10};

size_t BytesOf(int64_t bits) { return static_cast<size_t>(BytesForBits(bits)); }

template <typename T, size_t kSize>
T OneOf(Random& random, const T (&values)[kSize]) {
  return values[random.Below(static_cast<int>(kSize))];
}

// Between both, small and large ones alike.
int64_t LogUniform(Random& random, int64_t least, int64_t most) {
  const double ratio = static_cast<double>(most) / static_cast<double>(least);
  const double value = static_cast<double>(least) * std::pow(ratio, random.Uniform());
  return std::clamp(static_cast<int64_t>(value), least, most);
}

void PutUint16(uint16_t value, Bytes* bytes) {
  bytes->push_back(static_cast<uint8_t>(value));
  bytes->push_back(static_cast<uint8_t>(value >> 8));
}
void PutFloat(float value, Bytes* bytes) {
  const uint32_t bits = BitsOf(value);
  PutUint16(static_cast<uint16_t>(bits), bytes);
  PutUint16(static_cast<uint16_t>(bits >> 16), bytes);
}

}  // namespace

std::string Shape::Describe() const {
  const RateMatch& r = plan.of_short;
  return absl::StrCat(plan.tb_bits, " bits and CRC", plan.tb_crc_bits, ", BG", plan.base_graph,
                      " zc ", plan.zc, ", ", plan.num_blocks, " blocks of K' ", plan.k_prime,
                      " with CRC", plan.block_crc_bits, ", n_cb ", r.n_cb, " k0 ", r.k0, " e ", r.e,
                      " qm ", r.qm, ", rows ", code->rows());
}

Shape MakeShape(const TransportBlock& block, int rows) {
  Shape shape;
  const absl::StatusOr<TransportBlockPlan> plan = MakePlan(block);
  EXPECT_THAT(plan, IsOk());
  shape.plan = *plan;
  shape.code = *ldpc::NrCode(plan->base_graph, plan->zc, rows == 0 ? plan->num_rows : rows);
  return shape;
}

Shape MakeShape(const CodeBlock& block) {
  Shape shape;
  const absl::StatusOr<TransportBlockPlan> plan = MakePlan(block);
  EXPECT_THAT(plan, IsOk());
  shape.plan = *plan;
  shape.code = *ldpc::NrCode(plan->base_graph, plan->zc, plan->num_rows);
  return shape;
}

Shape RandomShape(Random& random, int64_t max_bytes) {
  if (random.Below(4) == 0) {
    CodeBlock block;
    block.base_graph = 1 + random.Below(2);
    const absl::Span<const int> sizes = ldpc::NrLiftingSizes();
    block.zc = sizes[static_cast<size_t>(random.Below(static_cast<int>(sizes.size())))];
    const int systematic = (block.base_graph == 1 ? 20 : 8) * block.zc;
    const int n = (block.base_graph == 1 ? 66 : 50) * block.zc;
    if (random.Below(2) == 0) block.num_filler = random.Below(systematic);
    if (random.Below(3) == 0) block.n_cb = 1 + random.Below(n);
    block.rv = random.Below(4);
    block.qm = OneOf(random, kQms);
    block.e = block.qm * LogUniform(random, 1, std::max(2, 3 * n / block.qm));
    if (systematic + 2 * block.zc - block.num_filler > 24) {
      constexpr CodeBlockCrc kCrcs[] = {CodeBlockCrc::kNone, CodeBlockCrc::k24A, CodeBlockCrc::k24B,
                                        CodeBlockCrc::k16};
      block.crc = OneOf(random, kCrcs);
    }
    return MakeShape(block);
  }
  TransportBlock block;
  for (;;) {
    block.tb_bytes = LogUniform(random, kMinTransportBlockBytes, max_bytes);
    block.base_graph = 1 + random.Below(2);
    block.rv = random.Below(4);
    block.qm = OneOf(random, kQms);
    block.num_layers = 1 + random.Below(4);
    const int64_t granularity = block.num_layers * block.qm;
    const double rate = 0.08 + 0.9 * random.Uniform();  // at 0.08, bits are sent again
    block.g = static_cast<int64_t>(8.0 * static_cast<double>(block.tb_bytes) / rate) / granularity *
                  granularity +
              granularity;
    block.tbs_lbrm =
        random.Below(3) == 0 ? LogUniform(random, 8 * block.tb_bytes, 40 * block.tb_bytes) : 0;
    if (MakePlan(block).ok()) break;
  }
  return MakeShape(block, random.Below(4) == 0 ? (block.base_graph == 1 ? 46 : 42) : 0);
}

SymbolLayout RandomLayout(Random& random, SymbolFormat format, int64_t num_symbols) {
  SymbolLayout layout;
  layout.format = format;
  layout.scale = format == SymbolFormat::kInt16  ? 8192.0f
                 : format == SymbolFormat::kInt8 ? 70.0f
                                                 : 0.5f + static_cast<float>(random.Uniform());
  layout.num_layers = 1 + random.Below(4);
  while (num_symbols % layout.num_layers != 0) --layout.num_layers;
  layout.by_layer = random.Below(2) == 0;
  layout.symbols_per_layer = num_symbols / layout.num_layers;
  return layout;
}

Bytes RandomBytes(Random& random, size_t count) {
  Bytes bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.Next());
  return bytes;
}

// ---- sending ----

SendJob RandomSendJob(Random& random, int64_t max_bytes) {
  SendJob job;
  job.shape = RandomShape(random, max_bytes);
  job.payload = RandomBytes(random, BytesOf(job.shape.plan.tb_bits));
  if (random.Below(2) == 0) job.c_init = static_cast<uint32_t>(random.Next()) & kMaxScramblingInit;
  job.as_symbols = random.Below(2) == 0;
  if (job.as_symbols) {
    constexpr SymbolFormat kFormats[] = {SymbolFormat::kFloat32, SymbolFormat::kFloat16,
                                         SymbolFormat::kInt16, SymbolFormat::kInt8};
    job.layout = RandomLayout(random, OneOf(random, kFormats), job.shape.plan.g() / job.shape.qm());
  }
  return job;
}

namespace {

// Appends a CRC of the `bits` bits.
void AppendCrc(Crc crc, int64_t bits, Bytes* block) {
  const int crc_bits = PolynomialOf(crc).bits;
  block->resize(BytesOf(bits + crc_bits), 0);
  const uint32_t value = CrcOfBits(crc, block->data(), 0, bits) << (32 - crc_bits);
  const uint8_t bytes[3] = {static_cast<uint8_t>(value >> 24), static_cast<uint8_t>(value >> 16),
                            static_cast<uint8_t>(value >> 8)};
  CopyBits(block->data(), bits, bytes, 0, crc_bits);
}

Crc TbCrcOf(const TransportBlockPlan& plan) {
  return plan.tb_crc_bits == 24 ? Crc::kCrc24A : Crc::kCrc16;
}

}  // namespace

std::vector<Bytes> CodeBlocksOf(const Shape& shape, const Bytes& payload) {
  const TransportBlockPlan& plan = shape.plan;
  // What of the payload's last byte is no payload must not count.
  Bytes b(BytesOf(plan.tb_bits), 0);
  CopyBits(b.data(), 0, payload.data(), 0, plan.tb_bits);
  if (plan.tb_crc_bits != 0) AppendCrc(TbCrcOf(plan), plan.tb_bits, &b);
  std::vector<Bytes> blocks;
  for (int r = 0; r < plan.num_blocks; ++r) {
    Bytes block(BytesOf(plan.info_bits()), 0);
    CopyBits(block.data(), 0, b.data(), plan.info_begin(r), plan.info_bits());
    if (plan.block_crc_bits != 0) AppendCrc(Crc::kCrc24B, plan.info_bits(), &block);
    blocks.push_back(block);
  }
  return blocks;
}

Bytes SentByCpu(const SendJob& job) {
  const Shape& shape = job.shape;
  const auto words = static_cast<size_t>((shape.plan.g() + 31) / 32);
  Bytes coded(4 * words, 0);
  const std::vector<Bytes> blocks = CodeBlocksOf(shape, job.payload);
  for (int r = 0; r < shape.plan.num_blocks; ++r) {
    EncodeCodeBlockOnCpu(*shape.code, shape.plan.rate_match(r), shape.plan.num_filler(),
                         blocks[static_cast<size_t>(r)], coded.data(), shape.plan.e_begin(r));
  }
  if (job.c_init != kNoScrambling) {
    ScrambleBits(job.c_init, 0, absl::MakeSpan(coded), 0, shape.plan.g());
  }
  if (!job.as_symbols) return coded;
  const int64_t count = shape.plan.g() / shape.qm();
  Bytes symbols(static_cast<size_t>(count * BytesPerSymbol(job.layout.format)));
  ModulateOnCpu(shape.qm(), coded, 0, 0, count, job.layout, absl::MakeSpan(symbols));
  return symbols;
}

// ---- receiving ----

namespace {

// Symbols and variances of any kind, some of them of no use.
void FillSymbols(Random& random, ReceiveJob* job) {
  constexpr SymbolFormat kFormats[] = {SymbolFormat::kFloat32, SymbolFormat::kFloat16,
                                       SymbolFormat::kInt16, SymbolFormat::kInt8};
  constexpr NoiseFormat kNoises[] = {NoiseFormat::kOne, NoiseFormat::kFloat32,
                                     NoiseFormat::kFloat16};
  const int64_t count = job->shape.plan.g() / job->shape.qm();
  DemapParameters& demap = job->demap;
  demap.qm = job->shape.qm();
  demap.layout = RandomLayout(random, OneOf(random, kFormats), count);
  demap.noise_format = OneOf(random, kNoises);
  demap.log_sum = random.Below(4) == 0;
  const float typical = std::pow(10.0f, -0.1f * static_cast<float>(random.Below(40)));
  demap.noise_variance = random.Below(20) == 0 ? std::numeric_limits<float>::infinity() : typical;
  const bool has_bad = random.Below(2) == 0;
  const auto is_bad = [&] { return has_bad && random.Below(50) == 0; };
  const float bad[] = {std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::quiet_NaN()};
  for (int64_t i = 0; i < 2 * count; ++i) {
    const auto y = static_cast<float>(0.8 * random.Normal());
    switch (demap.layout.format) {
      case SymbolFormat::kFloat32:
        PutFloat(is_bad() ? OneOf(random, bad) : y, &job->received);
        break;
      case SymbolFormat::kFloat16:
        PutUint16(is_bad() ? uint16_t{0x7e00} : HalfOfFloat(y), &job->received);
        break;
      case SymbolFormat::kInt16:
        PutUint16(static_cast<uint16_t>(ToInt16(y, 8192.0f)), &job->received);
        break;
      case SymbolFormat::kInt8:
        job->received.push_back(static_cast<uint8_t>(ToInt8(y, 70.0f)));
        break;
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    const float n0 = typical * static_cast<float>(0.5 + random.Uniform());
    if (demap.noise_format == NoiseFormat::kFloat32) {
      PutFloat(is_bad() ? -n0 : n0, &job->noise);
    } else if (demap.noise_format == NoiseFormat::kFloat16) {
      PutUint16(is_bad() ? uint16_t{0} : HalfOfFloat(n0), &job->noise);
    }
  }
}

void FillLlrs(Random& random, ReceiveJob* job) {
  constexpr LlrFormat kFormats[] = {LlrFormat::kInt8, LlrFormat::kInt16, LlrFormat::kFloat16,
                                    LlrFormat::kPacked6, LlrFormat::kPacked4};
  const int64_t g = job->shape.plan.g();
  job->llr_format = OneOf(random, kFormats);
  if (job->llr_format != LlrFormat::kFloat16) {
    job->received = RandomBytes(random, static_cast<size_t>(LlrBytes(job->llr_format, g)));
    if (job->llr_format == LlrFormat::kInt16 && random.Below(3) == 0) {
      std::fill(job->received.begin(), job->received.end(), uint8_t{0});
    }
    job->mean_llr = 10.0f + 100.0f * static_cast<float>(random.Uniform());
    job->llr_format_scale = job->llr_format == LlrFormat::kInt16
                                ? (random.Below(2) == 0 ? 0.0f : 0.01f)
                                : 0.5f + 4.0f * static_cast<float>(random.Uniform());
    return;
  }
  for (int64_t i = 0; i < g; ++i) {
    const int kind = random.Below(100);
    PutUint16(kind == 0   ? uint16_t{0x7e01}
              : kind == 1 ? uint16_t{0xfc00}
                          : HalfOfFloat(static_cast<float>(8 * random.Normal())),
              &job->received);
  }
  job->llr_format_scale = 4.0f;
}

}  // namespace

ReceiveJob RandomReceiveJob(Random& random, const Shape& shape) {
  ReceiveJob job;
  job.shape = shape;
  job.as_symbols = random.Below(2) == 0;
  if (job.as_symbols) {
    FillSymbols(random, &job);
  } else {
    FillLlrs(random, &job);
  }
  if (random.Below(2) == 0) job.c_init = static_cast<uint32_t>(random.Next()) & kMaxScramblingInit;
  const bool combines = random.Below(2) == 0;
  for (int r = 0; r < shape.plan.num_blocks; ++r) {
    const uint32_t n_cb = shape.plan.rate_match(r).n_cb;
    job.soft_counts.push_back(
        random.Below(2) == 0 ? n_cb
                             : 1 + static_cast<uint32_t>(random.Below(static_cast<int>(n_cb))));
    if (combines) {
      const Bytes old = RandomBytes(random, n_cb);
      job.old_soft.emplace_back(old.begin(), old.end());
    }
  }
  return job;
}

Received ReceivedByCpu(const ReceiveJob& job) {
  Received out;
  const int64_t qm = job.shape.qm();
  for (int r = 0; r < job.shape.plan.num_blocks; ++r) {
    const RateMatch& rate_match = job.shape.plan.rate_match(r);
    const int64_t begin = job.shape.plan.e_begin(r);
    Llrs llr(rate_match.e);
    int64_t unusable = 0;
    if (job.as_symbols) {
      unusable = DemapOnCpu(job.demap, job.received, job.noise, begin / qm, rate_match.e / qm,
                            absl::MakeSpan(llr));
    } else {
      float scale = job.llr_format_scale;
      if (job.llr_format == LlrFormat::kInt16 && scale == 0.0f) {
        scale = ChosenScale(MagnitudeSumOnCpu(job.received, begin, rate_match.e),
                            static_cast<uint64_t>(rate_match.e), job.mean_llr);
      }
      unusable = ToInt8LlrsOnCpu(job.llr_format, scale, job.received, begin, absl::MakeSpan(llr));
    }
    if (job.c_init != kNoScrambling) DescrambleLlrs(job.c_init, begin, absl::MakeSpan(llr));
    const auto index = static_cast<size_t>(r);
    const bool combines = !job.old_soft.empty();
    Llrs soft = combines ? job.old_soft[index] : Llrs(rate_match.n_cb);
    RateDematchOnCpu(rate_match, llr, combines, absl::MakeSpan(soft));
    soft.resize(job.soft_counts[index]);
    out.soft.push_back(soft);
    out.unusable.push_back(static_cast<uint32_t>(unusable));
  }
  return out;
}

// ---- checking ----

CheckJob MakeCheckJob(const Shape& shape, const std::vector<Bytes>& blocks) {
  return {shape, blocks, std::vector<bool>(blocks.size(), true), {}};
}

Checked CheckedByCpu(const CheckJob& job) {
  const TransportBlockPlan& plan = job.shape.plan;
  const auto is_any = [](const auto& values) {
    return std::any_of(values.begin(), values.end(), [](auto value) { return value != 0; });
  };
  Checked out;
  Bytes b(BytesOf(int64_t{plan.info_bits()} * plan.num_blocks) + 1, 0);
  for (int r = 0; r < plan.num_blocks; ++r) {
    CopyBits(b.data(), plan.info_begin(r), job.blocks[static_cast<size_t>(r)].data(), 0,
             plan.info_bits());
  }
  const uint32_t tb_crc = plan.tb_crc_bits == 0 ? 0
                                                : CrcOfBits(TbCrcOf(plan), b.data(), 0,
                                                            plan.tb_bits + plan.tb_crc_bits);
  for (size_t r = 0; r < job.blocks.size(); ++r) {
    uint32_t crc = plan.num_blocks == 1 ? tb_crc : 0;
    if (plan.block_crc_bits != 0) {
      crc = CrcOfBits(Crc::kCrc24B, job.blocks[r].data(), 0, plan.k_prime);
    }
    SoftSigns soft = {1, 0};
    if (!job.soft.empty()) {
      soft = SoftSigns();
      for (const int8_t value : job.soft[r]) {
        soft.known += value != 0 ? 1U : 0U;
        soft.ones += value < 0 ? 1U : 0U;
      }
    }
    out.block_ok.push_back(IsBlockRight(crc, is_any(job.blocks[r]), job.parity_ok[r], soft));
  }
  out.tb_ok = tb_crc == 0;
  out.payload.assign(BytesOf(plan.tb_bits), 0);
  CopyBits(out.payload.data(), 0, b.data(), 0, plan.tb_bits);
  return out;
}

}  // namespace baseband::nr
