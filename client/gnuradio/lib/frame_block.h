// A GNU Radio block that has frames worked on by a server: everything but what a frame is.
#ifndef BASEBAND_CLIENT_GNURADIO_LIB_FRAME_BLOCK_H_
#define BASEBAND_CLIENT_GNURADIO_LIB_FRAME_BLOCK_H_

#include <gnuradio/baseband_offload/connection.h>
#include <gnuradio/baseband_offload/frame_counts.h>
#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/io_signature.h>
#include <pmt/pmt.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "client/gnuradio/lib/connect.h"
#include "client/gnuradio/lib/pipeline.h"
#include "client/gnuradio/lib/status_port.h"
#include "client/gnuradio/lib/waker.h"

namespace gr::baseband_offload {

// What is told of a frame: names and values of tags.
using FrameResults = std::vector<std::pair<pmt::pmt_t, pmt::pmt_t>>;

// `Operation` has
//   Request, Response
//   int input_items(), output_items()               of a frame
//   size_t input_item_bytes(), output_item_bytes()
//   int64_t request_bytes()                         a frame's part of a payload
//   Request Begin()                                 a request of no frames
//   void Append(const void* in, int frames, Request*)   to its payload; it has one group
//   absl::Status Check(int frames, const Response&)     whether that is an answer to so many frames
//   void Write(const Response&, int first, int frames, void* out)
//   FrameResults Results(const Response&, int frame)
//   const char* results_port()                      where they go as dictionaries; null: nowhere
//
// Who calls what: all but Check(), which runs on the client's threads, on the block's thread.
template <typename Block, typename Operation>
class FrameBlock final : public Block {
  using Request = typename Operation::Request;
  using Response = typename Operation::Response;
  using Requests = Pipeline<Request, Response>;

 public:
  // `frame_tag`: frames begin at tags with this key, and what lies between is left out; empty: they
  // follow each other.
  FrameBlock(const std::string& name, const Operation& operation, const connection& server,
             const std::string& frame_tag)
      : gr::block(name,
                  gr::io_signature::make(1, 1, static_cast<int>(operation.input_item_bytes())),
                  gr::io_signature::make(1, 1, static_cast<int>(operation.output_item_bytes()))),
        operation_(operation),
        limits_(LimitsOf(server)),
        frame_tag_(frame_tag.empty() ? pmt::PMT_NIL : pmt::intern(frame_tag)),
        max_frames_(FramesOfRequest(operation, server)),
        client_(Connect(server)),
        status_(this, this->d_logger, server) {
    this->set_output_multiple(operation_.output_items());
    this->set_relative_rate(static_cast<uint64_t>(operation_.output_items()),
                            static_cast<uint64_t>(operation_.input_items()));
    this->set_tag_propagation_policy(gr::block::TPP_DONT);
    if (operation_.results_port() != nullptr) {
      results_port_ = pmt::mp(operation_.results_port());
      this->message_port_register_out(results_port_);
    }
  }

  frame_counts counts() const override {
    frame_counts counts;
    counts.taken = taken_;
    counts.answered = answered_;
    counts.dropped = status_.dropped();
    counts.requests = requests_;
    return counts;
  }

  bool start() override {
    Forget();
    pipeline_ = std::make_unique<Requests>(
        client_.get(), limits_,
        [operation = operation_](int frames, const Response& response) {
          return operation.Check(frames, response);
        },
        WakerOf(this));
    return Block::start();
  }

  bool stop() override {
    pipeline_.reset();
    status_.Lose(frame_tags_.size());
    Forget();
    return Block::stop();
  }

  void forecast(int, gr_vector_int& required) override {
    status_.Report(pipeline_->TakeEvents());
    const bool has_work = refused_ || answer_ || pipeline_->IsReady() ||
                          (IsInputDone() && (pending_frames_ > 0 || pipeline_->InFlight() > 0));
    required[0] = has_work ? 0 : operation_.input_items();
  }

  int general_work(int noutput_items, gr_vector_int& ninput_items,
                   gr_vector_const_void_star& inputs, gr_vector_void_star& outputs) override {
    if (refused_) return gr::block::WORK_DONE;
    const int used = Gather(static_cast<const uint8_t*>(inputs[0]), ninput_items[0]);
    int produced = 0;
    if (used == 0 && !answer_ && pipeline_->InFlight() > 0) pipeline_->Wait();
    status_.Report(pipeline_->TakeEvents());
    auto* out = static_cast<uint8_t*>(outputs[0]);
    while (produced < noutput_items && !refused_ && HasAnswer()) {
      produced +=
          Put(out + produced * operation_.output_item_bytes(), produced, noutput_items - produced);
    }
    SendPending();
    this->consume(0, used);
    return produced;
  }

 private:
  static int FramesOfRequest(const Operation& operation, const connection& server) {
    const int64_t frames = int64_t{server.request_kib} * 1024 / operation.request_bytes();
    return static_cast<int>(std::min<int64_t>(std::max<int64_t>(frames, 1), kMaxFrames));
  }

  void Forget() {
    pending_ = operation_.Begin();
    pending_frames_ = 0;
    frame_tags_.clear();
    answer_.reset();
    dropped_before_ = 0;
    refused_ = false;
  }

  bool IsInputDone() const { return this->detail()->input(0)->done(); }

