// A wideband signal through a server that remembers: Client::OpenDownconvertStream().
//
//   auto stream = client->OpenDownconvertStream();
//   v1::DownconvertRequest request;
//   *request.mutable_setup() = setup;            // in the first message only
//   while (ReadSamples(request.mutable_payload()) && (*stream)->Write(request)) {
//     request.clear_setup();
//     v1::DownconvertResponse response;
//     if ((*stream)->Read(&response)) { .. }
//   }
//   absl::Status status = (*stream)->Finish();   // why it ended, if it did so early
//
// That waits for each response. For speed keep some messages in flight: read when
// in_flight() has reached max_in_flight, or write and read on two threads.
#ifndef BASEBAND_CLIENT_CPP_DOWNCONVERT_STREAM_H_
#define BASEBAND_CLIENT_CPP_DOWNCONVERT_STREAM_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "baseband/v1/baseband.pb.h"
#include "client/cpp/priority.h"
#include "client/cpp/visibility.h"

namespace baseband::client {

struct StreamOptions {
  // Of the whole stream; it also travels to the server.
  absl::Duration timeout = absl::InfiniteDuration();
  // The longest wait for a response that is due; then the stream is cancelled.
  absl::Duration response_timeout = absl::Seconds(60);
  // Messages written whose responses have not been read, 1 .. 64: what bounds the memory of both.
  int max_in_flight = 4;
  bool wait_for_ready = false;  // as CallOptions has it, within response_timeout
  Priority priority = Priority::kNormal;
};

// Thread-safe; at most one thread writes and one reads at a time.
//
// Responses are taken from the connection as they come, whether anybody reads them or not: a server
// that waits for its client (and cuts it off after a while) never waits for a slow disk here.
class BASEBAND_PUBLIC DownconvertStream {
 public:
  explicit DownconvertStream(std::shared_ptr<class StreamCall> call);
  // Cancels what is not over; does not wait.
  ~DownconvertStream();
  DownconvertStream(const DownconvertStream&) = delete;
  DownconvertStream& operator=(const DownconvertStream&) = delete;

  // Sends one message. Waits while max_in_flight messages have responses that nobody has read: with
  // one thread, Read() first. False: the stream has ended, and Finish() says why.
  bool Write(const v1::DownconvertRequest& request);
  // The response to the oldest message whose response was not read yet; waits for it. False: there
  // is none and none will come, and Finish() says why.
  bool Read(v1::DownconvertResponse* response);
  // Messages written whose responses have not been read.
  int in_flight() const;

  // Says that nothing more is written: Read() is false after the last response. Optional.
  void WritesDone();
  // The end: WritesDone(), drops what has not been read, waits, and returns how the stream ended,
  // the first time and afterwards. OK: each message has had its response. Statuses as of Client's
  // calls; Unavailable may be tried again from DownconvertResponse.next_sample on.
  absl::Status Finish();
  // From any thread. Finish() then returns Cancelled, unless the stream was over.
  void Cancel();

 private:
  const std::shared_ptr<class StreamCall> call_;
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_DOWNCONVERT_STREAM_H_
