#include "server/device/object_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"

namespace baseband::server {

ObjectStore::ObjectStore(const ObjectLimits& limits, std::shared_ptr<HostPool> memory)
    : limits_(limits), memory_(std::move(memory)), is_lost_(memory_ == nullptr) {}

absl::Status ObjectStore::InUse(const ObjectKey& key) const {
  return absl::FailedPreconditionError(
      absl::StrCat("object '", absl::CHexEscape(key.name), "' is in use by another request"));
}

absl::StatusOr<ObjectPin> ObjectStore::Create(const ObjectKey& key, int64_t bytes) {
  if (key.name.empty() || key.name.size() > kMaxObjectName) {
    return absl::InvalidArgumentError(absl::StrCat("an object's name has ", key.name.size(),
                                                   " bytes, not 1 to ", kMaxObjectName));
  }
  const int64_t most = std::min(limits_.max_bytes_per_owner, limits_.max_bytes);
  const int64_t counted = std::max(bytes, kMinBytes);
  if (counted > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "object '", absl::CHexEscape(key.name), "' has ", bytes, " bytes, more than the ", most,
        " that a client's objects may take of a device"));
  }
  const absl::Time now = limits_.clock();
  absl::MutexLock lock(&mutex_);
  if (is_lost_) return absl::UnavailableError("the device was lost");
  if (const auto found = entries_.find(key); found != entries_.end()) {
    if (found->second.is_in_use()) return InUse(key);
    Erase(found);
  }
  DropExpired(now);
  const auto no_room = [&key, bytes](absl::string_view whose) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no room for the ", bytes, " bytes of object '", absl::CHexEscape(key.name),
                     "': ", whose, " that are in use leave too little"));
  };
  bool has_looked = false;  // for what has left: only where it is needed, there may be thousands
  for (auto owner = owners_.find(key.owner);
       owner != owners_.end() && owner->second.bytes + counted > limits_.max_bytes_per_owner;
       owner = owners_.find(key.owner)) {
    if (!std::exchange(has_looked, true)) {
      GiveBackWhatHasLeft();
    } else if (!DropFirst(owner->second.order, ObjectLoss::kOwnerQuota)) {
      return no_room("those of its client");
    }
  }
  absl::StatusOr<HostLease> memory = absl::ResourceExhaustedError("");
  for (;;) {
    if (usage_.bytes + counted <= limits_.max_bytes) memory = memory_->Lease(bytes);
    if (memory.ok()) break;
    if (!std::exchange(has_looked, true)) {  // in pieces there may be less than in sum
      GiveBackWhatHasLeft();
    } else if (!DropFirst(order_, ObjectLoss::kRoom)) {
      return no_room("those");
    }
  }
  gone_.erase(key);
  Entry entry;
  entry.object = std::make_shared<DeviceObject>(*std::move(memory));
  entry.bytes = counted;
  ObjectPin pin = entry.object;
  const auto it = entries_.emplace(key, std::move(entry)).first;
  usage_.bytes += counted;
  ++usage_.objects;
  owners_[key.owner].bytes += counted;
  Touch(it, now);
  return pin;
}

absl::StatusOr<ObjectPin> ObjectStore::Use(const ObjectKey& key) {
  return Find(key, /*share=*/false);
}

absl::StatusOr<ObjectPin> ObjectStore::Share(const ObjectKey& key) {
  return Find(key, /*share=*/true);
}

absl::StatusOr<ObjectPin> ObjectStore::Find(const ObjectKey& key, bool share) {
  const absl::Time now = limits_.clock();
  absl::MutexLock lock(&mutex_);
  DropExpired(now);
  if (const auto found = entries_.find(key); found != entries_.end()) {
    if (found->second.is_in_use() && !(share && found->second.is_shared)) return InUse(key);
    found->second.is_shared = share;
    Touch(found, now);
    return found->second.object;
  }
  const auto gone = gone_.find(key);
  if (gone == gone_.end()) {
    return absl::NotFoundError(
        absl::StrCat("object '", absl::CHexEscape(key.name), "' is not there"));
  }
  static constexpr std::array<const char*, kObjectLossNames.size()> kWhy = {
      "its client's objects took more than they may", "others needed the room",
      "nobody used it for too long", "its device was lost"};
  return absl::NotFoundError(
      absl::StrCat("object '", absl::CHexEscape(key.name),
                   "' is not there any more: ", kWhy[static_cast<size_t>(gone->second.first)]));
}

