#include "client/ctl/shared_channel/local_transmitter.h"

#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "client/cpp/code_shape.h"
#include "client/ctl/ldpc/bits.h"
#include "client/ctl/ldpc/nr_code_blocks.h"
#include "kernels/ldpc/code.h"
#include "kernels/ldpc/encode.h"
#include "kernels/nr/demap.h"
#include "kernels/nr/llr_format.h"
#include "kernels/nr/modulation.h"
#include "kernels/nr/rate_match.h"
#include "kernels/nr/scrambling.h"
#include "kernels/nr/symbols.h"

namespace baseband::ctl {
namespace {

constexpr float kInt16Scale = 8192;  // of EncodeSharedChannel

absl::Span<const uint8_t> Bytes(absl::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
absl::Span<uint8_t> MutableBytes(std::string* text) {
  return {reinterpret_cast<uint8_t*>(text->data()), text->size()};
}

// The plan of a transmission with version `rv`. That of another is known to be right.
nr::TransportBlockPlan PlanOf(const TransportFormat& format, int rv) {
  nr::TransportBlock block = format.parameters;
  block.rv = rv;
  return *nr::MakePlan(block);
}

absl::optional<nr::LlrFormat> LlrFormatOf(v1::SharedChannelInput input) {
  switch (input) {
    case v1::SHARED_CHANNEL_INPUT_LLR_INT8:
      return nr::LlrFormat::kInt8;
    case v1::SHARED_CHANNEL_INPUT_LLR_INT6:
      return nr::LlrFormat::kPacked6;
    case v1::SHARED_CHANNEL_INPUT_LLR_INT4:
      return nr::LlrFormat::kPacked4;
    default:
      return absl::nullopt;
  }
}

nr::SymbolFormat SymbolFormatOf(v1::SharedChannelInput input) {
  switch (input) {
    case v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT8:
      return nr::SymbolFormat::kInt8;
    case v1::SHARED_CHANNEL_INPUT_SYMBOLS_INT16:
      return nr::SymbolFormat::kInt16;
    case v1::SHARED_CHANNEL_INPUT_SYMBOLS_FLOAT16:
      return nr::SymbolFormat::kFloat16;
    default:
      return nr::SymbolFormat::kFloat32;
  }
}

// d_0, d_1, .. of a code block with these k_prime bits; fillers are zeros.
std::string CircularBuffer(const ldpc::Code& code, int k_prime, const std::string& info) {
  std::vector<uint8_t> parity(static_cast<size_t>(client::PackedBytes(code.parity_bits())));
  ldpc::EncodeOnCpu(code, Bytes(info), k_prime, absl::MakeSpan(parity));
  const int punctured = code.n() - code.num_sent();
  std::string buffer(static_cast<size_t>(client::PackedBytes(code.num_sent())), '\0');
  CopyBits(info, punctured, &buffer, 0, k_prime - punctured);
  CopyBits({reinterpret_cast<const char*>(parity.data()), parity.size()}, 0, &buffer,
           code.k() - punctured, code.parity_bits());
  return buffer;
}

}  // namespace

absl::StatusOr<std::string> CodedBitsHere(const TransportFormat& format, int rv,
                                          const std::string& tb) {
  const nr::TransportBlockPlan plan = PlanOf(format, rv);
  const absl::StatusOr<ldpc::CodePtr> code = ldpc::NrCode(plan.base_graph, plan.zc, plan.num_rows);
  if (!code.ok()) {
    return code.status();
  }
  std::string bits(static_cast<size_t>(client::PackedBytes(plan.g())), '\0');
  const std::vector<std::string> blocks = CodeBlocksOf(plan, tb);
  for (int r = 0; r < plan.num_blocks; ++r) {
    const std::string buffer = CircularBuffer(**code, plan.k_prime, blocks[static_cast<size_t>(r)]);
    nr::RateMatchOnCpu(plan.rate_match(r), Bytes(buffer), MutableBytes(&bits).data(),
                       plan.e_begin(r));
  }
  nr::ScrambleBits(format.block.c_init(), 0, MutableBytes(&bits), 0, plan.g());
  return bits;
}

std::string SymbolsHere(const TransportFormat& format, absl::string_view coded_bits,
                        v1::SharedChannelOutput output) {
  nr::SymbolLayout layout;
  layout.format = output == v1::SHARED_CHANNEL_OUTPUT_FLOAT32   ? nr::SymbolFormat::kFloat32
                  : output == v1::SHARED_CHANNEL_OUTPUT_FLOAT16 ? nr::SymbolFormat::kFloat16
                                                                : nr::SymbolFormat::kInt16;
  if (layout.format == nr::SymbolFormat::kInt16) layout.scale = kInt16Scale;
  std::string symbols(static_cast<size_t>(format.num_symbols() * nr::BytesPerSymbol(layout.format)),
                      '\0');
  nr::ModulateOnCpu(format.mcs.qm, Bytes(coded_bits), 0, 0, format.num_symbols(), layout,
                    MutableBytes(&symbols));
  return symbols;
}

std::string SoftBitsHere(const TransportFormat& format, int rv,
                         const v1::DecodeSharedChannelGroup& group, absl::string_view received) {
  std::vector<int8_t> llr(static_cast<size_t>(format.plan.g()));
  if (const absl::optional<nr::LlrFormat> llrs = LlrFormatOf(group.input())) {
    nr::ToInt8LlrsOnCpu(*llrs, group.llr_scale(), Bytes(received), 0, absl::MakeSpan(llr));
  } else {
    nr::DemapParameters parameters;
    parameters.qm = format.mcs.qm;
    parameters.layout = {SymbolFormatOf(group.input()), group.symbol_scale()};
    parameters.noise_variance = group.noise_variance();
    parameters.llr_scale = group.llr_scale();
    nr::DemapOnCpu(parameters, Bytes(received), {}, 0, format.num_symbols(), absl::MakeSpan(llr));
  }
  nr::DescrambleLlrs(format.block.c_init(), 0, absl::MakeSpan(llr));
  const nr::TransportBlockPlan plan = PlanOf(format, rv);
  std::string soft(static_cast<size_t>(format.soft_bytes()), '\0');
  const auto n_cb = static_cast<size_t>(plan.of_long.n_cb);
  for (int r = 0; r < plan.num_blocks; ++r) {
    nr::RateDematchOnCpu(
        plan.rate_match(r),
        absl::MakeConstSpan(llr).subspan(static_cast<size_t>(plan.e_begin(r)),
                                         static_cast<size_t>(plan.e(r))),
        /*combine=*/false,
        {reinterpret_cast<int8_t*>(soft.data()) + n_cb * static_cast<size_t>(r), n_cb});
  }
  return soft;
}

}  // namespace baseband::ctl
