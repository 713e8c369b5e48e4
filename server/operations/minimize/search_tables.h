// The tables of searches on a GPU: brought there by the first batch of a search that runs on it,
// and used where they lie by those that come after it, for as long as they stay (object_store.h).
#ifndef BASEBAND_SERVER_OPERATIONS_MINIMIZE_SEARCH_TABLES_H_
#define BASEBAND_SERVER_OPERATIONS_MINIMIZE_SEARCH_TABLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "server/device/device.h"
#include "server/device/object_store.h"

namespace baseband::server {

// Less is sent along with each batch, which costs a copy of 7 us on an H200 against a look of 2.
inline constexpr int64_t kMinKeptTableBytes = 4 << 10;

// What a search has on devices, under one name on each; it goes with this.
class KeptTables {
 public:
  KeptTables(std::string client, absl::Span<Device* const> devices);
  ~KeptTables();
  KeptTables(const KeptTables&) = delete;
  KeptTables& operator=(const KeptTables&) = delete;

  const ObjectKey& key() const { return key_; }

 private:
  const ObjectKey key_;
  const std::vector<Device*> devices_;
};

// The tables that one batch uses on a device, or brings there. Others do not see what it brings
// until it is all there: batches beside it bring their own along, into the memory of their lane.
class BatchTables {
 public:
  BatchTables() = default;
  // What was brought and not published is nothing, and goes.
  ~BatchTables();
  BatchTables(const BatchTables&) = delete;
  BatchTables& operator=(const BatchTables&) = delete;

  struct Place {
    uint8_t* data = nullptr;  // on the device, as long as this; null: there is no place
    bool is_new = false;      // nothing is there yet: the batch has to bring it
  };
  // `store`: of the device; may be null, and so may `tables`.
  Place Find(ObjectStore* store, const KeptTables* tables, int64_t bytes);
  // The batch has ended well.
  void Publish() { brought_.clear(); }

 private:
  struct Brought {
    ObjectStore* store;
    ObjectKey key;
  };
  std::vector<Brought> brought_;
  std::vector<ObjectPin> pins_;
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_OPERATIONS_MINIMIZE_SEARCH_TABLES_H_
