// Pictures of at most 256 colours as PNG (ISO/IEC 15948).
#ifndef BASEBAND_CLIENT_CTL_PLOT_PNG_H_
#define BASEBAND_CLIENT_CTL_PLOT_PNG_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace baseband::ctl {

using Rgb = std::array<uint8_t, 3>;

// The file of a picture whose pixels, row by row from the top, are indices of `palette`, which has
// 1 .. 256 colours.
std::string ToPng(int width, absl::Span<const uint8_t> pixels, absl::Span<const Rgb> palette);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_PLOT_PNG_H_
