// Matched filters: how far a complex signal is from one of a family of signals, turned by a
// frequency, its complex amplitude free. The family's members are numbered by all axes of the grid
// but the last, which is the frequency f in Hz:
//
//   J(u, f) = Q - |sum over n of y[n] conj(s_u[n]) exp(-j 2 pi f t_n)|^2 / E,   E = |s_u|^2,
//
// the least |y - a s_u exp(j 2 pi f t)|^2 over all a; Q = |y|^2, N samples of I and Q, t_n = (n -
// (N
// - 1) / 2) Ts: time counts from the middle of the signal. Methods fast and hoisted; there is no
// literal one. A point's sum is made of a row of y conj(s_u) that all points with the same u share.
#ifndef BASEBAND_KERNELS_MINIMIZE_MATCHED_H_
#define BASEBAND_KERNELS_MINIMIZE_MATCHED_H_

#include <complex>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/minimize/functional.h"

namespace baseband::minimize {

// The axes are ([rate of the rate r in Hz/s^2,] rate c in Hz/s, frequency f in Hz):
//
//   s = exp(j 2 pi (c t^2 / 2 + r t^3 / 6)).
//
// f is the frequency in the middle of the signal: there, and nowhere else, it and the rate are told
// independently of one another, so that a wrong rate does not move the best frequency and the best
// points do not lie along a slope. At the first sample the frequency is f - c (N - 1) Ts / 2.
// kMinSamples .. kMaxSamples (sinusoids.h). A real signal's chirp is for an expression.
//
// InvalidArgument names what is out of range: the number of axes (2 or 3), sizes, the interval, a
// sample that is not finite.
absl::StatusOr<FunctionalPtr> MakeChirp(const std::vector<std::complex<double>>& signal,
                                        double sampling_interval_s, int num_axes);

// The axes are (delay tau in s, Doppler f in Hz); s is `replica` delayed by tau, periodically over
// the N samples and, between them, band-limited:
//
//   s[n] = 1 / N sum over k of S[k] exp(j 2 pi k (n - tau / Ts) / N),   -N / 2 <= k < N / 2,
//
// S the replica's DFT. Of an even N the bin at half the sampling rate counts as a negative
// frequency: so every delay keeps the energy, whole ones are cyclic shifts, and delays add. It is
// computed to some 1e-14 of the replica's rms. Who wants no wrap-around appends zeros to both;
// periodic codes need none. Any delay up to 2^52 samples, also negative.
//
// Signal and replica have kMinSamples .. kMaxReplicaSamples each, as many as the other.
// InvalidArgument as above, and where the replica is zero.
absl::StatusOr<FunctionalPtr> MakeDelayDoppler(const std::vector<std::complex<double>>& signal,
                                               const std::vector<std::complex<double>>& replica,
                                               double sampling_interval_s);
inline constexpr int64_t kMaxReplicaSamples = int64_t{1} << 18;

}  // namespace baseband::minimize

#endif  // BASEBAND_KERNELS_MINIMIZE_MATCHED_H_
