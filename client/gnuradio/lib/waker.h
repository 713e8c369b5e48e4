// How other threads wake a block.
#ifndef BASEBAND_CLIENT_GNURADIO_LIB_WAKER_H_
#define BASEBAND_CLIENT_GNURADIO_LIB_WAKER_H_

#include <gnuradio/block.h>
#include <gnuradio/block_detail.h>

#include <functional>

namespace gr::baseband_offload {

// Brings the scheduler's thread that `block` has out of its sleep, without waiting for input. From
// start() on; what is returned may be called from any thread, also after the block is gone.
inline std::function<void()> WakerOf(gr::block* block) {
  return [detail = block->detail()] { detail->d_tpb.notify_msg(); };
}

}  // namespace gr::baseband_offload

#endif  // BASEBAND_CLIENT_GNURADIO_LIB_WAKER_H_
