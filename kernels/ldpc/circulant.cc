#include "kernels/ldpc/circulant.h"

#include <algorithm>
#include <utility>

#include "kernels/base/status_macros.h"

namespace baseband::ldpc {
namespace {

int CountBits(uint64_t word) { return __builtin_popcountll(word); }

Polynomial ShiftLeft(const Polynomial& a, int by) {
  Polynomial out{};
  const size_t words = static_cast<size_t>(by) / 64;
  const int bits = by % 64;
  for (size_t i = words; i < out.size(); ++i) {
    out[i] = a[i - words] << bits;
    if (bits != 0 && i > words) {
      out[i] |= a[i - words - 1] >> (64 - bits);
    }
  }
  return out;
}

// x^zc - 1, whose divisors are what keeps a circulant from having an inverse.
Polynomial Modulus(int zc) { return Monomial(zc) ^ Monomial(0); }

// a divided by b, which is not zero; `a` becomes the remainder.
Polynomial Divide(Polynomial* a, const Polynomial& b) {
  Polynomial quotient{};
  const int degree = Degree(b);
  for (int by = Degree(*a) - degree; by >= 0; by = Degree(*a) - degree) {
    *a = *a ^ ShiftLeft(b, by);
    quotient[static_cast<size_t>(by) / 64] |= uint64_t{1} << (by % 64);
  }
  return quotient;
}

// Gauss-Jordan elimination of [matrix | identity]. Rows below `num_done` hold the pivots.
class Elimination {
 public:
  Elimination(CirculantMatrix matrix, int zc, const ContinueCheck& may_continue)
      : rows_(std::move(matrix)), zc_(zc), may_continue_(may_continue) {
    num_columns_ = rows_.empty() ? 0 : rows_[0].size();
    for (size_t r = 0; r < rows_.size(); ++r) {
      rows_[r].resize(num_columns_ + rows_.size());
      rows_[r][num_columns_ + r] = Monomial(0);
    }
  }

  absl::StatusOr<absl::optional<CirculantMatrix>> Run() {
    if (rows_.size() < num_columns_) {
      return absl::optional<CirculantMatrix>();
    }
    for (size_t column = 0; column < num_columns_; ++column) {
      if (!BringUnitPivot(column)) {
        return absl::optional<CirculantMatrix>();
      }
      Normalise(column);
      BASEBAND_RETURN_IF_ERROR(ClearOthers(column));
    }
    rows_.resize(num_columns_);
    for (std::vector<Polynomial>& row : rows_) {
      row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(num_columns_));
    }
    return absl::make_optional(std::move(rows_));
  }

 private:
  // Moves a row whose entry of `column` has an inverse to row `column`: the sparsest there is, or
  // one made by adding multiples of other rows. False if the column is singular.
  bool BringUnitPivot(size_t column) {
    std::vector<std::pair<int, size_t>> by_weight;
    for (size_t r = column; r < rows_.size(); ++r) {
      if (!IsZero(rows_[r][column])) {
        by_weight.emplace_back(Weight(rows_[r][column]), r);
      }
    }
    std::sort(by_weight.begin(), by_weight.end());
    for (const auto& [weight, r] : by_weight) {
      if (weight == 1 || Inverse(rows_[r][column], zc_)) {
        std::swap(rows_[column], rows_[r]);
        return true;
      }
    }
    if (by_weight.empty()) {
      return false;
    }
    std::swap(rows_[column], rows_[by_weight[0].second]);
    return MakeUnit(column);
  }

  // The ring has stable rank one: if no irreducible factor of x^zc - 1 divides all entries of a
  // column, adding multiples of the other rows turns its first entry into a unit.
  bool MakeUnit(size_t column) {
    std::vector<Polynomial>& pivot = rows_[column];
    for (size_t r = column + 1; r < rows_.size(); ++r) {
      const Polynomial common = Gcd(pivot[column], Modulus(zc_));
      if (Degree(Gcd(common, rows_[r][column])) < Degree(common)) {
        AddMultiple(rows_[r], UnitMaker(pivot[column], zc_), &pivot);
      }
    }
    return Inverse(pivot[column], zc_).has_value();
  }

  void AddMultiple(const std::vector<Polynomial>& from, const Polynomial& factor,
                   std::vector<Polynomial>* to) const {
    const Multiplier multiplier(factor, zc_);
    for (size_t c = 0; c < to->size(); ++c) {
      if (!IsZero(from[c])) {
        (*to)[c] = (*to)[c] ^ multiplier.Times(from[c]);
      }
    }
  }

  void Normalise(size_t column) {
    const Multiplier inverse(*Inverse(rows_[column][column], zc_), zc_);
    for (Polynomial& entry : rows_[column]) {
      if (!IsZero(entry)) {
        entry = inverse.Times(entry);
      }
    }
  }

