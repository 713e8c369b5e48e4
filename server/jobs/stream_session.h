// What a stream of requests remembers from one to the next.
#ifndef BASEBAND_SERVER_JOBS_STREAM_SESSION_H_
#define BASEBAND_SERVER_JOBS_STREAM_SESSION_H_

#include "absl/status/statusor.h"
#include "server/jobs/operation.h"
#include "server/jobs/request.h"

namespace baseband::server {

// Convert is called for one message after the other, by one thread at a time, and so is ToReply for
// the jobs that are done, in their order; Convert for the next ones may come before, or beside,
// ToReply for the first. A preparation is finished before the next call of Convert.
class StreamSession {
 public:
  virtual ~StreamSession() = default;
  // As Operation::Convert. What the job points to is its own.
  virtual absl::StatusOr<Conversion> Convert(const Request& request) = 0;
  // As Operation::ToReply and CountResults.
  virtual absl::StatusOr<Reply> ToReply(Job& job) = 0;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_JOBS_STREAM_SESSION_H_
