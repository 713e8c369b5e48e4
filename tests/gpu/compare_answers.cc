#include "tests/gpu/compare_answers.h"

#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "server/operations/ldpc/ldpc_codes.h"
#include "server/operations/shared_channel/shared_channel_block.h"
#include "tests/support/downconvert_signals.h"

namespace baseband::server {

std::string CompareDecode(const v1::DecodeRequest& request, const v1::DecodeResponse& gpu,
                          const v1::DecodeResponse& cpu) {
  int block = 0;
  size_t bits = 0;
  size_t soft = 0;
  static LdpcCodes codes;
  for (const v1::DecodeGroup& group : request.groups()) {
    const ldpc::CodePtr code = *codes.FromProto(group.code(), group.llr_count());
    const size_t of_bits =
        static_cast<size_t>(code->k() - static_cast<int>(group.n_filler()) + 7) / 8;
    const size_t of_soft = group.soft_output() ? static_cast<size_t>(code->n()) : 0;
    for (uint32_t b = 0; b < group.count(); ++b, ++block, bits += of_bits, soft += of_soft) {
      const bool same_bits =
          gpu.payload().compare(bits, of_bits, cpu.payload(), bits, of_bits) == 0;
      const bool same_soft = gpu.soft().compare(soft, of_soft, cpu.soft(), soft, of_soft) == 0;
      const bool same_end = gpu.iterations(block) == cpu.iterations(block) &&
                            gpu.parity_ok(block) == cpu.parity_ok(block);
      if (group.algorithm() != v1::DECODE_ALGORITHM_SUM_PRODUCT) {
        if (!same_bits || !same_soft || !same_end) return absl::StrCat("block ", block, " differs");
        continue;
      }
      // Floating point, whose last places decide what does not converge: what both call a code word
      // is the same one.
      if (gpu.parity_ok(block) && cpu.parity_ok(block) && !same_bits) {
        return absl::StrCat("block ", block, ": two code words");
      }
    }
  }
  return "";
}

std::string CompareEncodeSharedChannel(const v1::EncodeSharedChannelRequest& request,
                                       const v1::EncodeSharedChannelResponse& gpu,
                                       const v1::EncodeSharedChannelResponse& cpu) {
  if (gpu.payload() == cpu.payload()) return "";
  if (gpu.payload().size() != cpu.payload().size()) return "sizes differ";
  size_t at = 0;
  while (gpu.payload()[at] == cpu.payload()[at]) ++at;
  size_t end = 0;
  for (const v1::EncodeSharedChannelGroup& group : request.groups()) {
    const SharedChannelBlock block = *BlockFromProto(group.block());
    size_t bytes = static_cast<size_t>(block.coded_bytes());
    if (group.output() == v1::SHARED_CHANNEL_OUTPUT_FLOAT32) {
      bytes = static_cast<size_t>(8 * block.num_symbols());
    } else if (group.output() >= v1::SHARED_CHANNEL_OUTPUT_FLOAT16) {
      bytes = static_cast<size_t>(4 * block.num_symbols());
    }
    for (uint32_t b = 0; b < group.count(); ++b) {
      end += bytes;
      if (at >= end) continue;
      return absl::StrCat("block ", b, " differs from byte ", at + bytes - end, " on; group ",
                          group.ShortDebugString());
    }
  }
  return "a byte of no block differs";
}

std::string CompareDecodeSharedChannel(const v1::DecodeSharedChannelRequest& request,
                                       const v1::DecodeSharedChannelResponse& gpu,
                                       const v1::DecodeSharedChannelResponse& cpu) {
  if (gpu.SerializeAsString() == cpu.SerializeAsString()) return "";
  if (gpu.payload().size() != cpu.payload().size() || gpu.soft().size() != cpu.soft().size() ||
      gpu.blocks_size() != cpu.blocks_size() || gpu.crc_ok_size() != cpu.crc_ok_size() ||
      gpu.parity_ok_size() != cpu.parity_ok_size() ||
      gpu.iterations_size() != cpu.iterations_size()) {
    return "sizes differ";
  }
  int n = 0;           // blocks
  int code_block = 0;  // of all blocks
  size_t bits = 0;
  size_t soft = 0;
  for (const v1::DecodeSharedChannelGroup& group : request.groups()) {
    const SharedChannelBlock block = *BlockFromProto(group.block());
    const auto of_bits = static_cast<size_t>(block.payload_bytes());
    const auto of_soft =
        group.harq().soft_out() ? static_cast<size_t>(block.soft_bytes()) : size_t{0};
    for (uint32_t b = 0; b < group.count(); ++b, ++n, bits += of_bits, soft += of_soft) {
      std::string what;
      if (gpu.soft().compare(soft, of_soft, cpu.soft(), soft, of_soft) != 0) what += " soft bits";
      for (int r = 0; r < block.plan.num_blocks; ++r, ++code_block) {
        if (gpu.iterations(code_block) != cpu.iterations(code_block)) what += " iterations";
        if (gpu.parity_ok(code_block) != cpu.parity_ok(code_block)) what += " parity";
        if (gpu.crc_ok(code_block) != cpu.crc_ok(code_block)) what += " CRC";
      }
      if (gpu.payload().compare(bits, of_bits, cpu.payload(), bits, of_bits) != 0) what += " bits";
      if (gpu.blocks(n).SerializeAsString() != cpu.blocks(n).SerializeAsString()) what += " result";
      if (what.empty()) continue;
      return absl::StrCat("block ", b, " differs in", what, "; group ", group.ShortDebugString());
    }
  }
  return "what belongs to no block differs";
}

std::string CompareDownconvert(const DownconvertJob& gpu, const DownconvertJob& cpu) {
  double largest = 1.0;  // of a float sample: NoiseSamples stays below
  for (size_t c = 0; c < gpu.channels().size(); ++c) {
    const downconvert::Channel& channel = gpu.channels()[c];
    const double full_scale = testing::ScaleOf(gpu.block().format);
    const double limit = downconvert::kDeviceTolerance * gpu.block().scale / full_scale * largest *
                         std::fabs(channel.gain) * testing::GainLimitOf(*channel.filter);
    for (int64_t i = 0; i < 2 * gpu.ranges()[c].count; ++i) {
      const auto value = [&](const DownconvertJob& job) {
        return testing::ComponentOf(channel.output, job.reply.data() + job.reply_offsets()[c],
                                    static_cast<size_t>(i));
      };
      if (!Near(value(gpu), value(cpu), limit + testing::RoundingOf(channel.output, value(cpu)))) {
        return absl::StrCat("channel ", c, ", output ", i / 2, ": ", value(gpu), " is not ",
                            value(cpu), " within ", limit);
      }
    }
    const int64_t apart = std::abs(gpu.results[c].saturated - cpu.results[c].saturated);
    if (apart > 2 + gpu.ranges()[c].count / 1000) {
      return absl::StrCat("channel ", c, ": ", gpu.results[c].saturated, " saturated, not ",
                          cpu.results[c].saturated);
    }
  }
  return "";
}

std::string CompareAnswers(const minimize::Answer& gpu, const minimize::Answer& cpu,
                           double tolerance) {
  if (gpu.num_nan != cpu.num_nan || gpu.first_nan != cpu.first_nan) {
    return absl::StrCat(gpu.num_nan, " NaN, not ", cpu.num_nan);
  }
  if (gpu.top.empty() != cpu.top.empty()) return "one has no best point";
  // The others depend on which of two equal peaks came first.
  if (!cpu.top.empty() && !Near(gpu.top[0].value, cpu.top[0].value, tolerance)) {
    return absl::StrCat("best value ", gpu.top[0].value, " at ", gpu.top[0].index, " is not ",
                        cpu.top[0].value, " at ", cpu.top[0].index, " within ", tolerance);
  }
  if (gpu.profile.size() != cpu.profile.size()) return "profiles differ in size";
  for (size_t i = 0; i < cpu.profile.size(); ++i) {
    if (!Near(gpu.profile[i], cpu.profile[i], tolerance)) {
      return absl::StrCat("profile[", i, "] ", gpu.profile[i], " is not ", cpu.profile[i],
                          " within ", tolerance);
    }
  }
  return "";
}

}  // namespace baseband::server
