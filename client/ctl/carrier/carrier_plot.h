// A picture of one frame: its symbols before and after, and the curve that its carrier stands out
// of.
#ifndef BASEBAND_CLIENT_CTL_CARRIER_CARRIER_PLOT_H_
#define BASEBAND_CLIENT_CTL_CARRIER_CARRIER_PLOT_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "baseband/v1/baseband.pb.h"
#include "client/ctl/common/symbols.h"
#include "client/ctl/ldpc/transfer.h"
#include "client/ctl/plot/plot.h"

namespace baseband::ctl {

// `recovered` is the answer for one frame, `received`, with its corrected symbols and its curve.
// `points` are the constellation's, of unit mean energy.
Plot PlotFrame(const std::string& title, const v1::CarrierGroup& group,
               absl::Span<const Complex> received, absl::Span<const Complex> points,
               const Recovered& recovered);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_CARRIER_CARRIER_PLOT_H_
