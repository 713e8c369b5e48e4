// LaunchDecode of words that break one check and no other: of each row, and at places all over the
// circulant. Who leaves a check out, or finds it elsewhere, calls such a word right, and a code
// word wrong.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/gpu/ldpc_decode_launch.h"

namespace baseband::ldpc {
namespace {

using Word = std::vector<uint8_t>;  // a byte a bit
using CheckOfRow = std::pair<int, int>;

using LdpcOneCheckGpuTest = LdpcDecodeGpuTest;

uint8_t ParityOf(const Code& code, absl::Span<const Edge> edges, int index, const Word& word) {
  uint8_t parity = 0;
  for (const Edge& edge : edges) {
    parity ^= word[static_cast<size_t>(edge.column * code.zc() + (index + edge.shift) % code.zc())];
  }
  return parity;
}

std::vector<CheckOfRow> BrokenChecks(const Code& code, const Word& word) {
  std::vector<CheckOfRow> broken;
  for (int row = 0; row < code.rows(); ++row) {
    for (int index = 0; index < code.zc(); ++index) {
      if (ParityOf(code, code.row(row), index, word) != 0) broken.emplace_back(row, index);
    }
  }
  return broken;
}

constexpr int kDenseRows = 4;  // of both base graphs, before those with an extension column each

// Makes the extension columns anew, so that their rows hold.
void MakeExtensions(const Code& code, Word* word) {
  for (int row = kDenseRows; row < code.rows(); ++row) {
    const auto edges = code.row(row);
    for (int index = 0; index < code.zc(); ++index) {
      (*word)[static_cast<size_t>(edges.back().column * code.zc() + index)] =
          ParityOf(code, edges.subspan(0, edges.size() - 1), index, *word);
    }
  }
}

// `word`, a code word of NR, so changed that it breaks check `index` of `row` alone. Of the dense
// rows' parity columns the first takes part in three rows, in one of them, the odd one, shifted
// otherwise than in the first and the last row; of the others each ties two neighbours, unshifted.
Word Breaking(const Code& code, int row, int index, Word word) {
  const int zc = code.zc();
  const auto flip = [&](int column, int at) {
    word[static_cast<size_t>(column * zc + (at % zc + zc) % zc)] ^= 1;
  };
  if (row >= kDenseRows) {
    flip(code.row(row).back().column, index);
    return word;
  }
  const int first = code.kb();
  int shifts[kDenseRows] = {};
  int odd = -1;
  for (int r = 0; r < kDenseRows; ++r) {
    for (const Edge& edge : code.row(r)) {
      if (edge.column != first) continue;
      shifts[r] = edge.shift;
      if (r == 1 || r == 2) odd = r;
    }
  }
  flip(first, index + shifts[odd]);
  for (int i = 1; i < kDenseRows; ++i) flip(first + i, index + shifts[odd] - shifts[0]);
  for (int r = std::min(row, odd); r < std::max(row, odd); ++r) flip(first + 1 + r, index);
  MakeExtensions(code, &word);
  return word;
}

// As it is received without noise.
Job Received(const Code& code, const Word& word, bool wants_soft) {
  Job job;
  job.wants_soft = wants_soft;
  for (const uint8_t bit : testing::SentBits(code, word)) job.llr.push_back(bit != 0 ? -127 : 127);
  return job;
}

// Words that break a check each, of every row and every 32 checks of it, and now and then the right
// one: so of a pair either code word is wrong, or both are, or none.
std::vector<Job> WordsThatBreakOne(const Code& code, const Word& right, Random& random) {
  std::vector<Job> jobs;
  for (int row = 0; row < code.rows(); ++row) {
    for (int begin = 0; begin < code.zc(); begin += 32) {
      const int index = std::min(begin + random.Below(32), code.zc() - 1);
      const Word word = Breaking(code, row, index, right);
      EXPECT_THAT(BrokenChecks(code, word), ::testing::ElementsAre(CheckOfRow(row, index)));
      jobs.push_back(Received(code, word, random.Below(8) == 0));
      if (random.Below(3) == 0) jobs.push_back(Received(code, right, random.Below(8) == 0));
    }
  }
  return jobs;
}

TEST_F(LdpcOneCheckGpuTest, AWordThatBreaksOneCheckAloneIsWrongToTheEnd) {
  Random random(1);
  for (const auto& [base_graph, all_rows] : {std::pair(1, 46), std::pair(2, 42)}) {
    for (const int zc : {384, 208}) {
      for (const int rows : {4, 8, 12, 23, all_rows}) {
        const CodePtr code = *NrCode(base_graph, zc, rows);
        const Word right = testing::RandomWord(*code, 0, random);
        ASSERT_THAT(BrokenChecks(*code, right), ::testing::IsEmpty());
        std::vector<Job> jobs = WordsThatBreakOne(*code, right, random);
        for (int moved = 0; moved < 2; ++moved) {  // each is either code word of its pair
          for (const bool early_termination : {true, false}) {
            const DecodeParameters parameters = Iterations(5, early_termination);
            ExpectEqualToCpu(*code, parameters, jobs);
            const std::vector<Decoded> decoded = DecodeOnGpu(*code, parameters, jobs);
            const auto wrong = std::count_if(decoded.begin(), decoded.end(), [](const Decoded& d) {
              return d.parity_ok == 0 && d.iterations == 5;
            });
            EXPECT_GE(wrong, rows * zc / 32) << Describe(*code, parameters);
          }
          jobs.insert(jobs.begin(), Received(*code, right, false));
        }
      }
    }
  }
}

}  // namespace
}  // namespace baseband::ldpc
