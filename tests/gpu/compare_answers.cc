#include "tests/gpu/compare_answers.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "server/operations/ldpc/ldpc_codes.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/downconvert_signals.h"

namespace baseband::server {
namespace {

// |a - b| <= tolerance, or both NaN, or the same infinity.
bool Near(double a, double b, double tolerance) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= tolerance;
}

std::string CompareFrame(const v1::CarrierGroup& group, const v1::CarrierResult& gpu,
                         const v1::CarrierResult& cpu) {
  if (gpu.lock() != cpu.lock()) {
    return absl::StrCat("lock ", gpu.lock(), " is not ", cpu.lock(), ", fit ", gpu.fit(), " and ",
                        cpu.fit());
  }
  if (cpu.lock() != v1::CARRIER_LOCK_LOCKED) return "";
  constexpr double kStddevs = 0.1;  // recover_gpu.h
  const double symbols = group.frame_symbols();
  if (!Near(gpu.frequency(), cpu.frequency(), kStddevs * cpu.frequency_stddev() + 1e-6 / symbols)) {
    return absl::StrCat("frequency ", gpu.frequency(), " is not ", cpu.frequency(), " +- ",
                        cpu.frequency_stddev());
  }
  const double turn = 2 * M_PI / std::max(1U, cpu.ambiguity());
  if (gpu.ambiguity() != cpu.ambiguity() || gpu.resolution() != cpu.resolution()) {
    return absl::StrCat("ambiguity ", gpu.ambiguity(), " is not ", cpu.ambiguity());
  }
  if (!Near(testing::WrappedDifference(gpu.phase(), cpu.phase(), turn), 0.0,
            kStddevs * cpu.phase_stddev() + 4e-6)) {
    return absl::StrCat("phase ", gpu.phase(), " is not ", cpu.phase());
  }
  const struct {
    const char* name;
    double gpu, cpu, relative, absolute;
  } values[] = {
      {"frequency_stddev", gpu.frequency_stddev(), cpu.frequency_stddev(), 0.01, 0.0},
      {"phase_stddev", gpu.phase_stddev(), cpu.phase_stddev(), 0.01, 0.0},
      {"gain", gpu.gain(), cpu.gain(), 1e-3, 0.0},
      {"snr_db", gpu.snr_db(), cpu.snr_db(), 0.0, 0.01},
      {"evm", gpu.evm(), cpu.evm(), 1e-3, 1e-6},
      {"peak_ratio", gpu.peak_ratio(), cpu.peak_ratio(), 0.01, 1e-6},
      {"fit", gpu.fit(), cpu.fit(), 1e-3, 0.1},
      {"coarse_frequency", gpu.coarse_frequency(), cpu.coarse_frequency(), 0.0, 1e-4 / symbols},
  };
  for (const auto& value : values) {
    if (!Near(value.gpu, value.cpu, value.relative * std::fabs(value.cpu) + value.absolute)) {
      return absl::StrCat(value.name, " ", value.gpu, " is not ", value.cpu);
    }
  }
  return "";
}

}  // namespace

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

std::string CompareRecoverCarrier(const v1::RecoverCarrierRequest& request,
                                  const v1::RecoverCarrierResponse& gpu,
                                  const v1::RecoverCarrierResponse& cpu) {
  int frame = 0;
  for (const v1::CarrierGroup& group : request.groups()) {
    for (uint32_t f = 0; f < group.count(); ++f, ++frame) {
      const std::string what = CompareFrame(group, gpu.frames(frame), cpu.frames(frame));
      if (!what.empty()) {
        return absl::StrCat("frame ", frame, ": ", what, "; group ", group.ShortDebugString());
      }
    }
  }
  if (gpu.curve_points().size() != cpu.curve_points().size() ||
      gpu.payload().size() != cpu.payload().size()) {
    return "sizes differ";
  }
  return "";
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
