// Requests that ask for the same.
#ifndef BASEBAND_SERVER_JOBS_FINGERPRINT_H_
#define BASEBAND_SERVER_JOBS_FINGERPRINT_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "absl/strings/string_view.h"
#include "server/jobs/operation.h"

namespace baseband::server {

// Of a request of `operation` whose fields but the payload, which say its sizes too, are `header`,
// serialized as they came: equal bytes have equal fingerprints, in every server of one build, and
// others do not, but for one pair in 2^64 that nobody looked for. Never 0, which stands for none.
// An operation whose requests are parts of something longer takes what all parts have in common:
// Downconvert its setup, whether it comes with a stream's first message or with each;
// DecodeSharedChannel leaves out the names of what is held.
//
//   job->fingerprint = FingerprintOf(job->operation(), request.header);
inline uint64_t FingerprintOf(const Operation& operation, absl::string_view header) {
  // The standard library's hash of bytes has no seed of the process.
  const std::hash<std::string_view> hash;
  const uint64_t mixed =
      (hash({header.data(), header.size()}) + 3 * hash(operation.name())) * 0x9e3779b97f4a7c15;
  const uint64_t result = mixed ^ mixed >> 32;
  return result != 0 ? result : 1;
}

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_JOBS_FINGERPRINT_H_
