// One command for a page of results: runs the benches, each of which checks its results, and writes
// what they hand over (rows.h) as run.jsonl, results.md and pictures; holds it against an earlier
// run. --help says what it takes.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "client/ctl/common/flag_names.h"
#include "client/ctl/common/help_formatter.h"
#include "client/ctl/common/options.h"
#include "tests/bench/report/comparison.h"
#include "tests/bench/report/figures.h"
#include "tests/bench/report/measurement.h"
#include "tests/bench/report/page.h"
#include "tests/bench/report/run_file.h"
#include "tests/bench/report/si.h"

namespace baseband::bench {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongArguments = 2;
constexpr int kWorse = 3;

struct Flags {
  std::string folder;
  bool quick = false;
  int turns = 0;  // 0: 2, or 1 if quick
  std::string device = "auto";
  std::vector<std::string> only;
  std::string commit;
  std::string compare;
  std::string from;
};

// How often what is worse is measured again before it is said to be.
constexpr int kConfirmations = 3;

[[noreturn]] void EndAsWrong(absl::string_view why) {
  std::fprintf(stderr, "bench_report: %s\n", std::string(why).c_str());
  std::exit(kWrongArguments);
}

template <typename T>
T OrEnd(absl::StatusOr<T> value) {
  if (!value.ok()) EndAsWrong(value.status().message());
  return *std::move(value);
}

std::vector<Step> ChosenSteps(const Flags& flags) {
  const std::string why_no_gpu = flags.device == "cpu" ? "--device=cpu" : WhyNoGpu();
  if (flags.device == "cuda" && !why_no_gpu.empty()) {
    EndAsWrong(absl::StrCat("--device=cuda: ", why_no_gpu));
  }
  std::vector<Step> steps = StepsOf(why_no_gpu.empty(), flags.quick);
  if (flags.only.empty()) return steps;
  for (const std::string& program : flags.only) {
    const auto is_it = [&](const Step& step) { return step.program == program; };
    if (absl::c_none_of(steps, is_it)) {
      EndAsWrong(absl::StrCat("--only=", program, " needs a GPU: ", why_no_gpu));
    }
  }
  steps.erase(std::remove_if(steps.begin(), steps.end(),
                             [&](const Step& step) {
                               return !absl::c_linear_search(flags.only, step.program);
                             }),
              steps.end());
  return steps;
}

// The file of the run. What another run left in the folder is not written over.
std::string PathOf(const Flags& flags) {
  const std::string own = flags.folder + "/run.jsonl";
  std::error_code error;
  if (std::filesystem::exists(own, error) &&
      (flags.from.empty() || !std::filesystem::equivalent(own, flags.from, error))) {
    EndAsWrong(absl::StrCat(own, " is there already: name another FOLDER, or remove it"));
  }
  std::filesystem::create_directories(flags.folder, error);
  if (error) EndAsWrong(absl::StrCat("cannot make ", flags.folder, ": ", error.message()));
  return flags.from.empty() ? own : flags.from;
}

// Also those that earlier pages had and this one has not.
void WritePage(const std::string& folder, const BenchRun& run,
               const absl::optional<Comparison>& comparison) {
  const std::string machine = MachineOf(run.head);
  std::map<std::string, std::string> files = {{"roofline.svg", DrawRoofline(run, machine)},
                                              {"sizes.svg", ""},
                                              {"batches.svg", ""},
                                              {"latency.svg", ""},
                                              {"results.md", PageOf(run, comparison)}};
  for (const Figure& figure : FiguresOf(run)) {
    files[figure.name + ".svg"] = DrawFigure(figure, machine);
  }
  for (const auto& [name, text] : files) {
    const std::string path = absl::StrCat(folder, "/", name);
    std::error_code error;
    std::filesystem::remove(path, error);
    if (!text.empty()) MustWrite(path, text, std::ios::trunc);
  }
}

int Report(const Flags& flags) {
  absl::optional<BenchRun> before;  // read before anything is measured, or overwritten
  if (!flags.compare.empty()) {
    before = OrEnd(ReadRun(flags.compare));
    if (!before->ended) EndAsWrong(flags.compare + " was broken off: it is no run to compare with");
    if (before->rows.empty()) EndAsWrong(flags.compare + " has no measurement to compare with");
  }
  const std::string mode =
      flags.from.empty() ? (flags.quick ? "quick" : "full") : OrEnd(ReadRun(flags.from)).head.mode;
  if (before.has_value() && before->head.mode != mode) {
    EndAsWrong(absl::StrCat(flags.compare, " is a ", before->head.mode, " run, this one is ", mode,
                            ": they differ by more than noise"));
  }
  const std::vector<Step> steps = flags.from.empty() ? ChosenSteps(flags) : std::vector<Step>();
  const std::string path = PathOf(flags);
  absl::optional<Measurement> measurement;
  if (flags.from.empty()) {
    measurement.emplace(HeadOf(flags.commit, flags.quick), steps, path, flags.folder + "/log.txt");
    const int turns = flags.turns > 0 ? flags.turns : flags.quick ? 1 : 2;
    for (int turn = 0; turn < turns; ++turn) measurement->Turn();
  }
  BenchRun now = OrEnd(ReadRun(path));
  absl::optional<Comparison> comparison;
  if (before.has_value()) comparison = Compare(*before, now);
  for (int i = 0; i < kConfirmations && measurement && comparison && !comparison->worse.empty();
       ++i) {
    std::set<std::string> programs;
    for (const Change& change : comparison->worse) programs.insert(change.now.program);
    std::printf("%zu are worse: once more\n", comparison->worse.size());
    measurement->Turn(programs);
    now = OrEnd(ReadRun(path));
    comparison = Confirmed(*std::move(comparison), Compare(*before, now));
  }
  if (measurement) {
    measurement->End();
    now = OrEnd(ReadRun(path));
  }
  WritePage(flags.folder, now, comparison);
  std::printf("%zu measurements, %s/results.md\n", now.rows.size(), flags.folder.c_str());
  if (!now.ended) std::printf("%s was broken off\n", path.c_str());
  if (const std::string busy = BusyText(now); !busy.empty()) std::printf("%s\n", busy.c_str());
  for (const std::string& failed : now.failed) std::printf("FAILED: %s\n", failed.c_str());
  if (comparison.has_value()) {
    for (const Change& change : comparison->worse) {
      std::printf("WORSE: %s: %s, was %s, takes %+.0f %%\n", KeyOf(change.now).c_str(),
                  Si(change.now.value, change.now.unit).c_str(),
                  Si(change.before.value, change.before.unit).c_str(), 100.0 * change.slower);
    }
    std::printf("%zu worse, %zu better, %d alike, %zu gone\n", comparison->worse.size(),
                comparison->better.size(), comparison->alike, comparison->gone.size());
  }
  if (!now.failed.empty()) return kFailed;
  // Who measures all, and misses some of it, has not found that nothing is worse.
  const bool is_less = flags.only.empty() && comparison.has_value() && !comparison->gone.empty();
  return comparison.has_value() && (!comparison->worse.empty() || is_less) ? kWorse : 0;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "Measures this machine's limits and every operation on it, and writes FOLDER/run.jsonl, "
      "results.md, log.txt and pictures.",
      "bench_report");
  app.formatter(std::make_shared<ctl::HelpFormatter>());
  app.footer(
      "Exit codes: 0 all is measured, and nothing is worse; 1 a program failed, or its result was\n"
      "wrong; 2 wrong arguments, or a file that is no run; 3 something is worse than before or,\n"
      "without --only, not measured any more.\n"
      "\n"
      "Examples:\n"
      "  bench_report before --quick\n"
      "  bench_report after --quick --compare=before/run.jsonl\n"
      "  bench_report decoder --device=cpu --only=ldpc_decode_bench,nr_bench --turns=5\n"
      "  bench_report page --from=before/run.jsonl");
  app.add_option("FOLDER", flags.folder,
                 "where the files go; made if it is missing, and must not have a run")
      ->required();
  app.add_flag("--quick", flags.quick,
               "a minute in place of several: fewer repetitions, so that other work shows more");
  app.add_option("--device", flags.device,
                 "cpu; cuda: the GPU as well; auto: cuda if there is one (auto)")
      ->check(ctl::OneOf({"auto", "cpu", "cuda"}))
      ->type_name("DEVICE");
  std::vector<std::string> programs;
  for (const Step& step : StepsOf(/*gpu=*/true, /*quick=*/false)) {
    if (!absl::c_linear_search(programs, step.program)) programs.push_back(step.program);
  }
  app.add_option("--only", flags.only,
                 absl::StrCat("these alone, PROGRAM,..: ", absl::StrJoin(programs, ", "), " (all)"))
      ->delimiter(',')
      ->allow_extra_args(false)  // what follows is FOLDER
      ->type_name("PROGRAM")
      ->check(ctl::OneOf(programs));
  ctl::AddNumber(&app, "--turns", "N", &flags.turns, ctl::Between(1, 100),
                 "through all of it, of which the best counts (2, or 1 if --quick)");
  app.add_option("--commit", flags.commit, "what is measured (git says)")->type_name("NAME");
  app.add_option("--compare", flags.compare,
                 "the run.jsonl of an earlier run: what got worse, measured up to three times more")
      ->type_name("FILE");
  CLI::Option* const from =
      app.add_option("--from", flags.from, "write the page of this run.jsonl; measure nothing")
          ->type_name("FILE");
  for (const char* name : {"--quick", "--device", "--only", "--turns", "--commit"}) {
    from->excludes(name);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    const std::string flag = ctl::UnknownFlag(app);
    EndAsWrong(
        absl::StrCat(flag.empty() ? error.what() : flag, "\nbench_report --help tells more."));
  }
  return Report(flags);
}

}  // namespace
}  // namespace baseband::bench

int main(int argc, char** argv) {
  try {
    return baseband::bench::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_report: %s\n", error.what());
    return baseband::bench::kFailed;
  }
}
