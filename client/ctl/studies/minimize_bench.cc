// `minimize-bench`: the table and the figures of a paper on grid searches, through the server.
#include "client/ctl/studies/minimize_bench.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/minimize/named_value.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

enum class Experiment { kTable, kFigures };
constexpr NamedValue<Experiment> kExperiments[] = {{"table", Experiment::kTable},
                                                   {"figures", Experiment::kFigures}};

class MinimizeBenchCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* command = app->add_subcommand(
        "minimize-bench",
        "Regenerates a paper on grid searches through the server.\n"
        "The frequency of a sinusoid beside a known code, by its likelihood on grids of 130 to"
        " 14,444,445 points 0.17 Hz apart (V. I. Strokov, 2015). Every answer in float64 is"
        " checked: the best point within half a step of the truth, its value in [0, 1e-6 of the"
        " signal's energy]; else exit code 4.\n"
        "table: the paper's table: times of the literal method in float32 and float64, of the"
        " hoisted and of the fast one, beside the paper's own; with --out also the figures\n"
        "figures: the functional (figure 1), times (3) and speed-ups (4) over the number of points,"
        " and the functional around its minimum in float32 and float64");
    command->add_option("EXPERIMENT", experiment_, "table or figures")->required();
    command->add_option("--name", name_, "table: what the device is called (its kind)")
        ->type_name("NAME");
    command->add_option("--csv", csv_, "table: write it")->type_name("FILE");
    command
        ->add_option("--max-seconds", max_seconds_,
                     "table: leave out searches of more than that, 0.001 to 8640 (60)")
        ->check(CLI::Range(0.001, 8640.0))
        ->type_name("SECONDS");
    command
        ->add_option("--with", with_,
                     "tables written before, of other devices: for speed-ups and figures")
        ->type_name("FILE")
        ->expected(1)
        ->take_all();
    command->add_option("--out", out_, "draw the figures: PREFIXfigure1.svg, .csv and so on")
        ->type_name("PREFIX");
    command->footer(
        "Examples:\n"
        "  basebandctl minimize-bench table --name=\"1 core\" --csv=minimize_cpu.csv\n"
        "  basebandctl minimize-bench table --name=H200 --csv=minimize_gpu.csv \\\n"
        "    --with=minimize_cpu.csv --out=minimize_\n"
        "  basebandctl minimize-bench figures --with=minimize_cpu.csv --out=minimize_");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    const auto experiment = FindValue(kExperiments, "EXPERIMENT", experiment_);
    std::vector<PaperTimings> tables;
    const absl::Status read = ReadTables(&tables);
    for (const absl::Status& status : {experiment.status(), CheckFlags(), read}) {
      if (!status.ok()) return FailArguments(status);
    }
    const auto client = Connect(flags);
    if (!client.ok()) {
      return FailConnect(client.status());
    }
    absl::Status status;
    if (*experiment == Experiment::kTable) {
      status = MakeTable(client->get(), flags, &tables);
    }
    if (status.ok() && !out_.empty()) {
      status = MakeFigures(client->get(), flags, tables);
    }
    if (absl::IsDataLoss(status)) return Fail(status, kNegativeResult);
    if (absl::IsNotFound(status)) return FailArguments(status);  // of a file
    return status.ok() ? static_cast<int>(kOk) : FailRpc(status);
  }

 private:
  absl::Status CheckFlags() const {
    if (name_.find_first_of(",\"\n") != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("--name '", name_, "' has a comma, a quote or a line end"));
    }
    if (experiment_ == "figures" && out_.empty()) {
      return absl::InvalidArgumentError("figures needs --out PREFIX");
    }
    return absl::OkStatus();
  }

  absl::Status ReadTables(std::vector<PaperTimings>* tables) const {
    for (const std::string& path : with_) {
      const auto csv = ReadFile(path);
      if (!csv.ok()) return csv.status();
      auto table = ParsePaperTimings(*csv);
      if (!table.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(path, ": ", table.status().message()));
      }
      tables->push_back(*std::move(table));
    }
    return absl::OkStatus();
  }

  // Before the others in *tables.
  absl::Status MakeTable(client::Client* client, const GlobalFlags& flags,
                         std::vector<PaperTimings>* tables) const {
    const auto capabilities = client->GetCapabilities(flags.call());
    if (!capabilities.ok()) return capabilities.status();
    const std::string kind =
        capabilities->devices().empty() ? "server" : capabilities->devices(0).kind();
    ProgressBar bar(!flags.json);
    auto timings = MeasurePaperTable(
        client, flags, name_.empty() ? kind : name_, max_seconds_,
        [&](double fraction, absl::string_view what) { bar.Show(fraction, what); });
    bar.Clear();
    if (!timings.ok()) return timings.status();
    absl::PrintF(
        "%s", flags.json ? ToTable(*timings).ToJson().dump(2) + "\n" : ToText(*timings, *tables));
    tables->insert(tables->begin(), *std::move(timings));
    return csv_.empty() ? absl::OkStatus() : WriteFile(csv_, ToTable(tables->front()).ToCsv());
  }

  absl::Status MakeFigures(client::Client* client, const GlobalFlags& flags,
                           const std::vector<PaperTimings>& tables) const {
    const auto figures = DrawPaperFigures(client, flags, tables);
    if (!figures.ok()) return figures.status();
    absl::Status status;
    for (const PaperFigure& figure : *figures) {
      status.Update(WriteFile(absl::StrCat(out_, figure.name, ".csv"), figure.csv));
      status.Update(WriteFile(absl::StrCat(out_, figure.name, ".svg"), figure.svg));
    }
    return status;
  }

  std::string experiment_;
  std::string name_;
  std::string csv_;
  double max_seconds_ = 60;
  std::vector<std::string> with_;
  std::string out_;
};

}  // namespace

std::unique_ptr<Command> MakeMinimizeBenchCommand() {
  return std::make_unique<MinimizeBenchCommand>();
}

}  // namespace baseband::ctl
