// Carrier recovery of whole frames on a server; of samples also symbol timing.
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
  automatic,      // by a power, or by known symbols where they lie all over the frame
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
  int frame_symbols = 1024;  // 16 .. 1048576, where samples_per_symbol is 0
  // Frames begin at tags with this key, what lies between them is left out, and so is a tag within
  // a frame; empty: they follow each other.
  std::string frame_tag;
  // Symbols that the receiver knows, in the constellation's scale, at known_positions, ascending,
  // below the frame's symbols; no positions: the first ones.
  std::vector<gr_complex> known;
  std::vector<int> known_positions;
  // Only frequencies up to this are looked for, cycles per symbol: 0 .. 0.5; 0: all that the
  // constellation and the known symbols tell apart.
  double max_frequency = 0;
  double symbol_rate_hz = 0;  // 0 .. 1e15; 0: unknown
  // With few known symbols, a header say, `power` finds the frequency at lower SNR.
  coarse_method coarse = coarse_method::automatic;
  fine_method fine = fine_method::remodulate;
  // Symbols are divided by the gain that was found, too: they lie at the constellation's points, of
  // mean energy 1.
  bool unit_gain = false;

  // 0: what comes is symbols. Else samples of root-raised-cosine pulses before the matched filter,
  // so many to a symbol of nominal length: 2 .. 16, a fraction P / Q whose terms are at most 4096.
  double samples_per_symbol = 0;
  // Then a frame, of 16 .. 1048576 symbols: as many as have their centre in it wherever between the
  // first sample and a symbol later the first one's is; see carrier_recovery::symbols_of(). The
  // last two or three at either end lack a part of their pulse.
  int frame_samples = 4096;
  double roll_off = 0.35;  // 0.05 .. 1
  // As far is looked: 0 .. 0.001, of a symbol's length. What makes 0.1 symbol more is no lock.
  double max_clock_error = 1e-4;
};

// Input: complex symbols, one sample each, or samples. Output: symbols, one sample each. Each frame
// comes out corrected in frequency and phase. A sample that is not finite, or beyond 1e15, counts
// as 0.
//
// Tags on the first symbol of each frame, and the same as a dictionary at the port "carrier":
//   "lock"              bool; else the others are the best guess and may be anything
//   "lock_state"        "locked", "no_signal", "no_peak", "ambiguous" or "bad_fit"
//   "frequency"         double, cycles per symbol, of samples per symbol as it is, not a nominal
//                       one; "frequency_stddev", its predicted deviation
//   "frequency_hz"      double, where symbol_rate_hz is known
//   "phase"             double, of the first symbol, rad, modulo 2 pi / "ambiguity" (long)
//   "evm"               double, rms distance to the nearest point; 0.1 is 10 %
//   "snr_db"            double, Es/N0, at most 60
//   "gain"              double, of the input
// and, of samples:
//   "timing_lock"       bool; else all is a guess that follows from a guess
//   "timing_lock_state" "locked", "no_signal", "no_line" (at the symbol rate) or "too_short"
//   "offset"            double, nominal symbols from the frame's first sample to the first symbol;
//                       "offset_stddev", its predicted deviation
//   "clock_error"       double, positive: symbols are longer than nominal; "clock_error_stddev"
// Tags "dropped", tags of the input, messages at "status", order and stops are those of
// ldpc_decoder.
class BASEBAND_OFFLOAD_API carrier_recovery : virtual public gr::block {
 public:
  using sptr = std::shared_ptr<carrier_recovery>;

  // As ldpc_decoder::make.
  static sptr make(const carrier_options& options, const connection& server);

  // How many symbols come out of a frame of so many samples: the options of these names. Throws
  // std::invalid_argument.
  static int symbols_of(int frame_samples, double samples_per_symbol,
                        double max_clock_error = carrier_options().max_clock_error);

  virtual frame_counts counts() const = 0;  // from any thread
};

}  // namespace baseband_offload
}  // namespace gr

#endif  // INCLUDED_BASEBAND_OFFLOAD_CARRIER_RECOVERY_H
