// Regions that a server has granted this client, lent in pieces. Internal to the client library.
#ifndef BASEBAND_CLIENT_CPP_SHARED_ARENA_H_
#define BASEBAND_CLIENT_CPP_SHARED_ARENA_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "baseband/v1/baseband.pb.h"
#include "client/cpp/reply_room.h"
#include "client/cpp/shared_memory.h"
#include "common/shm/region_messages.h"

namespace baseband::client {

// Thread-safe. What is said to the server: common/shm/region_messages.h.
class SharedArena : public std::enable_shared_from_this<SharedArena> {
 public:
  static constexpr absl::Duration kRefusedFor = absl::Seconds(1);

  // Of the server that says this of itself, with a first region. FailedPrecondition: it shares no
  // memory; Unavailable: its socket cannot be reached from here, or is another server's.
  // `least_bytes`: smaller payloads go through the socket of the call.
  static absl::StatusOr<std::shared_ptr<SharedArena>> Connect(
      const v1::SharedMemoryCapabilities& shared, int64_t least_bytes);
  ~SharedArena();
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

  // Memory of `bytes` > 0. Asks the server for more if it has to, which takes milliseconds, while
  // others go on with what there is. Errors: the server's, which is not asked again for as much
  // within kRefusedFor; Unavailable: it is gone.
  absl::StatusOr<Buffer> Loan(int64_t bytes);
  // The same, but Unavailable where Loan() would wait for another thread that asks the server.
  absl::StatusOr<Buffer> LoanAtOnce(int64_t bytes);
  int64_t least_bytes() const { return least_bytes_; }
  int64_t max_bytes() const { return max_bytes_; }  // of all regions together

  // Room for the answer of a call with `payload_bytes`, by what came of others of its kind, which
  // has any number.
  int64_t RoomFor(int kind, int64_t payload_bytes);
  void LearnRoom(int kind, int64_t payload_bytes, int64_t reply_bytes);
  // A number of a hold that no other has, not 0.
  uint64_t NextHold();
  // Whether the server is still there; a new one knows none of these regions.
  bool IsAlive();

 private:
  friend class Buffer;
  struct Awaited {
    int64_t bytes = 0;
    uint64_t hold = 0;
  };
  struct Region {
    uint8_t* base = nullptr;
    int64_t bytes = 0;
    std::map<int64_t, int64_t> free;  // bytes, by offset
    int64_t lent = 0;
    int64_t lost = 0;                    // that a server may still use
    std::map<int64_t, Awaited> awaited;  // of that, what it will release; by offset
    bool is_leaving = false;             // nothing more of it is lent
  };

  SharedArena(int fd, int64_t max_bytes, int64_t least_bytes)
      : fd_(fd), max_bytes_(max_bytes), least_bytes_(least_bytes) {}

  absl::Status CheckLoan(int64_t bytes) const;
  // What is free of what there is; empty: nothing is.
  absl::optional<Buffer> TakeFree(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::optional<Buffer> TakeFreeLocked(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Buffer> GrowAndTake(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(socket_mutex_)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // `bytes` of it, before anybody else has any.
  absl::StatusOr<Buffer> Grow(int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(socket_mutex_)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // The server's answer; `granted`, if not null, receives the descriptor.
  absl::StatusOr<shm::RegionAnswer> Ask(const shm::RegionRequest& request, int* granted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(socket_mutex_);
  bool Send(const shm::RegionRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(socket_mutex_);
  // Nothing: it is not there by `deadline`.
  absl::optional<shm::RegionAnswer> Receive(absl::Time deadline, int* granted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(socket_mutex_);
  // Tells the server of regions that are not needed any more, and does not wait for it: what it has
  // not heard of yet it hears of another time.
  void Free() ABSL_LOCKS_EXCLUDED(socket_mutex_, mutex_);
  void FreeLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(socket_mutex_) ABSL_LOCKS_EXCLUDED(mutex_);

  void Return(const std::string& region, int64_t offset, int64_t bytes, Buffer::Fate fate,
              uint64_t hold) ABSL_LOCKS_EXCLUDED(socket_mutex_, mutex_);
  // The region is to be unmapped, if its bytes are not 0.
  Region ReturnLocked(const std::string& region, int64_t offset, int64_t bytes, Buffer::Fate fate,
                      uint64_t hold) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void TakeReleased(Region* region);
  static void GiveBack(Region* region, int64_t offset, int64_t bytes);

  const int fd_;
  const int64_t max_bytes_;
  const int64_t least_bytes_;
  // What lies in memory by chance is none of them.
  std::atomic<uint64_t> holds_{uint64_t{std::random_device()()} << 30 ^ std::random_device()()};
  std::atomic<bool> is_dead_{false};  // the server does not answer
  // Of who talks to the server; before mutex_, which nobody holds while he waits.
  absl::Mutex socket_mutex_;
  bool is_owed_ ABSL_GUARDED_BY(socket_mutex_) = false;  // the answer to a kFree
  int64_t refused_bytes_ ABSL_GUARDED_BY(socket_mutex_) = 0;
  absl::Status refusal_ ABSL_GUARDED_BY(socket_mutex_);
  absl::Time refused_until_ ABSL_GUARDED_BY(socket_mutex_) = absl::InfinitePast();
  absl::Mutex mutex_;
  ReplyRoom replies_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Region> regions_ ABSL_GUARDED_BY(mutex_);  // by name
  std::vector<std::string> unneeded_ ABSL_GUARDED_BY(mutex_);      // the server is to be told
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_SHARED_ARENA_H_
