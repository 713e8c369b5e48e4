// Frames of samples before the timing recovery.
#ifndef BASEBAND_CLIENT_GNURADIO_LIB_SYMBOL_TIMING_H_
#define BASEBAND_CLIENT_GNURADIO_LIB_SYMBOL_TIMING_H_

#include <gnuradio/baseband_offload/carrier_recovery.h>

#include "baseband/v1/baseband.pb.h"

namespace gr::baseband_offload {

// The options' symbol timing, samples_per_symbol > 0. Throws std::invalid_argument, which names the
// option out of range.
::baseband::v1::SymbolTiming TimingOf(const carrier_options& options);

// Symbols of the options' frames: frame_symbols, or those of frame_samples. Throws as TimingOf().
int SymbolsOf(const carrier_options& options);

}  // namespace gr::baseband_offload

#endif  // BASEBAND_CLIENT_GNURADIO_LIB_SYMBOL_TIMING_H_
