// LDPC encoding on a server.
#ifndef INCLUDED_BASEBAND_OFFLOAD_LDPC_ENCODER_H
#define INCLUDED_BASEBAND_OFFLOAD_LDPC_ENCODER_H

#include <gnuradio/baseband_offload/api.h>
#include <gnuradio/baseband_offload/connection.h>
#include <gnuradio/baseband_offload/frame_counts.h>
#include <gnuradio/baseband_offload/ldpc_code.h>
#include <gnuradio/block.h>

namespace gr {
namespace baseband_offload {

struct BASEBAND_OFFLOAD_API encode_options {
  int n_filler = 0;  // 0 .. k - 1: information bits k - n_filler .. k - 1 are zeros, not read
  bool packed_input = true;  // input bytes have 8 bits, the first in the most significant; else
                             // one, the least significant
  bool packed = true;        // output bytes likewise
};

// Input: bytes, ceil((k - n_filler) / 8) a frame, or k - n_filler unpacked. Output: the bits that
// are sent, ceil(n / 8) bytes a frame, or n unpacked; of 5G NR without the punctured ones, fillers
// as zeros. The last bits of a last packed byte are zeros.
//
// Tags "dropped", tags of the input, messages, order and stops are those of ldpc_decoder.
class BASEBAND_OFFLOAD_API ldpc_encoder : virtual public gr::block {
 public:
  using sptr = std::shared_ptr<ldpc_encoder>;

  // As ldpc_decoder::make.
  static sptr make(const ldpc_code& code, const encode_options& options, const connection& server);

  virtual frame_counts counts() const = 0;  // from any thread
};

}  // namespace baseband_offload
}  // namespace gr

#endif  // INCLUDED_BASEBAND_OFFLOAD_LDPC_ENCODER_H
