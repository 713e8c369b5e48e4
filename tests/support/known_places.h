// Where in a frame its known symbols lie.
#ifndef BASEBAND_TESTS_SUPPORT_KNOWN_PLACES_H_
#define BASEBAND_TESTS_SUPPORT_KNOWN_PLACES_H_

#include <functional>
#include <string>

#include "tests/support/carrier_frames.h"

namespace baseband::testing {

struct KnownPlaces {
  std::string name;
  std::function<bool(int n, int num_symbols)> is_known;
};

KnownPlaces Header(int count);
KnownPlaces Middle(int count);
KnownPlaces BothEnds(int count);
KnownPlaces Blocks(int count, int every);

// MakeFrame(spec), of which these symbols are known.
CarrierFrame MakeFrame(const FrameSpec& spec, const KnownPlaces& places);

}  // namespace baseband::testing

#endif  // BASEBAND_TESTS_SUPPORT_KNOWN_PLACES_H_