void ObjectStore::Remove(const ObjectKey& key) {
  absl::MutexLock lock(&mutex_);
  gone_.erase(key);
  if (const auto found = entries_.find(key); found != entries_.end()) Erase(found);
}

void ObjectStore::Lose() {
  absl::MutexLock lock(&mutex_);
  is_lost_ = true;
  for (auto& [key, entry] : entries_) entry.object->is_lost_.store(true, std::memory_order_release);
  while (!entries_.empty()) Drop(entries_.begin(), ObjectLoss::kDevice);
  // What is in use is of the memory that was, and takes nothing of that to come.
  for (const Leaving& left : leaving_) {
    left.object->is_lost_.store(true, std::memory_order_release);
    GiveBack(left.owner, left.bytes);
  }
  leaving_.clear();
}

void ObjectStore::Renew(std::shared_ptr<HostPool> memory) {
  Lose();
  absl::MutexLock lock(&mutex_);
  is_lost_ = memory == nullptr;
  memory_.swap(memory);  // that of before is freed when the lock is no longer held
}

ObjectStore::Usage ObjectStore::usage() {
  const absl::Time now = limits_.clock();
  absl::MutexLock lock(&mutex_);
  GiveBackWhatHasLeft();
  DropExpired(now);
  return usage_;
}

void ObjectStore::Touch(Entries::iterator it, absl::Time now) {
  Order& own = owners_[it->first.owner].order;
  order_.erase(it->second.turn);
  own.erase(it->second.turn);
  it->second.turn = ++turns_;
  it->second.used = now;
  order_.emplace(it->second.turn, it);
  own.emplace(it->second.turn, it);
}

void ObjectStore::Erase(Entries::iterator it) {
  Entry& entry = it->second;
  owners_[it->first.owner].order.erase(entry.turn);
  order_.erase(entry.turn);
  --usage_.objects;
  if (entry.is_in_use()) {
    leaving_.push_back({it->first.owner, std::move(entry.object), entry.bytes});
  } else {
    GiveBack(it->first.owner, entry.bytes);
  }
  entries_.erase(it);
}

void ObjectStore::GiveBack(const std::string& owner, int64_t bytes) {
  usage_.bytes -= bytes;
  const auto found = owners_.find(owner);
  found->second.bytes -= bytes;
  if (found->second.bytes == 0) owners_.erase(found);
}

void ObjectStore::GiveBackWhatHasLeft() {
  const auto used = std::partition(leaving_.begin(), leaving_.end(), [](const Leaving& leaving) {
    return leaving.object.use_count() > 1;
  });
  for (auto it = used; it != leaving_.end(); ++it) GiveBack(it->owner, it->bytes);
  leaving_.erase(used, leaving_.end());
}

void ObjectStore::Drop(Entries::iterator it, ObjectLoss why) {
  ++usage_.dropped[static_cast<size_t>(why)];
  gone_[it->first] = {why, it->second.turn};
  gone_order_.emplace_back(it->first, it->second.turn);
  if (gone_order_.size() > kMaxGone) {
    // Unless it went again later, which is told by its turn.
    const auto& [key, turn] = gone_order_.front();
    if (const auto found = gone_.find(key); found != gone_.end() && found->second.second == turn) {
      gone_.erase(found);
    }
    gone_order_.pop_front();
  }
  Erase(it);
}

bool ObjectStore::DropFirst(const Order& order, ObjectLoss why) {
  for (const auto& [turn, it] : order) {
    if (it->second.is_in_use()) continue;
    Drop(it, why);
    return true;
  }
  return false;
}

void ObjectStore::DropExpired(absl::Time now) {
  for (auto next = order_.begin(); next != order_.end();) {
    const Entries::iterator it = (next++)->second;
    if (it->second.used + limits_.time_to_live > now) return;
    if (!it->second.is_in_use()) Drop(it, ObjectLoss::kExpired);
  }
}

}  // namespace baseband::server
