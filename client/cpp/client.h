// Client of a Baseband Offload server: asynchronous, over a pool of connections, with deadlines and
// with retries that fit large messages. Needs no more than the messages of proto/baseband/v1.
//
//   absl::StatusOr<std::unique_ptr<Client>> client = Client::Create(ClientOptions());
//   v1::EncodeRequest request;
//   v1::EncodeGroup* group = request.add_groups();
//   group->mutable_code()->mutable_nr()->set_base_graph(1);
//   group->mutable_code()->mutable_nr()->set_zc(384);
//   group->set_count(1);
//   request.set_payload(std::string(8448 / 8, '\x5a'));
//   absl::StatusOr<v1::EncodeResponse> parity = (*client)->Encode(std::move(request));
//
// example.cc shows the asynchronous form and the way back through Decode.
#ifndef BASEBAND_CLIENT_CPP_CLIENT_H_
#define BASEBAND_CLIENT_CPP_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "baseband/v1/baseband.pb.h"
#include "client/cpp/downconvert_stream.h"
#include "client/cpp/priority.h"
#include "client/cpp/ring_options.h"
#include "client/cpp/shared_memory.h"
#include "client/cpp/submit_stream.h"
#include "client/cpp/visibility.h"

namespace baseband::client {

// TLS with the server, and who this client is. The contents of PEM files, not their paths.
struct TlsOptions {
  std::string ca;    // the authorities of servers' certificates; empty: those of the system
  std::string cert;  // this client's certificate and chain; empty: none
  std::string key;   // its private key
  // The name that servers' certificates must bear; empty: the host in the target. Several addresses
  // need one.
  std::string server_name;
};

struct ClientOptions {
  // One server: "HOST:PORT", "unix:PATH", or any other name that gRPC resolves. Several servers:
  // "10.0.0.1:50151,10.0.0.2:50151", or "dns:///NAME:PORT" for all addresses that NAME has. Calls
  // then go in turn to those that say that they serve, their further attempts to the next; a stream
  // stays where it began. A server that drains or dies gets no more calls; one that comes back gets
  // its share within seconds, and so does one that is new in the DNS, which is asked when a
  // connection ends.
  std::string target = "127.0.0.1:50151";
  // Connections to each server, 1 .. 64. Each is served by one thread of gRPC at a time, so large
  // messages want several; a call takes the one with the fewest calls in flight.
  int connections = 4;
  // Encode and Decode with a payload of so many bytes, 131072 .., and several blocks go in parts of
  // at least half as many over connections without calls, if the call would find others idle: it
  // then takes as long as the largest part. Each part is a call of its own to the server, in its
  // records, metrics and quotas too; the answer's timing is that of the slowest. 0: never. Not what
  // is in shared memory.
  int stripe_from_bytes = 1 << 20;
  // Threads that parse answers and run callbacks, 1 .. 64.
  int polling_threads = 2;

  // Attempts per call, the first one included, 1 .. 5; 1 turns retries off. Tried again are
  // UNAVAILABLE (also a call that the server cancels), and RESOURCE_EXHAUSTED when the server says
  // when to come back; nothing else, not INTERNAL either. Any call may be repeated without harm,
  // but those that SetReply() has told where to write: see there.
  int max_attempts = 4;
  // The second attempt is made at once, for another server may be there; the third after
  // initial_backoff, > 0, each further one after twice the pause before, at most max_backoff. An
  // attempt waits up to a fifth longer, and as long again while there is no connection. So a server
  // may be gone for 0.6 s as these are, and no call is lost.
  absl::Duration initial_backoff = absl::Milliseconds(200);
  absl::Duration max_backoff = absl::Seconds(2);
  // gRPC itself tries searches again that had no response yet; none whose requests are larger than
  // this. A Downconvert stream is told UNAVAILABLE.
  int retry_buffer_bytes = 256 << 20;
  // Unary calls that a server under load would most likely refuse are not sent, for refusing takes
  // it time in which it could serve. While it refuses more than half of the calls of a method and
  // priority, it is sent, of what is to be sent in about a second, a random choice of twice as many
  // as it accepted, and 10. The others end with RESOURCE_EXHAUSTED, "not sent: ...", and with what
  // its last refusal says of when to come back; they are attempts like those it refuses.
  // Nor is what would be late: where more than one of twenty of a method, priority and timeout
  // (within a factor of two) are, and most take more than three fifths of theirs, fewer of them
  // are in flight at a time, one at least. The others wait while they have the time, the ones with
  // most of it first, and end with DEADLINE_EXCEEDED, "not sent: ...". So do requests of Submit
  // streams with a timeout. Not so: all are sent, also what SubmitOptions::timeout has too little
  // left of.
  bool throttle = true;

