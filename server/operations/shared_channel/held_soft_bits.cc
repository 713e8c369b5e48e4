#include "server/operations/shared_channel/held_soft_bits.h"

#include <functional>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace baseband::server {
namespace {

constexpr uint64_t kTransmissionMask = kMaxTransmission;

ObjectKey KeyOf(const std::string& client, const std::string& key) {
  return {client, absl::StrCat("harq ", key)};
}

// What has to be the same in all transmissions of a block; its lowest bits are 0, and it is not.
uint64_t ShapeOf(const SharedChannelBlock& block, uint32_t number, int llr_size) {
  const nr::TransportBlockPlan& plan = block.plan;
  const size_t hash = absl::HashOf(plan.base_graph, plan.zc, plan.num_blocks, plan.k_prime,
                                   block.n_cb(), plan.tb_bits, number, llr_size);
  return (static_cast<uint64_t>(hash) & ~kTransmissionMask) | (kTransmissionMask + 1);
}

// InvalidArgument: what is held under `mark` is that block in another size.
absl::Status CheckSize(uint64_t mark, const SharedChannelBlock& block, const HeldAs& as) {
  for (const int size : {8, 6, 4}) {
    if (size == as.llr_size || (mark & ~kTransmissionMask) != ShapeOf(block, as.number, size)) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "llr_size ", as.llr_size, " is not that of what is held of the block, which is ", size));
  }
  return absl::OkStatus();
}

// A new object for `held`, or why there is none.
absl::Status Make(const ObjectKey& key, int64_t bytes, ObjectStore& store, HeldSoftBits* held) {
  absl::StatusOr<ObjectPin> made = store.Create(key, bytes);
  if (made.ok()) {
    held->object = *std::move(made);
    return absl::OkStatus();
  }
  if (!absl::IsInvalidArgument(made.status()) && !absl::IsResourceExhausted(made.status())) {
    return made.status();
  }
  held->outcome = v1::HARQ_OUTCOME_NOT_HELD;
  held->why = std::string(made.status().message());
  return absl::OkStatus();
}

}  // namespace

Device* HarqDeviceOf(absl::string_view client, absl::Span<Device* const> devices) {
  Device* best = nullptr;
  size_t most = 0;
  for (Device* const device : Serving(devices)) {
    const size_t score = absl::HashOf(client, device->id());
    if (best != nullptr && score <= most) continue;
    best = device;
    most = score;
  }
  return best;
}

uint64_t SoftBitsMark(const SharedChannelBlock& block, const HeldAs& as, int transmission) {
  return ShapeOf(block, as.number, as.llr_size) | static_cast<uint64_t>(transmission);
}

absl::StatusOr<HeldSoftBits> HoldSoftBits(const std::string& client, const std::string& key,
                                          int transmission, const SharedChannelBlock& block,
                                          const HeldAs& as, Device& device) {
  HeldSoftBits held;
  ObjectStore* const store = device.objects();
  if (store == nullptr) {
    held.outcome = v1::HARQ_OUTCOME_NOT_HELD;
    held.why = "this server holds none: object_mib is 0";
    return held;
  }
  const ObjectKey object_key = KeyOf(client, key);
  if (transmission == 0) {
    held.outcome = v1::HARQ_OUTCOME_FIRST;
    BASEBAND_RETURN_IF_ERROR(Make(object_key, as.bytes, *store, &held));
    return held;
  }
  absl::StatusOr<ObjectPin> found = store->Use(object_key);
  if (absl::IsNotFound(found.status())) {
    held.outcome = v1::HARQ_OUTCOME_LOST;
    held.why = std::string(found.status().message());
  } else if (!found.ok()) {
    return found.status();
  } else if (const uint64_t mark = (*found)->mark(); mark == 0) {
    held.outcome = v1::HARQ_OUTCOME_LOST;
    held.why = "the transmission before this one was not decoded to its end";
  } else if ((*found)->bytes() != as.bytes ||
             (mark & ~kTransmissionMask) != ShapeOf(block, as.number, as.llr_size)) {
    BASEBAND_RETURN_IF_ERROR(CheckSize(mark, block, as));
    held.outcome = v1::HARQ_OUTCOME_OTHER_BLOCK;
  } else {
    const auto last = static_cast<int>(mark & kTransmissionMask);
    if (transmission < last) {
      return absl::InvalidArgumentError(absl::StrCat(
          "transmission ", transmission, " comes after transmission ", last, " of that block"));
    }
    held.outcome = transmission == last ? v1::HARQ_OUTCOME_REPEATED : v1::HARQ_OUTCOME_COMBINED;
    held.object = *std::move(found);
    return held;
  }
  if (found.ok()) found->reset();  // a new one takes its place
  BASEBAND_RETURN_IF_ERROR(Make(object_key, as.bytes, *store, &held));
  return held;
}

void FreeSoftBits(const std::string& client, const std::string& key, Device& device) {
  if (device.objects() != nullptr) device.objects()->Remove(KeyOf(client, key));
}

}  // namespace baseband::server
