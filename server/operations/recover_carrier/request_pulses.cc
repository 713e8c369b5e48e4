#include "server/operations/recover_carrier/request_pulses.h"

#include "kernels/base/status_macros.h"
#include "server/converters/checks.h"

namespace baseband::server {

absl::Status RequestPulses::Count(Named* pulse, int64_t pulse_bytes) {
  const int64_t bytes = PulseCache::EntryBytes(pulse->key, pulse_bytes);
  bytes_ += bytes - pulse->bytes;
  pulse->bytes = bytes;
  return Within("timing: ", cache_->CheckRequest(bytes_));
}

absl::StatusOr<RequestPulses::Named*> RequestPulses::Name(const timing::PulseShape& shape) {
  std::string key = shape.Key();
  std::unique_ptr<Named>& named = by_key_[key];
  if (named == nullptr) {
    named = std::make_unique<Named>();
    named->shape = shape;
    named->key = std::move(key);
    BASEBAND_RETURN_IF_ERROR(Count(named.get(), timing::PulsePlan::LeastBytes(shape)));
  }
  return named.get();
}

absl::StatusOr<bool> RequestPulses::Check(Named* pulse, const ContinueCheck* may_continue) {
  if (pulse->pulse != nullptr || pulse->plan.has_value()) return true;
  pulse->pulse = cache_->Find(pulse->key, client_);
  if (pulse->pulse != nullptr) {
    made_.push_back(pulse->pulse);
    return true;
  }
  if (may_continue == nullptr) return false;
  BASEBAND_ASSIGN_OR_RETURN(
      pulse->plan, Within("timing.", timing::PulsePlan::Create(pulse->shape, *may_continue)));
  return true;
}

absl::Status RequestPulses::LayOut(Named* pulse, const ContinueCheck* may_continue) {
  if (std::exchange(pulse->is_laid_out, true)) return absl::OkStatus();
  if (pulse->pulse != nullptr) return Count(pulse, pulse->pulse->bytes());
  BASEBAND_RETURN_IF_ERROR(pulse->plan->LayOut(*may_continue));
  return Count(pulse, pulse->plan->bytes());
}

absl::StatusOr<timing::PulsePtr> RequestPulses::Make(Named* pulse,
                                                     const ContinueCheck* may_continue) {
  if (pulse->pulse == nullptr) {
    BASEBAND_ASSIGN_OR_RETURN(timing::PulsePtr made, pulse->plan->Make(*may_continue));
    const int64_t bytes = made->bytes();
    BASEBAND_ASSIGN_OR_RETURN(
        pulse->pulse,
        Within("timing: ", cache_->Insert(pulse->key, std::move(made), bytes, made_, client_)));
    pulse->plan.reset();
    made_.push_back(pulse->pulse);
  }
  return pulse->pulse;
}

}  // namespace baseband::server
