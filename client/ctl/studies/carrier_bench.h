// The experiments of `carrier-bench`: carrier recovery measured through the server, on frames whose
// carrier is known. One file an experiment; here is what they share.
//
// Everything is drawn from (seed, constellation, SNR, frame), whatever is measured with it: methods
// that are compared see the same frames, and a result depends on neither timing nor order.
#ifndef BASEBAND_CLIENT_CTL_STUDIES_CARRIER_BENCH_H_
#define BASEBAND_CLIENT_CTL_STUDIES_CARRIER_BENCH_H_

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/client.h"
#include "client/ctl/carrier/carrier_signal.h"
#include "client/ctl/carrier/constellations.h"
#include "client/ctl/common/session.h"
#include "client/ctl/common/table.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/ldpc/transfer.h"

namespace baseband::ctl {

struct BenchSettings {
  int frames = 0;                           // a point
  std::vector<double> snr_db;               // empty: the experiment's own
  std::vector<std::string> constellations;  // empty: the experiment's own
  int power = 0;                            // 0: the server's choice
  uint64_t seed = 1;
};

// The server and the terminal, for one experiment at a time.
class Bench {
 public:
  Bench(const Session& session, const BenchSettings& settings, std::FILE* report)
      : session_(session), settings_(settings), report_(report), bar_(!session.flags().json) {}

  const BenchSettings& settings() const { return settings_; }
  absl::StatusOr<std::vector<NamedPoints>> Points(std::vector<std::string> names) const {
    return FetchPoints(session_.client(), session_.flags(), std::move(names));
  }
  // Frames of group.frame_symbols() float32 symbols.
  absl::StatusOr<Recovered> Recover(const v1::CarrierGroup& group,
                                    const std::string& received) const {
    return RecoverFrames(session_, group, received);
  }
  // On standard error, for people.
  void Progress(double fraction, absl::string_view text) { bar_.Show(fraction, text); }
  // A line of the report, unless that is for machines.
  void Say(absl::string_view line);

 private:
  const Session& session_;
  const BenchSettings settings_;
  std::FILE* const report_;
  ProgressBar bar_;
};

// Frames of one constellation at one SNR. The carrier is that of each frame: drawn uniformly, the
// frequency around `frequency` within +-`frequency_range`, the phase all around or as given.
struct FramesSpec {
  const NamedPoints* constellation = nullptr;
  int num_symbols = 0;
  int count = 0;
  double snr_db = 0;
  double frequency = 0;
  double frequency_range = 0;
  double phase = NAN;
  std::vector<uint32_t> known_positions;
  std::vector<Complex> known;
  uint64_t seed = 1;
};

struct Frames {
  int num_symbols = 0;
  int symmetry = 1;               // what the phase can be told modulo: 1 with known symbols
  std::vector<double> frequency;  // of each frame
  std::vector<double> phase;      // of its symbol 0
  std::vector<Complex> sent;
  std::string received;  // float32, as a payload

  int count() const { return static_cast<int>(frequency.size()); }
  double CentrePhase(int frame) const;
};

Frames MakeFrames(const FramesSpec& spec);

// A group for such frames, with the default methods, the phase told at the centre.
v1::CarrierGroup GroupOf(const FramesSpec& spec);

// How far estimates are from the truth.
struct Accuracy {
  int frames = 0;
  int locked = 0;
  int right = 0;         // the frequency is within `tolerance`
  int locked_wrong = 0;  // locked, yet not right: must not be
  // Locked and right, yet frequency or phase more than six predicted deviations off: a wrong branch
  // of the phase, or a search that ended too early.
  int locked_off = 0;
  int locked_unsure = 0;  // locked, and the phase told modulo less than the symmetry allows
  // Over the frames that are locked and right; NaN if none is.
  double frequency_rms = NAN;
  double phase_rms = NAN;  // at the centre, modulo 2 pi / ambiguity
  // Root of the mean predicted variance, over the same.
  double frequency_predicted = NAN;
  double phase_predicted = NAN;
};
Accuracy Compare(const Frames& frames, const std::vector<v1::CarrierResult>& results,
                 double tolerance);

// What an experiment leaves behind.
struct BenchResult {
  Table table;
  std::string svg;
};

// Figure 13 of Gao, Yang, Fu: error of the corrected symbols over SNR.
absl::StatusOr<BenchResult> RunFigure13(Bench* bench);
// Frequency and phase against the Cramer-Rao bounds, over SNR, for each constellation.
absl::StatusOr<BenchResult> RunAccuracy(Bench* bench);
// The least SNR at which each constellation's carrier is found.
absl::StatusOr<BenchResult> RunThresholds(Bench* bench);
// Frames that only pilots make recoverable.
absl::StatusOr<BenchResult> RunPilots(Bench* bench);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_STUDIES_CARRIER_BENCH_H_
