#include "client/ctl/ldpc/replay_calls.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ctl/ldpc/bits.h"
#include "client/ctl/ldpc/transfer.h"

namespace baseband::ctl::replay_internal {
namespace {

absl::Status Mismatch(absl::string_view what, int64_t bit, int64_t differences) {
  return absl::DataLossError(absl::StrCat(what, " differs at bit ", bit, ", in ", differences,
                                          differences == 1 ? " bit" : " bits", " altogether"));
}

}  // namespace

absl::Status CompareBits(absl::string_view what, absl::string_view expected, absl::string_view got,
                         int64_t bits) {
  const int64_t bit = FirstDifferingBit(expected, got, bits);
  if (bit >= 0) {
    return Mismatch(what, bit, CountBitDifferences(expected, got, bits));
  }
  return PaddingIsZero(got, bits)
             ? absl::OkStatus()
             : absl::DataLossError(absl::StrCat(what, " is not filled up with zeros"));
}

void RunChunks(const GlobalFlags& flags, const RequestLimits& limits, int64_t case_bytes,
               const Call& call, Cases cases) {
  const int64_t chunk =
      std::clamp<int64_t>(limits.bytes / case_bytes, 1, std::min<int64_t>(limits.blocks, 64));
  const int64_t total = static_cast<int64_t>(cases.size());
  std::vector<absl::Status> statuses(total);
  ForEachChunk(total, chunk, flags.in_flight, [&](int64_t first, int64_t count, const Done& done) {
    call(cases.subspan(first, count), [&statuses, first, done](absl::Status status) {
      statuses[first] = std::move(status);
      done(absl::OkStatus());  // a refused request does not stop the others
    });
  }).IgnoreError();
  for (int64_t first = 0; first < total; first += chunk) {
    if (statuses[first].ok()) {
      continue;
    }
    const Cases refused = cases.subspan(first, chunk);
    ForEachChunk(static_cast<int64_t>(refused.size()), 1, flags.in_flight,
                 [&](int64_t index, int64_t, const Done& done) {
                   call(refused.subspan(index, 1),
                        [&refused, index, done](const absl::Status& status) {
                          if (!status.ok()) {
                            refused[index]->status = status;
                          }
                          done(absl::OkStatus());
                        });
                 })
        .IgnoreError();
  }
}

}  // namespace baseband::ctl::replay_internal
