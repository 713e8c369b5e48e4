#include "kernels/minimize/matched.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "kernels/minimize/functionals/dft.h"
#include "kernels/minimize/functionals/matched_data.h"
#include "kernels/minimize/functionals/matched_math.h"

namespace baseband::minimize {
namespace {

using Complex = std::complex<double>;

constexpr double kMaxDelay = 4503599627370496.0;  // 2^52 samples

// As kFrequencyLobe: c T^2 and r T^3.
constexpr double kRateLobe = 6.9519;
constexpr double kRateRateLobe = 34.729;

// The same of a delay, in samples: where the square of the replica's correlation with itself, which
// has this DFT, is half of what it is at 0; no more than half the samples.
double DelayLobe(const Dft& dft, Column spectrum) {
  for (Complex& x : spectrum) x = std::norm(x);
  dft.Backward(&spectrum);
  const double half = 0.5 * std::norm(spectrum[0]);
  double before = 2.0 * half;
  size_t lag = 1;
  for (; lag < spectrum.size() / 2; ++lag) {
    const double now = std::norm(spectrum[lag]);
    if (now <= half) return 2.0 * (static_cast<double>(lag) - (half - now) / (before - now));
    before = now;
  }
  return 2.0 * static_cast<double>(lag);
}

absl::Status CheckSignal(const Column& signal, double sampling_interval_s) {
  Observation observation;
  observation.sampling_interval_s = sampling_interval_s;
  observation.is_complex = true;
  observation.signal = signal;
  return CheckObservation(observation);
}

// Both parts of x[i mod N], i = 0 .., into two rows of `stride`.
void AppendPeriods(const Column& x, size_t stride, std::vector<double>* table) {
  for (size_t i = 0; i < stride; ++i) table->push_back(x[i % x.size()].real());
  for (size_t i = 0; i < stride; ++i) table->push_back(x[i % x.size()].imag());
}

Column ToColumn(absl::Span<const double> parts, size_t size) {
  Column column(size);
  for (size_t n = 0; n < size; ++n) column[n] = {parts[n], parts[size + n]};
  return column;
}

}  // namespace

absl::StatusOr<FunctionalPtr> MakeChirp(const Column& signal, double sampling_interval_s,
                                        int num_axes) {
  BASEBAND_RETURN_IF_ERROR(CheckSignal(signal, sampling_interval_s));
  if (num_axes < 2 || num_axes > 3) {
    return absl::InvalidArgumentError(absl::StrCat(
        "number of axes ", num_axes, " is not 2, rate and frequency, or 3, with the rate's rate"));
  }
  return FunctionalPtr(
      std::make_shared<const MatchedFunctional>(signal, Column(), sampling_interval_s, num_axes));
}

absl::StatusOr<FunctionalPtr> MakeDelayDoppler(const Column& signal, const Column& replica,
                                               double sampling_interval_s) {
  BASEBAND_RETURN_IF_ERROR(CheckSignal(signal, sampling_interval_s));
  if (static_cast<int64_t>(signal.size()) > kMaxReplicaSamples) {
    return absl::InvalidArgumentError(absl::StrCat("number of samples ", signal.size(),
                                                   " is not in [", kMinSamples, ", ",
                                                   kMaxReplicaSamples, "]"));
  }
  BASEBAND_RETURN_IF_ERROR(CheckSamples("replica", replica, signal.size()));
  const double energy = Energy(replica);
  if (!(energy > 0.0) || !std::isfinite(energy)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the replica's energy ", energy, " is not above 0 and finite"));
  }
  return FunctionalPtr(
      std::make_shared<const MatchedFunctional>(signal, replica, sampling_interval_s, 2));
}

MatchedFunctional::MatchedFunctional(const Column& signal, Column replica,
                                     double sampling_interval_s, int num_axes)
    : num_axes_(num_axes) {
  const size_t size = signal.size();
  shape_.is_complex = true;
  shape_.num_samples = static_cast<int64_t>(size);
  shape_.sampling_interval_s = sampling_interval_s;
  shape_.energy = Energy(signal);
  for (const Complex& x : signal) signal_.push_back(x.real());
  for (const Complex& x : signal) signal_.push_back(x.imag());
  signal_.resize(2 * size + kVectorPadding);
  if (replica.empty()) return;

  const Dft dft(size);
  const auto samples = static_cast<double>(size);
  const double scale = std::sqrt(samples / Energy(replica)) / samples;
  dft.Forward(&replica);
  delay_lobe_s_ = DelayLobe(dft, replica) * sampling_interval_s;
  Column later(size);
  for (size_t i = 0; i < size; ++i) {
    const double k = static_cast<double>(i) - (i < (size + 1) / 2 ? 0.0 : samples);
    replica[i] *= scale / DelayWindowSpectrum(0.5 * k / samples);
    const double angle = 0.5 * kTwoPi * k / samples;
    later[i] = replica[i] * Complex(std::cos(angle), std::sin(angle));
  }
  dft.Backward(&replica);
  dft.Backward(&later);
  table_.reserve(4 * table_stride());
  AppendPeriods(replica, table_stride(), &table_);
  AppendPeriods(later, table_stride(), &table_);
}

absl::Status MatchedFunctional::Check(const Grid& grid, Method method) const {
  if (grid.num_axes() != num_axes_) {
    return absl::InvalidArgumentError(
        absl::StrCat("number of axes ", grid.num_axes(), " is not ", num_axes_));
  }
  if (method == Method::kLiteral) {
    return absl::InvalidArgumentError("method: the literal one is for one real sinusoid");
  }
  if (is_chirp()) return absl::OkStatus();
  const Axis& delays = grid.axis(0);
  for (const double delay : {delays.At(0), delays.At(delays.count - 1)}) {
    if (!(std::abs(delay / shape_.sampling_interval_s) <= kMaxDelay)) {
      return absl::InvalidArgumentError(
          absl::StrCat("axes[0]: a delay of ", delay, " s is more than 2^52 samples"));
    }
  }
  return absl::OkStatus();
}

bool MatchedFunctional::UsesCells(const Grid& grid, Method method) const {
  return method == Method::kFast && CellsOf(shape_, grid.axis(num_axes_ - 1)).is_dense;
}

double MatchedFunctional::Cost(const Grid& grid, Method method) const {
  const Axis& frequencies = grid.axis(num_axes_ - 1);
  const double row =
      static_cast<double>(shape_.num_samples) * (is_chirp() ? 60.0 : 10.0 + 4.0 * kDelayTaps);
  return row / static_cast<double>(frequencies.count) +
         (UsesCells(grid, method) ? CellsCost(shape_, frequencies) : HoistedCost(shape_));
}

// The rows, in float64 whatever the precision, then the cells' polynomials.
int64_t MatchedFunctional::GpuScratchBytes(const Grid& grid, Method method, int64_t count) const {
  const Axis& frequencies = grid.axis(num_axes_ - 1);
  const int64_t rows = (count + 2 * (frequencies.count - 1)) / frequencies.count;
  const int64_t bytes = rows * 2 * GpuStride() * int64_t{sizeof(double)};
  if (!UsesCells(grid, method)) return bytes;
  const int64_t cells = count / CellsOf(shape_, frequencies).points + rows + 1;
  return bytes + cells * 2 * kCellTerms * int64_t{2 * sizeof(double)};
}

double MatchedFunctional::Lobe(int axis) const {
  const double length = static_cast<double>(shape_.num_samples) * shape_.sampling_interval_s;
  const int before_last = num_axes_ - 1 - axis;
  if (before_last == 0) return kFrequencyLobe / length;
  if (!is_chirp()) return delay_lobe_s_;
  return before_last == 1 ? kRateLobe / (length * length)
                          : kRateRateLobe / (length * length * length);
}

Column MatchedFunctional::ModelAt(const Coordinates& x) const {
  const auto size = static_cast<size_t>(shape_.num_samples);
  std::vector<double> ones(2 * size + kVectorPadding);
  std::fill_n(ones.begin(), size, 1.0);
  std::vector<double> rows(2 * size + kVectorPadding);
  WriteRows(x, ones.data(), rows.data());
  Column model = Wave(size, x[static_cast<size_t>(num_axes_ - 1)] * shape_.sampling_interval_s);
  for (size_t n = 0; n < size; ++n) model[n] *= Complex(rows[n], -rows[size + n]);
  return model;
}

double MatchedFunctional::At(const Coordinates& x) const {
  return RestOf(ModelAt(x), ToColumn(signal_, static_cast<size_t>(shape_.num_samples)));
}

absl::StatusOr<NoiseBound> MatchedFunctional::Deviation(const Coordinates& x,
                                                        const ContinueCheck& may_continue) const {
  const auto size = static_cast<size_t>(shape_.num_samples);
  const Column model = ModelAt(x);
  Column rest = ToColumn(signal_, size);
  Complex amplitude = 0.0;
  for (size_t n = 0; n < size; ++n) amplitude += std::conj(model[n]) * rest[n];
  amplitude /= Energy(model);

  // By each coordinate; time in seconds from the middle.
  const auto time = [&](size_t n) {
    return (static_cast<double>(n) - 0.5 * static_cast<double>(size - 1)) *
           shape_.sampling_interval_s;
  };
  std::vector<Column> derivatives;
  for (int axis = 0; axis < num_axes_; ++axis) {
    BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue));
    Column derivative(size);
    const int power = num_axes_ - axis;  // of time, in a chirp's phase
    if (is_chirp() || power == 1) {
      const double scale = kTwoPi / (power == 3 ? 6.0 : power);
      for (size_t n = 0; n < size; ++n) {
        derivative[n] = amplitude * model[n] * Complex(0.0, scale * std::pow(time(n), power));
      }
    } else {
      // A central difference: 2e-6 of the fastest component that the band has.
      constexpr double kSmall = 1.0 / 1024;
      Coordinates after = x;
      Coordinates before = x;
      after[0] += kSmall * shape_.sampling_interval_s;
      before[0] -= kSmall * shape_.sampling_interval_s;
      derivative = ModelAt(after);
      const Column other = ModelAt(before);
      const double scale = 1.0 / (after[0] - before[0]);
      for (size_t n = 0; n < size; ++n) {
        derivative[n] = amplitude * (derivative[n] - other[n]) * scale;
      }
    }
    derivatives.push_back(std::move(derivative));
  }
  Basis basis;
  basis.Add(model);
  for (Column& derivative : derivatives) basis.Remove(&derivative);
  basis.Remove(&rest);
  return BoundOf(true, 1, derivatives, rest);
}

}  // namespace baseband::minimize
