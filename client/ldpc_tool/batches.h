// The requests of a FramePipe that are not written yet, in the order of their frames.
#ifndef BASEBAND_CLIENT_LDPC_TOOL_BATCHES_H_
#define BASEBAND_CLIENT_LDPC_TOOL_BATCHES_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "baseband/v1/baseband.pb.h"

namespace baseband::ldpc_tool {

// One thread adds, another takes; answers come from any. Lives as long as a callback knows it.
class Batches : public std::enable_shared_from_this<Batches> {
 public:
  using Done = std::function<void(absl::StatusOr<v1::DecodeResponse>)>;
  // Sends a request, and does not block. `done` is called once, on any thread, and never inside.
  using Send = std::function<void(v1::DecodeRequest request, Done done)>;

  struct Answered {
    int64_t frames = 0;
    absl::StatusOr<v1::DecodeResponse> answer;
  };

  // `limit` > 0 of them at a time. One that is Unavailable is sent again until Next() has waited
  // for the first one for `patience`.
  Batches(int limit, absl::Duration patience, Send send);
  ~Batches();

  // A descriptor, readable when something has changed for who adds: there may be room, or it was
  // stopped. Below 0: the system had none.
  int changes() const { return changes_; }
  // Takes what made it readable.
  void ForgetChanges() const;

  bool HasRoom() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Sends it. There is room.
  void Add(v1::DecodeRequest request, int64_t frames) ABSL_LOCKS_EXCLUDED(mutex_);
  // No more will be added.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  // The answer to the first one, once it is there; null: there is none, and will not be, or it was
  // stopped. It keeps its room until Pop().
  std::unique_ptr<Answered> Next() ABSL_LOCKS_EXCLUDED(mutex_);
  void Pop() ABSL_LOCKS_EXCLUDED(mutex_);
  // Both threads are to end.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  bool is_stopped() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Batch {
    v1::DecodeRequest request;  // kept with patience alone
    int64_t frames = 0;
    bool is_answered = false;
    absl::StatusOr<v1::DecodeResponse> answer = absl::UnknownError("no answer yet");
  };
  using BatchPtr = std::shared_ptr<Batch>;

  void SendBatch(const BatchPtr& batch, v1::DecodeRequest request) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether it is to be sent again.
  static bool IsLost(const Batch& batch, absl::Time until);
  void TellOfChange() const;

  const size_t limit_;
  const absl::Duration patience_;
  const Send send_;
  const int changes_;  // an eventfd

  mutable absl::Mutex mutex_;
  std::deque<BatchPtr> batches_ ABSL_GUARDED_BY(mutex_);
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace baseband::ldpc_tool

#endif  // BASEBAND_CLIENT_LDPC_TOOL_BATCHES_H_
