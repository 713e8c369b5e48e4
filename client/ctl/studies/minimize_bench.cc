// `minimize-bench`: the table and the figures of a paper on grid searches, through the server.
#include "client/ctl/studies/minimize_bench.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/named_value.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/outputs.h"
#include "client/ctl/common/terminal.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

enum class PaperPart { kTable, kFigures };
constexpr NamedValue<PaperPart> kPaperParts[] = {{"table", PaperPart::kTable},
                                                 {"figures", PaperPart::kFigures}};

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
    AddTime(command, "--max-time", &max_time_, {absl::Milliseconds(1), absl::Minutes(144)},
            "table: leave out searches of more than that (60s)");
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
    const auto experiment = FindValue(kPaperParts, "EXPERIMENT", experiment_);
    std::vector<PaperTimings> tables;
    const absl::Status read = ReadTables(&tables);
    for (const absl::Status& status : {experiment.status(), CheckFlags(), read}) {
      if (!status.ok()) return FailArguments(status);
    }
    csv_file_ = outputs_.Open("--csv", csv_);
    if (!out_.empty()) {
      for (const char* name : kPaperFigures) {
        figure_files_.emplace_back(outputs_.Open("--out", absl::StrCat(out_, name, ".csv")),
                                   outputs_.Open("--out", absl::StrCat(out_, name, ".svg")));
      }
    }
    const Session session(flags, outputs_);
    if (session.exit_code() != kOk) {
      return session.exit_code();
    }
    absl::Status status;
    if (*experiment == PaperPart::kTable) {
      status = MakeTable(session, &tables);
    }
    if (status.ok() && !out_.empty()) {
      status = MakeFigures(session, tables);
    }
    if (absl::IsDataLoss(status)) return Fail(status, kNegativeResult);
    if (!status.ok()) return FailRpc(status);
    const absl::Status written = outputs_.Commit();
    return written.ok() ? static_cast<int>(kOk) : FailArguments(written);
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
      const auto csv = ReadText(path);
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
  absl::Status MakeTable(const Session& session, std::vector<PaperTimings>* tables) {
    const auto& devices = session.capabilities().devices();
    const std::string kind = devices.empty() ? "server" : devices[0].kind();
    const bool json = session.flags().json;
    ProgressBar bar(!json);
    auto timings = MeasurePaperTable(
        session.client(), session.flags(), name_.empty() ? kind : name_, max_time_,
        [&](double fraction, absl::string_view what) { bar.Show(fraction, what); });
    bar.Clear();
    if (!timings.ok()) return timings.status();
    absl::FPrintF(outputs_.report(), "%s",
                  json ? ToTable(*timings).ToJson().dump(2) + "\n" : ToText(*timings, *tables));
    tables->insert(tables->begin(), *std::move(timings));
    if (csv_file_ != nullptr) csv_file_->Write(ToTable(tables->front()).ToCsv());
    return absl::OkStatus();
  }

  absl::Status MakeFigures(const Session& session, const std::vector<PaperTimings>& tables) {
    const auto figures = DrawPaperFigures(session.client(), session.flags(), tables);
    if (!figures.ok()) return figures.status();
    for (size_t i = 0; i < figures->size(); ++i) {
      figure_files_[i].first->Write((*figures)[i].csv);
      figure_files_[i].second->Write((*figures)[i].svg);
    }
    return absl::OkStatus();
  }

  std::string experiment_;
  std::string name_;
  std::string csv_;
  absl::Duration max_time_ = absl::Seconds(60);
  std::vector<std::string> with_;
  std::string out_;
  Outputs outputs_;
  OutputFile* csv_file_ = nullptr;
  std::vector<std::pair<OutputFile*, OutputFile*>> figure_files_;  // .csv and .svg of each
};

}  // namespace

std::unique_ptr<Command> MakeMinimizeBenchCommand() {
  return std::make_unique<MinimizeBenchCommand>();
}

}  // namespace baseband::ctl
