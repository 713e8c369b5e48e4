// Answers as bytes: their Timing, what of them depends on the request alone, and which of those are
// right.
#ifndef BASEBAND_CLIENT_LOAD_ANSWER_H_
#define BASEBAND_CLIENT_LOAD_ANSWER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "baseband/v1/baseband.pb.h"
#include "client/load/recorder.h"
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

// One answer to a request, as far as it depends on the request alone.
struct Answer {
  enum class State { kDoubtful, kRight, kWrong };

  const std::string bytes;
  const int64_t failed_blocks;  // code blocks that did not decode
  const Iterations iterations;
  std::atomic<State> state{State::kDoubtful};
  std::vector<Ended> calls;  // those with this answer, while it is doubtful; under Answers' mutex

  Answer(std::string its_bytes, int64_t its_failed_blocks, Iterations its_iterations)
      : bytes(std::move(its_bytes)),
        failed_blocks(its_failed_blocks),
        iterations(std::move(its_iterations)) {}
};

// The answers to one request that nothing known of it speaks against. A server answers a request
// with the same bytes each time, whatever goes on beside it; devices of other kinds round
// differently. So there are as many right answers as kinds of devices, and each comes again and
// again: what comes but once or twice, or is one too many, is wrong. Thread-safe.
class Answers {
 public:
  static constexpr size_t kMost = 8;       // that are told apart
  static constexpr size_t kAgreement = 3;  // calls that make a doubtful answer a right one

  explicit Answers(int kinds_of_devices = 1) : kinds_(kinds_of_devices) {}

  // The answer for whose bytes `is` returns true; null: it was not there yet.
  template <typename Is>
  Answer* Find(const Is& is) const {
    const size_t count = count_.load(std::memory_order_acquire);
    for (size_t i = 0; i < count; ++i) {
      if (is(answers_[i]->bytes)) return answers_[i].get();
    }
    return nullptr;
  }
  // Adds a doubtful one, or one that is known to be right; null: there are right ones of all kinds
  // already, or too many. If somebody else added it meanwhile, that one.
  Answer* Add(const std::string& bytes, int64_t failed_blocks, Answer::State state,
              const Iterations& iterations = {});
  // A call had the doubtful `answer`.
  void Note(Answer* answer, const Ended& call);
  // `agreement` calls with the same answer are enough from now on for those that were noted.
  void Settle(size_t agreement);
  // The calls whose answers are still doubtful: those answers are wrong from now on.
  std::vector<Ended> Reject();

  bool has_right() const { return right_ > 0; }
  // Whether a doubtful one may still prove right.
  bool is_open() const;

 private:
  void MakeRight(Answer* answer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int kinds_;
  absl::Mutex mutex_;  // of writers
  std::array<std::unique_ptr<Answer>, kMost> answers_;
  std::atomic<size_t> count_{0};  // those that do not move any more
  std::atomic<int> right_{0};
};

}  // namespace baseband::load

#endif  // BASEBAND_CLIENT_LOAD_ANSWER_H_
