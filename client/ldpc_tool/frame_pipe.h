// Frames from one pipe through Decode to another, in order, with many requests in flight.
#ifndef BASEBAND_CLIENT_LDPC_TOOL_FRAME_PIPE_H_
#define BASEBAND_CLIENT_LDPC_TOOL_FRAME_PIPE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "baseband/v1/baseband.pb.h"
#include "client/ldpc_tool/batches.h"

namespace baseband::ldpc_tool {

struct FramePipeOptions {
  int input = 0;   // descriptors; the pipe neither opens nor closes them
  int output = 1;  // SIGPIPE is to be ignored
  // What each frame is; its count is ignored. A frame is llr_count LLRs, or all that are sent.
  v1::DecodeGroup group;
  int64_t batch_frames = 32;  // most frames of a request
  int in_flight = 8;          // most requests whose frames are not written yet
  // How long a batch that is Unavailable is sent again, by the pipe itself; zero: not at all.
  absl::Duration patience = absl::ZeroDuration();
};

// Frames, but where it says otherwise.
struct FramePipeTotals {
  int64_t read = 0;        // whole ones
  int64_t written = 0;     // at most those
  int64_t failed = 0;      // written, and their parity checks do not hold
  int64_t iterations = 0;  // of all that were written, together
  int64_t requests = 0;
  absl::Duration wall;  // from the first byte to the last
};

// How it ended: both OK when all that was read has been written, and the input has ended between
// two frames.
struct FramePipeEnd {
  absl::Status server;  // of a request
  absl::Status pipes;   // InvalidArgument names the pipe and what is wrong
};

// What is written of a frame are the a-posteriori LLRs of its bits: below 0 where a 1 was decided,
// whether the parity checks hold or not. (But a parity bit that sum-product rounds to 0.)
//
// A request leaves when it is full, or when the input has no more at the moment: a lone frame does
// not wait for others. While `in_flight` are out, frames gather; what the output does not take
// stops the input. So it holds (in_flight + 1) * batch_frames frames at most, and as much again
// with patience.
class FramePipe {
 public:
  // `options.group` has a code that ShapeOf() takes. Requests ask for soft output.
  FramePipe(const FramePipeOptions& options, Batches::Send send);
  FramePipe(const FramePipe&) = delete;
  FramePipe& operator=(const FramePipe&) = delete;

  // Once. When something fails, what came before it is written, and nothing after it; then calls
  // may still be in flight.
  FramePipeEnd Run();

  // After Run().
  const FramePipeTotals& totals() const { return totals_; }

 private:
  // The input, on the caller's thread: until its end, an error, or an error of the output.
  absl::Status ReadAll();
  absl::Status ReadSome(bool* ended);
  // All whole frames of `buffer_`.
  void SendFrames();

  // The output, on a thread of its own.
  void WriteAll();
  absl::Status WriteBatch(const v1::DecodeResponse& answer, int64_t frames);
  absl::Status WriteBytes(absl::string_view bytes);

  const FramePipeOptions options_;
  const int64_t frame_bytes_;
  const int64_t punctured_;  // code bits in front of what is sent
  const int64_t info_bits_;  // without fillers
  const std::shared_ptr<Batches> batches_;

  std::string buffer_;  // as large as a batch
  int64_t filled_ = 0;  // bytes of it
  absl::Time begin_;    // when the first byte had come
  std::string corrected_;
  FramePipeTotals totals_;  // each field is one thread's until both have ended
  FramePipeEnd end_;
};

}  // namespace baseband::ldpc_tool

#endif  // BASEBAND_CLIENT_LDPC_TOOL_FRAME_PIPE_H_