  // Empty: in clear text. For TCP targets; a Unix socket needs none.
  absl::optional<TlsOptions> tls;
  // Goes with every call as `authorization: Bearer TOKEN`; empty: none. Printable ASCII without
  // blanks. Only with TLS, to a Unix socket or to a literal loopback address (127.0.0.1, [::1]),
  // for else everybody on the way could read it; a name, `localhost` too, may stand for any
  // address.
  std::string token;
};

struct CallOptions {
  // For the whole call with all its attempts; afterwards DeadlineExceeded. > 0; it also travels to
  // the server, which does not start what cannot finish in time.
  absl::Duration timeout = absl::Seconds(60);
  // Waits for a connection within `timeout`, instead of failing with Unavailable when there is
  // none.
  bool wait_for_ready = false;
  Priority priority = Priority::kNormal;
  // Goes with each attempt as the metadata `x-request-id`, by which the servers' records name the
  // call, on whichever of them it was; empty: none. Printable ASCII without blanks.
  std::string request_id;
};

// Cancels a call that is in flight. Copyable; may outlive the call and the client. Thread-safe.
class BASEBAND_PUBLIC CallHandle {
 public:
  CallHandle() = default;
  // The call's callback then gets Cancelled, unless its answer was already there.
  void Cancel() const;

 private:
  friend class Client;
  explicit CallHandle(std::weak_ptr<class AsyncCall> call) : call_(std::move(call)) {}
  std::weak_ptr<class AsyncCall> call_;
};

// What the standard health service of gRPC answers.
enum class Health { kUnknown, kServing, kNotServing };

// Thread-safe. Errors are the server's canonical codes with its message, see baseband.proto;
// besides, Unavailable when there is no connection, DeadlineExceeded, Cancelled, and Internal when
// an answer cannot be parsed. Cancelled always means that this side cancelled.
//
// Callbacks: run exactly once, on a polling thread, never inside the call that passed them. They
// must not block and must not destroy the client; they may start further calls.
class BASEBAND_PUBLIC Client {
 public:
  template <typename Response>
  using Callback = std::function<void(absl::StatusOr<Response>)>;

  // Does not connect yet. InvalidArgument names the option out of range.
  static absl::StatusOr<std::unique_ptr<Client>> Create(const ClientOptions& options);

  // Cancels what is in flight and waits until all callbacks have run.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Connects the whole pool and waits for it. Optional: calls connect by themselves.
  // Unavailable as soon as a connection is refused, unless `keep_trying`; else DeadlineExceeded.
  absl::Status Connect(absl::Duration timeout, bool keep_trying = false);

  // Asks the server for shared memory. From then on payloads of calls and of Submit streams that
  // have `least_bytes` are copied there instead of through a socket, and Loan() lends it.
  // FailedPrecondition: the server shares none, or the target may stand for several servers; else
  // the errors of GetCapabilities, and Unavailable if the server's socket is not to be reached from
  // here. Where the server refuses a request for its memory, it is sent once more without, as the
  // same call and for no attempt. When the server has been started anew, calls go through the
  // socket again, until this is called once more. Not from a callback.
  absl::Status ShareMemory(const CallOptions& options = CallOptions(),
                           int64_t least_bytes = 32 << 10);
  // Opens a ring in memory that the server shares. From then on calls of all operations but
  // Minimize go that way while it has room, their payloads copied there; the callbacks of those run
  // on the ring's one thread, and Cancel() does not reach them. Errors as ShareMemory(). When the
  // server has gone, or been started anew, calls are calls again. Not from a callback.
  absl::Status OpenRing(const RingOptions& ring = RingOptions(),
                        const CallOptions& options = CallOptions());
  // Memory for a payload or an answer: shared, if ShareMemory() was OK and the server has some,
  // else the process's own. `bytes` >= 0.
  Buffer Loan(int64_t bytes);

