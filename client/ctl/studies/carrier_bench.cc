// `carrier-bench`: what carrier recovery is worth, measured through the server.
#include "client/ctl/studies/carrier_bench.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/named_value.h"
#include "client/ctl/common/notes.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/outputs.h"
#include "client/ctl/studies/ber_curve.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

using Experiment = absl::StatusOr<BenchResult> (*)(Bench* bench);

constexpr NamedValue<Experiment> kExperiments[] = {{"figure13", &RunFigure13},
                                                   {"accuracy", &RunAccuracy},
                                                   {"thresholds", &RunThresholds},
                                                   {"pilots", &RunPilots}};

class CarrierBenchCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* command = app->add_subcommand(
        "carrier-bench",
        "Measures carrier recovery through the server.\n"
        "Frames of random symbols with a random carrier off the FFT's grid, in white Gaussian"
        " noise, made here with a fixed seed, go through RecoverCarrier; the answers are compared"
        " with the truth.\n"
        "figure13: error of the corrected symbols over SNR: FFT bin, two sweeps, default method,"
        " four PLLs (QPSK, 32400 symbols)\n"
        "accuracy: frequency and phase of the default method against the Cramer-Rao bounds, with"
        " and without known symbols, and the predicted deviations\n"
        "thresholds: the least SNR at which the carrier is found, by amplitude weight\n"
        "pilots: constellations that need the pilots of DVB-S2, with and without them");
    command->add_option("EXPERIMENT", experiment_, "figure13, accuracy, thresholds or pilots")
        ->required();
    command
        ->add_option("--constellation", settings_.constellations,
                     "by name, once for each (accuracy, thresholds: all; pilots: three)")
        ->type_name("NAME")
        ->expected(1)
        ->take_all();
    command
        ->add_option("--snr", snr_,
                     "points in dB: 1,2 or BEGIN:STEP:END. figure13: Es/N0 (0:1:20); accuracy:"
                     " above the operating point (-2:2:10); pilots: one (the operating point)")
        ->type_name("LIST");
    AddNumber(command, "--frames", "N", &settings_.frames, Between(1, 100000),
              "a point (figure13, thresholds: 40; accuracy: 100; pilots: 60)");
    AddNumber(command, "--power", "P", &settings_.power, Between(1, 64),
              "accuracy, thresholds: p of the coarse stage (the server's choice)");
    AddNumber(command, "--seed", "N", &settings_.seed, kSeeds, "of everything (1)");
    command->add_option("--csv", csv_, "write a table")->type_name("FILE");
    command->add_option("--plot", plot_, "draw it as SVG")->type_name("FILE");
    command->footer(
        "Examples:\n"
        "  basebandctl carrier-bench figure13 --csv=figure13.csv --plot=figure13.svg\n"
        "  basebandctl carrier-bench accuracy --constellation=QPSK --snr=0:1:20\n"
        "  basebandctl carrier-bench thresholds --constellation=\"16APSK 3/4\" --power=4");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    const auto experiment = FindValue(kExperiments, "EXPERIMENT", experiment_);
    if (!experiment.ok()) {
      return FailArguments(experiment.status());
    }
    if (!snr_.empty()) {
      std::vector<std::string> notes;
      auto list = ParseDecibels("--snr", snr_, &notes);
      if (!list.ok()) {
        return FailArguments(list.status());
      }
      PrintNotes(notes);
      settings_.snr_db = *std::move(list);
    }
    OutputFile* const csv = outputs_.Open("--csv", csv_);
    OutputFile* const plot = outputs_.Open("--plot", plot_);
    const Session session(flags, outputs_);
    if (session.exit_code() != kOk) {
      return session.exit_code();
    }
    Bench bench(session, settings_, outputs_.report());
    const absl::StatusOr<BenchResult> result = (*experiment)(&bench);
    if (!result.ok()) {
      return absl::IsNotFound(result.status()) ? FailArguments(result.status())
                                               : FailRpc(result.status());
    }
    if (csv != nullptr) {
      csv->Write(result->table.ToCsv());
    }
    if (plot != nullptr) {
      plot->Write(result->svg);
    }
    if (absl::Status status = outputs_.Commit(); !status.ok()) {
      return FailArguments(status);
    }
    if (flags.json) {
      absl::FPrintF(outputs_.report(), "%s\n", result->table.ToJson().dump(2));
    }
    return kOk;
  }

 private:
  std::string experiment_;
  std::string snr_;
  std::string csv_;
  std::string plot_;
  BenchSettings settings_;
  Outputs outputs_;
};

}  // namespace

std::unique_ptr<Command> MakeCarrierBenchCommand() {
  return std::make_unique<CarrierBenchCommand>();
}

}  // namespace baseband::ctl
