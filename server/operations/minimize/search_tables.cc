#include "server/operations/minimize/search_tables.h"

#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"

namespace baseband::server {
namespace {

std::string NewTablesName() {
  static std::atomic<uint64_t> last{0};
  return absl::StrCat("search ", ++last, "/tables");
}

}  // namespace

KeptTables::KeptTables(std::string client, absl::Span<Device* const> devices)
    : key_{std::move(client), NewTablesName()}, devices_(devices.begin(), devices.end()) {}

KeptTables::~KeptTables() {
  for (Device* const device : devices_) {
    if (device->objects() != nullptr) device->objects()->Remove(key_);
  }
}

BatchTables::~BatchTables() {
  // Before the pins go: nobody is to find half of the tables.
  for (const Brought& brought : brought_) brought.store->Remove(brought.key);
}

BatchTables::Place BatchTables::Find(ObjectStore* store, const KeptTables* tables, int64_t bytes) {
  if (store == nullptr || tables == nullptr) return {};
  Place place;
  absl::StatusOr<ObjectPin> object = store->Share(tables->key());
  if (absl::IsNotFound(object.status())) {  // not yet, or not any more
    object = store->Create(tables->key(), bytes);
    place.is_new = object.ok();
  }
  if (!object.ok()) return {};  // a batch beside this one brings them, or there is no room
  if (place.is_new) brought_.push_back({store, tables->key()});
  place.data = (*object)->data();
  pins_.push_back(*std::move(object));
  return place;
}

}  // namespace baseband::server
