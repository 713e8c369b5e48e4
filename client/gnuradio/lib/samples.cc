#include "client/gnuradio/lib/samples.h"

#include <cmath>

namespace gr::baseband_offload {

void AppendSamples(const gr_complex* in, int64_t count, std::string* payload) {
  constexpr float kMost = 1e15f;
  const size_t begin = payload->size();
  payload->append(reinterpret_cast<const char*>(in),
                  static_cast<size_t>(count) * sizeof(gr_complex));
  bool all_fit = true;
  for (int64_t i = 0; i < count; ++i) {
    // False of a NaN, too.
    all_fit &= std::abs(in[i].real()) <= kMost && std::abs(in[i].imag()) <= kMost;
  }
  if (all_fit) return;
  for (int64_t i = 0; i < count; ++i) {
    if (std::abs(in[i].real()) <= kMost && std::abs(in[i].imag()) <= kMost) continue;
    payload->replace(begin + static_cast<size_t>(i) * sizeof(gr_complex), sizeof(gr_complex),
                     sizeof(gr_complex), '\0');
  }
}

}  // namespace gr::baseband_offload
