// A ring in memory that a server of this host shares: requests as bytes, without a call each.
// Internal to the client libraries.
#ifndef BASEBAND_CLIENT_CPP_RING_H_
#define BASEBAND_CLIENT_CPP_RING_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "baseband/v1/baseband.pb.h"
#include "client/c/basebandd.h"
#include "client/cpp/priority.h"
#include "client/cpp/ring_options.h"
#include "grpcpp/support/byte_buffer.h"

namespace baseband::client {

// Thread-safe. A request that comes again gets a number of the server's, and is not parsed any
// more, while it is among those that came last.
class Ring {
 public:
  // Of the requests, by operation, header and size of payload, that came last, as many are known.
  static constexpr size_t kMaxKnown = 512;

  // Called once, on the ring's thread; what it is given lasts until it returns. Unavailable:
  // nothing was done, or it is not known, and it may be done without the ring; so where the answer
  // does not fit into the ring's memory.
  using Done = std::function<void(absl::StatusOr<grpc::ByteBuffer>)>;
  struct Request {
    int operation = 0;          // SubmitFields::request
    std::string header;         // the operation's request, serialized, without its payload
    absl::string_view payload;  // until Start returns; if it is in place, until `done`
    bool is_in_place = false;   // the payload is in memory of Loan(), and is not copied
    absl::Time deadline = absl::InfiniteFuture();
    absl::optional<Priority> priority;
  };

  // With the server that says this of itself. FailedPrecondition: it has no rings; Unavailable: its
  // socket cannot be reached from here.
  static absl::StatusOr<std::unique_ptr<Ring>> Connect(const v1::SharedMemoryCapabilities& shared,
                                                       const RingOptions& options);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // What is in flight ends as Unavailable, and so does what is started from now on. Waits for
  // callbacks: not from one, and not for whoever holds what they wait for. Once at a time.
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

  // Memory of the ring's for payloads in place, as long as there is the ring; null: there is no
  // more.
  uint8_t* Loan(size_t bytes) { return static_cast<uint8_t*>(basebandd_loan(connection_, bytes)); }

  // OK: `done` will be called. Otherwise it will not: ResourceExhausted, as much is in flight as
  // there are entries, or memory; Unavailable: the server is gone.
  absl::Status Start(Request request, Done done) ABSL_LOCKS_EXCLUDED(mutex_);
  // False once the server is gone.
  bool is_alive() const { return is_alive_.load(); }

 private:
  // What was learned of requests with one header and one size of payload.
  struct Known {
    size_t reply_bytes = 4096;  // enough for an answer, as one has shown
    int uses = 0;
    uint32_t job = 0;  // 0: none yet
  };
  struct InFlight {
    Request request;  // its payload is in the ring's memory
    std::shared_ptr<Known> known;
    uint8_t* memory = nullptr;  // a loan: the payload, unless it was in place, and `reply`
    uint8_t* reply = nullptr;
    size_t reply_bytes = 0;
    bool has_grown = false;  // the server has said how much room the answer takes
    Done done;               // null: it gets its header a number, or nobody waits any more
  };
  using InFlightPtr = std::unique_ptr<InFlight>;

  Ring(basebandd_connection* connection, size_t memory_bytes);

  struct Entry {
    std::shared_ptr<Known> known;
    std::list<const std::string*>::iterator recent;
  };

  // What is known of it, from now on at least. Null: nothing, and nobody can be forgotten for it.
  std::shared_ptr<Known> Find(const Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets the one that was used least recently, and so does the server. False: it is in use, or
  // there is no room to tell the server.
  bool ForgetOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A loan for the payload, unless it is in place, and `reply_bytes`, for what the request had.
  absl::Status Place(size_t reply_bytes, InFlight* request);
  // Takes `request` unless there is an error.
  absl::Status Submit(InFlightPtr& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same once more, with room for an answer of `reply_bytes`, which is what the server says.
  absl::Status SubmitLarger(uint64_t reply_bytes, InFlightPtr& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Asks for a number for requests like it, if it comes often.
  void Learn(const InFlight& like) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Receive();
  void OnAnswer(const basebandd_answer& answer) ABSL_LOCKS_EXCLUDED(mutex_);
  // Those that the server should have answered by now hear that it has not.
  void ExpireOverdue() ABSL_LOCKS_EXCLUDED(mutex_);
  void EndAll() ABSL_LOCKS_EXCLUDED(mutex_);

  basebandd_connection* const connection_;
  const size_t memory_bytes_;
  std::atomic<bool> is_alive_{true};
  std::atomic<bool> stops_{false};
  absl::Mutex mutex_;
  // By operation, bytes of payload, and header.
  std::unordered_map<std::string, Entry> known_ ABSL_GUARDED_BY(mutex_);
  // Keys of those, the one that was used last first.
  std::list<const std::string*> recent_ ABSL_GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, InFlightPtr> in_flight_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;  // nobody receives any more
  std::thread thread_;
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_RING_H_
