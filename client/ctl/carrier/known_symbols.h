// Symbols of a frame that the receiver knows, from files.
#ifndef BASEBAND_CLIENT_CTL_CARRIER_KNOWN_SYMBOLS_H_
#define BASEBAND_CLIENT_CTL_CARRIER_KNOWN_SYMBOLS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "baseband/v1/baseband.pb.h"

namespace baseband::ctl {

// Where DVB-S2 has known symbols in a frame (EN 302 307-1, clause 5.5.3): the 90 of the header,
// then 36 pilots after every 1440 symbols of data. Those below `frame_symbols`, ascending.
std::vector<uint32_t> DvbS2Positions(int64_t frame_symbols);

// A line a symbol: "POSITION I Q" or, for the first symbols of the frame, "I Q"; separated by
// blanks or commas; empty lines and what follows a # ignored. InvalidArgument names the line.
absl::StatusOr<v1::KnownSymbols> ParseKnownSymbols(absl::string_view text);

// The known symbols of a frame from `file`: as text when its name ends in .csv or .txt, else the
// values as samples, read by ReadSymbols. `layout` says where samples lie: "dvbs2", or empty for
// the first symbols of the frame. InvalidArgument: an unknown layout, a layout without a file or
// with positions in it, a number of values that does not fit the layout or the frame.
absl::StatusOr<v1::KnownSymbols> ReadKnownSymbols(const std::string& file,
                                                  const std::string& layout, int64_t frame_symbols);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_CARRIER_KNOWN_SYMBOLS_H_
