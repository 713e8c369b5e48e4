// Carrier recovery of whole frames on a server.
#ifndef INCLUDED_BASEBAND_OFFLOAD_CARRIER_RECOVERY_H
#define INCLUDED_BASEBAND_OFFLOAD_CARRIER_RECOVERY_H

#include <gnuradio/baseband_offload/api.h>
#include <gnuradio/baseband_offload/connection.h>
#include <gnuradio/baseband_offload/frame_counts.h>
#include <gnuradio/block.h>
#include <gnuradio/gr_complex.h>

#include <string>
#include <vector>

namespace gr {
namespace baseband_offload {

// How the modulation is taken off before an FFT shows the frequency.
enum class coarse_method {
  automatic,      // by the known symbols if there are any, else by a power
  power,          // of the symbols: all of them count; known ones tell which of its lines is right
  known_symbols,  // only they count
  none,           // the frequency is near zero
};

// How the frequency is refined after an FFT's best bin.
enum class fine_method { remodulate, sweep, interpolate, pll, none };

struct BASEBAND_OFFLOAD_API carrier_options {
  // A standard's: "QPSK", "64QAM", "32APSK 3/4", .. (`basebandctl info` lists them; the server
  // refuses others); or points, 2 .. 1024 of the user's own, whose mean energy is taken as 1.
  std::string constellation = "QPSK";
  std::vector<gr_complex> points;
  int frame_symbols = 1024;  // 16 .. 1048576
  // Frames begin at tags with this key, what lies between them is left out, and so is a tag within
  // a frame; empty: they follow each other.
  std::string frame_tag;
  // Symbols that the receiver knows, in the constellation's scale, at known_positions, ascending,
  // 0 .. frame_symbols - 1; no positions: the first ones.
  std::vector<gr_complex> known;
  std::vector<int> known_positions;
  // Only frequencies up to this are looked for, cycles per symbol: 0 .. 0.5; 0: all that the
  // constellation and the known symbols tell apart.
  double max_frequency = 0;
  double symbol_rate_hz = 0;  // 0 .. 1e15; 0: unknown
  // With few known symbols, a header say, `power` finds the frequency at lower SNR.
  coarse_method coarse = coarse_method::automatic;
  fine_method fine = fine_method::remodulate;
};

// Input and output: complex symbols, one sample each. Each frame comes out corrected in frequency
// and phase; not in gain. A sample that is not finite, or beyond 1e15, counts as 0.
//
// Tags on the first symbol of each frame, and the same as a dictionary at the port "carrier":
//   "lock"              bool; else the others are the best guess and may be anything
//   "lock_state"        "locked", "no_signal", "no_peak", "ambiguous" or "bad_fit"
//   "frequency"         double, cycles per symbol; "frequency_stddev", its predicted deviation
//   "frequency_hz"      double, where symbol_rate_hz is known
//   "phase"             double, of the first symbol, rad, modulo 2 pi / "ambiguity" (long)
//   "evm"               double, rms; 0.1 is 10 %
//   "snr_db"            double, Es/N0, at most 60
// Tags "dropped", tags of the input, messages at "status", order and stops are those of
// ldpc_decoder.
class BASEBAND_OFFLOAD_API carrier_recovery : virtual public gr::block {
 public:
  using sptr = std::shared_ptr<carrier_recovery>;

  // As ldpc_decoder::make.
  static sptr make(const carrier_options& options, const connection& server);

  virtual frame_counts counts() const = 0;  // from any thread
};

}  // namespace baseband_offload
}  // namespace gr

#endif  // INCLUDED_BASEBAND_OFFLOAD_CARRIER_RECOVERY_H
