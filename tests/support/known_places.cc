#include "tests/support/known_places.h"

#include <cstddef>
#include <cstdlib>

namespace baseband::testing {

KnownPlaces Header(int count) {
  return {"header of " + std::to_string(count), [=](int n, int) { return n < count; }};
}
KnownPlaces Middle(int count) {
  return {std::to_string(count) + " in the middle",
          [=](int n, int of) { return std::abs(2 * n - of) < count; }};
}
KnownPlaces BothEnds(int count) {
  return {std::to_string(count) + " at either end",
          [=](int n, int of) { return n < count || n >= of - count; }};
}
KnownPlaces Blocks(int count, int every) {
  return {std::to_string(count) + " in " + std::to_string(every),
          [=](int n, int) { return n % every < count; }};
}

CarrierFrame MakeFrame(const FrameSpec& spec, const KnownPlaces& places) {
  CarrierFrame frame = MakeFrame(spec);
  frame.known.assign(frame.symbols.size(), carrier::Iq{});
  for (int n = 0; n < spec.num_symbols; ++n) {
    const auto at = static_cast<size_t>(n);
    if (places.is_known(n, spec.num_symbols)) frame.known[at] = frame.sent[at];
  }
  return frame;
}

}  // namespace baseband::testing
