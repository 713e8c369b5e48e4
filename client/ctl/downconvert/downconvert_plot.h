// The picture of `downconvert`: gathers what its spectra need while the samples pass.
#ifndef BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_PLOT_H_
#define BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_PLOT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/ctl/common/wideband_format.h"
#include "client/ctl/downconvert/downconvert_report.h"
#include "client/ctl/downconvert/spectrum.h"
#include "client/ctl/plot/plot.h"

namespace baseband::ctl {

class DownconvertSpectra {
 public:
  // `format` of the wire; `num_samples` of the input, -1 if nobody knows.
  DownconvertSpectra(const WidebandFormat& format, const DownconvertPlan& plan,
                     int64_t num_samples);

  // Samples as the wire has them.
  void AddInput(absl::string_view samples);
  void AddOutput(int channel, absl::string_view samples);
  // After the last of them.
  // The wideband spectrum with its channels marked, and the spectra of the first channels.
  Plot Finish(const DownconvertReport& report);

 private:
  static constexpr int kMaxPanels = 6;
  struct Output {
    Spectrum spectrum;
    std::vector<Complex> waiting;  // for enough of them
  };

  const WidebandFormat wire_format_;
  const DownconvertPlan& plan_;
  Spectrum input_;
  std::vector<Output> outputs_;
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_DOWNCONVERT_DOWNCONVERT_PLOT_H_
