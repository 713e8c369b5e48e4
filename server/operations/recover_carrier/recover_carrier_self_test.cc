// A carrier that is known, and a timing, for every lane before it serves.
#include <cmath>
#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/carrier/model.h"
#include "kernels/carrier/recover.h"
#include "server/jobs/self_test.h"
#include "server/operations/recover_carrier/recover_carrier.h"

namespace baseband::server {

namespace {

constexpr int kTestedFrames = 5;  // frames alike
constexpr int kTestedSymbols = 300;
constexpr double kTestedFrequency = 0.0123;  // that no FFT bin has
constexpr double kFrequencyTolerance = 1e-6;
// A symbol half way between two samples, by a filter that is cut off, without noise.
constexpr double kTestedOffset = 0.25;
constexpr double kOffsetTolerance = 0.01;
constexpr double kFilteredTolerance = 1e-4;  // of the frequency, then

using TestedSignal = std::vector<std::complex<double>>;

// All points about equally often, as a frame's are that is no tone.
TestedSignal TestedSymbols(const carrier::Constellation& qpsk, int count) {
  TestedSignal symbols;
  uint32_t scrambler = 1;
  for (int n = 0; n < count; ++n) {
    scrambler = scrambler * 1664525U + 1013904223U;
    const carrier::Iq sent = qpsk.points()[scrambler >> 30];
    symbols.emplace_back(sent.i, sent.q);
  }
  return symbols;
}

// kTestedFrames times `received`, turned by the carrier, whose element n is at symbol n / `rate`.
std::string PayloadOf(const TestedSignal& received, double rate) {
  std::vector<carrier::Iq> frame;
  for (size_t n = 0; n < received.size(); ++n) {
    const std::complex<double> turned =
        received[n] *
        std::polar(1.0, 2.0 * M_PI * kTestedFrequency * static_cast<double>(n) / rate);
    frame.push_back({static_cast<float>(turned.real()), static_cast<float>(turned.imag())});
  }
  std::string payload;
  for (int f = 0; f < kTestedFrames; ++f) {
    payload.append(reinterpret_cast<const char*>(frame.data()), frame.size() * sizeof(carrier::Iq));
  }
  return payload;
}

// Samples of pulses whose first lies kTestedOffset symbols behind the first sample, two to a
// symbol: made with the taps of the filter that is matched to them. Symbols go on beyond both ends.
TestedSignal TestedSamples(const timing::Pulse& pulse, const carrier::Constellation& qpsk,
                           int num_samples) {
  constexpr int kRate = 2;
  const timing::PulseView view = pulse.view();
  const auto row = static_cast<int>(std::lround(kRate * kTestedOffset * view.rows));
  const int before = pulse.span() + 1;
  const TestedSignal symbols = TestedSymbols(qpsk, kTestedSymbols + 2 * before);
  TestedSignal samples(static_cast<size_t>(num_samples));
  for (size_t k = 0; k < symbols.size(); ++k) {
    const int first = kRate * (static_cast<int>(k) - before) - view.before;
    for (int j = 0; j < view.taps; ++j) {
      if (first + j < 0 || first + j >= num_samples) continue;
      samples[static_cast<size_t>(first + j)] +=
          symbols[k] * double{kRate * view.taps_of[row * view.row_taps + j].value};
    }
  }
  return samples;
}

absl::StatusOr<JobPtr> RunGroup(const Operation& operation, SelfTestBench& bench,
                                RecoverCarrierGroup group, const std::string& payload) {
  std::vector<RecoverCarrierGroup> groups;
  groups.push_back(std::move(group));
  return bench.Run(std::make_unique<RecoverCarrierJob>(operation, std::move(groups)), payload);
}

absl::Status CheckCarriers(const RecoverCarrierJob& job, double tolerance) {
  for (size_t f = 0; f < job.results.size(); ++f) {
    const carrier::Result& result = job.results[f];
    if (result.lock != carrier::Lock::kLocked ||
        !(std::abs(result.frequency - kTestedFrequency) < tolerance)) {
      return absl::InternalError(
          absl::StrCat("found frame ", f, " ", kLockNames[static_cast<size_t>(result.lock)], " at ",
                       result.frequency, " cycles a symbol, not locked at ", kTestedFrequency));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTimings(const RecoverCarrierJob& job) {
  for (size_t f = 0; f < job.timings.size(); ++f) {
    const timing::Result& timing = job.timings[f];
    if (timing.lock != timing::Lock::kLocked ||
        !(std::abs(timing.offset - kTestedOffset) < kOffsetTolerance)) {
      return absl::InternalError(absl::StrCat(
          "found the timing of frame ", f, " ", kTimingLockNames[static_cast<size_t>(timing.lock)],
          " at ", timing.offset, " symbols, not locked at ", kTestedOffset));
    }
  }
  return absl::OkStatus();
}

}  // namespace

// QPSK without noise.
absl::Status TestRecoverCarrier(const Operation& operation, SelfTestBench& bench) {
  BASEBAND_ASSIGN_OR_RETURN(carrier::ConstellationPtr qpsk,
                            carrier::Constellation::FromName("QPSK"));
  RecoverCarrierGroup group;
  BASEBAND_ASSIGN_OR_RETURN(
      group.model, carrier::Model::Create(qpsk, carrier::Amplitude::kWeighted, /*power=*/0));
  group.count = kTestedFrames;
  group.frame_symbols = kTestedSymbols;
  BASEBAND_ASSIGN_OR_RETURN(
      const JobPtr of_symbols,
      RunGroup(operation, bench, group,
               PayloadOf(TestedSymbols(*qpsk, kTestedSymbols), /*rate=*/1.0)));
  BASEBAND_RETURN_IF_ERROR(
      CheckCarriers(static_cast<const RecoverCarrierJob&>(*of_symbols), kFrequencyTolerance));

  BASEBAND_ASSIGN_OR_RETURN(group.pulse, timing::Pulse::Create(timing::PulseShape()));
  group.frame_samples =
      static_cast<int>(timing::SamplesFor(group.pulse->shape(), group.timing, group.frame_symbols));
  const TestedSignal samples = TestedSamples(*group.pulse, *qpsk, group.frame_samples);
  BASEBAND_ASSIGN_OR_RETURN(const JobPtr of_samples,
                            RunGroup(operation, bench, group, PayloadOf(samples, /*rate=*/2.0)));
  const auto& job = static_cast<const RecoverCarrierJob&>(*of_samples);
  BASEBAND_RETURN_IF_ERROR(CheckTimings(job));
  return CheckCarriers(job, kFilteredTolerance);
}

}  // namespace baseband::server
