// Stage 1 on the CPU device: the line at the symbol rate, piece by piece.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>

#include "kernels/base/work_steps.h"
#include "kernels/timing/cpu/stages_cpu.h"

namespace baseband::timing {
namespace {

class LineSearch {
 public:
  LineSearch(const LinePlan& plan, const FrameArrays& arrays)
      : plan_(plan),
        arrays_(arrays),
        middle_(0.5 * (plan.PieceTime(0) + plan.PieceTime(plan.num_pieces - 1))) {}

  // The sums of all pieces. False if a sample is bad.
  bool SumPieces(const SampleView& samples, const carrier::FftPlan& fft, double* energy) {
    const auto points = static_cast<size_t>(plan_.points);
    const auto window = static_cast<size_t>(plan_.window);
    for (int n = 0; n < plan_.window; ++n) arrays_.weights[n] = PieceWeight(n, plan_.window);
    std::fill(arrays_.power, arrays_.power + points, 0.0F);
    carrier::FrameCpu read;
    read.num_symbols = plan_.window;
    read.symbols = arrays_.piece;
    for (int s = 0; s < plan_.num_pieces; ++s) {
      double squares = 0.0;
      if (!carrier::ReadSymbols(samples.format, samples.scale,
                                samples.Part(plan_.PieceStart(s), plan_.window), &read, &squares)) {
        return false;
      }
      *energy += squares;
      for (size_t n = 0; n < window; ++n) {
        arrays_.piece.re[n] *= arrays_.weights[n];
        arrays_.piece.im[n] *= arrays_.weights[n];
      }
      for (size_t n = window; n < points; ++n) arrays_.piece.re[n] = arrays_.piece.im[n] = 0.0F;
      carrier::Fft(fft, arrays_.piece.re, arrays_.piece.im, arrays_.spectrum.re,
                   arrays_.spectrum.im, arrays_.fft_scratch);
      AddPiece(s);
      if (!CountStep()) return true;
    }
    return true;
  }

  LineFound Search() {
    LineFound found;
    AddUpPower();
    found.centre = StrongestBin();
    SumLines(found.centre);
    const Strongest allowed = StrongestOf(-plan_.last_drift * plan_.drift_step, plan_.drift_step,
                                          2 * plan_.last_drift + 1);
    found.line.drift = allowed.drift;
    found.line.middle = allowed.middle;
    LineSums sums = SettleLine(&found.line);
    found.centre = RefineCentre(found.centre, found.line);
    SumLines(found.centre);
    sums = SettleLine(&found.line);
    const double unlikely = VarianceWithoutLine(found.centre);
    const double beyond = AsksBeyond(sums, unlikely) ? PowerBeyond() : 0.0;
    found.evidence = WeighLine(plan_, sums, Energy(found.centre), unlikely, beyond);
    JudgeLine(sums, plan_.num_pieces, found.evidence.lambda, plan_.max_drift, &found.line);
    const double frame_middle = (plan_.num_samples - 1.0) * plan_.symbols / (2.0 * plan_.samples);
    found.line.middle += found.line.drift * (frame_middle - middle_);
    return found;
  }

 private:
  using Complex = std::complex<double>;

  void AddPiece(int s) {
    const carrier::Split& x = arrays_.spectrum;
    // Of the mean: sums of the greatest magnitudes' powers would be beyond float32.
    const float share = 1.0F / static_cast<float>(plan_.num_pieces);
    for (int k = 0; k < plan_.points; ++k) {
      arrays_.power[k] += share * (x.re[k] * x.re[k] + x.im[k] * x.im[k]);
    }
    Iq* const groups = arrays_.groups + static_cast<size_t>(s) * plan_.num_groups;
    int low = plan_.first_bin;
    for (int g = 0; g < plan_.num_groups; ++g) {
      Iq sum;
      for (int i = 0; i < plan_.group_bins; ++i, ++low) {
        const int a = plan_.Wrapped(low + plan_.rate_bins);
        const int b = plan_.Wrapped(low);
        sum.i += x.re[a] * x.re[b] + x.im[a] * x.im[b];
        sum.q += x.im[a] * x.re[b] - x.re[a] * x.im[b];
      }
      groups[g] = sum;
    }
  }

  // power_before[j]: that of the bins from -points on to -points + j - 1, the same every `points`.
  void AddUpPower() {
    double sum = 0.0;
    for (int j = 0; j <= 2 * plan_.points; ++j) {
      arrays_.power_before[j] = sum;
      sum += static_cast<double>(arrays_.power[plan_.Wrapped(j)]);
    }
  }

