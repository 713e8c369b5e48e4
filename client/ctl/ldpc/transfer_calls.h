// What transfers are made of, whatever operation they go through: see transfer.h. Internal to
// those.
#ifndef BASEBAND_CLIENT_CTL_LDPC_TRANSFER_CALLS_H_
#define BASEBAND_CLIENT_CTL_LDPC_TRANSFER_CALLS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "client/ctl/common/session.h"
#include "client/ctl/ldpc/transfer.h"
#include "kernels/base/steady_time.h"

namespace baseband::ctl::transfer_internal {

void Add(const v1::Timing& timing, TransferTimes* times);
// From sums to means.
void Finish(absl::Duration wall, TransferTimes* times);

// Enough requests to keep all of them in flight twice over, but none below 64 KiB for that; at most
// `most` blocks, where a block counts as several.
int64_t BlocksPerRequest(const Session& session, int64_t blocks, int64_t block_bytes,
                         int64_t most = INT64_MAX);

absl::Status WrongSize(absl::string_view field, size_t got, int64_t expected);

// Sends all `blocks` as requests of at most `chunk`. make(first, count) is a request; call(request,
// done) sends it; take(first, count, answer) checks the answer and keeps what is in it.
template <typename Response, typename Make, typename Call, typename Take>
absl::StatusOr<TransferTimes> Transfer(const Session& session, int64_t blocks, int64_t chunk,
                                       const Make& make, const Call& call, const Take& take,
                                       const OnProgress& progress) {
  TransferTimes times;
  absl::Mutex mutex;  // guards `times`
  const absl::Time begin = SteadyNow();
  const absl::Status status = ForEachChunk(
      blocks, chunk, session.flags().in_flight,
      [&](int64_t first, int64_t count, std::function<void(absl::Status)> done) {
        call(make(first, count), [&, first, count, done](absl::StatusOr<Response> response) {
          const absl::Status taken =
              response.ok() ? take(first, count, &*response) : response.status();
          if (taken.ok()) {
            absl::MutexLock lock(&mutex);
            Add(response->timing(), &times);
          }
          done(taken);
        });
      },
      progress);
  if (!status.ok()) {
    return status;
  }
  Finish(SteadyNow() - begin, &times);
  return times;
}

// A request of `count` of the group's blocks, which take `bytes` each, from number `first` on.
template <typename Request, typename Group>
Request MakeRequest(const Group& group, absl::string_view payload, int64_t bytes, int64_t first,
                    int64_t count) {
  Request request;
  *request.add_groups() = group;
  request.mutable_groups(0)->set_count(static_cast<uint32_t>(count));
  request.set_payload(payload.data() + first * bytes, count * bytes);
  return request;
}

// Copies what an answer has of `count` blocks of `bytes` to its place in `all`.
absl::Status CopyPayload(absl::string_view rpc, const std::string& payload, int64_t bytes,
                         int64_t first, int64_t count, std::string* all);

}  // namespace baseband::ctl::transfer_internal

#endif  // BASEBAND_CLIENT_CTL_LDPC_TRANSFER_CALLS_H_
