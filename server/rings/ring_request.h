// What a ring's session has in hand. For its own files only.
#ifndef BASEBAND_SERVER_RINGS_RING_REQUEST_H_
#define BASEBAND_SERVER_RINGS_RING_REQUEST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "server/jobs/operation.h"
#include "server/limits/live_count.h"
#include "server/rings/ring_session.h"

namespace baseband::server {

// What a response says beside its bulk of itself, at most.
inline constexpr int64_t kMaxFieldBytes = 256;

// Of a submission's `deadline_ns`; none: infinite, and so is one that will be refused.
absl::Time DeadlineAt(uint64_t deadline_ns);

// From its submission to its completion; of several that are one job, from theirs to theirs.
struct RingSession::InFlight {
  // Where one of them wants its answer.
  struct Asker {
    uint64_t id = 0;
    uint64_t reply_offset = 0;
    absl::Span<uint8_t> reply;
  };

  InFlight(std::shared_ptr<RingSession> of, const BasebandSubmission& first, int64_t count,
           Operation* named_operation, absl::Time arrival, absl::Time deadline)
      : alive(of->environment_.calls),
        session(std::move(of)),
        submission(first),
        operation(named_operation),
        // Submit's own if its message names no operation.
        context(session->environment_, operation != nullptr ? operation->rpc() : kSubmitRpc,
                arrival, count) {
    context.requester() = session->requester_;
    context.requester().hold = &session->hold_;
    context.requester().deadline = deadline;
  }

  const LiveCount::One alive;  // first: destroyed last
  const std::shared_ptr<RingSession> session;
  const BasebandSubmission submission;  // the first
  Operation* const operation;           // null: none is named, or none that is known
  std::shared_ptr<const RegisteredJob> registered;
  RequestContext context;
  Request request;  // its header until its payload is where devices want it
  std::vector<Asker> askers;
  std::unique_ptr<Preparation> preparation;
  uint64_t value = 0;  // of each completion
  // The device was lost that writes its reply to the region, and nobody stops it.
  bool is_written_by_lost_device = false;
  InFlightPtr self;  // while the dispatcher has its job
};

struct RingSession::RegisteredJob {
  Operation* operation = nullptr;
  std::string header;
  int64_t payload_bytes = 0;
  int64_t reply_bytes = 0;
  int64_t kept_bytes = 0;  // of `job`
  JobPtr job;              // to be copied; null: to be made again
  size_t most_joined = 1;  // requests of it that may be one job
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_RINGS_RING_REQUEST_H_
