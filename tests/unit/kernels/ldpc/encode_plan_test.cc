// How a code is encoded: closed forms, exact inverses, and which matrices are refused.
#include "kernels/ldpc/circulant.h"
#include "kernels/ldpc/encode.h"
#include "kernels/ldpc/reference.h"
#include "tests/support/custom_codes.h"
#include "tests/support/ldpc_vectors.h"
#include "tests/support/matchers.h"

namespace baseband::ldpc {
namespace {

using ::baseband::testing::FullMatrix;
using ::baseband::testing::ShiftAt;

constexpr auto kFailed = absl::StatusCode::kFailedPrecondition;

Polynomial FromExponents(std::initializer_list<int> exponents) {
  Polynomial a{};
  for (const int exponent : exponents) {
    a = a ^ Monomial(exponent);
  }
  return a;
}

Polynomial RandomCirculant(int zc, std::mt19937* random) {
  Polynomial a{};
  for (int i = 0; i < zc; ++i) {
    if ((*random)() % 2 != 0) {
      a = a ^ Monomial(i);
    }
  }
  return a;
}

// The product term by term.
Polynomial SlowProduct(const Polynomial& a, const Polynomial& b, int zc) {
  Polynomial product{};
  for (const int i : Exponents(a)) {
    for (const int j : Exponents(b)) {
      product = product ^ Monomial((i + j) % zc);
    }
  }
  return product;
}

TEST(CirculantTest, ProductIsTheConvolutionModuloZc) {
  std::mt19937 random(1);
  for (const int zc : {1, 2, 5, 63, 64, 65, 127, 128, 129, 384, 511, 512}) {
    const Polynomial a = RandomCirculant(zc, &random);
    const Polynomial b = RandomCirculant(zc, &random);
    EXPECT_EQ(Multiplier(a, zc).Times(b), SlowProduct(a, b, zc)) << "zc " << zc;
  }
}

TEST(CirculantTest, InverseTimesItselfIsOne) {
  std::mt19937 random(2);
  int num_inverses = 0;
  for (int zc = 1; zc <= kMaxZc; zc += 7) {
    const Polynomial a = RandomCirculant(zc, &random);
    const auto inverse = Inverse(a, zc);
    const bool is_unit = Degree(Gcd(a, Monomial(zc) ^ Monomial(0))) == 0;
    EXPECT_EQ(inverse.has_value(), is_unit) << "zc " << zc;
    if (inverse) {
      ++num_inverses;
      EXPECT_EQ(Multiplier(a, zc).Times(*inverse), Monomial(0)) << "zc " << zc;
    }
  }
  EXPECT_GT(num_inverses, 5);
}

TEST(CirculantTest, EvenWeightHasNoInverse) {
  EXPECT_FALSE(Inverse(FromExponents({0, 1}), 8));
  EXPECT_FALSE(Inverse(Polynomial{}, 8));
}

// x^7 - 1 = (x + 1)(x^3 + x + 1)(x^3 + x^2 + 1): no entry of the matrix has an inverse, the matrix
// has one.
TEST(CirculantTest, MatrixWithoutAnyUnitIsInverted) {
  const Polynomial a = FromExponents({0, 1});
  const Polynomial b = FromExponents({0, 1, 3});
  const CirculantMatrix matrix = {{a, b}, {b, a}};
  const auto inverse = *LeftInverse(matrix, 7);
  ASSERT_TRUE(inverse.has_value());
  for (size_t i = 0; i < 2; ++i) {
    for (size_t j = 0; j < 2; ++j) {
      const Polynomial entry = SlowProduct((*inverse)[i][0], matrix[0][j], 7) ^
                               SlowProduct((*inverse)[i][1], matrix[1][j], 7);
      EXPECT_EQ(entry, i == j ? Monomial(0) : Polynomial{});
    }
  }
  EXPECT_FALSE(LeftInverse({{a, a}, {a, b}}, 7)->has_value());  // (x + 1) divides a column
}

TEST(EncodePlanTest, StandardsAreEncodedInClosedForm) {
  std::vector<CodePtr> codes = testing::NrCodes();
  for (const CodePtr& code : testing::IeeeCodes()) {
    codes.push_back(code);
  }
  for (const CodePtr& code : codes) {
    ASSERT_THAT(code->encode_plan(), IsOk()) << code->name();
    const EncodePlan& plan = **code->encode_plan();
    EXPECT_EQ(plan.steps().size(), static_cast<size_t>(code->rows()));
    size_t num_terms = 0;
    for (const EncodePlan::Step& step : plan.steps()) {
      num_terms += step.terms.size();
    }
    EXPECT_LT(num_terms, 5u * static_cast<size_t>(code->rows())) << code->name();
    EXPECT_LE(plan.num_levels(), code->rows());
  }
  EXPECT_EQ((*(*NrCode(1, 384))->encode_plan())->num_levels(), 4);
}

TEST(EncodePlanTest, StepsNeedOnlyLowerLevels) {
  for (const CodePtr& code : {*NrCode(1, 8), *NrCode(2, 36), *WimaxCode("1/2", 2304)}) {
    const EncodePlan& plan = **code->encode_plan();
    std::vector<int> level_of(static_cast<size_t>(code->rows()), -1);
    int level = 0;
    for (const EncodePlan::Step& step : plan.steps()) {
      EXPECT_GE(step.level, level);
      level = step.level;
      for (const EncodePlan::Term& term : step.terms) {
        if (term.is_parity) {
          ASSERT_NE(level_of[term.index], -1);
          EXPECT_LT(level_of[term.index], step.level);
        }
      }
      EXPECT_EQ(level_of[step.column], -1) << "a column is solved once";
      level_of[step.column] = step.level;
    }
  }
}

TEST(EncodePlanTest, TriangularParityNeedsNoInverse) {
  std::mt19937 random(3);
  const auto code =
      Code::Create(testing::TriangularMatrix(20, 40, 31, &random), Family::kCustom, "triangular");
  ASSERT_THAT(code, IsOk());
  ASSERT_THAT((*code)->encode_plan(), IsOk());
  for (const EncodePlan::Step& step : (*(*code)->encode_plan())->steps()) {
    EXPECT_LE(step.terms.size(), 4u);
  }
}

TEST(EncodePlanTest, SingularParityPartIsRefused) {
  std::mt19937 random(4);
  for (const int rows : {2, 5, 16, 30}) {
    const auto code =
        Code::Create(FullMatrix(rows, 2 * rows, 12, false, &random), Family::kCustom, "singular");
    ASSERT_THAT(code, IsOk());
    EXPECT_THAT((*code)->encode_plan(), StatusIs(kFailed, HasSubstr("has no inverse")));
  }
}

TEST(EncodePlanTest, ParityColumnsThatShareTheirOnlyRowAreRefused) {
  BaseMatrix matrix = testing::EmptyMatrix(2, 4, 5);
  matrix.shifts = {1, 2, 3,  4,  //
                   0, 1, -1, -1};
  const auto code = Code::Create(matrix, Family::kCustom, "one row, two unknowns");
  ASSERT_THAT(code, IsOk());
  EXPECT_THAT((*code)->encode_plan(), StatusIs(kFailed, HasSubstr("has no inverse")));
}

TEST(EncodePlanTest, DenseInverseIsRefusedQuickly) {
  std::mt19937 random(5);
  // The largest and most tangled core that the limits let through.
  BaseMatrix matrix = testing::RandomInformationPart(kMaxRows, kMaxColumns - 1, kMaxZc, &random);
  for (int row = 0; row < kMaxRows; ++row) {
    for (int i = 0; i < 11; ++i) {
      ShiftAt(&matrix, row, 63 + (row + 5 * i * i) % kMaxRows) =
          static_cast<int>(random() % kMaxZc);
    }
  }
  const auto code = Code::Create(matrix, Family::kCustom, "dense");
  ASSERT_THAT(code, IsOk());
  EXPECT_THAT((*code)->encode_plan().status().code(), kFailed);
}

// Against dense elimination: the same matrices are invertible.
TEST(EncodePlanTest, RefusesExactlyTheSingularOnes) {
  std::mt19937 random(6);
  int num_singular = 0;
  constexpr int kTrials = 60;
  for (int trial = 0; trial < kTrials; ++trial) {
    const int rows = 2 + trial % 5;
    const int zc = 1 + trial % 9;
    BaseMatrix matrix = testing::RandomInformationPart(rows, rows + 3, zc, &random);
    for (int row = 0; row < rows; ++row) {
      for (int column = 3; column < rows + 3; ++column) {
        if (random() % 2 != 0 || column - 3 == row) {
          ShiftAt(&matrix, row, column) = static_cast<int>(random()) & 0xffff;
          ShiftAt(&matrix, row, column) %= zc;
        }
      }
    }
    const auto code = Code::Create(matrix, Family::kCustom, "random");
    ASSERT_THAT(code, IsOk());
    const auto reference = ReferenceEncode(**code, Bits(static_cast<size_t>((*code)->k()), 0));
    EXPECT_EQ((*code)->encode_plan().ok(), reference.ok()) << "trial " << trial;
    num_singular += reference.ok() ? 0 : 1;
  }
  EXPECT_GT(num_singular, kTrials / 10);
  EXPECT_LT(num_singular, kTrials * 9 / 10);
}

}  // namespace
}  // namespace baseband::ldpc
