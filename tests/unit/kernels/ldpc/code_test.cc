// Codes: the tables of the standards, the checks of a client's own matrix, the factories.
#include "kernels/ldpc/code.h"

#include <thread>

#include "kernels/ldpc/tables.h"
#include "tests/support/custom_codes.h"
#include "tests/support/ldpc_vectors.h"
#include "tests/support/matchers.h"

namespace baseband::ldpc {
namespace {

using ::baseband::testing::kNoBlock;
using ::baseband::testing::ShiftAt;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// The smallest matrix that passes: zc 27, [ 1 3 0 ; 2 4 5 ] with one information column.
BaseMatrix SmallMatrix() {
  BaseMatrix matrix = testing::EmptyMatrix(2, 3, 27);
  matrix.shifts = {1, 3, kNoBlock, 2, 4, 5};
  return matrix;
}

absl::Status CreateStatus(const BaseMatrix& matrix) {
  return Code::Create(matrix, Family::kCustom, "test").status();
}

TEST(LdpcTablesTest, NrTablesHaveTheSizesOfTheStandard) {
  EXPECT_EQ(NrBaseGraph(1).size(), 316u);
  EXPECT_EQ(NrBaseGraph(2).size(), 197u);
  ASSERT_EQ(NrLiftingSizes().size(), 51u);
  EXPECT_EQ(NrLiftingSizes().front(), 2);
  EXPECT_EQ(NrLiftingSizes().back(), 384);
  constexpr int kFactors[] = {2, 3, 5, 7, 9, 11, 13, 15};
  for (const NrLiftingSize& size : NrLiftingSizeTable()) {
    int odd = size.zc;
    while (odd % 2 == 0 && odd != kFactors[size.set_index]) {
      odd /= 2;
    }
    EXPECT_EQ(odd, kFactors[size.set_index]) << "zc " << size.zc;
  }
}

TEST(LdpcCodeTest, NrCodeHasTheDimensionsOfTheStandard) {
  const CodePtr code = *NrCode(1, 384);
  EXPECT_EQ(code->name(), "NR BG1 Zc=384 rows=46");
  EXPECT_EQ(code->family(), Family::kNr);
  EXPECT_EQ(code->k(), 8448);
  EXPECT_EQ(code->n(), 68 * 384);
  EXPECT_EQ(code->num_sent(), 66 * 384);
  EXPECT_EQ(code->parity_bits(), 46 * 384);
  EXPECT_EQ(code->punctured_columns(), 2);
  EXPECT_EQ(code->edges().size(), 316u);
  EXPECT_EQ(code->max_row_degree(), 19);
  EXPECT_EQ(code->max_column_degree(), 30);
  EXPECT_EQ((*NrCode(2, 384))->k(), 3840);
}

TEST(LdpcCodeTest, NrShiftIsTheTableEntryModuloZc) {
  // Row 0, column 0 of base graph 1 in set 1 (zc = 3 * 2^j): 307.
  EXPECT_EQ((*NrCode(1, 384))->edges()[0].shift, 307);
  EXPECT_EQ((*NrCode(1, 96))->edges()[0].shift, 307 % 96);
}

TEST(LdpcCodeTest, FewerNrRowsAreTheFirstRowsOfTheWholeCode) {
  const CodePtr whole = *NrCode(1, 16);
  for (int rows = 4; rows <= 46; ++rows) {
    const CodePtr code = *NrCode(1, 16, rows);
    EXPECT_EQ(code->columns(), 22 + rows);
    for (size_t i = 0; i < code->edges().size(); ++i) {
      EXPECT_EQ(code->edges()[i].column, whole->edges()[i].column);
      EXPECT_EQ(code->edges()[i].shift, whole->edges()[i].shift);
    }
  }
}

TEST(LdpcCodeTest, WimaxShiftsScaleByFloorExceptTwoThirdsA) {
  // Row 0, column 1 of rate 1/2 is 94: floor(94 * 24 / 96) = 23.
  EXPECT_EQ((*WimaxCode("1/2", 576))->edges()[0].shift, 23);
  // Row 1 of rate 2/3A begins with 1 in column 2, then 36 in column 4: 36 mod 24 = 12.
  EXPECT_EQ((*WimaxCode("2/3A", 576))->row(1)[1].shift, 12);
  EXPECT_EQ((*WimaxCode("1/2", 2304))->edges()[0].shift, 94);
}

TEST(LdpcCodeTest, EveryCodeOfTheStandardsCanBeEncoded) {
  for (const CodePtr& code : testing::IeeeCodes()) {
    EXPECT_THAT(code->encode_plan(), IsOk()) << code->name();
  }
  for (const int zc : NrLiftingSizes()) {
    for (int rows = 4; rows <= 46; ++rows) {
      EXPECT_THAT((*NrCode(1, zc, rows))->encode_plan(), IsOk());
      if (rows <= 42) {
        EXPECT_THAT((*NrCode(2, zc, rows))->encode_plan(), IsOk());
      }
    }
  }
}

TEST(LdpcCodeTest, FactoriesReturnTheSameObjectAgain) {
  EXPECT_EQ(*NrCode(1, 384), *NrCode(1, 384, 46));
  EXPECT_EQ(*WimaxCode("3/4B", 960), *WimaxCode("3/4B", 960));
  EXPECT_EQ(*WifiCode("5/6", 1944), *WifiCode("5/6", 1944));
  EXPECT_NE(*NrCode(1, 384), *NrCode(1, 384, 45));
}

TEST(LdpcCodeTest, FactoriesMayBeCalledFromManyThreads) {
  std::vector<CodePtr> codes(8);
  std::vector<std::thread> threads;
  for (CodePtr& code : codes) {
    threads.emplace_back([&code] { code = *NrCode(2, 208, 17); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_THAT(codes, ::testing::Each(*NrCode(2, 208, 17)));
}

TEST(LdpcCodeTest, FactoriesRefuseWhatTheStandardsDoNotHave) {
  EXPECT_THAT(NrCode(3, 384), StatusIs(kInvalid, "base_graph 3 is not in [1, 2]"));
  EXPECT_THAT(NrCode(1, 17), StatusIs(kInvalid,
                                      "zc 17 is not a lifting size of 38.212 table "
                                      "5.3.2-1 (2 .. 384)"));
  EXPECT_THAT(NrCode(1, 384, 3), IsInvalid("rows 3 is neither 0"));
  EXPECT_THAT(NrCode(2, 384, 43), IsInvalid("[4, 42] for base graph 2"));
  EXPECT_THAT(WimaxCode("2/3", 576), IsInvalid("rate '2/3' is not"));
  EXPECT_THAT(WimaxCode("1/2", 600), IsInvalid("n 600 is not"));
  EXPECT_THAT(WimaxCode("1/2", 2400), IsInvalid("n 2400 is not"));
  EXPECT_THAT(WifiCode("7/8", 648), IsInvalid("rate '7/8' is not"));
  EXPECT_THAT(WifiCode("1/2", 649), IsInvalid("n 649 is not"));
}

TEST(LdpcCodeTest, EqualMatricesHaveEqualFingerprints) {
  const BaseMatrix matrix = SmallMatrix();
  const CodePtr code = *Code::Create(matrix, Family::kCustom, "one");
  EXPECT_EQ(code->fingerprint(), (*Code::Create(matrix, Family::kNr, "two"))->fingerprint());

  BaseMatrix changed = matrix;
  changed.shifts[0] = 2;
  EXPECT_NE(code->fingerprint(), (*Code::Create(changed, Family::kCustom, ""))->fingerprint());
  changed = matrix;
  changed.zc = 28;
  EXPECT_NE(code->fingerprint(), (*Code::Create(changed, Family::kCustom, ""))->fingerprint());
  changed = matrix;
  changed.punctured_columns = 1;
  EXPECT_NE(code->fingerprint(), (*Code::Create(changed, Family::kCustom, ""))->fingerprint());
}

TEST(LdpcCodeTest, NumbersBeyondAnyIntAreToldAsTheyAre) {
  constexpr int64_t kLarge = int64_t{1} << 40;
  EXPECT_THAT(NrCode(kLarge, 384).status(),
              StatusIs(kInvalid, HasSubstr("base_graph 1099511627776 ")));
  EXPECT_THAT(NrCode(1, kLarge + 384).status(), StatusIs(kInvalid, HasSubstr("zc 1099511628160 ")));
  EXPECT_THAT(NrCode(1, 384, kLarge + 4).status(),
              StatusIs(kInvalid, HasSubstr("rows 1099511627780 ")));
  EXPECT_THAT(WimaxCode("1/2", kLarge + 576).status(),
              StatusIs(kInvalid, HasSubstr("n 1099511628352 ")));
  EXPECT_THAT(WifiCode("1/2", kLarge + 648).status(),
              StatusIs(kInvalid, HasSubstr("n 1099511628424 ")));
  BaseMatrix matrix = SmallMatrix();
  matrix.columns = kLarge;
  EXPECT_THAT(CreateStatus(matrix), StatusIs(kInvalid, "columns 1099511627776 is not in [3, 128]"));
}

TEST(LdpcCodeTest, MatrixOutsideTheLimitsIsRefusedByName) {
  EXPECT_THAT(CreateStatus(SmallMatrix()), IsOk());

  BaseMatrix matrix = SmallMatrix();
  matrix.zc = 0;
  EXPECT_THAT(CreateStatus(matrix), StatusIs(kInvalid, "zc 0 is not in [1, 512]"));
  matrix.zc = 513;
  EXPECT_THAT(CreateStatus(matrix), StatusIs(kInvalid, "zc 513 is not in [1, 512]"));

  matrix = SmallMatrix();
  matrix.rows = 0;
  EXPECT_THAT(CreateStatus(matrix), StatusIs(kInvalid, "rows 0 is not in [1, 64]"));
  matrix.rows = -1;
  EXPECT_THAT(CreateStatus(matrix), StatusIs(kInvalid, "rows -1 is not in [1, 64]"));
  matrix.rows = 3;
  EXPECT_THAT(CreateStatus(matrix), StatusIs(kInvalid, "columns 3 is not in [4, 128]"));

  matrix = SmallMatrix();
  matrix.columns = 129;
  EXPECT_THAT(CreateStatus(matrix), StatusIs(kInvalid, "columns 129 is not in [3, 128]"));

  matrix = SmallMatrix();
  matrix.punctured_columns = 2;
  EXPECT_THAT(CreateStatus(matrix), StatusIs(kInvalid, "punctured_columns 2 is not in [0, 1]"));

  matrix = SmallMatrix();
  matrix.shifts.pop_back();
  EXPECT_THAT(CreateStatus(matrix),
              StatusIs(kInvalid, "shifts has 5 entries, not rows * columns = 6"));
}

TEST(LdpcCodeTest, ShiftOutOfRangeIsRefusedWithItsPlace) {
  BaseMatrix matrix = SmallMatrix();
  matrix.shifts[4] = 99;
  EXPECT_THAT(CreateStatus(matrix), StatusIs(kInvalid, "shifts[4] is 99, not in [-1, 26]"));
  matrix.shifts[4] = -2;
  EXPECT_THAT(CreateStatus(matrix), StatusIs(kInvalid, "shifts[4] is -2, not in [-1, 26]"));
}

TEST(LdpcCodeTest, EmptyRowsAndColumnsAreRefused) {
  BaseMatrix matrix = SmallMatrix();
  matrix.shifts = {kNoBlock, kNoBlock, kNoBlock, 2, 4, 5};
  EXPECT_THAT(CreateStatus(matrix), IsInvalid("row 0 has 0 blocks"));
  matrix.shifts = {1, kNoBlock, kNoBlock, 2, 4, 5};
  EXPECT_THAT(CreateStatus(matrix), IsInvalid("row 0 has 1 blocks"));
  matrix.shifts = {1, 3, kNoBlock, 2, 4, kNoBlock};
  EXPECT_THAT(CreateStatus(matrix), StatusIs(kInvalid, "shifts: column 2 has no block"));
}

TEST(LdpcCodeTest, TooManyBlocksAreRefused) {
  BaseMatrix matrix = testing::EmptyMatrix(33, 66, 8);
  for (int row = 0; row < 33; ++row) {
    for (int i = 0; i < kMaxRowDegree; ++i) {
      ShiftAt(&matrix, row, (row + 2 * i) % 66) = 0;
    }
  }
  EXPECT_THAT(CreateStatus(matrix), StatusIs(kInvalid, "shifts has 1056 blocks, more than 1024"));
  ShiftAt(&matrix, 5, 6) = 0;
  EXPECT_THAT(CreateStatus(matrix), IsInvalid("row 5 has 33 blocks"));
}

}  // namespace
}  // namespace baseband::ldpc
