// Carrier recovery's answers.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/carrier/recover.h"
#include "tests/gpu/compare_answers.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/random_requests.h"

namespace baseband::server {
namespace {

// Of a straight line through the phases of a frame, of which `phase` is told at the group's
// reference: its rms, radians.
double RmsAngle(const v1::CarrierGroup& group, double symbols, double phase, double frequency) {
  const double half = 0.5 * (symbols - 1.0);
  double to_centre = half;
  if (group.reference() == v1::PHASE_REFERENCE_CENTRE) to_centre = 0.0;
  if (group.reference() == v1::PHASE_REFERENCE_LAST) to_centre = -half;
  const double step = 2 * M_PI * frequency;
  const double centre = phase + step * to_centre;
  return std::sqrt(centre * centre + step * step * (symbols * symbols - 1.0) / 12.0);
}

// See CarrierGroup.expected_snr_db.
bool SweepIsVague(const v1::CarrierGroup& group, const v1::CarrierResult& result) {
  constexpr double kTooLowDb = 20.0;
  return group.fine() == v1::FINE_METHOD_SWEEP && group.has_expected_snr_db() &&
         group.expected_snr_db() < result.snr_db() - kTooLowDb;
}

// timing_gpu.h.
std::string CompareTiming(const v1::TimingEstimate& gpu, const v1::TimingEstimate& cpu) {
  if (gpu.lock() != cpu.lock()) {
    return absl::StrCat("timing lock ", gpu.lock(), " is not ", cpu.lock(), ", line ", gpu.line(),
                        " and ", cpu.line());
  }
  if (cpu.lock() != v1::TIMING_LOCK_LOCKED) return "";
  if (gpu.refined() != cpu.refined()) return "only one timing is refined";
  const struct {
    const char* name;
    double gpu, cpu, tolerance;
  } values[] = {
      {"offset", gpu.offset(), cpu.offset(), 0.1 * cpu.offset_stddev() + 1e-6},
      {"offset_stddev", gpu.offset_stddev(), cpu.offset_stddev(), 0.01 * cpu.offset_stddev()},
      {"clock_error", gpu.clock_error(), cpu.clock_error(), 0.1 * cpu.clock_error_stddev() + 1e-9},
      {"clock_error_stddev", gpu.clock_error_stddev(), cpu.clock_error_stddev(),
       0.01 * cpu.clock_error_stddev()},
      {"line", gpu.line(), cpu.line(), 0.01 * cpu.line()},
  };
  for (const auto& value : values) {
    if (!Near(value.gpu, value.cpu, value.tolerance)) {
      return absl::StrCat(value.name, " ", value.gpu, " is not ", value.cpu);
    }
  }
  return "";
}

std::string CompareFrame(const v1::CarrierGroup& group, const v1::CarrierResult& gpu,
                         const v1::CarrierResult& cpu, double symbols) {
  if (gpu.lock() != cpu.lock()) {
    return absl::StrCat("lock ", gpu.lock(), " is not ", cpu.lock(), ", fit ", gpu.fit(), " and ",
                        cpu.fit());
  }
  if (cpu.lock() != v1::CARRIER_LOCK_LOCKED) return "";
  // recover_gpu.h. Of a vague sweep each device's deviation holds how far it is from what both
  // should have found.
  const bool vague = SweepIsVague(group, cpu);
  const double stddevs = vague ? 1.0 : 0.1;
  const double of_gpu = vague ? 1.0 : 0.0;
  const bool is_sweep = group.fine() == v1::FINE_METHOD_SWEEP;
  // What turns of a sweep's symbols that are off by 1e-5 of their amplitude, so by as many radians,
  // make of the frequency; else that of the rotor.
  const double rounding = (is_sweep ? 1e-5 / (2 * M_PI) : 1e-6) / symbols;
  if (!Near(gpu.frequency(), cpu.frequency(),
            stddevs * cpu.frequency_stddev() + of_gpu * gpu.frequency_stddev() + rounding)) {
    return absl::StrCat("frequency ", gpu.frequency(), " is not ", cpu.frequency(), " +- ",
                        cpu.frequency_stddev(), ", off by ", gpu.frequency() - cpu.frequency());
  }
  const double turn = 2 * M_PI / std::max(1U, cpu.ambiguity());
  if (gpu.ambiguity() != cpu.ambiguity() || gpu.resolution() != cpu.resolution()) {
    return absl::StrCat("ambiguity ", gpu.ambiguity(), " is not ", cpu.ambiguity());
  }
  const double turned = testing::WrappedDifference(gpu.phase(), cpu.phase(), turn);
  if (!Near(turned, 0.0, stddevs * cpu.phase_stddev() + of_gpu * gpu.phase_stddev() + 4e-6)) {
    return absl::StrCat("phase ", gpu.phase(), " is not ", cpu.phase());
  }
  // A sweep's estimate is not where EVM and noise are least, so that they change with it, and its
  // deviations contain how far off it is (MethodCovariance), of 16 symbols twice. Symbols turned
  // back by two estimates are, by rms, as far apart as these, and so are the rms of what is left of
  // them at most.
  const double further = is_sweep ? gpu.frequency() - cpu.frequency() : 0.0;
  const double apart = is_sweep ? RmsAngle(group, symbols, turned, further) : 0.0;
  const double off = 2.0 * std::fabs(further);
  const double noise = std::pow(10.0, -0.1 * cpu.snr_db());
  constexpr double kNoiseResolution = 5e-8;  // CarrierResult.snr_db
  const double of_noise =
      10.0 / std::log(10.0) * (2.0 * apart * std::sqrt(noise) + kNoiseResolution) / noise;
  const struct {
    const char* name;
    double gpu, cpu, relative, absolute;
  } values[] = {
      {"frequency_stddev", gpu.frequency_stddev(), cpu.frequency_stddev(), 0.01, off},
      {"phase_stddev", gpu.phase_stddev(), cpu.phase_stddev(), 0.01, M_PI * symbols * off},
      {"gain", gpu.gain(), cpu.gain(), 1e-3, 0.0},
      {"snr_db", gpu.snr_db(), cpu.snr_db(), 0.0, 0.01 + of_noise},
      {"evm", gpu.evm(), cpu.evm(), 1e-3, 1e-6 + apart},
      {"peak_ratio", gpu.peak_ratio(), cpu.peak_ratio(), 0.01, 1e-6},
      {"fit", gpu.fit(), cpu.fit(), 1e-3, 0.1},
      {"coarse_frequency", gpu.coarse_frequency(), cpu.coarse_frequency(), 0.0, 1e-4 / symbols},
  };
  for (const auto& value : values) {
    if (!Near(value.gpu, value.cpu, value.relative * std::fabs(value.cpu) + value.absolute)) {
      return absl::StrCat(value.name, " ", value.gpu, " is not ", value.cpu, ", off by ",
                          value.gpu - value.cpu);
    }
  }
  return "";
}

// How far the devices' arithmetic turns a symbol apart, and scales it: that of a rotor of the GPU
// (samples.cuh).
constexpr double kJitter = 1e-6;
// Above 50 dB rounding moves the SNR by more than the tolerance, so that few tries hit.
constexpr int kJitters = 128;

// The request with each sample, as float32, up to kJitter of it elsewhere.
v1::RecoverCarrierRequest Jittered(const v1::RecoverCarrierRequest& request,
                                   testing::Random& random) {
  v1::RecoverCarrierRequest jittered = request;
  jittered.clear_payload();
  const auto* samples = reinterpret_cast<const uint8_t*>(request.payload().data());
  for (v1::CarrierGroup& group : *jittered.mutable_groups()) {
    carrier::Parameters parameters;  // their scale stays 1: the group's is applied by the server
    const bool is_int16 = group.format() == v1::SAMPLE_FORMAT_INT16;
    if (is_int16) parameters.format = carrier::SampleFormat::kInt16;
    if (group.format() == v1::SAMPLE_FORMAT_FLOAT16) {
      parameters.format = carrier::SampleFormat::kFloat16;
    }
    if (is_int16 && group.scale() == 0.0F) group.set_scale(1.0F / 32768);
    group.set_format(v1::SAMPLE_FORMAT_FLOAT32);
    group.set_corrected(false);
    const int64_t count = int64_t{group.count()} *
                          (group.has_timing() ? group.frame_samples() : group.frame_symbols());
    for (int64_t n = 0; n < count; ++n) {
      const carrier::Iq r = carrier::ReadSymbol(parameters, samples, n);
      const auto along = static_cast<double>(1 + kJitter * testing::Between(-1.0, 1.0, random));
      const double across = kJitter * testing::Between(-1.0, 1.0, random);
      const float moved[2] = {static_cast<float>(r.i * along - r.q * across),
                              static_cast<float>(r.q * along + r.i * across)};
      jittered.mutable_payload()->append(reinterpret_cast<const char*>(moved), sizeof(moved));
    }
    samples += count * carrier::BytesPerSymbol(parameters.format);
  }
  return jittered;
}
}  // namespace

std::string CompareRecoverCarrier(const v1::RecoverCarrierRequest& request,
                                  const v1::RecoverCarrierResponse& gpu,
                                  const v1::RecoverCarrierResponse& cpu,
                                  const RecoverOnCpu& on_cpu) {
  if (gpu.curve_points().size() != cpu.curve_points().size() ||
      gpu.payload().size() != cpu.payload().size() || gpu.frames_size() != cpu.frames_size()) {
    return "sizes differ";
  }
  if (gpu.timings_size() != cpu.timings_size() || gpu.reaches_size() != cpu.reaches_size()) {
    return "sizes differ";
  }
  struct Frame {
    const v1::CarrierGroup* group = nullptr;
    double symbols = 0.0;
    int timing = -1;
  };
  std::vector<Frame> frames;
  int timings = 0;
  for (int g = 0; g < request.groups_size(); ++g) {
    for (uint32_t i = 0; i < request.groups(g).count(); ++i) {
      frames.push_back({&request.groups(g), static_cast<double>(cpu.reaches(g).frame_symbols()),
                        request.groups(g).has_timing() ? timings++ : -1});
    }
  }
  const auto compare = [&](const v1::RecoverCarrierResponse& answer, int f) {
    const Frame& frame = frames[static_cast<size_t>(f)];
    if (frame.timing >= 0) {
      std::string difference =
          CompareTiming(gpu.timings(frame.timing), answer.timings(frame.timing));
      if (!difference.empty()) return difference;
      // What follows from a guess may be anything.
      if (gpu.timings(frame.timing).lock() != v1::TIMING_LOCK_LOCKED) return std::string();
    }
    return CompareFrame(*frame.group, gpu.frames(f), answer.frames(f), frame.symbols);
  };
  std::vector<int> differ;
  for (int f = 0; f < gpu.frames_size(); ++f) {
    if (!compare(cpu, f).empty()) differ.push_back(f);
  }
  testing::Random random(1);
  for (int i = 0; i < kJitters && !differ.empty(); ++i) {
    const v1::RecoverCarrierResponse answer = on_cpu(Jittered(request, random));
    differ.erase(std::remove_if(differ.begin(), differ.end(),
                                [&](int f) { return compare(answer, f).empty(); }),
                 differ.end());
  }
  if (differ.empty()) return "";
  const int f = differ.front();
  return absl::StrCat("frame ", f, ": ", compare(cpu, f), "; group ",
                      frames[static_cast<size_t>(f)].group->ShortDebugString());
}

}  // namespace baseband::server
