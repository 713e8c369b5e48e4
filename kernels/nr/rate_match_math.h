// Rate matching of one code block, TS 38.212 clause 5.4.2, as a mapping of places that host and
// device share: which bit of the circular buffer is sent when, and back.
//
// The buffer holds d_0 .. d_{N_cb-1}. It is read from k_0 on, around and around, without the
// fillers, until E bits e_0 .. e_{E-1} are taken. These are interleaved: bit j of row i, of Q_m
// rows of E / Q_m bits, is sent as f_{i + j Q_m} (5.4.2.2).
//
//   d   [ 0 ....... filler_begin  (fillers)  filler_end ..... k_0 ........ N_cb )
//   e                                                          0 1 2 ..   then on from d_0
#ifndef BASEBAND_KERNELS_NR_RATE_MATCH_MATH_H_
#define BASEBAND_KERNELS_NR_RATE_MATCH_MATH_H_

#include <cstdint>

#include "kernels/base/host_device.h"

namespace baseband::nr {

// Of one code block; made by MakePlan or MakeRateMatch, which check it. Copied to the device as it
// is.
struct RateMatch {
  uint32_t n_cb = 0;          // length of the buffer
  uint32_t k0 = 0;            // below n_cb
  uint32_t filler_begin = 0;  // fillers are d[filler_begin, filler_end); clipped to n_cb, so that
  uint32_t filler_end = 0;    // they are below it, and equal if there are none
  uint32_t e = 0;             // bits that are sent; a multiple of qm, at least 1
  uint32_t qm = 1;
  // Derived: bits of the buffer that are no fillers (at least 1), those of them before k0, and
  // e / qm.
  uint32_t kept = 0;
  uint32_t kept_before_k0 = 0;
  uint32_t columns = 0;
};

// How many of d_0 .. d_{p-1} are no fillers.
BASEBAND_HOST_DEVICE inline uint32_t KeptBefore(const RateMatch& r, uint32_t p) {
  if (p <= r.filler_begin) return p;
  return p < r.filler_end ? r.filler_begin : p - (r.filler_end - r.filler_begin);
}

// The place in the buffer of e_k. k < e.
BASEBAND_HOST_DEVICE inline uint32_t PlaceOfSent(const RateMatch& r, uint32_t k) {
  uint32_t rank = r.kept_before_k0 + k % r.kept;
  if (rank >= r.kept) rank -= r.kept;
  return rank < r.filler_begin ? rank : rank + (r.filler_end - r.filler_begin);
}

// The least k for which e_k is d_p, p no filler; then it is sent again at k + kept, k + 2 kept, ..
// for as long as that is below e. It is not sent at all if k >= e.
BASEBAND_HOST_DEVICE inline uint32_t FirstSentOf(const RateMatch& r, uint32_t p) {
  const uint32_t rank = KeptBefore(r, p);
  return rank >= r.kept_before_k0 ? rank - r.kept_before_k0 : rank + r.kept - r.kept_before_k0;
}

// Where e_k is among the bits as they are sent.
BASEBAND_HOST_DEVICE inline uint32_t Interleaved(const RateMatch& r, uint32_t k) {
  const uint32_t row = k / r.columns;
  return row + (k - row * r.columns) * r.qm;
}

}  // namespace baseband::nr

#endif  // BASEBAND_KERNELS_NR_RATE_MATCH_MATH_H_