  absl::Status ClearOthers(size_t column) {
    std::vector<Polynomial> factors;
    for (const std::vector<Polynomial>& row : rows_) {
      factors.push_back(row[column]);
    }
    const std::vector<Polynomial>& pivot = rows_[column];
    for (size_t c = column; c < pivot.size(); ++c) {
      if (IsZero(pivot[c])) {
        continue;
      }
      BASEBAND_RETURN_IF_ERROR(MayContinue(may_continue_));
      const Multiplier multiplier(pivot[c], zc_);
      for (size_t r = 0; r < rows_.size(); ++r) {
        if (r != column && !IsZero(factors[r])) {
          rows_[r][c] = rows_[r][c] ^ multiplier.Times(factors[r]);
        }
      }
    }
    return absl::OkStatus();
  }

  CirculantMatrix rows_;  // [matrix | what has been done to it]
  size_t num_columns_;    // of the matrix
  int zc_;
  const ContinueCheck& may_continue_;
};

}  // namespace

Polynomial Monomial(int degree) {
  Polynomial a{};
  a[static_cast<size_t>(degree) / 64] = uint64_t{1} << (degree % 64);
  return a;
}

int Degree(const Polynomial& a) {
  for (int w = static_cast<int>(a.size()) - 1; w >= 0; --w) {
    if (a[static_cast<size_t>(w)] != 0) {
      return 64 * w + 63 - __builtin_clzll(a[static_cast<size_t>(w)]);
    }
  }
  return -1;
}

int Weight(const Polynomial& a) {
  int weight = 0;
  for (const uint64_t word : a) {
    weight += CountBits(word);
  }
  return weight;
}

std::vector<int> Exponents(const Polynomial& a) {
  std::vector<int> exponents;
  for (size_t w = 0; w < a.size(); ++w) {
    for (uint64_t rest = a[w]; rest != 0; rest &= rest - 1) {
      exponents.push_back(static_cast<int>(64 * w) + __builtin_ctzll(rest));
    }
  }
  return exponents;
}

Polynomial Gcd(Polynomial a, Polynomial b) {
  while (!IsZero(b)) {
    Divide(&a, b);
    std::swap(a, b);
  }
  return a;
}

Multiplier::Multiplier(const Polynomial& factor, int zc)
    : zc_(zc), num_words_((static_cast<size_t>(zc) + 63) / 64) {
  multiples_[0] = Polynomial{};
  for (size_t i = 1; i < multiples_.size(); ++i) {
    multiples_[i] = ShiftLeft(multiples_[i / 2], 1) ^ (i % 2 != 0 ? factor : Polynomial{});
  }
}

Polynomial Multiplier::Times(const Polynomial& a) const {
  // Four bits of each word at a time, the words' tops first.
  std::array<uint64_t, 2 * std::tuple_size<Polynomial>::value> product{};
  const size_t used = 2 * num_words_ + 1;
  for (int nibble = 15; nibble >= 0; --nibble) {
    for (size_t i = used - 1; i > 0; --i) {
      product[i] = (product[i] << 4) | (product[i - 1] >> 60);
    }
    product[0] <<= 4;
    for (size_t w = 0; w < num_words_; ++w) {
      const Polynomial& multiple = multiples_[(a[w] >> (4 * nibble)) & 15];
      for (size_t i = 0; i <= num_words_; ++i) {
        product[w + i] ^= multiple[i];
      }
    }
  }
  // x^zc = 1: fold the upper part onto the lower.
  Polynomial folded{};
  const size_t skip = static_cast<size_t>(zc_) / 64;
  const int bits = zc_ % 64;
  for (size_t i = 0; i < folded.size(); ++i) {
    uint64_t upper = product[i + skip] >> bits;
    if (bits != 0) {
      upper |= product[i + skip + 1] << (64 - bits);
    }
    uint64_t lower = i <= skip ? product[i] : 0;
    if (i == skip) {
      lower &= (uint64_t{1} << bits) - 1;
    }
    folded[i] = lower ^ upper;
  }
  return folded;
}

absl::optional<Polynomial> Inverse(const Polynomial& a, int zc) {
  // Euclid's algorithm, keeping r = t * a modulo x^zc - 1.
  Polynomial r0 = Modulus(zc);
  Polynomial r1 = a;
  Polynomial t0{};
  Polynomial t1 = Monomial(0);
  while (!IsZero(r1)) {
    for (int by = Degree(r0) - Degree(r1); by >= 0; by = Degree(r0) - Degree(r1)) {
      r0 = r0 ^ ShiftLeft(r1, by);
      t0 = t0 ^ ShiftLeft(t1, by);
    }
    std::swap(r0, r1);
    std::swap(t0, t1);
  }
  if (Degree(r0) != 0) {
    return absl::nullopt;
  }
  Divide(&t0, Modulus(zc));
  return t0;
}

Polynomial UnitMaker(const Polynomial& a, int zc) {
  // What is left of x^zc - 1 without the factors it has in common with a.
  Polynomial rest = Modulus(zc);
  for (Polynomial common = Gcd(rest, a); Degree(common) > 0; common = Gcd(rest, a)) {
    rest = Divide(&rest, common);
  }
  Divide(&rest, Modulus(zc));
  return rest;
}

absl::StatusOr<absl::optional<CirculantMatrix>> LeftInverse(CirculantMatrix matrix, int zc,
                                                            const ContinueCheck& may_continue) {
  return Elimination(std::move(matrix), zc, may_continue).Run();
}

}  // namespace baseband::ldpc
