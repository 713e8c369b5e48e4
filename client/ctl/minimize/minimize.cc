// `minimize`: the least or greatest value of a formula or a built-in functional on a grid.
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/interrupt.h"
#include "client/ctl/common/notes.h"
#include "client/ctl/common/outputs.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/minimize/minimize_flags.h"
#include "client/ctl/minimize/minimize_map.h"
#include "client/ctl/minimize/minimize_report.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

// "best so far 1.5, 20 s left".
std::string Describe(const v1::MinimizeProgress& progress) {
  std::string text = progress.has_best()
                         ? absl::StrFormat("best so far %.6g", progress.best().value())
                         : "no value yet";
  const auto points = static_cast<double>(progress.points());
  const double rest = static_cast<double>(progress.total_points()) - points;
  if (points > 0 && progress.elapsed_s() > 1) {
    const double left_s = std::ceil(progress.elapsed_s() * rest / points);
    absl::StrAppend(&text, ", ", absl::FormatDuration(absl::Seconds(left_s)), " left");
  }
  return text;
}

class MinimizeCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* command = app->add_subcommand(
        "minimize",
        "Finds the least value of a formula on a grid, by looking at every point.\n"
        "A formula has + - * / ^, comparisons, && || !, select(c, a, b), pi, e, the usual functions"
        " (sin cos exp log sqrt abs min max ..), sum(j, begin, end, body), and arrays a[j]; at most"
        " 64 KiB, 4096 operators, numbers and names, nested 64 deep, sums 3 deep.");
    AddMinimizeFlags(command, &flags_);
    const char* output = "Output";
    command->add_option("--csv", csv_, "write the profile")->type_name("FILE")->group(output);
    command->add_option("--plot", plot_, "draw the profile as SVG")
        ->type_name("FILE")
        ->group(output);
    command
        ->add_option("--map", map_,
                     "of two axes: the best value in each of at most 256 x 256 cells, .csv or SVG;"
                     " a search a column, and with --top or --profile one more of the whole grid")
        ->type_name("FILE")
        ->group(output);
    command->footer(
        "Examples:\n"
        "  basebandctl minimize \"418.9829 - x*sin(sqrt(abs(x)))\" --axis x=-500:0.0001:500 \\\n"
        "    --refine brent --profile x --plot schwefel.svg\n"
        "  basebandctl minimize --max --axis x=-1:0.01:1 -- \"-x^2 + x\"\n"
        "  basebandctl minimize --builtin schwefel --axis x=-500:0.5:500 --axis y=-500:0.5:500 \\\n"
        "    --top 3 --separation 20 20 --map schwefel.svg\n"
        "  basebandctl minimize \"sum(j, 0, size(y)-1, (y[j] - a*exp(-t*j))^2)\" \\\n"
        "    --array y=decay.txt --axis a=0:0.01:10 --axis t=0:0.001:1\n"
        "  basebandctl minimize --builtin sinusoids --signal air.f64 --interval 200ns \\\n"
        "    --axis f=460k:0.17:475k --refine newton\n"
        "  basebandctl minimize --builtin delay-doppler --signal air.f32 --replica code.f32 \\\n"
        "    --interval 250ns --axis tau=0:5e-7:1e-3 --axis f=-10k:250:10k --refine newton");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    if (flags_.profile.empty() && !(plot_.empty() && csv_.empty())) {
      return FailArguments(
          absl::InvalidArgumentError("--plot and --csv show a profile: --profile NAME"));
    }
    std::vector<std::string> notes;
    const auto request = ToMinimizeRequest(flags_, &notes);
    if (!request.ok()) {
      return FailArguments(request.status());
    }
    PrintNotes(notes);
    if (const absl::Status status = CheckMap(*request); !map_.empty() && !status.ok()) {
      return FailArguments(status);
    }
    csv_file_ = outputs_.Open("--csv", csv_);
    plot_file_ = outputs_.Open("--plot", plot_);
    map_file_ = outputs_.Open("--map", map_);
    const Session session(flags, outputs_);
    if (session.exit_code() != kOk) {
      return session.exit_code();
    }
    const absl::StatusOr<MappedAnswer> found = Search(session.client(), *request, flags);
    if (absl::IsOutOfRange(found.status())) {  // --fail-on-nan: a result, as it was asked for
      return Fail(absl::OutOfRangeError(absl::StrCat(
                      "a point has no value, which ends the search: ", found.status().message())),
                  kNegativeResult);
    }
    if (!found.ok()) {
      return interrupted_
                 ? kInterrupted
                 : FailRpc(absl::Status(found.status().code(),
                                        WithCaret(flags_.expression, found.status().message())));
    }
    return Report(*request, *found, flags.json);
  }

 private:
  absl::StatusOr<MappedAnswer> Search(client::Client* client, const v1::MinimizeRequest& request,
                                      const GlobalFlags& flags) {
    ProgressBar bar;
    const InterruptGuard guard;
    v1::MinimizeProgress last;
    const auto progress = [&](const v1::MinimizeProgress& now) {
      last = now;
      bar.Show(static_cast<double>(now.points()) / static_cast<double>(now.total_points()),
               Describe(now));
      return !guard.interrupted();
    };
    absl::StatusOr<MappedAnswer> found;
    if (map_.empty()) {
      absl::StatusOr<v1::MinimizeAnswer> answer = client->Minimize(request, flags.call(), progress);
      found = answer.ok() ? absl::StatusOr<MappedAnswer>(MappedAnswer{*std::move(answer), {}})
                          : answer.status();
    } else {
      found = MinimizeWithMap(client, request, flags, progress);
    }
    bar.Clear();
    interrupted_ = guard.interrupted() && !found.ok();
    if (interrupted_) {
      absl::FPrintF(stderr, "basebandctl: interrupted %s\n", ToText(request, last));
    }
    return found;
  }

  int Report(const v1::MinimizeRequest& request, const MappedAnswer& found, bool json) {
    const v1::MinimizeAnswer& answer = found.answer;
    if (csv_file_ != nullptr) {
      csv_file_->Write(ProfileCsv(request, answer));
    }
    if (plot_file_ != nullptr) {
      plot_file_->Write(ProfileSvg(request, answer));
    }
    if (map_file_ != nullptr) {
      map_file_->Write(absl::EndsWithIgnoreCase(map_, ".csv") ? MapCsv(request, found.map)
                                                              : MapSvg(request, found));
    }
    if (const absl::Status written = outputs_.Commit(); !written.ok()) {
      return FailArguments(written);
    }
    absl::FPrintF(outputs_.report(), "%s",
                  json ? ToJson(request, answer).dump(2) + "\n" : ToText(request, answer));
    return answer.top().empty() ? kNegativeResult : kOk;
  }

  MinimizeFlags flags_;
  std::string csv_;
  std::string plot_;
  std::string map_;
  bool interrupted_ = false;
  Outputs outputs_;
  OutputFile* csv_file_ = nullptr;
  OutputFile* plot_file_ = nullptr;
  OutputFile* map_file_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> MakeMinimizeCommand() { return std::make_unique<MinimizeCommand>(); }

}  // namespace baseband::ctl
