// Down-conversion of a wideband signal to many channels on a server.
#ifndef INCLUDED_BASEBAND_OFFLOAD_DOWNCONVERTER_H
#define INCLUDED_BASEBAND_OFFLOAD_DOWNCONVERTER_H

#include <gnuradio/baseband_offload/api.h>
#include <gnuradio/baseband_offload/connection.h>
#include <gnuradio/block.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gr {
namespace baseband_offload {

enum class wideband_format {
  fc32,  // gr_complex
  sc16,  // pairs of short, full scale 1
  sc8,   // pairs of signed char, full scale 1
};

struct BASEBAND_OFFLOAD_API downconvert_options {
  double sample_rate_hz = 1;  // (0, 1e15]
  wideband_format input = wideband_format::fc32;
  // One output stream for each, 1 .. 1024: what is at this frequency comes out at zero. Within
  // +-sample_rate_hz; beyond half of it an alias.
  std::vector<double> frequencies_hz = {0};
  int up = 1;  // output rate = sample_rate_hz * up / down: 1 .. 4096 each
  int down = 1;
  // Of all channels: taps at up times the sample rate, or, where there are none, a filter that the
  // server designs. Frequencies from the channel's centre.
  std::vector<float> taps;
  double pass_edge_hz = 0;     // below half the lower of both rates; must be set without taps
  double stop_edge_hz = 0;     // 0: from where it would fold onto the pass band
  double ripple_db = 0.1;      // peak to peak: [5e-7, 3]
  double attenuation_db = 80;  // [20, 140]
};

struct downconvert_counts {
  uint64_t taken = 0;    // input samples
  uint64_t done = 0;     // input samples whose outputs came
  uint64_t dropped = 0;  // input samples given up
  uint64_t retunes = 0;  // sent
};

// Input: one stream of options.input; a sample that is not finite counts as 0. Outputs: gr_complex,
// one stream for each channel.
//
// Retuned by messages at the port "command": a pair (freq . F), which is channel 0's, or a
// dictionary
//   "freq"    Hz
//   "chan"    0 ..; 0 without it
//   "sample"  uint64: of the input, from which on; without it, or if it has been sent already: the
//             next one that is sent
//   "mode"    "continuous": the phase goes on without a jump, also without this; "coherent": as if
//             the frequency had run since sample 0, so that who comes back to one is in phase again
// After a stop, or a lock for a change, channels go on with their frequencies, and phases begin at
// the sample that comes next. A message that makes no sense, or has other keys, is logged, and told
// at "status" as "bad_command", the key and its value in "error". Where a channel's output has the new frequency first, it has a tag "freq" (double,
// Hz).
//
// With failure_policy::push_back a lost server costs nothing: what it did not answer, and the past
// that its filters need, go to the next one, and the outputs go on as if nothing had been. With
// drop the samples that it had are given up; the first output after them has a tag "dropped"
// (uint64, input samples), and the filters begin with zeros there. Otherwise messages at "status"
// and stops are those of ldpc_decoder; "dropped" there are samples.
class BASEBAND_OFFLOAD_API downconverter : virtual public gr::block {
 public:
  using sptr = std::shared_ptr<downconverter>;

  // As ldpc_decoder::make. server.request_kib bounds a message, and so the delay: with 1024 and
  // fc32 131072 samples, or fewer where they would bring outputs, of all channels, of more than
  // 16 MiB, or four times request_kib if that is more.
  static sptr make(const downconvert_options& options, const connection& server);

  virtual downconvert_counts counts() const = 0;  // from any thread
};

}  // namespace baseband_offload
}  // namespace gr

#endif  // INCLUDED_BASEBAND_OFFLOAD_DOWNCONVERTER_H
