#include <gnuradio/baseband_offload/fec_decoder.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

#include "client/gnuradio/lib/connect.h"
#include "client/gnuradio/lib/decode_operation.h"
#include "client/gnuradio/lib/pipeline.h"

namespace gr::baseband_offload {
namespace {

decode_options Unpacked(decode_options options) {
  options.packed = false;
  return options;
}

class FecDecoder final : public fec_decoder {
 public:
  FecDecoder(const ldpc_code& code, int frames, const decode_options& options,
             const connection& server)
      : operation_(code, Unpacked(options)),
        frames_(frames),
        server_(server),
        client_(Connect(server)),
        pipeline_(
            client_.get(), LimitsOf(server),
            [operation = operation_](int count, const DecodeOperation::Response& response) {
              return operation.Check(count, response);
            },
            [] {}) {
    CheckRange("frames", frames, 1, 65536);
  }

  double rate() override {
    return static_cast<double>(operation_.output_items()) / operation_.input_items();
  }
  int get_input_size() override { return frames_ * operation_.input_items(); }
  int get_output_size() override { return frames_ * operation_.output_items(); }
  bool set_frame_size(unsigned int frame_size) override {
    return frame_size == static_cast<unsigned>(get_output_size());
  }
  float get_iterations() override { return iterations_; }
  uint64_t dropped() const override { return dropped_; }
  uint64_t parity_failures() const override { return parity_failures_; }

  void generic_work(void* in, void* out) override {
    // What an interrupted call has left.
    while (pipeline_.InFlight() > 0) TakeNext(nullptr);
    const int in_request = FramesOfRequest();
    auto* to = static_cast<uint8_t*>(out);
    uint64_t iterations = 0;
    for (int sent = 0, taken = 0; taken < frames_;) {
      if (sent < frames_ && pipeline_.HasRoom()) {
        const int count = std::min(in_request, frames_ - sent);
        DecodeOperation::Request request = operation_.Begin();
        operation_.Append(
            static_cast<const float*>(in) + static_cast<ptrdiff_t>(sent) * operation_.input_items(),
            count, &request);
        pipeline_.Send(std::move(request), count);
        sent += count;
        continue;
      }
      taken +=
          TakeNext(to + static_cast<ptrdiff_t>(taken) * operation_.output_items(), &iterations);
    }
    iterations_ = static_cast<float>(iterations) / static_cast<float>(frames_);
  }

 private:
  using Requests = Pipeline<DecodeOperation::Request, DecodeOperation::Response>;

  int FramesOfRequest() const {
    const int spread = (frames_ + server_.in_flight - 1) / server_.in_flight;
    const int64_t most =
        std::max<int64_t>(int64_t{server_.request_kib} * 1024 / operation_.request_bytes(), 1);
    return static_cast<int>(std::min<int64_t>(spread, most));
  }

  // Waits for the oldest answer; `out` null: it goes nowhere. Returns its code words.
  int TakeNext(uint8_t* out, uint64_t* iterations = nullptr) {
    while (!pipeline_.IsReady()) {
      pipeline_.Wait();
      Say(pipeline_.TakeEvents());
    }
    const Requests::Answer answer = pipeline_.Take();
    if (out == nullptr) return answer.frames;
    if (!answer.response.ok()) {
      std::memset(
          out, 0,
          static_cast<size_t>(answer.frames) * static_cast<size_t>(operation_.output_items()));
      dropped_ += static_cast<uint64_t>(answer.frames);
      if (!IsPassing(answer.response.status()) && !std::exchange(refusal_logged_, true)) {
        d_logger->error("{:s} refuses what is sent ({:s}): zeros come out", server_.target,
                        answer.response.status().ToString());
      }
      return answer.frames;
    }
    operation_.Write(*answer.response, 0, answer.frames, out);
    for (const uint32_t count : answer.response->iterations()) *iterations += count;
    for (const bool ok : answer.response->parity_ok()) parity_failures_ += ok ? 0 : 1;
    return answer.frames;
  }

  void Say(const std::vector<PipelineEvent>& events) {
    for (const PipelineEvent& event : events) {
      if (!event.failing) {
        d_logger->info("{:s} answers again", server_.target);
      } else {
        d_logger->warn("{:s} does not answer ({:s}): {:s}", server_.target, event.error.ToString(),
                       server_.on_failure == failure_policy::drop
                           ? "zeros come out until it does"
                           : "the flow graph waits until it does");
      }
    }
  }

  const DecodeOperation operation_;
  const int frames_;
  const connection server_;
  const std::unique_ptr<Client> client_;
  bool refusal_logged_ = false;
  std::atomic<float> iterations_{-1};
  std::atomic<uint64_t> dropped_{0};
  std::atomic<uint64_t> parity_failures_{0};
  Requests pipeline_;  // ends before its client
};

}  // namespace

fec_decoder::sptr fec_decoder::make(const ldpc_code& code, int frames,
                                    const decode_options& options, const connection& server) {
  return std::make_shared<FecDecoder>(code, frames, options, server);
}

}  // namespace gr::baseband_offload
