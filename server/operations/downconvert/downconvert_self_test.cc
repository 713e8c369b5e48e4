// Channels whose outputs are known, for every lane before it serves.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/downconvert/downconvert.h"
#include "kernels/downconvert/gpu_plan.h"
#include "server/jobs/self_test.h"
#include "server/operations/downconvert/downconvert.h"

namespace baseband::server {
namespace {

// A tone among kCount channels of one filter, the first of which has it at 0 Hz. What is expected
// is summed up in double precision, from phases that are whole multiples of 1 / kDen turns. Enough
// channels for a GPU to take int16 as integers.
absl::Status TestFormat(const Operation& operation, SelfTestBench& bench,
                        downconvert::InputFormat format) {
  constexpr int kCount = downconvert::gpu::kMinFixedChannels + 1;
  constexpr int kSamples = 1000;
  constexpr int kDown = 3;
  constexpr int kTone = 123;  // of kDen cycles per sample
  constexpr int kDen = 1000;
  constexpr double kTolerance = 1e-5;
  const auto turned = [](int64_t num, int64_t n) {
    return std::polar(1.0, 2.0 * M_PI * static_cast<double>(num * n % kDen) / kDen);
  };
  const auto num_of = [](int channel) { return kTone - 100 * channel; };
  std::vector<float> taps;
  for (int k = 0; k < 24; ++k) {
    taps.push_back(static_cast<float>(std::min(k + 1, 26 - k)) /
                   256.0F);  // no mirror image of itself
  }
  BASEBAND_ASSIGN_OR_RETURN(const downconvert::FilterPtr filter,
                            downconvert::Filter::FromTaps(taps, /*up=*/1, kDown));
  auto channels = std::make_shared<std::vector<downconvert::Channel>>(kCount);
  for (int c = 0; c < kCount; ++c) {
    downconvert::Channel& channel = (*channels)[static_cast<size_t>(c)];
    BASEBAND_ASSIGN_OR_RETURN(const downconvert::Frequency frequency,
                              downconvert::Frequency::FromFraction(num_of(c), kDen));
    BASEBAND_ASSIGN_OR_RETURN(channel.phase, downconvert::PhaseTrack::Create(frequency, 0.0, {}));
    channel.filter = filter;
  }
  downconvert::Block block;
  block.format = format;
  block.num_samples = kSamples;
  std::string payload;
  std::vector<std::complex<double>> samples;  // as they are rounded
  const auto add = [&payload](auto i, auto q) {
    payload.append(reinterpret_cast<const char*>(&i), sizeof(i));
    payload.append(reinterpret_cast<const char*>(&q), sizeof(q));
    return std::complex<double>(i, q);
  };
  for (int n = 0; n < kSamples; ++n) {
    const std::complex<double> tone = turned(kTone, n);
    if (format == downconvert::InputFormat::kInt16) {
      block.scale = 0x1p-15F;
      const auto rounded = [](double part) {
        return static_cast<int16_t>(std::lrint(32767 * part));
      };
      samples.push_back(add(rounded(tone.real()), rounded(tone.imag())) * 0x1p-15);
    } else {
      samples.push_back(add(static_cast<float>(tone.real()), static_cast<float>(tone.imag())));
    }
  }
  BASEBAND_ASSIGN_OR_RETURN(
      const JobPtr done,
      bench.Run(std::make_unique<DownconvertJob>(operation, channels, block, DownconvertPast()),
                payload));
  const auto& job = static_cast<const DownconvertJob&>(*done);
  for (int c = 0; c < kCount; ++c) {
    const auto at = static_cast<size_t>(c);
    const uint8_t* const output = job.reply.data() + job.reply_offsets()[at];
    for (int64_t m = 0; m < job.ranges()[at].count; ++m) {
      std::complex<double> expected = 0.0;
      for (int64_t k = 0; k < static_cast<int64_t>(taps.size()) && k <= m * kDown; ++k) {
        const int64_t n = m * kDown - k;
        expected += static_cast<double>(taps[static_cast<size_t>(k)]) *
                    samples[static_cast<size_t>(n)] * turned(-num_of(c), n);
      }
      float found[2];
      std::memcpy(found, output + m * static_cast<int64_t>(sizeof(found)), sizeof(found));
      if (!(std::abs(std::complex<double>(found[0], found[1]) - expected) <= kTolerance)) {
        return absl::InternalError(absl::StrCat("has in channel ", c, " ", found[0], " + ",
                                                found[1], "j as output ", m, " instead of ",
                                                expected.real(), " + ", expected.imag(), "j"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status TestDownconvert(const Operation& operation, SelfTestBench& bench) {
  BASEBAND_RETURN_IF_ERROR(TestFormat(operation, bench, downconvert::InputFormat::kFloat32));
  return TestFormat(operation, bench, downconvert::InputFormat::kInt16);
}

}  // namespace baseband::server