  CallHandle Encode(v1::EncodeRequest request, const CallOptions& options,
                    Callback<v1::EncodeResponse> done);
  CallHandle Decode(v1::DecodeRequest request, const CallOptions& options,
                    Callback<v1::DecodeResponse> done);
  CallHandle EncodeSharedChannel(v1::EncodeSharedChannelRequest request, const CallOptions& options,
                                 Callback<v1::EncodeSharedChannelResponse> done);
  CallHandle DecodeSharedChannel(v1::DecodeSharedChannelRequest request, const CallOptions& options,
                                 Callback<v1::DecodeSharedChannelResponse> done);
  CallHandle RecoverCarrier(v1::RecoverCarrierRequest request, const CallOptions& options,
                            Callback<v1::RecoverCarrierResponse> done);
  // One piece of a signal; the request says where it is, and brings the history again.
  CallHandle Downconvert(v1::DownconvertRequest request, const CallOptions& options,
                         Callback<v1::DownconvertResponse> done);
  CallHandle GetCapabilities(v1::GetCapabilitiesRequest request, const CallOptions& options,
                             Callback<v1::GetCapabilitiesResponse> done);
  // Health of `service`, or of the whole server for an empty name. NotFound for an unknown name.
  CallHandle CheckHealth(const std::string& service, const CallOptions& options,
                         Callback<Health> done);

  // The same, blocking. Not from a callback.
  absl::StatusOr<v1::EncodeResponse> Encode(v1::EncodeRequest request,
                                            const CallOptions& options = CallOptions());
  absl::StatusOr<v1::DecodeResponse> Decode(v1::DecodeRequest request,
                                            const CallOptions& options = CallOptions());
  absl::StatusOr<v1::EncodeSharedChannelResponse> EncodeSharedChannel(
      v1::EncodeSharedChannelRequest request, const CallOptions& options = CallOptions());
  absl::StatusOr<v1::DecodeSharedChannelResponse> DecodeSharedChannel(
      v1::DecodeSharedChannelRequest request, const CallOptions& options = CallOptions());
  absl::StatusOr<v1::RecoverCarrierResponse> RecoverCarrier(
      v1::RecoverCarrierRequest request, const CallOptions& options = CallOptions());
  absl::StatusOr<v1::DownconvertResponse> Downconvert(v1::DownconvertRequest request,
                                                      const CallOptions& options = CallOptions());
  absl::StatusOr<v1::GetCapabilitiesResponse> GetCapabilities(
      v1::GetCapabilitiesRequest request, const CallOptions& options = CallOptions());
  // All but what must be asked for by name.
  absl::StatusOr<v1::GetCapabilitiesResponse> GetCapabilities(
      const CallOptions& options = CallOptions());
  absl::StatusOr<Health> CheckHealth(const std::string& service,
                                     const CallOptions& options = CallOptions());

  // Searches a grid for the least or greatest value of a functional; blocks until the answer is
  // there. `progress`, if not null, is called on this thread with each progress message (see
  // MinimizeRequest.progress_interval_ms); returning false it cancels the search. An
  // Unavailable search is tried again until its first response, by gRPC: as often as ClientOptions
  // say, after pauses between nothing and theirs. After that it is not: the caller knows best where
  // a search that took minutes should go on (first_point).
  absl::StatusOr<v1::MinimizeAnswer> Minimize(
      const v1::MinimizeRequest& request, const CallOptions& options = CallOptions(),
      const std::function<bool(const v1::MinimizeProgress&)>& progress = nullptr);

  // A signal without end, which the server remembers from message to message. The stream must not
  // outlive the client. InvalidArgument names the option out of range.
  absl::StatusOr<std::unique_ptr<DownconvertStream>> OpenDownconvertStream(
      const StreamOptions& options = StreamOptions());

  // Requests of the unary operations, many at a time on one stream and one connection: for programs
  // that send every slot. The stream must not outlive the client. InvalidArgument names the option
  // out of range.
  absl::StatusOr<std::unique_ptr<SubmitStream>> OpenSubmitStream(
      const SubmitStreamOptions& options = SubmitStreamOptions());

 private:
  class BASEBAND_PRIVATE Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  absl::StatusOr<v1::SharedMemoryCapabilities> SharedMemoryOf(const CallOptions& options);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace baseband::client

#endif  // BASEBAND_CLIENT_CPP_CLIENT_H_
