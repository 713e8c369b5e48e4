#include "server/process/memory_watch.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/metrics/process_sampler.h"
#include "server/process/cgroup_memory.h"

namespace baseband::server {
namespace {

constexpr absl::Duration kSampleInterval = absl::Seconds(2);

constexpr std::array<const char*, 4> kDoings = {
    "memory is no longer scarce", "memory is scarce: caches are dropped",
    "memory is scarce: requests of priority low are refused",
    "memory is scarce: every new request is refused, and nobody may connect"};

}  // namespace

MemoryUse ReadMemoryUse(int64_t limit) {
  const auto resident = static_cast<int64_t>(ProcessResidentBytes());
  if (limit > 0) return {limit, resident};
  const auto group = ReadCgroupMemory();
  if (!group.has_value()) return {0, resident};
  return {group->limit, std::max(group->used, resident)};
}

void MemoryWatch::Look(absl::Time now) {
  const int64_t used = options_.used();
  const MemoryStep step = steps_.Update(used);
  if (step != std::exchange(step_, step)) {
    options_.warn(absl::StrCat(kDoings[static_cast<size_t>(step)], " (", used >> 20, " of ",
                               steps_.limit() >> 20, " MiB)"));
  }
  if (step >= MemoryStep::kRefuseLow) options_.end_late(now);
  if (step >= MemoryStep::kGiveBack) {
    const bool is_urgent = step >= MemoryStep::kRefuseLow && HasSpare(used);
    if (now < last_give_back_ + (is_urgent ? kShortPause : kPause)) return;
    options_.drop_caches();
    GiveBack(now);
    return;
  }
  if (now < next_sample_) return;
  next_sample_ = now + kSampleInterval;
  idle_since_ = HasSpare(used) ? std::min(idle_since_, now) : absl::InfiniteFuture();
  if (now - idle_since_ >= kIdle) GiveBack(now);
}

void MemoryWatch::GiveBack(absl::Time now) {
  options_.give_back();
  used_then_ = options_.used();
  last_give_back_ = now;
  idle_since_ = absl::InfiniteFuture();
}

}  // namespace baseband::server
