#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "absl/strings/str_format.h"
#include "client/ctl/common/angles.h"
#include "client/ctl/studies/carrier_bench.h"

namespace baseband::ctl {
namespace {

// FNV-1a, for a stream of each constellation's own.
uint64_t Hash(absl::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  }
  return hash;
}

double Rms(double sum_of_squares, int count) {
  return count > 0 ? std::sqrt(sum_of_squares / count) : NAN;
}

}  // namespace

void Bench::Say(absl::string_view line) {
  bar_.Clear();
  if (!session_.flags().json) {
    absl::FPrintF(report_, "%s\n", line);
    std::fflush(report_);
  }
}

double Frames::CentrePhase(int frame) const {
  return phase[frame] + kTwoPi * frequency[frame] * (num_symbols - 1) / 2;
}

Frames MakeFrames(const FramesSpec& spec) {
  Frames frames;
  frames.num_symbols = spec.num_symbols;
  frames.symmetry = spec.known.empty() ? spec.constellation->symmetry : 1;
  frames.frequency.resize(spec.count);
  frames.phase.resize(spec.count);
  frames.sent.resize(int64_t{spec.count} * spec.num_symbols);
  std::vector<Complex> received(frames.sent.size());
  const uint64_t stream = (Hash(spec.constellation->name) * 1000003u +
                           static_cast<uint64_t>(std::llround(spec.snr_db * 1000))) *
                          1000003u;
  std::atomic<int> next{0};
  const auto work = [&] {
    for (int i; (i = next++) < spec.count;) {
      Random random(spec.seed, stream + static_cast<uint64_t>(i));
      SignalSpec signal;
      signal.points = spec.constellation->points;
      signal.num_symbols = spec.num_symbols;
      signal.snr_db = spec.snr_db;
      signal.frequency = Uniform(&random, spec.frequency - spec.frequency_range,
                                 spec.frequency + spec.frequency_range);
      const double phase = Uniform(&random, -kTwoPi / 2, kTwoPi / 2);
      signal.phase = std::isnan(spec.phase) ? phase : spec.phase;
      frames.frequency[i] = signal.frequency;
      frames.phase[i] = signal.phase;
      std::vector<Complex> sent;
      std::vector<Complex> noisy;
      AppendFrame(signal, spec.known_positions, spec.known, &random, &sent, &noisy);
      std::copy(sent.begin(), sent.end(), frames.sent.begin() + int64_t{i} * spec.num_symbols);
      std::copy(noisy.begin(), noisy.end(), received.begin() + int64_t{i} * spec.num_symbols);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back(work);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  frames.received = FromComplex(received, v1::SAMPLE_FORMAT_FLOAT32, 1);
  return frames;
}

v1::CarrierGroup GroupOf(const FramesSpec& spec) {
  v1::CarrierGroup group;
  group.mutable_constellation()->set_name(spec.constellation->name);
  group.set_frame_symbols(static_cast<uint32_t>(spec.num_symbols));
  group.set_reference(v1::PHASE_REFERENCE_CENTRE);
  return group;
}

Accuracy Compare(const Frames& frames, const std::vector<v1::CarrierResult>& results,
                 double tolerance) {
  Accuracy accuracy;
  accuracy.frames = frames.count();
  double frequency = 0;
  double phase = 0;
  double frequency_variance = 0;
  double phase_variance = 0;
  int counted = 0;
  for (int i = 0; i < frames.count(); ++i) {
    const v1::CarrierResult& result = results[i];
    const double error = result.frequency() - frames.frequency[i];
    const bool right = std::abs(error) <= tolerance;
    const bool locked = result.lock() == v1::CARRIER_LOCK_LOCKED;
    accuracy.locked += locked;
    accuracy.right += right;
    accuracy.locked_wrong += locked && !right;
    accuracy.locked_unsure += locked && static_cast<int>(result.ambiguity()) > frames.symmetry;
    if (locked && right) {
      ++counted;
      const double phase_error = WrapPhase(result.phase() - frames.CentrePhase(i),
                                           static_cast<int>(std::max(1U, result.ambiguity())));
      accuracy.locked_off += std::abs(error) > 6 * result.frequency_stddev() ||
                             std::abs(phase_error) > 6 * result.phase_stddev();
      frequency += error * error;
      phase += phase_error * phase_error;
      frequency_variance += result.frequency_stddev() * result.frequency_stddev();
      phase_variance += result.phase_stddev() * result.phase_stddev();
    }
  }
  accuracy.frequency_rms = Rms(frequency, counted);
  accuracy.phase_rms = Rms(phase, counted);
  accuracy.frequency_predicted = Rms(frequency_variance, counted);
  accuracy.phase_predicted = Rms(phase_variance, counted);
  return accuracy;
}

}  // namespace baseband::ctl
