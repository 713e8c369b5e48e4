// Stage S3 on the CPU device: the greatest half bins of a spectrum.
#include <algorithm>
#include <cstdlib>

#include "kernels/carrier/cpu/stages_cpu.h"

namespace baseband::carrier {

float HalfBinPower(const PeakSearch& search, Split spectrum, int half_bin) {
  const HalfBin& half = search.half;
  const auto bin = static_cast<size_t>((half_bin + 2 * search.points) / 2 % search.points);
  const float re = spectrum.re[bin];
  const float im = spectrum.im[bin];
  if (half_bin % 2 == 0) return re * re + im * im;
  const float next_re = spectrum.re[bin + 1];
  const float next_im = spectrum.im[bin + 1];
  const float sum_re = re + next_re * half.turn.c - next_im * half.turn.s;
  const float sum_im = im + next_im * half.turn.c + next_re * half.turn.s;
  return half.scale * (sum_re * sum_re + sum_im * sum_im);
}

namespace {

// The search over one spectrum.
class Finder {
 public:
  Finder(const PeakSearch& search, Split spectrum) : search_(search), spectrum_(spectrum) {
    GroupPeaks(search.half, search.points, spectrum, search.scratch);
    const int groups = search.points / kPeakGroup;
    for (int group = 0; group < groups; ++group) {
      // Groups that lie partly beyond the range.
      if (!InRange(First(group)) || !InRange(First(group) + 2 * kPeakGroup - 1)) Look(group);
    }
  }

  // The greatest half bin that is in range and not close to one taken before. False if none is.
  bool Take(Peak* peak) {
    const int groups = search_.points / kPeakGroup;
    const float* const greatest = std::max_element(search_.scratch, search_.scratch + groups);
    if (!(*greatest > 0.0F)) return false;
    *peak = Look(static_cast<int>(greatest - search_.scratch));
    taken_[num_taken_++] = peak->half_bin;
    for (int h = peak->half_bin - search_.reach;
         h < peak->half_bin + search_.reach + 2 * kPeakGroup; h += 2 * kPeakGroup) {
      Look(Wrapped(std::min(h, peak->half_bin + search_.reach)) / (2 * kPeakGroup));
    }
    return true;
  }

 private:
  // 0 .. 2 points - 1
  int Wrapped(int half_bin) const { return (half_bin + 2 * search_.points) % (2 * search_.points); }
  // Of a group's first half bin, signed.
  int First(int group) const {
    const int bin = group * kPeakGroup;
    return 2 * (bin < search_.points / 2 ? bin : bin - search_.points);
  }
  bool InRange(int half_bin) const {
    return -search_.last_half_bin <= half_bin &&
           half_bin <= std::min(search_.last_half_bin, search_.points - 1);
  }
  bool IsFree(int half_bin) const {
    return std::all_of(taken_, taken_ + num_taken_, [&](int other) {
      const int distance = Wrapped(half_bin - other);
      return std::min(distance, 2 * search_.points - distance) > search_.reach;
    });
  }

  // Looks through a group again, and remembers what its greatest is now.
  Peak Look(int group) {
    Peak best;
    for (int h = First(group); h < First(group) + 2 * kPeakGroup; ++h) {
      if (!InRange(h) || !IsFree(h)) continue;
      const float power = HalfBinPower(search_, spectrum_, h);
      if (power > best.power) best = {h, power};
    }
    search_.scratch[group] = best.power;
    return best;
  }

  const PeakSearch& search_;
  Split spectrum_;
  int taken_[kKnownPeaks] = {};
  int num_taken_ = 0;
};

}  // namespace

int FindPeaks(const PeakSearch& search, Split spectrum, int max_peaks, Peak* peaks) {
  spectrum.re[search.points] = spectrum.re[0];
  spectrum.im[search.points] = spectrum.im[0];
  Finder finder(search, spectrum);
  int found = 0;
  while (found < max_peaks && finder.Take(peaks + found)) ++found;
  return found;
}

}  // namespace baseband::carrier
