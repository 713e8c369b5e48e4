// How a block reaches its server, and what it does when it does not.
#ifndef INCLUDED_BASEBAND_OFFLOAD_CONNECTION_H
#define INCLUDED_BASEBAND_OFFLOAD_CONNECTION_H

#include <gnuradio/baseband_offload/api.h>

#include <string>

namespace gr {
namespace baseband_offload {

// What happens to frames that the server does not answer: because it is gone, full, too slow for
// `timeout_s`, or its device failed. A request that it refuses as wrong, push_back or not, would be
// refused again: with push_back the block then ends its stream, with drop it goes on with the next
// one. A held request at which devices fail for the third time counts as refused, too.
enum class failure_policy {
  // They are held and sent again until they are answered. Nothing is lost; the flow graph waits,
  // and what feeds it has to bear that.
  push_back,
  // They are given up, counted, and the next frame that comes out says how many went before it.
  drop,
};

// A flow graph that runs at the pace of what feeds it wants `in_flight` so large that
// in_flight * request_kib covers what arrives in one round trip.
struct BASEBAND_OFFLOAD_API connection {
  // "HOST:PORT", "unix:PATH", "dns:///NAME:PORT"; several servers with commas between them.
  std::string target = "127.0.0.1:50151";
  // Requests on their way or with answers that nobody has taken yet: 1 .. 256.
  int in_flight = 4;
  // While all requests are on their way, what arrives gathers to one of so many KiB of samples, but
  // of one frame at least and 4096 at most: 1 .. 32768. While they are not, a request leaves with
  // what the scheduler brought.
  int request_kib = 1024;
  // Of one request, all attempts included: 0.001 .. 3600 s. Then it has failed.
  double timeout_s = 10;
  failure_policy on_failure = failure_policy::push_back;

  // TLS, where ca_file is not empty: PEM files of the authorities ("system": those of the system),
  // and of this client's certificate and key, if it has one. server_name as in the certificates,
  // empty: the target's host.
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  std::string server_name;
  // A file with the bearer token; empty: none.
  std::string token_file;

  // Throws std::invalid_argument, which names what is out of range or cannot be read.
  void check() const;
};

}  // namespace baseband_offload
}  // namespace gr

#endif  // INCLUDED_BASEBAND_OFFLOAD_CONNECTION_H
