// What a block says of its server: at the port "status", in the log, and in its counts.
#ifndef BASEBAND_CLIENT_GNURADIO_LIB_STATUS_PORT_H_
#define BASEBAND_CLIENT_GNURADIO_LIB_STATUS_PORT_H_

#include <gnuradio/baseband_offload/connection.h>
#include <gnuradio/block.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/gnuradio/lib/pipeline.h"

namespace gr::baseband_offload {

// The messages are ldpc_decoder.h's; what it calls frames may be samples. Called on the block's
// thread, but for dropped().
class StatusPort {
 public:
  // Registers the port with `block`, which has this as its member.
  StatusPort(gr::block* block, gr::logger_ptr logger, const connection& server);

  void Report(const std::vector<PipelineEvent>& events);
  // `frames` were given up for `error`. Returns whether the stream has to end: the request was
  // refused, and what is held is not to be dropped.
  bool GiveUp(uint64_t frames, const absl::Status& error);
  // A message that makes no sense, and why.
  void RefuseCommand(const std::string& text);
  // `frames` went with the stop of the flow graph.
  void Lose(uint64_t frames) { dropped_ += frames; }
  uint64_t dropped() const { return dropped_; }

 private:
  void Publish(const char* state, const absl::Status& error);

  gr::block* const block_;
  const gr::logger_ptr logger_;
  const std::string target_;
  const failure_policy policy_;
  bool refusal_logged_ = false;
  std::atomic<uint64_t> dropped_{0};
};

}  // namespace gr::baseband_offload

#endif  // BASEBAND_CLIENT_GNURADIO_LIB_STATUS_PORT_H_
