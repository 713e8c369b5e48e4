// Complex samples that a server takes.
#ifndef BASEBAND_CLIENT_GNURADIO_LIB_SAMPLES_H_
#define BASEBAND_CLIENT_GNURADIO_LIB_SAMPLES_H_

#include <gnuradio/gr_complex.h>

#include <cstdint>
#include <string>

namespace gr::baseband_offload {

// Adds samples to a payload, I and Q float32 in the host's order, little endian on what GNU Radio
// is packaged for. One with a part that is not finite, or beyond 1e15, becomes 0.
void AppendSamples(const gr_complex* in, int64_t count, std::string* payload);

}  // namespace gr::baseband_offload

#endif  // BASEBAND_CLIENT_GNURADIO_LIB_SAMPLES_H_
