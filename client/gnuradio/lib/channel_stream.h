// A wideband signal through streams of a server: opened anew when one ends, with outputs that go on
// as if it had not.
#ifndef BASEBAND_CLIENT_GNURADIO_LIB_CHANNEL_STREAM_H_
#define BASEBAND_CLIENT_GNURADIO_LIB_CHANNEL_STREAM_H_

#include <gnuradio/thread/thread.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "baseband/v1/baseband.pb.h"
#include "client/cpp/client.h"
#include "client/gnuradio/lib/oscillators.h"
#include "client/gnuradio/lib/pipeline.h"

namespace gr::baseband_offload {

// What came of one piece of the signal.
struct ChannelOutputs {
  // Of each channel: where its samples lie in `payload`, complex float32, and the index of the
  // first one. Outputs that came before are left out.
  struct Part {
    uint64_t first_output = 0;
    int64_t begin = 0;  // samples into `payload`
    int64_t count = 0;
  };
  std::vector<Part> parts;
  std::string payload;
  uint64_t samples = 0;  // of the input
  // Not OK: they were given up, or refused, for this, and there are no parts.
  absl::Status error;
};

// One thread sends and takes; another, of its own, reads. Waits are interruption points of
// boost::thread.
class ChannelStream {
 public:
  // `setup` without frequencies and phases, which are `oscillators`. `sample_bytes` of the input.
  // `client` outlives the stream. `wake` runs after there are outputs, or events.
  ChannelStream(Client* client, const PipelineLimits& limits, const v1::DownconvertSetup& setup,
                const Oscillators& oscillators, int sample_bytes, std::function<void()> wake);
  // Cancels what is on its way, and waits for no server.
  ~ChannelStream();
  ChannelStream(const ChannelStream&) = delete;
  ChannelStream& operator=(const ChannelStream&) = delete;

  // Fewer than limits.in_flight pieces have outputs that were not taken.
  bool HasRoom() const { return InFlight() < limits_.in_flight; }
  int InFlight() const;
  bool IsReady() const;
  // Of the piece that is sent next.
  uint64_t next_sample() const { return next_sample_; }
  // Of a channel, those that samples before this one bring.
  uint64_t OutputsBefore(uint64_t sample, int channel) const;

  // The next piece of the signal, whole samples. `retunings` are for samples in it, in order.
  void Send(std::string samples, const std::vector<Retuning>& retunings);
  // Until IsReady(), or there is an event. Not with nothing in flight.
  void Wait();
  // IsReady().
  ChannelOutputs Take();
  std::vector<PipelineEvent> TakeEvents();

 private:
  struct Piece {
    uint64_t first_sample = 0;
    std::string samples;
    std::vector<Retuning> retunings;
  };
  using Stream = ::baseband::client::DownconvertStream;

  void Read();
  // Messages for what has not been written to the present stream, as many as may be in flight.
  void WriteMore(gr::thread::scoped_lock* lock);
  uint64_t SamplesOf(const Piece& piece) const;
  uint64_t MostHistory() const;
  uint64_t PastBegin() const;
  v1::DownconvertRequest MessageOf(const Piece& piece) const;
  // The first one of a stream: the setup, the past, and the oldest piece.
  v1::DownconvertRequest OpeningMessage();
  // A response to the oldest message. Not OK: it is none.
  absl::Status OnResponse(v1::DownconvertResponse response);
  // stream_ has ended, or could not be opened, for this. Pauses where a new one is to be tried.
  void OnEnd(absl::Status error, gr::thread::scoped_lock* lock);
  void GiveUp(size_t pieces, const absl::Status& error);
  void Remember(std::string samples);
  void Pause(absl::Duration least, gr::thread::scoped_lock* lock);

  Client* const client_;
  const PipelineLimits limits_;
  const v1::DownconvertSetup setup_;
  const int sample_bytes_;
  const std::function<void()> wake_;
  uint64_t next_sample_ = 0;  // the sender's

  mutable gr::thread::mutex mutex_;
  gr::thread::condition_variable changed_;
  // All below by mutex_.
  bool closed_ = false;
  bool failing_ = false;
  bool writing_ = false;  // somebody writes to stream_, without the lock
  absl::Duration pause_;
  std::shared_ptr<Stream> stream_;
  Oscillators oscillators_;
  std::deque<Piece> pieces_;   // without outputs yet
  size_t written_ = 0;         // of them, to stream_
  bool has_answered_ = false;  // stream_
  int internal_errors_ = 0;    // of the oldest piece
  uint64_t history_ = 0;       // samples that the filters need of the past
  std::string past_;           // these, before pieces_
  std::deque<ChannelOutputs> outputs_;
  std::vector<PipelineEvent> events_;

  std::thread reader_;
};

}  // namespace gr::baseband_offload

#endif  // BASEBAND_CLIENT_GNURADIO_LIB_CHANNEL_STREAM_H_
