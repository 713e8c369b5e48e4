// The pulses of one request: what they will take is known, and that they are pulses, before the
// first of them is made.
#ifndef BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_REQUEST_PULSES_H_
#define BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_REQUEST_PULSES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "kernels/base/continue_check.h"
#include "kernels/timing/pulse.h"
#include "server/converters/bounded_cache.h"

namespace baseband::server {

using PulseCache = BoundedCache<timing::Pulse>;

// All pulses are named, then all checked, all laid out, and all made: in this order, and by one
// thread at a time. Those that the cache has are taken from there, and not let go of meanwhile.
// Refusals begin with "timing".
class RequestPulses {
 public:
  // One pulse, however many groups have it. Belongs to the RequestPulses, also once that has moved.
  struct Named {
    timing::PulseShape shape;
    std::string key;
    int64_t bytes = 0;                       // as it counts so far
    absl::optional<timing::PulsePlan> plan;  // until it is made
    bool is_laid_out = false;
    timing::PulsePtr pulse;  // once it is made, or since it was found
  };

  // `cache` outlives it; `client` has sent the request.
  RequestPulses(PulseCache* cache, std::string client)
      : cache_(cache), client_(std::move(client)) {}

  // `shape`, in lowest terms, has passed CheckPulse. At once. InvalidArgument: with the pulses
  // before it, whatever they turn out to be, they take more than there may be.
  absl::StatusOr<Named*> Name(const timing::PulseShape& shape);
  // False: it is not known, and there is no `may_continue` to ask. InvalidArgument: its taps are
  // none that it could be made of.
  absl::StatusOr<bool> Check(Named* pulse, const ContinueCheck* may_continue);
  // Checked are all. InvalidArgument as of Name.
  absl::Status LayOut(Named* pulse, const ContinueCheck* may_continue);
  // ResourceExhausted: requests in flight use as many as there may be.
  absl::StatusOr<timing::PulsePtr> Make(Named* pulse, const ContinueCheck* may_continue);

 private:
  // `pulse` takes so much in the cache; so far it counted as less.
  absl::Status Count(Named* pulse, int64_t pulse_bytes);

  PulseCache* cache_;
  std::string client_;
  std::unordered_map<std::string, std::unique_ptr<Named>> by_key_;
  std::vector<timing::PulsePtr> made_;
  int64_t bytes_ = 0;  // of all
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_RECOVER_CARRIER_REQUEST_PULSES_H_
