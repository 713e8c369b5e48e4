// What operations on code blocks have in common: how much work they are (Job::work), groups of
// them, replies of jobs that were joined.
#ifndef BASEBAND_SERVER_OPERATIONS_LDPC_LDPC_WORK_H_
#define BASEBAND_SERVER_OPERATIONS_LDPC_LDPC_WORK_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/ldpc/code.h"
#include "server/jobs/job.h"
#include "server/jobs/request.h"

namespace baseband::server {

// Units of a block, an iteration: edges of the code's graph.
inline double EdgesOf(const ldpc::Code& code) {
  return static_cast<double>(code.edges().size()) * code.zc();
}

// Lifting sizes fill the registers alike within a factor of two: 1 .. 10.
inline int ShapeOf(const ldpc::Code& code) {
  int bits = 0;
  for (int zc = code.zc(); zc > 0; zc /= 2) ++bits;
  return bits;
}

// What asks for the same as `groups` so many times, one after the other.
template <typename Group>
std::vector<Group> Repeat(const std::vector<Group>& groups, int64_t times) {
  std::vector<Group> repeated = groups;
  if (groups.size() == 1) {
    repeated.front().count *= times;
    return repeated;
  }
  repeated.reserve(groups.size() * static_cast<size_t>(times));
  for (int64_t i = 1; i < times; ++i) repeated.insert(repeated.end(), groups.begin(), groups.end());
  return repeated;
}

// The replies of a job that Repeat's groups were made for: `reply_of(i)` of its i-th request.
template <typename ReplyOf>
std::vector<Reply> RepliesOf(const Job& job, const ReplyOf& reply_of) {
  std::vector<Reply> replies;
  replies.reserve(static_cast<size_t>(job.requests));
  for (int64_t i = 0; i < job.requests; ++i) replies.push_back(reply_of(i));
  return replies;
}
// Those that have one field, alike in size, whose bytes lie in job.reply one after the other.
inline std::vector<Reply> RepliesOf(const Job& job, const std::string& header, int field) {
  const int64_t bytes = job.reply_bytes / job.requests;
  return RepliesOf(job, [&](int64_t i) { return Reply{header, {{field, i * bytes, bytes}}, {}}; });
}

// Whether a code of `groups` is a client's own. Whoever keeps a job for copies keeps its codes:
// these, with their plans, take megabytes.
template <typename Group>
bool HasCustomCode(const std::vector<Group>& groups) {
  return std::any_of(groups.begin(), groups.end(), [](const Group& group) {
    return group.code->family() == ldpc::Family::kCustom;
  });
}

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_LDPC_LDPC_WORK_H_
