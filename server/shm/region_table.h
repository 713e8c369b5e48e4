// The regions that clients have been granted: who has how much, and which memory a name stands for.
//
//   absl::StatusOr<RegionTable::Grant> grant = table.Add("uid:1000", bytes);   // its connection
//   table.Find(name)                                                           // a request
//   table.Remove(grant->name); table.Reap();                                   // its end
#ifndef BASEBAND_SERVER_SHM_REGION_TABLE_H_
#define BASEBAND_SERVER_SHM_REGION_TABLE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/device/shared_memory.h"
#include "server/jobs/request.h"

namespace baseband::server {

// Thread-safe.
class RegionTable {
 public:
  struct Limits {
    int64_t bytes = 0;         // of all regions
    int64_t client_bytes = 0;  // of one client's
    int client_regions = 64;
  };
  // Makes a region's memory.
  using Make = std::function<absl::StatusOr<std::unique_ptr<SharedMemory>>(int64_t bytes)>;
  struct Grant {
    std::string name;  // nobody guesses it
    std::shared_ptr<const SharedMemory> memory;
  };
  struct Usage {
    int64_t bytes = 0;  // also of what was freed and is still used
    int64_t regions = 0;
  };

  RegionTable(const Limits& limits, Make make);

  // A region of `bytes` for `client`. InvalidArgument: of none, or more than a client ever gets;
  // ResourceExhausted: it, or all, have too much now, or there is no memory.
  absl::StatusOr<Grant> Add(const std::string& client, int64_t bytes);
  // Nobody finds it any more. What has found it keeps the memory.
  void Remove(const std::string& name);
  // Unmaps what was removed and is used no more, which takes milliseconds, or as long as its client
  // likes: by `run`, if there is one, which calls what it is given once. True if something is still
  // used.
  using Run = std::function<void(std::function<void()>)>;
  bool Reap(const Run& run = nullptr);
  // Its client has mapped it: from here on it can be used (SharedMemory::Seal). May take as long as
  // the client likes. NotFound: there is none; FailedPrecondition: the client has seen to it that
  // it cannot be.
  absl::Status Seal(const std::string& name);
  // Null: there is none of that name, or it is not sealed.
  std::shared_ptr<const SharedMemory> Find(absl::string_view name) const;

  // Puts in the place of `payload_at` and `reply_at`, if the request has them, the memory that they
  // stand for, and takes its `hold`, until nobody has either any more. InvalidArgument names the
  // field and its range; FailedPrecondition: there is no such region, or the hold is not to be had.
  absl::Status LookUp(Request* request) const;

  Usage usage() const;
  // Of this process; 16 bytes.
  const std::string& server_id() const { return server_id_; }
  const Limits& limits() const { return limits_; }

 private:
  struct Region {
    std::string client;
    int64_t bytes = 0;  // that count: also before there is memory
    std::shared_ptr<const SharedMemory> memory;
    bool is_sealed = false;
  };
  struct Holding {
    int64_t bytes = 0;
    int regions = 0;
  };

  // A range that was found.
  struct Place {
    std::shared_ptr<const SharedMemory> memory;
    uint8_t* data = nullptr;
    int64_t bytes = 0;
  };
  // The server's side of MemoryHold.
  class Hold {
   public:
    Hold() = default;
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    // False: something else is there.
    bool Take(const Place& place, uint64_t number);
    // Null: nothing is held.
    const uint8_t* word() const { return place_.data; }

   private:
    Place place_;
    uint64_t number_ = 0;
  };
  // What a request has of the regions, as long as anybody has a part of it.
  struct Use {
    Hold hold;  // first: released last
    Place payload;
    Place reply;
  };

  absl::StatusOr<Place> PlaceOf(const char* field, const MemoryRange& range) const;
  absl::Status Reserve(const std::string& client, int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // For what was freed just now. False: there is nothing such.
  bool WaitForEnds() const ABSL_LOCKS_EXCLUDED(mutex_);
  void Release(const Region& region) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  const Make make_;
  const std::string server_id_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Region, std::less<>> regions_ ABSL_GUARDED_BY(mutex_);  // by name
  std::vector<Region> leaving_ ABSL_GUARDED_BY(mutex_);              // removed, and maybe in use
  std::map<std::string, Holding> holdings_ ABSL_GUARDED_BY(mutex_);  // by client
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t ending_ ABSL_GUARDED_BY(mutex_) = 0;  // regions that are being unmapped
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SHM_REGION_TABLE_H_
