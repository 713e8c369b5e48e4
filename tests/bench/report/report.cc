// One command for a page of results: runs the benches, each of which checks its results, and writes
// what they hand over (rows.h) as run.jsonl, results.md and pictures; holds it against an earlier
// run. --help says what it takes.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "kernels/base/steady_time.h"
#include "tests/bench/report/comparison.h"
#include "tests/bench/report/figures.h"
#include "tests/bench/report/page.h"
#include "tests/bench/report/run_file.h"
#include "tests/bench/rows.h"
#include "tests/support/server_process.h"

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

struct Step {
  const char* program;
  std::vector<std::string> arguments;
};

std::vector<Step> StepsOf(bool gpu, bool quick) {
  std::vector<Step> steps = {
      {"limits_bench", quick ? std::vector<std::string>{"3", "64"} : std::vector<std::string>{}},
      {"ldpc_decode_bench", {quick ? "3" : "20", "all"}},
      {"ldpc_encode_bench", {quick ? "3" : "15", "all"}},
      {"nr_bench", {quick ? "3" : "25"}},
      {"carrier_bench", {quick ? "2" : "40"}},
      {"timing_bench", {quick ? "2" : "20"}},
      {"downconvert_bench", {quick ? "2" : "30"}},
      {"minimize_bench", {quick ? "schwefel" : "all"}},
      {"latency_bench", {quick ? "0.04" : "0.4", quick ? "1" : "3"}}};
  if (!gpu) return steps;
  const char* const part = quick ? "table" : "all";
  for (const Step& step : std::vector<Step>{
           {"limits_gpu_bench", {}},
           {"ldpc_decode_gpu_bench", {part}},
           {"ldpc_encode_gpu_bench", {part}},
           {"nr_gpu_bench", {}},
           {"nr_copies_gpu_bench", {}},
           {"carrier_gpu_bench", {"1000", "noforms"}},
           {"timing_gpu_bench", {}},
           {"downconvert_gpu_bench", {"resident", "batches", "link"}},
           {"minimize_gpu_bench", {}},
           {"latency_bench", {quick ? "0.04" : "0.4", quick ? "1" : "3", "--device=cuda"}}}) {
    steps.push_back(step);
  }
  return steps;
}

// The first line of what `command` prints; empty if it fails.
std::string FirstLine(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
      popen((command + " 2>/dev/null").c_str(), "r"), pclose);
  char line[512] = "";
  if (pipe == nullptr || std::fgets(line, sizeof(line), pipe.get()) == nullptr) return "";
  return std::string(absl::StripAsciiWhitespace(line));
}

Head HeadOf(const Flags& flags) {
  Head head;
  head.begin = absl::FormatTime(absl::RFC3339_sec, absl::Now(), absl::UTCTimeZone());
  head.commit = flags.commit;
  if (head.commit.empty()) {
    const std::string folder =
        std::filesystem::path(testing::ProgramPath("limits_bench")).parent_path();
    head.commit = FirstLine(absl::StrCat("git -C '", folder, "' describe --always --dirty"));
  }
  if (head.commit.empty()) head.commit = "unknown";
  head.mode = flags.quick ? "quick" : "full";
  head.cpu = "unknown";
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!absl::StartsWith(line, "model name")) continue;
    head.cpu = std::string(absl::StripAsciiWhitespace(line.substr(line.find(':') + 1)));
    break;
  }
  head.cores = static_cast<int>(std::thread::hardware_concurrency());
  const std::vector<std::string> gpu = absl::StrSplit(
      FirstLine("nvidia-smi --query-gpu=name,driver_version --format=csv,noheader"), ", ");
  if (gpu.size() == 2) std::tie(head.gpu, head.driver) = std::pair(gpu[0], gpu[1]);
  return head;
}

void MustWrite(const std::string& path, const std::string& text, std::ios::openmode mode) {
  std::ofstream file(path, mode);
  file << text;
  file.close();
  if (!file.good()) Fail(absl::StrCat("cannot write ", path));
}

bool HasGpu() {
  return access("/dev/nvidiactl", F_OK) == 0 &&
         access(testing::ProgramPath("limits_gpu_bench").c_str(), X_OK) == 0;
}

// What it prints goes to the end of `log`; that it failed, to that of `path`.
void RunStep(const Step& step, const std::string& path, const std::string& log) {
  const std::string command = absl::StrCat(step.program, " ", absl::StrJoin(step.arguments, " "));
  const absl::Time begin = SteadyNow();
  testing::ChildProcess program(testing::ProgramPath(step.program), step.arguments);
  const absl::optional<int> code = program.Wait(absl::Minutes(20));
  MustWrite(log, absl::StrCat("$ ", command, "\n", program.Output(), "\n"), std::ios::app);
  std::printf("%-40s %6.1f s\n", command.c_str(), absl::ToDoubleSeconds(SteadyNow() - begin));
  std::fflush(stdout);
  if (code == 0) return;
  const std::string how = code.has_value() ? absl::StrCat("ended with exit code ", *code)
                                           : "did not end within 20 minutes";
  MustWrite(path, FailedLine(absl::StrCat(command, " ", how, "; see log.txt")) + "\n",
            std::ios::app);
}

