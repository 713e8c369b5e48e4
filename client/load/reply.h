// Answers as bytes: their Timing, and whether the rest is what it was before.
#ifndef BASEBAND_CLIENT_LOAD_REPLY_H_
#define BASEBAND_CLIENT_LOAD_REPLY_H_

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "baseband/v1/baseband.pb.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

namespace baseband::load {

// A view of one answer whose first field may be its Timing. Reads no more than that field.
class ReplyView {
 public:
  // Takes a reference to the bytes of `reply`.
  explicit ReplyView(const grpc::ByteBuffer& reply);

  // False if the answer does not begin with a Timing.
  bool ReadTiming(v1::Timing* timing);
  // Whether what follows the Timing is `bytes`. After ReadTiming().
  bool RestIs(const std::string& bytes) const;
  std::string Rest() const;

 private:
  std::vector<grpc::Slice> slices_;
  size_t skipped_ = 0;  // bytes of the first slice
  size_t size_;
};

// An answer that was found right. Thread-safe; set once.
class KnownReply {
 public:
  // Keeps `rest` unless there is one already.
  void Set(std::string rest);
  bool Is(const ReplyView& reply) const;

 private:
  absl::Mutex mutex_;  // of writers
  std::string rest_;   // does not change once `is_set_`
  std::atomic<bool> is_set_{false};
};

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_REPLY_H_
