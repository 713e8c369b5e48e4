// A wideband spectrum with its channels marked, and the spectra of the channels, as one picture.
#ifndef BASEBAND_CLIENT_CTL_DOWNCONVERT_SPECTRUM_PLOT_H_
#define BASEBAND_CLIENT_CTL_DOWNCONVERT_SPECTRUM_PLOT_H_

#include <string>
#include <vector>

namespace baseband::ctl {

// One spectrum: decibels[i] is at low_hz + i * step_hz.
struct SpectrumCurve {
  std::vector<double> decibels;
  double low_hz = 0;
  double step_hz = 1;
};

// A channel's place in the wideband spectrum.
struct ChannelBand {
  std::string label;
  double centre_hz = 0;
  double half_width_hz = 0;  // of what its output rate can hold
};

struct ChannelPanel {
  std::string title;
  int channel = 0;  // its colour is that of the band
  SpectrumCurve curve;
};

struct SpectrumPlot {
  std::string title;
  std::string subtitle;
  SpectrumCurve wideband;
  std::vector<ChannelBand> bands;      // by channel; the first few dozen are drawn
  std::vector<ChannelPanel> channels;  // three a row
};

// A complete SVG document; frequencies in the unit that suits them. The same plot gives the same
// bytes.
std::string RenderSpectra(const SpectrumPlot& plot);

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_DOWNCONVERT_SPECTRUM_PLOT_H_