  void SendPending() {
    if (pending_frames_ == 0 || !pipeline_->HasRoom()) return;
    pipeline_->Send(std::move(pending_), pending_frames_);
    pending_ = operation_.Begin();
    pending_frames_ = 0;
  }

  // Takes frames from the input while there is somewhere to put them. Returns the items used.
  int Gather(const uint8_t* in, int available) {
    int used = 0;
    for (;;) {
      SendPending();
      int frames =
          std::min((available - used) / operation_.input_items(), max_frames_ - pending_frames_);
      if (pmt::is_null(frame_tag_)) {
        if (frames == 0) return used;
      } else {
        if (pending_frames_ == max_frames_) return used;
        used = NextFrame(used, available);
        if (available - used < operation_.input_items()) return used;
        frames = 1;
      }
      operation_.Append(in + used * operation_.input_item_bytes(), frames, &pending_);
      pending_frames_ += frames;
      taken_ += static_cast<uint64_t>(frames);
      for (int i = 0; i < frames; ++i) {
        const uint64_t begin = this->nitems_read(0) + static_cast<uint64_t>(used);
        frame_tags_.emplace_back();
        this->get_tags_in_range(frame_tags_.back(), 0, begin,
                                begin + static_cast<uint64_t>(operation_.input_items()));
        used += operation_.input_items();
      }
    }
  }

  // Where after `from` the next frame begins, at most `end`.
  int NextFrame(int from, int end) {
    const uint64_t read = this->nitems_read(0);
    std::vector<gr::tag_t> tags;
    this->get_tags_in_range(tags, 0, read + static_cast<uint64_t>(from),
                            read + static_cast<uint64_t>(end), frame_tag_);
    uint64_t first = read + static_cast<uint64_t>(end);
    for (const gr::tag_t& tag : tags) first = std::min(first, tag.offset);
    return static_cast<int>(first - read);
  }

  // Whether there is something to put out; what was given up is counted on the way.
  bool HasAnswer() {
    while (!answer_ && pipeline_->IsReady()) {
      typename Requests::Answer answer = pipeline_->Take();
      if (answer.response.ok()) {
        answer_ = std::move(answer);
        answer_frame_ = 0;
        ++requests_;
        return true;
      }
      refused_ = status_.GiveUp(static_cast<uint64_t>(answer.frames), answer.response.status());
      dropped_before_ += static_cast<uint64_t>(answer.frames);
      frame_tags_.erase(frame_tags_.begin(), frame_tags_.begin() + answer.frames);
      if (refused_) return false;
    }
    return answer_.has_value();
  }

  // Of the answer as much as there is room for. Returns the items; `produced` are before them.
  int Put(uint8_t* out, int produced, int room) {
    const Response& response = *answer_->response;
    const int frames = std::min(answer_->frames - answer_frame_, room / operation_.output_items());
    operation_.Write(response, answer_frame_, frames, out);
    for (int i = 0; i < frames; ++i) {
      const uint64_t offset =
          this->nitems_written(0) + static_cast<uint64_t>(produced) +
          static_cast<uint64_t>(i) * static_cast<uint64_t>(operation_.output_items());
      PutTags(offset, operation_.Results(response, answer_frame_ + i));
    }
    answer_frame_ += frames;
    answered_ += static_cast<uint64_t>(frames);
    if (answer_frame_ == answer_->frames) answer_.reset();
    return frames * operation_.output_items();
  }

  void PutTags(uint64_t offset, const FrameResults& results) {
    const pmt::pmt_t source = this->alias_pmt();
    for (gr::tag_t& tag : frame_tags_.front()) {
      tag.offset = offset;
      this->add_item_tag(0, tag);
    }
    frame_tags_.pop_front();
    if (dropped_before_ > 0) {
      this->add_item_tag(0, offset, pmt::mp("dropped"), pmt::from_uint64(dropped_before_), source);
      dropped_before_ = 0;
    }
    pmt::pmt_t told = pmt::make_dict();
    for (const auto& [name, value] : results) {
      this->add_item_tag(0, offset, name, value, source);
      if (results_port_) told = pmt::dict_add(told, name, value);
    }
    if (results_port_) this->message_port_pub(results_port_, told);
  }

  static constexpr int kMaxFrames = 4096;  // of a request, whatever its bytes

  const Operation operation_;
  const PipelineLimits limits_;
  const pmt::pmt_t frame_tag_;
  const int max_frames_;
  const std::unique_ptr<Client> client_;
  StatusPort status_;
  pmt::pmt_t results_port_;

  std::atomic<uint64_t> taken_{0};
  std::atomic<uint64_t> answered_{0};
  std::atomic<uint64_t> requests_{0};

  Request pending_;  // while there is no room in the pipeline
  int pending_frames_ = 0;
  // Of every frame that was taken and neither put out nor given up: tags of the input.
  std::deque<std::vector<gr::tag_t>> frame_tags_;
  absl::optional<typename Requests::Answer> answer_;  // that there was no room to put out
  int answer_frame_ = 0;                              // the next one of it
  uint64_t dropped_before_ = 0;                       // frames since the last that was put out
  bool refused_ = false;
  std::unique_ptr<Requests> pipeline_;  // between start() and stop()
};

}  // namespace gr::baseband_offload

#endif  // BASEBAND_CLIENT_GNURADIO_LIB_FRAME_BLOCK_H_
