// Stage S3 on the CPU device, between the passes over the symbols: lines where the spectrum has its
// peaks, refined between the bins, and the line where a method has put the carrier.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "kernels/carrier/recover_cpu.h"

namespace baseband::carrier {
LineAt FrameRecovery::SumBlocks(double delta, int num_blocks, int length) const {
  LineAt at;
  for (int b = 0; b < num_blocks; ++b) {
    const double tau = LineBlockCentre(b, length, plan_.num_symbols) / plan_.points;
    at.Add(arrays_.blocks[b].sum, Turn(delta * tau), tau);
  }
  return at;
}

Line FrameRecovery::LineAtBlocks(double nu, double delta, int num_blocks, int length) const {
  const LineAt at = SumBlocks(delta, num_blocks, length);
  return {nu + delta / plan_.points, at.phase_turns(), at.power() / line_energy_};
}

Line FrameRecovery::RefineLine(double nu, bool has_peak) {
  const int length = LineBlockLength(plan_.num_symbols);
  const int num_blocks =
      SumLineBlocks(arrays_.frame, arrays_.line, nu, length, false, arrays_.blocks);
  double delta = 0.0;
  const LineClimb climb = LineClimbOf(has_peak, plan_.num_symbols, plan_.points);
  for (int step = 0; step < climb.steps; ++step) {
    if (!ClimbOn(SumBlocks(delta, num_blocks, length), climb, &delta)) break;
  }
  return LineAtBlocks(nu, delta, num_blocks, length);
}

PeakSearch FrameRecovery::SearchOf() const {
  PeakSearch search;
  search.points = plan_.points;
  search.last_half_bin = plan_.last_half_bin;
  search.reach = PeakReach(plan_.num_symbols, plan_.points, plan_.known_line);
  search.half = half_;
  search.scratch = arrays_.peak_scratch;
  return search;
}

void FrameRecovery::FindLines() {
  const FrameCpu& frame = arrays_.frame;
  const auto points = static_cast<size_t>(plan_.points);
  line_energy_ = plan_.known_line ? LineOfKnown(estimate_.gain, frame, points, arrays_.line)
                                  : LineOfPower(view_, estimate_.table, estimate_.gain, frame,
                                                points, arrays_.line);
  line_energy_ = std::max(line_energy_, kLeastLineEnergy);
  if (parameters_.coarse == Coarse::kNone) {
    lines_[0] =
        parameters_.fine == Fine::kInterpolate ? RefineLine(0.0, false) : LineOfCarrier(0.0);
    num_lines_ = 1;
    return;
  }
  Fft(fft_, arrays_.line.re, arrays_.line.im, arrays_.spectrum.re, arrays_.spectrum.im,
      arrays_.fft_scratch);
  const PeakSearch search = SearchOf();
  Peak peaks[kKnownPeaks] = {};
  const int found = FindPeaks(search, arrays_.spectrum, plan_.max_peaks, peaks);
  const double doubtful = (peaks[0].power - kDoubt * line_energy_) * kHalfBinShare;
  for (int k = 0; k < found; ++k) {
    if (k > 0 && peaks[k].power < doubtful) {
      second_peak_ = std::max(second_peak_, peaks[k].power / line_energy_);
      continue;
    }
    const Line line = RefineLine(0.5 * peaks[k].half_bin / plan_.points, true);
    const bool found_before = std::any_of(lines_, lines_ + num_lines_, [&](const Line& other) {
      return SamePeak(line.nu, other.nu, plan_.num_symbols);
    });
    if (!found_before) lines_[num_lines_++] = line;
  }
  if (plan_.known_line && found == plan_.max_peaks) {
    weakest_peak_ = peaks[found - 1].power / line_energy_;
  }
  num_lines_ = std::max(num_lines_, 1);  // a spectrum of zeros has a line of 0 at 0
  // Insertion: stable, and it allocates nothing.
  for (int k = 1; k < num_lines_; ++k) {
    for (int at = k; at > 0 && lines_[at].lambda > lines_[at - 1].lambda; --at) {
      std::swap(lines_[at], lines_[at - 1]);
    }
  }
  if (num_lines_ > 1) second_peak_ = std::max(second_peak_, lines_[1].lambda);
}

Line FrameRecovery::LineOfCarrier(double frequency) {
  const double nu = frequency * plan_.line_power;
  const int length = LineBlockLength(plan_.num_symbols);
  const int num_blocks =
      SumLineBlocks(arrays_.frame, arrays_.line, nu, length, true, arrays_.blocks);
  return LineAtBlocks(nu, 0.0, num_blocks, length);
}

void FrameRecovery::SettleOnBin() {
  if (parameters_.coarse == Coarse::kNone) return;
  const PeakSearch search = SearchOf();
  const auto below = static_cast<int>(std::floor((line_.nu - alias_) * plan_.points));
  int bin = below;
  const auto power = [&](int k) {
    return 2 * std::abs(k) > plan_.last_half_bin ? -1.0F
                                                 : HalfBinPower(search, arrays_.spectrum, 2 * k);
  };
  if (power(below + 1) > power(below)) bin = below + 1;
  estimate_.frequency = (static_cast<double>(bin) / plan_.points + alias_) / plan_.line_power;
  const Line line = LineOfCarrier(estimate_.frequency);
  estimate_.phase += WrappedTurns(line.phase - line_.phase) / plan_.line_power;
}

// The variance of an estimate that is the line's, as it is at the estimate now.
void FrameRecovery::SpreadOfLine() {
  const Line line = LineOfCarrier(estimate_.frequency);
  const int length = LineBlockLength(plan_.num_symbols);
  const int num_blocks = NumLineBlocks(plan_.num_symbols, length);
  LineSpread spread;
  for (int b = 0; b < num_blocks; ++b) {
    spread.Add(arrays_.blocks[b], Turned(), Turn(line.phase),
               LineBlockCentre(b, length, plan_.num_symbols) / plan_.num_symbols);
  }
  line_covariance_ = spread.OfCarrier(plan_.line_power);
}

void FrameRecovery::DrawSpectrum(absl::Span<float> curve) const {
  const PeakSearch search = SearchOf();
  const SpectrumCurve shape = SpectrumCurveOf(view_, parameters_, plan_.points);
  for (size_t k = 0; k < curve.size(); ++k) {
    float most = 0.0F;
    const int begin = static_cast<int>(k) * shape.group - shape.last_half_bin;
    const int end = std::min(begin + shape.group, shape.last_half_bin + 1);
    for (int half_bin = begin; half_bin < end; ++half_bin) {
      most = std::max(most, HalfBinPower(search, arrays_.spectrum, half_bin));
    }
    curve[k] = static_cast<float>(most / line_energy_);
  }
}

}  // namespace baseband::carrier
