// The server's constellations by name, and their points.
#ifndef BASEBAND_CLIENT_CTL_CARRIER_CONSTELLATIONS_H_
#define BASEBAND_CLIENT_CTL_CARRIER_CONSTELLATIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/cpp/client.h"
#include "client/ctl/common/session.h"
#include "client/ctl/common/symbols.h"

namespace baseband::ctl {

struct NamedPoints {
  std::string name;
  std::vector<Complex> points;  // mean energy 1
  int symmetry = 1;
  double operating_snr_db = 0;
  int power = 1;  // of the default coarse stage

  // Of log2(points) bits a symbol, the symbols of 64800 bits: a DVB-S2 normal frame.
  int SymbolsOf64800Bits() const;
};

// OK if `name` is one of `capabilities`' constellations, letter case ignored. NotFound names those
// that look like it; Unimplemented if the server has no constellations at all.
absl::Status CheckConstellation(const v1::GetCapabilitiesResponse& capabilities,
                                absl::string_view name);

// The names that begin with `name` or, if none does, at most `count` that look like it, best first.
// Letter case and what is neither a letter, a digit nor a slash do not matter.
std::vector<std::string> NamesLike(absl::string_view name, absl::Span<const std::string> names,
                                   size_t count);

// Names under one head each: "QPSK", "16APSK 2/3 3/4", in the order of first appearance.
std::vector<std::string> GroupNames(absl::Span<const std::string> names);

// The points of `names`, in that order; all that the server has for none. Statuses: as
// CheckConstellation, and those of the call.
absl::StatusOr<std::vector<NamedPoints>> FetchPoints(client::Client* client,
                                                     const GlobalFlags& flags,
                                                     std::vector<std::string> names);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_CARRIER_CONSTELLATIONS_H_
