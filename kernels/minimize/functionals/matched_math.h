// Chirps' phases and replicas' delays, for both devices.
//
// Phases are reduced to turns with products of twice the precision: their error is that of the
// result, not of the many turns that were taken away.
//
// Delays. With the replica's band-limited interpolation known at half samples, and weighted there
// by the inverse of the spectrum of a window psi, its value anywhere is a sum over the kDelayTaps
// nearest of them, with weights psi (a non-uniform FFT of type 2: Fessler and Sutton 2003; the
// window is Kaiser's). All samples of one delay lie equally between the half samples: they share
// their weights. What is left is the window's leakage, at most 1e-14 at the edges of the band.
#ifndef BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_MATCHED_MATH_H_
#define BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_MATCHED_MATH_H_

#include <cmath>

#include "kernels/minimize/functionals/sinusoids_math.h"

namespace baseband::minimize {

// high + low, not rounded.
struct Pair {
  double high = 0.0;
  double low = 0.0;
};

BASEBAND_HOST_DEVICE inline Pair Product(const Pair& a, const Pair& b) {
  const double high = a.high * b.high;
  return {high, fma(a.high, b.high, -high) + (a.high * b.low + a.low * b.high)};
}

BASEBAND_HOST_DEVICE inline Pair Quotient(const Pair& a, double b) {
  const double high = a.high / b;
  return {high, (fma(-high, b, a.high) + a.low) / b};
}

// a b less the whole number nearest to it, or one more or less.
BASEBAND_HOST_DEVICE inline double Fraction(const Pair& a, const Pair& b) {
  return fma(a.high, b.high, -rint(a.high * b.high)) + (a.high * b.low + a.low * b.high);
}

// A chirp in m = 2 t / Ts = 2 n - (N - 1): square m^2 + cube m^3 turns.
struct ChirpRates {
  Pair square;
  Pair cube;
};

// coordinates: the rate, after the rate of the rate if there are two.
BASEBAND_HOST_DEVICE inline ChirpRates ChirpRatesOf(const double* coordinates, int count,
                                                    double sampling_interval_s) {
  const Pair interval{sampling_interval_s, 0.0};
  const Pair square = Product(interval, interval);
  ChirpRates rates;
  rates.square = Quotient(Product(Pair{coordinates[count - 1], 0.0}, square), 8.0);
  if (count == 2) {
    rates.cube = Quotient(Product(Pair{coordinates[0], 0.0}, Product(square, interval)), 48.0);
  }
  return rates;
}

// Within [-2, 2]. |m| <= 2^20, so that m^2 is exact.
BASEBAND_HOST_DEVICE inline double ChirpTurns(const ChirpRates& rates, double m) {
  const Pair square{m * m, 0.0};
  const double turns = Fraction(rates.square, square);
  if (rates.cube.high == 0.0) return turns;
  return turns + Fraction(rates.cube, Product(square, Pair{m, 0.0}));
}

inline constexpr int kDelayTaps = 16;
inline constexpr int kPhaseTaps = kDelayTaps / 2;  // on whole samples, and as many between them
// Kaiser's beta. pi taps (1 - 1 / 4) would end the main lobe where the first image of the band
// begins; a little less puts a zero there.
inline constexpr double kDelayShape = 0.98 * 0.75 * 0.5 * kTwoPi * kDelayTaps;
// What a table holds beyond the N samples, which it repeats.
inline constexpr int kDelayReach = kPhaseTaps;

// I_0(kDelayShape sqrt(1 - (2 x / taps)^2)), |x| <= taps / 2: by its power series, whose terms are
// all positive. The last one is below 1e-18 of the greatest value.
BASEBAND_HOST_DEVICE inline double DelayWindow(double x) {
  const double z = x / (0.5 * kDelayTaps);
  const double inside = (1.0 - z) * (1.0 + z);
  const double q = 0.25 * kDelayShape * kDelayShape * (inside > 0.0 ? inside : 0.0);
  double sum = 1.0;
  for (int k = 52; k > 0; --k) sum = 1.0 + sum * (q / static_cast<double>(k * k));
  return sum;
}

// Its spectrum at `turns` a half sample, |turns| <= 1/4.
BASEBAND_HOST_DEVICE inline double DelayWindowSpectrum(double turns) {
  const double phase = 0.5 * kTwoPi * kDelayTaps * turns;
  const double root = sqrt(kDelayShape * kDelayShape - phase * phase);
  return kDelayTaps * sinh(root) / root;
}

// Where the delayed sample n finds its taps: whole samples first_whole + n + i, and those half a
// sample later first_half + n + i, i = 0 .. kPhaseTaps - 1, modulo N.
struct DelayPlace {
  int first_whole = 0;  // 0 .. N
  int first_half = 0;   // 0 .. N - 1
  int is_odd = 0;       // an odd number of half samples was taken away
  double rest = 0.0;    // of a half sample, 0 .. 1
};

// |delay| is at most 2^52 samples.
BASEBAND_HOST_DEVICE inline DelayPlace DelayPlaceOf(double delay_s, double sampling_interval_s,
                                                    int num_samples) {
  const Pair halves = Quotient(Pair{2.0 * delay_s, 0.0}, sampling_interval_s);
  const double whole = ceil(halves.high);
  double turn = fmod(whole, 2.0 * num_samples);
  if (turn < 0.0) turn += 2.0 * num_samples;
  const int taken = static_cast<int>(turn);
  DelayPlace place;
  place.is_odd = taken % 2;
  place.rest = (whole - halves.high) - halves.low;
  place.first_half = num_samples - taken / 2 - kPhaseTaps / 2;
  if (place.first_half < 0) place.first_half += num_samples;
  place.first_whole = place.first_half + 1 - place.is_odd;
  return place;
}

// weights[0 ..]: of the taps on whole samples; weights[kPhaseTaps ..]: of the others. They take
// turns in time; which come first depends on is_odd.
BASEBAND_HOST_DEVICE inline double DelayWeight(const DelayPlace& place, int k) {
  const int in_time =
      k < kPhaseTaps ? 2 * k + 1 - place.is_odd : 2 * (k - kPhaseTaps) + place.is_odd;
  return DelayWindow(place.rest - static_cast<double>(in_time - (kPhaseTaps - 1)));
}

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_FUNCTIONALS_MATCHED_MATH_H_
