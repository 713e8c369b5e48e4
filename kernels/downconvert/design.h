// Inside of filter.h: the design of one stage's taps, and the measuring of responses. All taps here
// are symmetric and odd in number, so that the response is exp(-j pi v (taps - 1)) times a real
// amplitude; v is in cycles per sample of the taps.
//
// What takes long is added to a SlicedWork, and there once that has come to it. Objects that have
// added something stay where they are, and their arguments as well, until it is done.
#ifndef BASEBAND_KERNELS_DOWNCONVERT_DESIGN_H_
#define BASEBAND_KERNELS_DOWNCONVERT_DESIGN_H_

#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/downconvert/alternation.h"
#include "kernels/downconvert/filter.h"
#include "kernels/downconvert/sliced_work.h"

namespace baseband::downconvert {

// About how many taps it takes; odd.
int64_t EstimateTaps(const LowPass& low_pass, Design design);

// The amplitude of symmetric taps, tabulated by a Fourier transform at 32 points a lobe or more,
// with polynomials through six points between them: within 0.1 percent of the local size even at
// the foot of the steepest transition.
class Amplitude {
 public:
  // Adds the table of `taps` to `work`.
  void Tabulate(absl::Span<const double> taps, SlicedWork* work);
  // Bytes that it takes for so many taps, while it is made and then.
  static int64_t BytesOf(int64_t num_taps);
  static int64_t BytesToMake(int64_t num_taps);

  double At(double v) const;  // any v: of period 1
  // The largest |At| over [from, to].
  double LargestOver(double from, double to) const;

 private:
  int64_t half_ = 0;  // table_[k] is at k / (2 half_), k = 0 .. half_
  std::vector<double> table_;
  std::vector<std::vector<double>> largest_;  // level j: the largest |table_| of groups of 2^j
  std::vector<std::complex<double>> values_;  // while it is made, as are
  std::vector<std::complex<double>> turns_;
  size_t reversed_ = 0;
};

// Greatest and least value of a function that is seen at equal steps, peaks between the points
// included: those of the parabola through three of them.
class Extremes {
 public:
  void Add(double value);
  double greatest() const { return greatest_; }
  double least() const { return least_; }

 private:
  double greatest_ = -std::numeric_limits<double>::infinity();
  double least_ = std::numeric_limits<double>::infinity();
  double before_ = 0.0;
  double last_ = 0.0;
  int64_t seen_ = 0;
};

// The largest errors of one low pass.
class LowPassErrors {
 public:
  // Adds the measuring of `taps` to `work`.
  void Measure(absl::Span<const double> taps, const LowPass& low_pass, SlicedWork* work);
  double pass() const;
  double stop() const;

 private:
  Amplitude amplitude_;
  Extremes pass_;
  Extremes stop_;
};

// The windowed sinc with the fewest taps that meets a low pass, to within 2 percent of that number.
class KaiserDesign {
 public:
  // Adds it to `work`.
  void Start(const LowPass& low_pass, SlicedWork* work);
  // ResourceExhausted: it takes more than kMaxTaps; FailedPrecondition: more taps do no better. In
  // both cases the message says why in a phrase.
  const absl::Status& status() const { return status_; }
  const std::vector<double>& taps() const { return taps_; }  // the last that were tried

 private:
  void TryLength();

  LowPass low_pass_;
  SlicedWork* work_ = nullptr;
  int64_t num_taps_ = 0;
  // Over what is allowed, of all lengths so far; and the one that had it.
  double least_error_ = 0.0;
  int64_t least_taps_ = 0;
  double shape_ = 0.0;
  LowPassErrors errors_;
  std::vector<double> taps_;
  absl::Status status_;
};

// Parks' and McClellan's exchange for one number of taps, 2 degree + 1.
class Exchange {
 public:
  static constexpr double kConverged = 0.002;  // greatest error over the alternating one, less 1

  // Adds it to `work`, from a guess of degree + 2 points, which become the answer.
  void Start(const LowPass& low_pass, AlternationPoints* points, SlicedWork* work);
  bool converged() const { return converged_; }
  // The alternating error over the allowed one.
  double level() const { return level_ < 0.0 ? -level_ : level_; }
  // Adds the taps of the answer.
  void MakeTaps(std::vector<double>* taps);

