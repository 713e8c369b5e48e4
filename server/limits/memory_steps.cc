#include "server/limits/memory_steps.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "server/limits/retry_after.h"
#include "server/metrics/unserved.h"

namespace baseband::server {
namespace {

constexpr int64_t kMib = 1 << 20;

}  // namespace

MemoryStep MemorySteps::Update(int64_t used) {
  used_.store(used, std::memory_order_relaxed);
  if (limit_ <= held_) return MemoryStep::kNone;
  const double part = static_cast<double>(used - held_) / static_cast<double>(limit_ - held_);
  const auto before = static_cast<size_t>(step());
  size_t now = 0;
  while (now < kBegins.size() && part >= kBegins[now] - (now < before ? kSlack : 0.0)) ++now;
  step_.store(static_cast<MemoryStep>(now), std::memory_order_relaxed);
  return static_cast<MemoryStep>(now);
}

absl::Status MemorySteps::AdmitBytes(int64_t bytes) const {
  if (limit_ <= held_) return absl::OkStatus();
  const int64_t used = used_.load(std::memory_order_relaxed);
  const double most =
      static_cast<double>(held_) + kBegins[static_cast<size_t>(MemoryStep::kRefuseLow) - 1] *
                                       static_cast<double>(limit_ - held_);
  if (step() < MemoryStep::kRefuseLow &&
      static_cast<double>(used) + static_cast<double>(bytes) < most) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "bytes ", bytes, ": memory is scarce: ", used / kMib, " of ", limit_ / kMib,
      " MiB are in use, and no more than ", static_cast<int64_t>(most) / kMib, " are given away"));
}

absl::Status MemorySteps::Refuse() const {
  absl::Status status = Because(
      UnservedReason::kMemory,
      absl::ResourceExhaustedError(absl::StrCat(
          "memory is scarce: ", used_.load(std::memory_order_relaxed) / kMib, " of ", limit_ / kMib,
          " MiB are in use; ",
          step() < MemoryStep::kRefuseAll ? "priority low has to wait" : "everybody has to wait")));
  // Not all at once: what comes then takes memory again.
  const uint32_t number = refused_.fetch_add(1, std::memory_order_relaxed);
  SetRetryAfter(&status, kRetryAfter * (0.5 + (number % 64) / 64.0));
  return status;
}

}  // namespace baseband::server