  // E(centre) over the number of pieces.
  double Energy(double centre) const {
    const double rolloff = plan_.rolloff;
    const auto at_least = [&](double f) { return static_cast<int>(std::ceil(f / plan_.bin)); };
    const int first = at_least(centre - 0.5 * (1.0 + rolloff));
    const int flat = at_least(centre - 0.5 * (1.0 - rolloff));
    const int behind_flat = at_least(centre + 0.5 * (1.0 - rolloff));
    const int end = at_least(centre + 0.5 * (1.0 + rolloff));
    double sum = arrays_.power_before[behind_flat + plan_.points] -
                 arrays_.power_before[flat + plan_.points];
    const auto add = [&](int k) {
      const auto f = static_cast<float>(k * plan_.bin - centre);
      sum += static_cast<double>(arrays_.power[plan_.Wrapped(k)] *
                                 RaisedCosineSpectrum(plan_.rolloff, f));
    };
    for (int k = first; k < flat; ++k) add(k);
    for (int k = behind_flat; k < end; ++k) add(k);
    return sum;
  }

  double StrongestBin() const {
    double best = -1.0;
    double centre = 0.0;
    for (int i = -plan_.last_centre; i <= plan_.last_centre; ++i) {
      const double energy = Energy(i * plan_.bin);
      if (energy > best) {
        best = energy;
        centre = i * plan_.bin;
      }
    }
    return centre;
  }

  double VarianceWithoutLine(double centre) const {
    double sum = 0.0;
    for (int g = 0; g < plan_.num_groups; ++g) {
      const double weight = plan_.GroupWeight(g, centre);
      if (weight == 0.0) continue;
      for (int i = 0; i < plan_.group_bins; ++i) {
        const int low = plan_.first_bin + g * plan_.group_bins + i;
        sum += weight * weight * static_cast<double>(arrays_.power[plan_.Wrapped(low)]) *
               static_cast<double>(arrays_.power[plan_.Wrapped(low + plan_.rate_bins)]);
      }
    }
    return kPieceOverlap * kBinOverlap * sum * plan_.num_pieces;
  }

  // conj(q_s), turned, to arrays_.line.
  void SumLines(double centre) {
    for (int g = 0; g < plan_.num_groups; ++g) {
      arrays_.group_weights[g] = plan_.GroupWeight(g, centre);
    }
    for (int s = 0; s < plan_.num_pieces; ++s) {
      const Iq* const groups = arrays_.groups + static_cast<size_t>(s) * plan_.num_groups;
      float re = 0.0F;
      float im = 0.0F;
      for (int g = 0; g < plan_.num_groups; ++g) {
        re += arrays_.group_weights[g] * groups[g].i;
        im -= arrays_.group_weights[g] * groups[g].q;
      }
      const carrier::Turned turned = carrier::Turn(plan_.PieceTurns(s));
      arrays_.line[s] = {re * turned.c - im * turned.s, re * turned.s + im * turned.c};
    }
  }

  // exp(-j 2 pi T) at piece s.
  Complex TurnBack(const TimingLine& line, int s) const {
    const carrier::Turned turned =
        carrier::Turn(line.middle + line.drift * (plan_.PieceTime(s) - middle_));
    return {static_cast<double>(turned.c), -static_cast<double>(turned.s)};
  }

  // The line of a drift.
  struct Strongest {
    double power = -1.0;  // of the mean over the pieces
    double drift = 0.0;
    double middle = 0.0;
  };

  // Of the drifts first_drift + i drift_step, 0 <= i < count. Some at a time, their turns each from
  // the piece before: to a part in 10^4 of a turn at the last, and the pieces' times, which are
  // whole samples, are taken as equally far apart. The mean over the pieces: the sum of the
  // greatest magnitudes' lines would be beyond float32.
  Strongest StrongestOf(double first_drift, double drift_step, int count) const {
    constexpr int kAtATime = 8;
    const int last_piece = plan_.num_pieces - 1;
    const double begin = plan_.PieceTime(0) - middle_;
    const double hop =
        last_piece > 0 ? (plan_.PieceTime(last_piece) - plan_.PieceTime(0)) / last_piece : 0.0;
    const float share = 1.0F / static_cast<float>(plan_.num_pieces);
    Strongest best;
    for (int first = 0; first < count; first += kAtATime) {
      float re[kAtATime], im[kAtATime], step_re[kAtATime], step_im[kAtATime];
      float sum_re[kAtATime] = {};
      float sum_im[kAtATime] = {};
      for (int i = 0; i < kAtATime; ++i) {
        const double drift = first_drift + (first + i) * drift_step;
        const carrier::Turned start = carrier::Turn(drift * begin);
        const carrier::Turned step = carrier::Turn(drift * hop);
        re[i] = start.c;
        im[i] = -start.s;
        step_re[i] = step.c;
        step_im[i] = -step.s;
      }
      for (int s = 0; s <= last_piece; ++s) {
        const Iq q = {share * arrays_.line[s].i, share * arrays_.line[s].q};
        for (int i = 0; i < kAtATime; ++i) {
          sum_re[i] += q.i * re[i] - q.q * im[i];
          sum_im[i] += q.i * im[i] + q.q * re[i];
          const float next = re[i] * step_re[i] - im[i] * step_im[i];
          im[i] = re[i] * step_im[i] + im[i] * step_re[i];
          re[i] = next;
        }
      }
      for (int i = 0; i < kAtATime && first + i < count; ++i) {
        const Complex sum(static_cast<double>(sum_re[i]), static_cast<double>(sum_im[i]));
        if (!(std::norm(sum) > best.power)) continue;
        best = {std::norm(sum), first_drift + (first + i) * drift_step,
                std::arg(sum) / (2.0 * kPi)};
      }
      if (!CountStep()) return best;
    }
    return best;
  }