 private:
  struct Peak {
    double v = 0.0;
    double error = 0.0;
  };

  int64_t num_points() const { return static_cast<int64_t>(x_.size()); }
  int degree() const { return static_cast<int>(x_.size()) - 2; }
  double Wanted(double v) const { return v <= low_pass_.pass ? 1.0 : 0.0; }
  double Allowed(double v) const {
    return v <= low_pass_.pass ? low_pass_.pass_error : low_pass_.stop_error;
  }
  double ErrorAt(double v) const;
  double Evaluate(double x) const;
  void Iterate();
  void SetWeight(size_t k);
  void SetLevel();
  void LookAtBand(double from, double to, const std::vector<double>& guess);
  void LookForPeak(size_t i);
  void Judge();
  bool KeepAlternating();

  LowPass low_pass_;
  AlternationPoints* points_ = nullptr;
  SlicedWork* work_ = nullptr;
  int iterations_ = 0;
  bool converged_ = false;
  double level_ = 0.0;
  // The polynomial that alternates on the points: there, and between them.
  std::vector<double> v_;
  std::vector<double> x_;
  std::vector<double> weights_;
  std::vector<int> exponents_;
  std::vector<double> values_;
  // Its error over the band in work, and the peaks of both.
  std::vector<double> probes_;
  std::vector<double> errors_;
  std::vector<Peak> peaks_;
  // Of the taps.
  std::vector<double> cosines_;
  std::vector<double> samples_;
};

// Parks and McClellan's filter with the fewest taps, to within 1 percent.
inline constexpr int kMaxEquirippleTaps = 8191;
class EquirippleDesign {
 public:
  // Adds it to `work`.
  void Start(const LowPass& low_pass, SlicedWork* work);
  // ResourceExhausted: more than kMaxEquirippleTaps; FailedPrecondition: the exchange did not
  // converge. In both cases the message says why in a phrase.
  const absl::Status& status() const { return status_; }
  const std::vector<double>& taps() const { return best_; }

 private:
  void TryLength();
  void Judge(bool is_enough);
  void Guess(int count);
  void RaiseGuess();

  LowPass low_pass_;
  SlicedWork* work_ = nullptr;
  int64_t num_taps_ = 0;
  int64_t too_few_ = 1;
  int64_t enough_ = 0;
  AlternationPoints points_;
  AlternationPoints spread_;      // what a guess falls back to
  std::vector<int> guess_sizes_;  // still to come, the last one next
  Exchange exchange_;
  LowPassErrors errors_;
  std::vector<double> taps_;
  std::vector<double> best_;
  absl::Status status_;
};

// Whether a cascade meets its mask.
class MaskMeasurement {
 public:
  // Adds the measuring of `stages` to `work`, `sharp` being the one whose transition band is the
  // mask's. All stages have symmetric taps.
  void Start(absl::Span<const Stage> stages, size_t sharp, double pass_edge, double stop_edge,
             SlicedWork* work);
  double ripple_db() const;
  double attenuation_db() const;

 private:
  double Gain(double f) const;
  void LookAtRepeats();

  SlicedWork* work_ = nullptr;
  double stop_edge_ = 0.0;
  std::vector<std::vector<double>> taps_;  // by stage, as are
  std::vector<Amplitude> amplitudes_;
  std::vector<double> scales_;  // v of the stage's taps = f * scale
  double other_length_ = 0.0;   // of the impulse response without the sharp stage, input samples
  double last_ = 0.0;           // frequency
  double period_ = 0.0;         // of the sharp stage's response
  int64_t edge_ = 0;            // of its repeats: the one in work,
  double from_ = 0.0;           // and the frequency up to which has been looked
  double begin_ = 0.0;
  Extremes pass_;
  Extremes stop_;
  double most_ = 0.0;
};

}  // namespace baseband::downconvert

#endif  // BASEBAND_KERNELS_DOWNCONVERT_DESIGN_H_
