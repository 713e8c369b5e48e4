// How far RecoverCarrier's answers are to be trusted, by many frames with fixed seeds, on the CPU
// device; five studies in one file, for they share what they are counted by. A line begins with
// WRONG if it shows what must never be.
//
//   carrier_trials STUDY [frames [threads [name ..]]]
//
//   aliases     every constellation at all offsets that it can tell, from 2 dB below its
//               operating point on, beside what a receiver that knew all but the alias could tell
//   deviations  (estimate - truth) / stddev by every method, noise alone
//   short       the same for 16 .. 130 symbols
//   disturbed   phase noise, drift, a jump
//   foreign     signals that are not what is declared
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/carrier/math/estimate_math.h"
#include "kernels/carrier/math/soft_math.h"
#include "kernels/carrier/recover.h"
#include "tests/support/carrier_frames.h"
#include "tests/support/channel.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::CarrierFrame;
using ::baseband::testing::FrameSpec;
using ::baseband::testing::WrappedDifference;

constexpr double kPi = 3.14159265358979323846;

struct Options {
  int frames = 20;
  int threads = 2;
  std::vector<std::string> names;
};

// Runs jobs 0 .. count - 1, each of which makes a piece of text, and prints each as it is done.
void PrintAll(int count, int threads, const std::function<std::string(int)>& job) {
  std::atomic<int> next{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      for (int k = next++; k < count; k = next++) {
        std::fputs(job(k).c_str(), stdout);
        std::fflush(stdout);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

template <typename... Values>
std::string Format(const char* format, Values... values) {
  char text[400];
  std::snprintf(text, sizeof(text), format, values...);
  return text;
}

ModelPtr ModelOf(const std::string& name) {
  return *Model::Create(*Constellation::FromName(name), Amplitude::kWeighted, 0);
}

int BitsOf(const Constellation& constellation) {
  return static_cast<int>(std::lround(std::log2(constellation.size())));
}

Result Recover(const Model& model, const Parameters& parameters, const CarrierFrame& frame) {
  return RecoverOnCpu(model, parameters, testing::ToSamples(frame.symbols, SampleFormat::kFloat32),
                      frame.known, {}, {});
}

// ---- aliases ------------------------------------------------------------------------------------

// By how many nats the carrier that is there fits better than the best f + k / p, every phase of it
// included: what a receiver that knew all but that could tell.
double OracleGap(const Model& model, const FrameSpec& spec, const CarrierFrame& frame) {
  const ModelView view = model.view();
  const int p = view.power;
  const int branches = p / view.symmetry;
  if (branches == 1) return 1e9;
  const int table = TableOf(view, spec.snr_db);
  std::vector<double> fits(static_cast<size_t>(branches * branches), 0.0);
  std::vector<double> by_turn(static_cast<size_t>(branches * branches), 0.0);
  for (size_t n = 0; n < frame.symbols.size(); ++n) {
    const double back = spec.frequency * static_cast<double>(n) + spec.phase / (2.0 * kPi);
    for (int turn = 0; turn < branches; ++turn) {
      const Turned t = Turn(back + static_cast<double>(turn) / p);
      const Iq r = frame.symbols[n];
      const auto g = static_cast<float>(1.0 / spec.gain);
      const Iq z = {g * (r.i * t.c + r.q * t.s), g * (r.q * t.c - r.i * t.s)};
      by_turn[static_cast<size_t>(turn * branches) + n % static_cast<size_t>(branches)] +=
          static_cast<double>(CoarseFit(view, table, z));
    }
  }
  double right = -1e300;
  double other = -1e300;
  for (int alias = 0; alias < branches; ++alias) {
    for (int branch = 0; branch < branches; ++branch) {
      double fit = 0.0;
      for (int n = 0; n < branches; ++n) {
        const int turn = (alias * n + branch) % branches;
        fit += by_turn[static_cast<size_t>(turn * branches + n)];
      }
      double& best = alias == 0 ? right : other;
      best = std::max(best, fit);
    }
  }
  return right - other;
}

std::string Aliases(const std::string& name, int frames) {
  const ModelPtr model = ModelOf(name);
  const Constellation& constellation = model->constellation();
  const double period = 1.0 / constellation.symmetry();
  std::string text;
  for (const double above_db : {-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0}) {
    FrameSpec spec;
    spec.constellation = *Constellation::FromName(name);
    spec.num_symbols = 64800 / BitsOf(constellation);
    spec.snr_db = constellation.operating_snr_db() + above_db;
    spec.gain = 1.3;
    int locked = 0;
    int wrong = 0;
    int by_lock[5] = {};
    int could = 0;   // the oracle is sure
    int missed = 0;  // and we are not
    double worst = 0.0;
    for (int k = 0; k < frames; ++k) {
      spec.seed = static_cast<uint64_t>(1000 + k);
      const FrameSpec drawn = testing::WithRandomOffset(spec, 0.5 * period);
      const CarrierFrame frame = testing::MakeFrame(drawn);
      const Result result = Recover(*model, {}, frame);
      ++by_lock[static_cast<int>(result.lock)];
      const double gap = OracleGap(*model, drawn, frame);
      const bool is_locked = result.lock == Lock::kLocked;
      if (gap > 14.0) {
        ++could;
        missed += is_locked ? 0 : 1;
      }
      if (!is_locked) continue;
      ++locked;
      const double off = WrappedDifference(result.frequency, drawn.frequency, period);
      wrong += std::fabs(off) * spec.num_symbols > 0.5 ? 1 : 0;
      if (std::fabs(off) * spec.num_symbols <= 0.5) {
        worst = std::max(worst, std::fabs(off) / static_cast<double>(result.frequency_stddev));
      }
    }
    text += Format(
        "%s%-22s p %2d of %d  %+3.0f dB: locked %4d, wrong %d, no peak %d, ambiguous %d, "
        "bad fit %d; tellable %d, of them not locked %d; worst %.2f deviations\n",
        wrong > 0 || worst > 5.5 ? "WRONG " : "", name.c_str(), model->power(),
        constellation.symmetry(), above_db, locked, wrong, by_lock[2], by_lock[3], by_lock[4],
        could, missed, worst);
  }
  return text;
}

// ---- deviations ---------------------------------------------------------------------------------

struct Scores {
  int frames = 0;
  int locked = 0;
  int wrong = 0;     // more than half a bin off
  int zero = 0;      // a deviation of 0
  int beyond = 0;    // 4 deviations
  int outliers = 0;  // 5 deviations
  double squares[2] = {};
  double worst[2] = {};

  void Add(const Result& result, const FrameSpec& spec, double period) {
    ++frames;
    if (result.lock != Lock::kLocked) return;
    ++locked;
    if (!(result.frequency_stddev > 0.0F) || !(result.phase_stddev > 0.0F)) {
      ++zero;
      return;
    }
    const double off = WrappedDifference(result.frequency, spec.frequency, period);
    if (std::fabs(off) * spec.num_symbols > 1.0) {
      ++wrong;
      return;
    }
    const double z[2] = {off / static_cast<double>(result.frequency_stddev),
                         WrappedDifference(result.phase, spec.phase, 2.0 * kPi / result.ambiguity) /
                             static_cast<double>(result.phase_stddev)};
    for (int k = 0; k < 2; ++k) {
      squares[k] += z[k] * z[k];
      worst[k] = std::max(worst[k], std::fabs(z[k]));
      beyond += std::fabs(z[k]) > 4.0 ? 1 : 0;
      outliers += std::fabs(z[k]) > 5.0 ? 1 : 0;
    }
  }
  std::string Text(const std::string& what) const {
    const double count = std::max(locked - wrong - zero, 1);
    return Format(
        "%s%-58s locked %5d of %5d, wrong %d, zero %d; rms %5.2f %5.2f, worst %6.2f %6.2f, "
        "beyond 4: %d, 5: %d\n",
        wrong + zero + outliers > 0 ? "WRONG " : "", what.c_str(), locked, frames, wrong, zero,
        std::sqrt(squares[0] / count), std::sqrt(squares[1] / count), worst[0], worst[1], beyond,
        outliers);
  }
};

const Fine kFines[] = {Fine::kNone, Fine::kInterpolate, Fine::kSweep, Fine::kRemodulate,
                       Fine::kPll};
const char* const kFineNames[] = {"none", "interpolate", "sweep", "remodulate", "pll"};

// Of one constellation and length, at one SNR: all methods.
std::string Deviations(const std::string& name, int num_symbols, double above_db, int frames) {
  const ModelPtr model = ModelOf(name);
  const double period = 1.0 / model->constellation().symmetry();
  FrameSpec spec;
  spec.constellation = *Constellation::FromName(name);
  spec.num_symbols = num_symbols;
  spec.snr_db = model->constellation().operating_snr_db() + above_db;
  spec.gain = 0.8;
  std::string text;
  for (const Fine fine : kFines) {
    for (const bool interpolate : {false, true}) {
      if (interpolate && fine != Fine::kSweep) continue;
      Parameters parameters;
      parameters.fine = fine;
      parameters.sweep_step = 0.02 / num_symbols;
      parameters.sweep_interpolate = interpolate;
      Scores scores;
      // The slow ones fewer times.
      const int count = fine == Fine::kSweep ? frames / 4 : frames;
      for (int k = 0; k < count; ++k) {
        spec.seed = static_cast<uint64_t>(5000 + k);
        const FrameSpec drawn = testing::WithRandomOffset(spec, 0.5 * period);
        scores.Add(Recover(*model, parameters, testing::MakeFrame(drawn)), drawn, period);
      }
      text +=
          scores.Text(Format("%s, %d symbols, %+.0f dB, %s%s", name.c_str(), num_symbols, above_db,
                             kFineNames[static_cast<int>(fine)], interpolate ? " between" : ""));
    }
  }
  return text;
}

// ---- what disturbs a carrier
// ----------------------------------------------------------------------

enum class Disturbance { kPhaseNoise, kDrift, kJump };
const char* const kDisturbances[] = {"phase noise", "drift", "jump"};

// Of `size`: the random walk's rms over the frame in radians; the radians by which a drift bends
// the phase at the ends; the jump's radians.
void Disturb(Disturbance disturbance, double size, uint64_t seed, CarrierFrame* frame) {
  testing::Random random(seed ^ 0xd1570b);
  const auto count = static_cast<double>(frame->symbols.size());
  const double at = (0.2 + 0.6 * random.Uniform()) * count;
  double walk = 0.0;
  for (size_t n = 0; n < frame->symbols.size(); ++n) {
    const double t = (static_cast<double>(n) - 0.5 * count) / count;
    double theta = 0.0;
    switch (disturbance) {
      case Disturbance::kPhaseNoise:
        walk += size / std::sqrt(count) * random.Normal();
        theta = walk;
        break;
      case Disturbance::kDrift:
        theta = size * 4.0 * t * t;
        break;
      case Disturbance::kJump:
        theta = static_cast<double>(n) < at ? 0.0 : size;
        break;
    }
    const double c = std::cos(theta);
    const double s = std::sin(theta);
    const Iq r = frame->symbols[n];
    frame->symbols[n] = {static_cast<float>(r.i * c - r.q * s),
                         static_cast<float>(r.i * s + r.q * c)};
  }
}

std::string Disturbed(const std::string& name, Disturbance disturbance, int frames) {
  const ModelPtr model = ModelOf(name);
  const double period = 1.0 / model->constellation().symmetry();
  std::string text;
  for (const double size : {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0}) {
    for (const double above_db : {4.0, 12.0}) {
      FrameSpec spec;
      spec.constellation = *Constellation::FromName(name);
      spec.num_symbols = 4000;
      spec.snr_db = model->constellation().operating_snr_db() + above_db;
      int locked = 0;
      int wrong = 0;
      double squares = 0.0;
      double worst = 0.0;
      for (int k = 0; k < frames; ++k) {
        spec.seed = static_cast<uint64_t>(9000 + k);
        const FrameSpec drawn = testing::WithRandomOffset(spec, 0.5 * period);
        CarrierFrame frame = testing::MakeFrame(drawn);
        Disturb(disturbance, size, drawn.seed, &frame);
        const Result result = Recover(*model, {}, frame);
        if (result.lock != Lock::kLocked) continue;
        ++locked;
        const double off = WrappedDifference(result.frequency, drawn.frequency, period);
        wrong += std::fabs(off) * spec.num_symbols > 1.0 ? 1 : 0;
        const double z = off / static_cast<double>(result.frequency_stddev);
        squares += z * z;
        worst = std::max(worst, std::fabs(z));
      }
      text += Format(
          "%s%-16s %-11s %5.3f rad, %+3.0f dB: locked %4d of %4d, wrong %d, rms %5.2f, "
          "worst %6.2f deviations\n",
          wrong > 0 || worst > 10.0 ? "WRONG " : "", name.c_str(),
          kDisturbances[static_cast<int>(disturbance)], size, above_db, locked, frames, wrong,
          std::sqrt(squares / std::max(locked, 1)), worst);
    }
  }
  return text;
}

// ---- what is no carrier of the kind
// ---------------------------------------------------------------

enum class Foreign { kTone, kRealNoise, kRealSignal, kTwoTones, kBpsk, kQpsk, kEightPsk };
const char* const kForeign[] = {"CW",   "real noise", "real square wave", "two CWs", "BPSK",
                                "QPSK", "8PSK"};

CarrierFrame MakeForeign(Foreign foreign, int num_symbols, double snr_db, uint64_t seed) {
  testing::Random random(seed * 77 + 5);
  const double f = 0.1 * (2.0 * random.Uniform() - 1.0);
  const double phase = 2.0 * kPi * random.Uniform();
  const double deviation = std::sqrt(0.5 * std::pow(10.0, -0.1 * snr_db));
  CarrierFrame frame;
  for (int n = 0; n < num_symbols; ++n) {
    double amplitude = 1.0;
    double angle = 2.0 * kPi * f * n + phase;
    switch (foreign) {
      case Foreign::kTone:
        break;
      case Foreign::kRealNoise:
        amplitude = random.Normal();
        angle = 0.0;
        break;
      case Foreign::kRealSignal:
        amplitude = std::sin(2.0 * kPi * 0.0123 * n) > 0.0 ? 1.0 : -1.0;
        angle = 0.0;
        break;
      case Foreign::kTwoTones:
        amplitude = std::sqrt(2.0) * std::cos(2.0 * kPi * 0.0371 * n);
        break;
      case Foreign::kBpsk:
        angle += kPi * random.Below(2);
        break;
      case Foreign::kQpsk:
        angle += kPi / 2.0 * random.Below(4);
        break;
      case Foreign::kEightPsk:
        angle += kPi / 4.0 * random.Below(8);
        break;
    }
    const double i = amplitude * std::cos(angle) + deviation * random.Normal();
    const double q = amplitude * std::sin(angle) + deviation * random.Normal();
    frame.symbols.push_back({static_cast<float>(i), static_cast<float>(q)});
  }
  return frame;
}

std::string Foreigner(const std::string& name, int frames) {
  const ModelPtr model = ModelOf(name);
  std::string text;
  for (const Foreign foreign :
       {Foreign::kTone, Foreign::kRealNoise, Foreign::kRealSignal, Foreign::kTwoTones,
        Foreign::kBpsk, Foreign::kQpsk, Foreign::kEightPsk}) {
    if (name == kForeign[static_cast<int>(foreign)]) continue;
    for (const int num_symbols : {64, 1000, 16200}) {
      std::string counts;
      int all = 0;
      for (const double snr_db : {3.0, 10.0, 20.0, 40.0}) {
        int locked = 0;
        for (int k = 0; k < frames; ++k) {
          const CarrierFrame frame =
              MakeForeign(foreign, num_symbols, snr_db, static_cast<uint64_t>(k + 1));
          for (const Fine fine : {Fine::kRemodulate, Fine::kInterpolate, Fine::kPll}) {
            Parameters parameters;
            parameters.fine = fine;
            locked += Recover(*model, parameters, frame).lock == Lock::kLocked ? 1 : 0;
          }
        }
        all += locked;
        counts += Format(" %4d", locked);
      }
      text += Format("%s%-16s as %-16s %5d symbols: locked%s of %d at 3, 10, 20, 40 dB\n",
                     all > 0 ? "WRONG " : "", kForeign[static_cast<int>(foreign)], name.c_str(),
                     num_symbols, counts.c_str(), 3 * frames);
    }
  }
  return text;
}

int Main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  Options options;
  if (argc > 2) options.frames = std::atoi(argv[2]);
  if (argc > 3) options.threads = std::atoi(argv[3]);
  for (int k = 4; k < argc; ++k) options.names.push_back(argv[k]);
  const std::vector<std::string> some = {"BPSK",       "QPSK",  "8PSK",  "16APSK 3/4", "32APSK 3/4",
                                         "64APSK 7/9", "16QAM", "64QAM", "256QAM"};
  std::vector<std::string> names = options.names;
  if (names.empty()) names = what == "aliases" ? ConstellationNames() : some;
  const auto count = static_cast<int>(names.size());
  const auto name_of = [&](int k) { return names[static_cast<size_t>(k)]; };
  if (what == "aliases") {
    PrintAll(count, options.threads, [&](int k) { return Aliases(name_of(k), options.frames); });
  } else if (what == "deviations" || what == "short") {
    const std::vector<int> lengths = what == "short" ? std::vector<int>{16, 21, 23, 33, 64, 99, 130}
                                                     : std::vector<int>{400, 1000, 4000};
    const std::vector<double> above = {0.0, 4.0, 8.0, 14.0};
    const auto sizes = static_cast<int>(lengths.size() * above.size());
    PrintAll(count * sizes, options.threads, [&](int k) {
      const auto size = static_cast<size_t>(k % sizes);
      return Deviations(name_of(k / sizes), lengths[size / above.size()],
                        above[size % above.size()], options.frames);
    });
  } else if (what == "disturbed") {
    PrintAll(3 * count, options.threads, [&](int k) {
      return Disturbed(name_of(k / 3), static_cast<Disturbance>(k % 3), options.frames);
    });
  } else if (what == "foreign") {
    PrintAll(count, options.threads, [&](int k) { return Foreigner(name_of(k), options.frames); });
  } else {
    std::fprintf(stderr, "see the head of %s\n", __FILE__);
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace baseband::carrier

int main(int argc, char** argv) { return baseband::carrier::Main(argc, argv); }
