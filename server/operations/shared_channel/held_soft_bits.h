// Soft bits that a device holds between a block's transmissions (HARQ): where they lie, and what
// the next transmission finds.
//
// They are objects of the client's (object_store.h) on one device, which is the same for all of a
// client's for as long as it serves. An object's mark says what is in it: a block of which shape,
// up to which transmission; 0 while a batch works on it, so that what a batch leaves half done is
// nothing.
#ifndef BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_HELD_SOFT_BITS_H_
#define BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_HELD_SOFT_BITS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "baseband/v1/baseband.pb.h"
#include "server/device/device.h"
#include "server/device/object_store.h"
#include "server/operations/shared_channel/shared_channel_block.h"

namespace baseband::server {

inline constexpr int kMaxHarqKeyBytes = 64;
inline constexpr int kMaxTransmission = 255;
inline constexpr int kMaxFreeKeys = 4096;

// The device of `client`, of those that serve; null: none does. When one is lost its clients move
// to the others, and nobody else does.
Device* HarqDeviceOf(absl::string_view client, absl::Span<Device* const> devices);

// Those of one block, for one of its transmissions.
struct HeldSoftBits {
  v1::HarqOutcome outcome = v1::HARQ_OUTCOME_UNSPECIFIED;
  std::string why;   // LOST, NOT_HELD
  ObjectPin object;  // null: NOT_HELD

  // Whether this transmission is added to what is there, or stands alone; or is in it already.
  bool combines() const { return outcome == v1::HARQ_OUTCOME_COMBINED; }
  bool repeats() const { return outcome == v1::HARQ_OUTCOME_REPEATED; }
};

// How those of a block are held.
struct HeldAs {
  uint32_t number = 0;  // what the client calls the block
  int llr_size = 8;     // bits of each: 8, 6 or 4
  int64_t bytes = 0;    // of all; not part of the mark
};

// Finds or makes those of `client` under `key` on `device`. FailedPrecondition: another request
// uses them. Unavailable: the device was lost. InvalidArgument: an earlier transmission than what
// is held, or what is held of the block has another llr_size.
absl::StatusOr<HeldSoftBits> HoldSoftBits(const std::string& client, const std::string& key,
                                          int transmission, const SharedChannelBlock& block,
                                          const HeldAs& as, Device& device);
// They are not wanted any more.
void FreeSoftBits(const std::string& client, const std::string& key, Device& device);

// The mark of an object that holds `block` up to `transmission`; never 0.
uint64_t SoftBitsMark(const SharedChannelBlock& block, const HeldAs& as, int transmission);

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_SHARED_CHANNEL_HELD_SOFT_BITS_H_
