// LDPC decoding on a server.
#ifndef INCLUDED_BASEBAND_OFFLOAD_LDPC_DECODER_H
#define INCLUDED_BASEBAND_OFFLOAD_LDPC_DECODER_H

#include <gnuradio/baseband_offload/api.h>
#include <gnuradio/baseband_offload/connection.h>
#include <gnuradio/baseband_offload/frame_counts.h>
#include <gnuradio/baseband_offload/ldpc_code.h>
#include <gnuradio/block.h>

namespace gr {
namespace baseband_offload {

enum class decode_algorithm { normalized_min_sum, sum_product, bit_flipping };

struct BASEBAND_OFFLOAD_API decode_options {
  // ln(P(bit = 1) / P(bit = 0)) of an input value x is llr_scale * x: 2 / sigma^2 for BPSK where 1
  // is sent as +1 and 0 as -1 with noise of variance sigma^2. Positive means 1, as in GNU Radio's
  // own soft decisions and gr-fec; with a negative scale positive means 0. Finite, not 0.
  double llr_scale = 1;
  int max_iterations = 10;        // 1 .. 100
  bool fixed_iterations = false;  // else a frame is done when all checks hold
  decode_algorithm algorithm = decode_algorithm::normalized_min_sum;
  int n_filler = 0;    // 0 .. k - 1: information bits k - n_filler .. k - 1 are known zeros
  bool packed = true;  // output bytes have 8 bits, the first in the most significant; else one
};

// Input: floats, code.n() a frame; of 5G NR from the first bit that is sent on. NaN says nothing of
// its bit. Output: bytes, ceil((k - n_filler) / 8) a frame, or k - n_filler unpacked. The last bits
// of the last packed byte are zeros.
//
// Tags on the first byte of each frame: "iterations" (long), "parity_ok" (bool): all parity checks
// hold, with zeros for fillers; and "dropped" (uint64), frames that were given up just before it.
// Tags of the input's frame move to that byte, too. What does not fill a frame at the end of the
// stream is not decoded.
//
// Messages at the port "status", dictionaries with
//   "state"    "failing", "serving" (again), "refused" or "dropped"
//   "action"   "push_back" or "drop"
//   "error"    the status, as text
//   "dropped"  frames given up so far
// Of a failure the first two come once, however many requests it takes; the log says the same. The
// others come for each request that is given up.
//
// Frames come out in the order in which they came in. When the flow graph is stopped, or locked for
// a change, the frames that are on their way are gone.
class BASEBAND_OFFLOAD_API ldpc_decoder : virtual public gr::block {
 public:
  using sptr = std::shared_ptr<ldpc_decoder>;

  // Connects when the flow graph starts, and again as often as it has to. Throws
  // std::invalid_argument, which names what is out of range.
  static sptr make(const ldpc_code& code, const decode_options& options, const connection& server);

  virtual frame_counts counts() const = 0;  // from any thread
};

}  // namespace baseband_offload
}  // namespace gr

#endif  // INCLUDED_BASEBAND_OFFLOAD_LDPC_DECODER_H
