// Who is in, and whether the door is still open: what a graceful end waits for.
#ifndef BASEBAND_SERVER_SERVICE_DOOR_H_
#define BASEBAND_SERVER_SERVICE_DOOR_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace baseband::server {

// Thread-safe.
class Door {
 public:
  // A call has come, at `now`. Unavailable once the door is closed.
  absl::Status Knock(absl::Time now);
  // The call that knocked is accepted; exactly one Leave must follow, once its answer is sent.
  void Enter();
  void Leave();

  // From now on Knock refuses.
  void Close();
  // Returns once all who entered have left, at the latest at `deadline`.
  void WaitUntilEmpty(absl::Time deadline) const;
  // Returns once nobody has knocked for `quiet`, at the latest at `deadline`.
  void WaitUntilQuiet(absl::Duration quiet, absl::Time deadline) const;

 private:
  mutable absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t inside_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time last_knock_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace baseband::server

#endif  // BASEBAND_SERVER_SERVICE_DOOR_H_
