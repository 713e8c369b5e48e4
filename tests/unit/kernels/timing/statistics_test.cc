// Errors of offset and clock against the Cramer-Rao bound of a blind receiver, from the
// constellation's operating point on.
#include <cmath>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/timing/reference/reference.h"
#include "tests/unit/kernels/timing/timed.h"

namespace baseband::timing {
namespace {

struct Study {
  const char* name;
  double rolloff;
  int samples;
  int symbols;
  int num_symbols;
  double above_db;  // the operating point
  int frames;
  bool known;
  enum { kRootRaisedCosine, kWindowed, kStraightEdge } pulse = kRootRaisedCosine;
};

// A windowed pulse needs more band than the one that was cut.
PulseShape PulseOf(const Study& study) {
  std::shared_ptr<const PulseTaps> taps;
  if (study.pulse == Study::kWindowed) taps = testing::WindowedTaps(study.rolloff - 0.1, 4, 10);
  if (study.pulse == Study::kStraightEdge) taps = testing::StraightEdgeTaps(study.rolloff, 3, 20);
  return {study.rolloff, study.samples, study.symbols, taps};
}

std::ostream& operator<<(std::ostream& out, const Study& study) {
  return out << study.name << ", roll-off " << study.rolloff << ", " << study.samples << " to "
             << study.symbols << ", " << study.num_symbols << " symbols"
             << (study.known ? ", known" : "")
             << (study.pulse == Study::kRootRaisedCosine ? "" : ", by its taps") << ", +"
             << study.above_db << " dB";
}

class TimingStatisticsTest : public ::testing::TestWithParam<Study> {};

TEST_P(TimingStatisticsTest, ErrorsAreWithinATenthOfTheBound) {
  const Study& study = GetParam();
  Receiver receiver = ReceiverOf(study.name, PulseOf(study));
  // Far from what the bound leaves of a short frame: the range does not help.
  receiver.parameters.max_clock_error = study.num_symbols < 4000 ? 1e-3 : 1e-4;
  if (study.known) receiver.carrier.coarse = carrier::Coarse::kKnown;
  const carrier::Constellation& constellation = receiver.model->constellation();
  const double snr_db = constellation.operating_snr_db() + study.above_db;
  const double share = study.known
                           ? 1.0
                           : ReferenceBlindShare(constellation, snr_db,
                                                 receiver.pulse->facts().neighbour_share, 40000);
  ASSERT_GT(share, 0.1);
  const double n = study.num_symbols;
  const double bound =
      1.0 / (2.0 * n * std::pow(10.0, 0.1 * snr_db) * receiver.pulse->facts().bandwidth * share);
  double centre = 0.0;
  double clock = 0.0;
  double first = 0.0;
  int locked = 0;
  for (int frame = 0; frame < study.frames; ++frame) {
    TimingSpec spec = SpecOf(receiver, study.num_symbols, snr_db, static_cast<uint64_t>(frame) + 1);
    if (study.known) spec.offset = 0.25 + 0.5 * spec.offset;
    const TimingSamples made = testing::MakeSamples(spec);
    std::vector<Iq> known;
    if (study.known) known.assign(made.sent.begin(), made.sent.begin() + study.num_symbols);
    const Timed timed = Recover(receiver, made.samples, known);
    if (timed.recovered.timing.lock != Lock::kLocked || timed.recovered.timing.refined == 0)
      continue;
    ++locked;
    const Off off = OffOf(timed, spec);
    centre += off.centre * off.centre;
    clock += off.clock * off.clock * n * n;
    first += off.first * off.first;
  }
  EXPECT_GE(locked, study.frames * 7 / 10);
  // 1.1 of the bound's deviation, and what so few frames' mean squares scatter by.
  const double limit = 1.1 * (1.0 + 2.0 / std::sqrt(2.0 * locked));
  const double centre_ratio = std::sqrt(centre / locked / bound);
  const double clock_ratio = std::sqrt(clock / locked / (12.0 * bound));
  const double first_ratio = std::sqrt(first / locked / (4.0 * bound));
  RecordProperty("centre", std::to_string(centre_ratio));
  RecordProperty("clock", std::to_string(clock_ratio));
  EXPECT_LT(centre_ratio, limit);
  EXPECT_LT(clock_ratio, limit);
  EXPECT_LT(first_ratio, limit);
  EXPECT_GT(centre_ratio, 0.8 * (1.0 - 2.0 / std::sqrt(2.0 * locked)));
  EXPECT_GT(clock_ratio, 0.8 * (1.0 - 2.0 / std::sqrt(2.0 * locked)));
}

INSTANTIATE_TEST_SUITE_P(
    OperatingPoint, TimingStatisticsTest,
    ::testing::Values(Study{"QPSK", 0.05, 2, 1, 32400, 0.0, 30, false},
                      Study{"QPSK", 0.35, 5, 2, 16200, 0.0, 40, false},
                      Study{"8PSK", 0.2, 2, 1, 16200, 0.0, 40, false},
                      Study{"16APSK 3/4", 0.05, 2, 1, 16200, 0.0, 40, false},
                      Study{"16APSK 3/4", 0.35, 4, 1, 8100, 0.0, 50, false},
                      Study{"32APSK 3/4", 0.2, 5, 2, 12960, 0.0, 40, false},
                      Study{"64APSK 128/180", 0.05, 2, 1, 10800, 0.0, 40, false},
                      Study{"64APSK 128/180", 0.2, 4, 1, 1024, 0.0, 100, false}));
INSTANTIATE_TEST_SUITE_P(ShortFrames, TimingStatisticsTest,
                         ::testing::Values(Study{"QPSK", 0.35, 2, 1, 1024, 0.0, 100, true},
                                           Study{"QPSK", 0.2, 5, 2, 1024, 4.0, 100, false},
                                           Study{"8PSK", 0.35, 2, 1, 1024, 4.0, 100, false},
                                           Study{"16APSK 3/4", 0.2, 2, 1, 1024, 4.0, 100, false},
                                           Study{"32APSK 3/4", 0.35, 2, 1, 1024, 4.0, 100, false},
                                           Study{"64APSK 128/180", 0.05, 2, 1, 1024, 4.0, 100,
                                                 false}));
INSTANTIATE_TEST_SUITE_P(
    OwnPulses, TimingStatisticsTest,
    ::testing::Values(Study{"QPSK", 0.3, 2, 1, 8100, 0.0, 50, false, Study::kWindowed},
                      Study{"QPSK", 0.25, 5, 2, 8100, 0.0, 50, false, Study::kStraightEdge},
                      Study{"8PSK", 0.45, 4, 1, 16200, 0.0, 40, false, Study::kWindowed},
                      Study{"16APSK 3/4", 0.35, 2, 1, 8100, 0.0, 50, false, Study::kStraightEdge},
                      Study{"QPSK", 0.3, 2, 1, 1024, 0.0, 100, true, Study::kWindowed}));

}  // namespace
}  // namespace baseband::timing
