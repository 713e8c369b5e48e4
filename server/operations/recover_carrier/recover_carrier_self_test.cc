// A carrier that is known, for every lane before it serves.
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

// QPSK without noise, kCount frames alike, whose frequency no FFT bin has.
absl::Status TestRecoverCarrier(const Operation& operation, SelfTestBench& bench) {
  constexpr int kCount = 5;
  constexpr int kSymbols = 300;
  constexpr double kFrequency = 0.0123;
  constexpr double kTolerance = 1e-6;
  BASEBAND_ASSIGN_OR_RETURN(carrier::ConstellationPtr qpsk,
                            carrier::Constellation::FromName("QPSK"));
  RecoverCarrierGroup group;
  BASEBAND_ASSIGN_OR_RETURN(
      group.model,
      carrier::Model::Create(std::move(qpsk), carrier::Amplitude::kWeighted, /*power=*/0));
  group.count = kCount;
  group.frame_symbols = kSymbols;
  std::vector<carrier::Iq> symbols;
  uint32_t scrambler = 1;  // all points about equally often, as a frame's are that is no tone
  for (int n = 0; n < kSymbols; ++n) {
    scrambler = scrambler * 1664525U + 1013904223U;
    const carrier::Iq sent = group.model->constellation().points()[scrambler >> 30];
    const std::complex<double> received =
        std::polar(1.0, 2.0 * M_PI * kFrequency * n) * std::complex<double>(sent.i, sent.q);
    symbols.push_back({static_cast<float>(received.real()), static_cast<float>(received.imag())});
  }
  std::string payload;
  for (int f = 0; f < kCount; ++f) {
    payload.append(reinterpret_cast<const char*>(symbols.data()),
                   symbols.size() * sizeof(carrier::Iq));
  }
  BASEBAND_ASSIGN_OR_RETURN(const JobPtr job,
                            bench.Run(std::make_unique<RecoverCarrierJob>(
                                          operation, std::vector<RecoverCarrierGroup>{group}),
                                      payload));
  const auto& results = static_cast<const RecoverCarrierJob&>(*job).results;
  for (size_t f = 0; f < results.size(); ++f) {
    const carrier::Result& result = results[f];
    if (result.lock != carrier::Lock::kLocked ||
        !(std::abs(result.frequency - kFrequency) < kTolerance)) {
      return absl::InternalError(
          absl::StrCat("found frame ", f, " ", kLockNames[static_cast<size_t>(result.lock)], " at ",
                       result.frequency, " cycles a symbol, not locked at ", kFrequency));
    }
  }
  return absl::OkStatus();
}

}  // namespace baseband::server
