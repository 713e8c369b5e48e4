// The experiments of "phase error of a GPU's NCO" with all methods, at the paper's frequencies and
// at one that is no simple fraction: how far each phase is from the exact one.
// kHelp says what it takes.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "client/ctl/plot/plot.h"
#include "kernels/downconvert/study.h"

namespace {

using baseband::ctl::Plot;
using baseband::ctl::PlotMark;
using baseband::ctl::PlotPanel;
using baseband::ctl::PlotPoint;
using baseband::ctl::PlotSeries;
using baseband::downconvert::ErrorsOf;
using baseband::downconvert::Frequency;
using baseband::downconvert::NcoMethod;
using baseband::downconvert::PhaseErrors;
using baseband::downconvert::StudyPhases;

struct Method {
  NcoMethod method;
  const char* name;
};
constexpr Method kMethods[] = {{NcoMethod::kAccumulated, "accumulated"},
                               {NcoMethod::kFloat, "float"},
                               {NcoMethod::kSegmented, "segmented"},
                               {NcoMethod::kFast2Sum, "fast2sum"},
                               {NcoMethod::kTwoSum, "2sum"},
                               {NcoMethod::kDouble, "double"},
                               {NcoMethod::kExact, "exact"}};

struct Experiment {
  const char* name;
  int64_t num;
  uint64_t den;
  double sample_rate_hz;
  int64_t count;
  int segment;
};
constexpr Experiment kPaper[] = {{"paper_64msps_1024", 9, 64, 64e6, 1 << 15, 1 << 10},
                                 {"paper_1024msps_65536", 249, 1024, 1024e6, 1 << 20, 1 << 16},
                                 {"paper_1024msps_1024", 249, 1024, 1024e6, 1 << 20, 1 << 10}};
constexpr Experiment kAwkward[] = {
    {"awkward_short_1024", 9123457, 64000000, 64e6, 1 << 15, 1 << 10},
    {"awkward_long_65536", 9123457, 64000000, 64e6, 1 << 20, 1 << 16},
    {"awkward_long_1024", 9123457, 64000000, 64e6, 1 << 20, 1 << 10}};
constexpr int kRows = 128;
constexpr int kPlotted = 32;

constexpr char kHelp[] =
    "usage: nco_study FOLDER\n"
    "Prints how far the phases of each kind of oscillator get from the exact ones, in six\n"
    "experiments, and leaves in FOLDER nco_NAME.csv of each (128 rows: the largest error of each\n"
    "stretch of samples, with its sign), nco_summary.csv and two pictures.\n"
    "Exit codes: 0 the exact method is the best of all in every experiment, 1 it is not, 2 wrong\n"
    "arguments, or FOLDER is missing or cannot be written to.\n";

// The error of largest size in each of `count` equal stretches.
std::vector<double> Stretches(const std::vector<double>& errors, size_t count) {
  std::vector<double> largest(count);
  for (size_t n = 0; n < errors.size(); ++n) {
    double& stretch = largest[n * count / errors.size()];
    stretch = std::abs(errors[n]) > std::abs(stretch) ? errors[n] : stretch;
  }
  return largest;
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

// Writes what `write` does to the file `name` of `folder`. What cannot be written ends the program.
void WriteFile(const std::string& folder, const std::string& name,
               const std::function<void(std::ofstream&)>& write) {
  const std::string path = folder + "/" + name;
  std::ofstream file(path);
  write(file);
  file.close();
  if (file.good()) return;
  std::fprintf(stderr, "nco_study: cannot write %s: %s\n", path.c_str(), std::strerror(errno));
  std::exit(2);
}

// False unless the exact method is the best.
bool Run(const Experiment& experiment, const std::string& folder, std::string* summary,
         PlotPanel* panel) {
  const Frequency frequency =
      Frequency::FromFraction(experiment.num, experiment.den).value();  // a constant above
  std::vector<std::vector<double>> columns;
  std::string header = "last_sample";
  double best_other = 1e9;
  double exact = 0.0;
  for (const Method& method : kMethods) {
    const PhaseErrors errors = ErrorsOf(
        StudyPhases(method.method, frequency, experiment.count, experiment.segment), frequency);
    const double drift = errors.drift * experiment.sample_rate_hz;
    (method.method == NcoMethod::kExact ? exact : best_other) =
        method.method == NcoMethod::kExact ? errors.largest : std::min(best_other, errors.largest);
    *summary += std::string(experiment.name) + ',' + method.name + ',' + Number(errors.largest) +
                ',' + Number(drift) + '\n';
    std::printf("%-22s %-12s largest %10.3g rad   drift %10.3g rad/s\n", experiment.name,
                method.name, errors.largest, drift);
    header += std::string(",") + method.name;
    columns.push_back(Stretches(errors.errors, kRows));

    PlotSeries series;
    series.label = method.name;
    series.mark = PlotMark::kNone;
    const std::vector<double> plotted = Stretches(errors.errors, kPlotted);
    for (int i = 0; i < kPlotted; ++i) {
      PlotPoint point;
      point.x = static_cast<double>(experiment.count) * (i + 0.5) / kPlotted;
      point.y = std::abs(plotted[static_cast<size_t>(i)]);
      series.points.push_back(point);
    }
    panel->series.push_back(std::move(series));
  }
  WriteFile(folder, std::string("nco_") + experiment.name + ".csv", [&](std::ofstream& csv) {
    csv << header << '\n';
    for (int row = 0; row < kRows; ++row) {
      csv << experiment.count * (row + 1) / kRows - 1;
      for (const std::vector<double>& column : columns) {
        csv << ',' << Number(column[static_cast<size_t>(row)]);
      }
      csv << '\n';
    }
  });
  panel->y = {"phase error, rad, segments of " + std::to_string(experiment.segment), 0, 0,
              /*decades=*/true};
  panel->x.label = "sample";
  return exact < best_other;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc == 2 ? argv[1] : "";
  if (folder == "--help" || folder == "-h") {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (folder.empty() || folder[0] == '-') {
    std::fputs(kHelp, stderr);
    return 2;
  }
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {  // said before any work
    std::fprintf(stderr, "nco_study: there is no folder %s: make it first\n", folder.c_str());
    return 2;
  }
  std::string summary = "experiment,method,largest_error_rad,drift_rad_per_s\n";
  bool is_best = true;
  const auto draw = [&](const auto& experiments, const char* name, const char* subtitle) {
    Plot plot;
    plot.title = "Phase error of oscillators, largest in each stretch";
    plot.subtitle = subtitle;
    for (const Experiment& experiment : experiments) {
      PlotPanel panel;
      is_best = Run(experiment, folder, &summary, &panel) && is_best;
      plot.panels.push_back(std::move(panel));
    }
    WriteFile(folder, std::string("nco_") + name + ".svg",
              [&](std::ofstream& svg) { svg << RenderSvg(plot); });
  };
  draw(kPaper, "paper", "9 MHz at 64 MSPS; 249 MHz at 1024 MSPS, twice");
  draw(kAwkward, "awkward", "9.123457 MHz at 64 MSPS");
  WriteFile(folder, "nco_summary.csv", [&](std::ofstream& csv) { csv << summary; });
  std::printf("the exact method is %s in every experiment\n", is_best ? "best" : "NOT best");
  return is_best ? 0 : 1;
}
