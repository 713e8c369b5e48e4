// A decoder object for flow graphs of gr-fec.
#ifndef INCLUDED_BASEBAND_OFFLOAD_FEC_DECODER_H
#define INCLUDED_BASEBAND_OFFLOAD_FEC_DECODER_H

#include <gnuradio/baseband_offload/api.h>
#include <gnuradio/baseband_offload/connection.h>
#include <gnuradio/baseband_offload/ldpc_code.h>
#include <gnuradio/baseband_offload/ldpc_decoder.h>
#include <gnuradio/fec/generic_decoder.h>

#include <cstdint>

namespace gr {
namespace baseband_offload {

// For fec.decoder, fec.extended_decoder and the others. They call it for one of its frames at a
// time, and wait: so each of its frames is `frames` code words, which go to the server in up to
// server.in_flight requests at once. Input: floats, sign and scale as decode_options has them,
// which is gr-fec's own. Output: one bit a byte. ldpc_decoder never waits, and is faster.
//
// A lost server is waited for, or, failure_policy::drop, its code words come out as zeros; so do
// those that a server refuses. The log says so once.
class BASEBAND_OFFLOAD_API fec_decoder : public gr::fec::generic_decoder {
 public:
  using sptr = std::shared_ptr<fec_decoder>;

  // frames: 1 .. 65536. options.packed is not looked at. Throws std::invalid_argument, which names
  // what is out of range.
  static sptr make(const ldpc_code& code, int frames, const decode_options& options,
                   const connection& server);

  // From any thread: code words that came out as zeros, or whose parity checks do not all hold.
  virtual uint64_t dropped() const = 0;
  virtual uint64_t parity_failures() const = 0;

 protected:
  fec_decoder() : gr::fec::generic_decoder("baseband_offload_fec_decoder") {}
};

}  // namespace baseband_offload
}  // namespace gr

#endif  // INCLUDED_BASEBAND_OFFLOAD_FEC_DECODER_H