// How often what is worse is measured again before it is said to be.
constexpr int kConfirmations = 3;

// The benches of one run, and their files in a folder.
class Measurement {
 public:
  Measurement(const Flags& flags, std::string path, std::string log)
      : path_(std::move(path)), log_(std::move(log)) {
    const bool gpu = flags.device == "auto" ? HasGpu() : flags.device == "cuda";
    for (const Step& step : StepsOf(gpu, flags.quick)) {
      if (flags.only.empty() || absl::c_linear_search(flags.only, step.program)) {
        steps_.push_back(step);
      }
    }
    MustWrite(path_, HeadLine(HeadOf(flags)) + "\n", std::ios::trunc);
    MustWrite(log_, "", std::ios::trunc);
    setenv(kRowsVariable, std::filesystem::absolute(path_).c_str(), 1);
  }

  // One more turn, of `programs` or of all.
  void Turn(const std::set<std::string>& programs = {}) {
    if (++turn_ > 1) MustWrite(path_, TurnLine(turn_) + "\n", std::ios::app);
    for (const Step& step : steps_) {
      if (programs.empty() || programs.count(step.program) > 0) RunStep(step, path_, log_);
    }
  }

 private:
  const std::string path_;
  const std::string log_;
  std::vector<Step> steps_;
  int turn_ = 0;
};

template <typename T>
T OrEnd(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "bench_report: %s\n", std::string(value.status().message()).c_str());
  std::exit(kWrongArguments);
}

int Report(const Flags& flags) {
  absl::optional<BenchRun> before;  // read before anything is measured, or overwritten
  if (!flags.compare.empty()) before = OrEnd(ReadRun(flags.compare));
  const std::string mode =
      flags.from.empty() ? (flags.quick ? "quick" : "full") : OrEnd(ReadRun(flags.from)).head.mode;
  if (before.has_value() && before->head.mode != mode) {
    std::fprintf(stderr,
                 "bench_report: %s is a %s run, this one is %s: they differ by more than noise\n",
                 flags.compare.c_str(), before->head.mode.c_str(), mode.c_str());
    return kWrongArguments;
  }
  std::error_code error;
  std::filesystem::create_directories(flags.folder, error);
  if (error) Fail(absl::StrCat("cannot make ", flags.folder, ": ", error.message()));
  const std::string path = flags.from.empty() ? flags.folder + "/run.jsonl" : flags.from;
  absl::optional<Measurement> measurement;
  if (flags.from.empty()) {
    measurement.emplace(flags, path, flags.folder + "/log.txt");
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
    comparison = Compare(*before, now);
  }
  const auto write = [&](const std::string& name, const std::string& text) {
    if (!text.empty()) MustWrite(flags.folder + "/" + name, text, std::ios::trunc);
  };
  write("results.md", PageOf(now, comparison));
  const std::string machine = MachineOf(now.head);
  write("roofline.svg", DrawRoofline(now, machine));
  for (const Figure& figure : FiguresOf(now))
    write(figure.name + ".svg", DrawFigure(figure, machine));
  std::printf("%zu measurements, %s/results.md\n", now.rows.size(), flags.folder.c_str());
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
      "results.md, log.txt and pictures.");
  app.footer(
      "Exit codes: 0 all is measured, and nothing is worse; 1 a program failed, or its result was "
      "wrong; 2 wrong arguments, or a file that is no run; 3 something is worse than before, or is "
      "not measured any more.");
  app.add_option("FOLDER", flags.folder, "where the files go; made if it is missing")->required();
  app.add_flag("--quick", flags.quick, "seconds in place of minutes: fewer repetitions");
  app.add_option("--device", flags.device, "cpu; cuda: the GPU as well; auto: cuda if there is one")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  std::set<std::string> programs;
  for (const Step& step : StepsOf(/*gpu=*/true, /*quick=*/false)) programs.insert(step.program);
  app.add_option("--only", flags.only, "of the benches these, PROGRAM,..")
      ->delimiter(',')
      ->type_name("PROGRAM")
      ->check(CLI::IsMember(programs).description(""));
  app.add_option("--turns", flags.turns,
                 "through all of it, of which the best counts; without it 2, or 1 if --quick")
      ->check(CLI::Range(1, 100));
  app.add_option("--commit", flags.commit, "what is measured; else git says");
  app.add_option(
      "--compare", flags.compare,
      "the run.jsonl of an earlier run: what got worse, measured up to three times more");
  app.add_option("--from", flags.from, "write the page of this run.jsonl; measure nothing");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongArguments;
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
