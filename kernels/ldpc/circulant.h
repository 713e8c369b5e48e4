// The ring of circulant matrices: polynomials over GF(2) modulo x^zc - 1, where x^s stands for the
// zc x zc identity shifted right by s. Enough of it to invert a matrix of circulants exactly.
#ifndef BASEBAND_KERNELS_LDPC_CIRCULANT_H_
#define BASEBAND_KERNELS_LDPC_CIRCULANT_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "kernels/base/continue_check.h"
#include "kernels/ldpc/code.h"

namespace baseband::ldpc {

// A polynomial of degree kMaxZc or less; bit i of word w is the coefficient of x^(64 w + i). A
// circulant is one of degree below zc.
using Polynomial = std::array<uint64_t, kMaxZc / 64 + 1>;

Polynomial Monomial(int degree);
inline Polynomial operator^(Polynomial a, const Polynomial& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] ^= b[i];
  }
  return a;
}
int Degree(const Polynomial& a);  // -1 for zero
inline bool IsZero(const Polynomial& a) { return Degree(a) < 0; }
int Weight(const Polynomial& a);  // the number of its terms
std::vector<int> Exponents(const Polynomial& a);
Polynomial Gcd(Polynomial a, Polynomial b);

// Multiplies circulants by one fixed circulant, whose multiples it tabulates.
class Multiplier {
 public:
  Multiplier(const Polynomial& factor, int zc);
  Polynomial Times(const Polynomial& a) const;

 private:
  int zc_;
  size_t num_words_;                      // that hold a circulant
  std::array<Polynomial, 16> multiples_;  // by all polynomials of degree 3 or less
};

// The inverse of a circulant; none if it has a factor in common with x^zc - 1.
absl::optional<Polynomial> Inverse(const Polynomial& a, int zc);

// A `t` such that a + t * b is divisible by only those irreducible factors of x^zc - 1 that divide
// both a and b.
Polynomial UnitMaker(const Polynomial& a, int zc);

// A matrix of circulants.
using CirculantMatrix = std::vector<std::vector<Polynomial>>;

// A left inverse: for `matrix` of n rows and m <= n columns, m rows of n circulants whose product
// with `matrix` is the identity. None if there is none. At most about 0.3 s for 64 x 64, zc = 512;
// `may_continue` is asked every millisecond or so, and ends it.
absl::StatusOr<absl::optional<CirculantMatrix>> LeftInverse(
    CirculantMatrix matrix, int zc, const ContinueCheck& may_continue = nullptr);

}  // namespace baseband::ldpc

#endif  // BASEBAND_KERNELS_LDPC_CIRCULANT_H_
