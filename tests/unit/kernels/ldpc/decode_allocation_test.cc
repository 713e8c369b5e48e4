// DecodeOnCpu allocates nothing once a thread has decoded a block of this size. A program of its
// own, as it replaces the global operator new.

#include "gtest/gtest.h"
#include "kernels/ldpc/decode.h"
#include "tests/support/count_allocations.h"

namespace baseband::ldpc {
namespace {

TEST(LdpcDecodeAllocationTest, ASecondBlockAllocatesNothing) {
  const CodePtr large = *NrCode(1, 384);
  const CodePtr small = *WimaxCode("1/2", 576);
  const std::vector<int8_t> llr(static_cast<size_t>(large->num_sent()), 3);
  std::vector<uint8_t> bits(static_cast<size_t>(DecodedBytes(*large, 0)));
  std::vector<int8_t> soft(static_cast<size_t>(large->n()));
  const auto decode_all = [&] {
    for (const CodePtr& code : {large, small}) {
      for (Algorithm algorithm :
           {Algorithm::kNormalizedMinSum, Algorithm::kSumProduct, Algorithm::kBitFlipping}) {
        for (Schedule schedule : {Schedule::kLayered, Schedule::kFlooding}) {
          DecodeParameters parameters;
          parameters.algorithm = algorithm;
          parameters.schedule = schedule;
          DecodeOnCpu(*code, parameters, 0,
                      absl::MakeSpan(llr).subspan(0, static_cast<size_t>(code->num_sent())),
                      absl::MakeSpan(bits).subspan(0, static_cast<size_t>(DecodedBytes(*code, 0))),
                      absl::MakeSpan(soft).subspan(0, static_cast<size_t>(code->n())));
        }
      }
    }
  };
  decode_all();
  const int after_first = num_allocations;
  decode_all();
  EXPECT_EQ(num_allocations, after_first);
}

}  // namespace
}  // namespace baseband::ldpc
