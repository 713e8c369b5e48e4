// What lives on a device from job to job: the past of a stream, the tables of a search.
//
//   ObjectStore& store = *device.objects();
//   absl::StatusOr<ObjectPin> made = store.Create({client, "stream 7"}, bytes);
//   .. a job on `device` writes to (*made)->data(), which is the device's memory; it is done ..
//   made->reset();
//   absl::StatusOr<ObjectPin> found = store.Use({client, "stream 7"});  // or why it is gone
//
// Nothing in it is promised to stay: an object goes when its client has too many, when there is no
// room for another one, when nobody has used it for long, and with its device. Whoever asks for it
// then is told which it was, and has to be able to do without.
#ifndef BASEBAND_SERVER_DEVICE_OBJECT_STORE_H_
#define BASEBAND_SERVER_DEVICE_OBJECT_STORE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kernels/base/steady_time.h"
#include "server/device/host_pool.h"
#include "server/metrics/metrics.h"

namespace baseband::server {

struct ObjectKey {
  std::string owner;  // the client's identity: nobody else can name its objects
  std::string name;   // 1 .. kMaxObjectName bytes
  bool operator<(const ObjectKey& other) const {
    return std::tie(owner, name) < std::tie(other.owner, other.name);
  }
};
inline constexpr size_t kMaxObjectName = 256;

// Memory of a device with a name.
class DeviceObject {
 public:
  // Takes the memory; its alignment is the pool's.
  explicit DeviceObject(HostLease memory) : memory_(std::move(memory)) {}
  // For the device's kernels and copies; on a GPU the host must not touch it.
  uint8_t* data() const { return memory_.data(); }
  int64_t bytes() const { return memory_.size(); }
  // A note of its user's on what is in it; 0 at first.
  uint64_t mark() const { return mark_.load(std::memory_order_acquire); }
  void set_mark(uint64_t mark) const { mark_.store(mark, std::memory_order_release); }
  // Its device was lost since. After a reset its address may be something else's: nothing that
  // starts then may use it.
  bool is_lost() const { return is_lost_.load(std::memory_order_acquire); }

 private:
  friend class ObjectStore;
  const HostLease memory_;
  std::atomic<bool> is_lost_{false};
  mutable std::atomic<uint64_t> mark_{0};
};
// Whoever has one uses the object: it stays until the last pin is gone or the device is lost. A job
// keeps those of what it uses (Job::objects).
using ObjectPin = std::shared_ptr<const DeviceObject>;

struct ObjectLimits {
  int64_t max_bytes = 0;  // of all; 0: there is no store
  int64_t max_bytes_per_owner = 0;
  absl::Duration time_to_live = absl::InfiniteDuration();  // since it was last taken into use
  std::function<absl::Time()> clock = &SteadyNow;
};

// The objects of one device. The least recently used go first: of an owner that has too many, its
// own; of all, where there is no room. What is in use does not go; what is removed while it is
// counts for its owner until that ends. Thread-safe.
class ObjectStore {
 public:
  // `memory` is of the device; null: it has none until Renew.
  ObjectStore(const ObjectLimits& limits, std::shared_ptr<HostPool> memory);

  // A new object, pinned, whose content is anything; one of that key that is there goes.
  // InvalidArgument: no owner may have so much, or the name is too long; ResourceExhausted: what is
  // in use leaves no room; FailedPrecondition: one of that key is in use; Unavailable: the device
  // was lost.
  absl::StatusOr<ObjectPin> Create(const ObjectKey& key, int64_t bytes);
  // The object, pinned. It has one user at a time: FailedPrecondition while it is in use. NotFound
  // says why it is gone, if that is known: of the kMaxGone that went last it is.
  absl::StatusOr<ObjectPin> Use(const ObjectKey& key);
  // The same for who only reads it: any number of those may have it at a time, beside no other
  // user.
  absl::StatusOr<ObjectPin> Share(const ObjectKey& key);
  // It is not wanted any more, whether it is there or not.
  void Remove(const ObjectKey& key);

  // The device was lost, and everything on it. Nothing can be created until Renew. Calls no device
  // and waits for none: the memory, which a kernel may still run in, stays until Renew.
  void Lose();
  // It is back, with `memory` and without an object; or it is torn down, and there is none. What
  // the memory of before is freed by must not wait for a kernel any more.
  void Renew(std::shared_ptr<HostPool> memory);

  struct Usage {
    int64_t bytes = 0;  // also of what is gone and still in use
    int64_t objects = 0;
    std::array<int64_t, kObjectLossNames.size()> dropped{};  // since the start, by ObjectLoss
  };
  Usage usage();

  static constexpr size_t kMaxGone = 4096;
  // What an object counts for at least, so that bytes bound their number, too.
  static constexpr int64_t kMinBytes = 4096;

 private:
  using Object = std::shared_ptr<DeviceObject>;
  struct Entry {
    Object object;
    int64_t bytes = 0;  // that it counts for
    absl::Time used;
    bool is_shared = false;  // by its last use
    uint64_t turn = 0;       // likewise
    bool is_in_use() const {
      return object.use_count() > 1;
    }  // only users, and Find under the lock, add one
  };
  using Entries = std::map<ObjectKey, Entry>;
  using Order = std::map<uint64_t, Entries::iterator>;  // by turn: the least recently used first
  struct Owner {
    int64_t bytes = 0;
    Order order;
  };
  // It was removed while somebody used it.
  struct Leaving {
    std::string owner;
    Object object;
    int64_t bytes = 0;
  };

  absl::StatusOr<ObjectPin> Find(const ObjectKey& key, bool share);
  void Touch(Entries::iterator it, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Erase(Entries::iterator it) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBack(const std::string& owner, int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GiveBackWhatHasLeft() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Drop(Entries::iterator it, ObjectLoss why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The first of `order` that is not in use; false: all are.
  bool DropFirst(const Order& order, ObjectLoss why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropExpired(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status InUse(const ObjectKey& key) const;

  const ObjectLimits limits_;
  absl::Mutex mutex_;
  std::shared_ptr<HostPool> memory_ ABSL_GUARDED_BY(mutex_);
  bool is_lost_ ABSL_GUARDED_BY(mutex_);
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  Order order_ ABSL_GUARDED_BY(mutex_);
  std::vector<Leaving> leaving_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Owner> owners_ ABSL_GUARDED_BY(mutex_);  // of both
  uint64_t turns_ ABSL_GUARDED_BY(mutex_) = 0;
  Usage usage_ ABSL_GUARDED_BY(mutex_);
  std::map<ObjectKey, std::pair<ObjectLoss, uint64_t>> gone_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::pair<ObjectKey, uint64_t>> gone_order_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_DEVICE_OBJECT_STORE_H_