  // The greatest power of the line at a drift that is not allowed.
  double PowerBeyond() const {
    const double first = plan_.max_drift + plan_.beyond_step;
    const double last = plan_.max_drift + plan_.num_beyond * plan_.beyond_step;
    const double power = std::max(StrongestOf(first, plan_.beyond_step, plan_.num_beyond).power,
                                  StrongestOf(-last, plan_.beyond_step, plan_.num_beyond).power);
    const double pieces = plan_.num_pieces;
    return power * pieces * pieces;
  }

  LineSums SumsAt(const TimingLine& line) const {
    LineSums sums;
    for (int s = 0; s < plan_.num_pieces; ++s) {
      const Complex z = Complex(arrays_.line[s].i, arrays_.line[s].q) * TurnBack(line, s);
      sums.Add(z.real(), z.imag(), plan_.PieceTime(s) - middle_);
    }
    return sums;
  }

  LineSums SettleLine(TimingLine* line) const {
    LineSums sums = SumsAt(*line);
    for (int step = 0; step < kLineSteps; ++step) {
      StepLine(sums, plan_.max_drift, line);
      sums = SumsAt(*line);
    }
    return sums;
  }

  // The greatest of E + sum over g of what the groups have in phase with the line: with the line's
  // help the symbols make no noise.
  double RefineCentre(double centre, const TimingLine& line) {
    if (plan_.last_centre == 0) return centre;
    std::fill(arrays_.group_sums, arrays_.group_sums + plan_.num_groups, 0.0);
    for (int s = 0; s < plan_.num_pieces; ++s) {
      const carrier::Turned turned = carrier::Turn(plan_.PieceTurns(s));
      const Complex turn =
          Complex(static_cast<double>(turned.c), static_cast<double>(turned.s)) * TurnBack(line, s);
      const Iq* const groups = arrays_.groups + static_cast<size_t>(s) * plan_.num_groups;
      for (int g = 0; g < plan_.num_groups; ++g) {
        // Re of conj(C) turn.
        arrays_.group_sums[g] += static_cast<double>(groups[g].i) * turn.real() +
                                 static_cast<double>(groups[g].q) * turn.imag();
      }
    }
    double heights[2 * kCentreSteps + 1];
    const double step = kCentreStep * static_cast<double>(plan_.rolloff);
    int best = 0;
    for (int i = 0; i <= 2 * kCentreSteps; ++i) {
      const double here = centre + (i - kCentreSteps) * step;
      heights[i] = plan_.num_pieces * Energy(here);
      for (int g = 0; g < plan_.num_groups; ++g) {
        heights[i] += static_cast<double>(plan_.GroupWeight(g, here)) * arrays_.group_sums[g];
      }
      if (heights[i] > heights[best]) best = i;
    }
    double rest = 0.0;
    if (best > 0 && best < 2 * kCentreSteps) {
      const double bend = heights[best - 1] - 2.0 * heights[best] + heights[best + 1];
      if (bend < 0.0) rest = 0.5 * (heights[best - 1] - heights[best + 1]) / bend;
    }
    return centre + (best - kCentreSteps + rest) * step;
  }

  const LinePlan& plan_;
  const FrameArrays& arrays_;
  const double middle_;  // of the pieces' times
};

}  // namespace

LineFound FindLine(const LinePlan& plan, const SampleView& samples, const carrier::FftPlan& fft,
                   const FrameArrays& arrays) {
  LineSearch search(plan, arrays);
  LineFound found;
  double energy = 0.0;
  if (!search.SumPieces(samples, fft, &energy)) {
    found.bad = true;
    return found;
  }
  if (!(energy > 0.0)) {
    found.silent = true;
    return found;
  }
  return search.Search();
}

}  // namespace baseband::timing
