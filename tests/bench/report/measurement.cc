#include "tests/bench/report/measurement.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "kernels/base/steady_time.h"
#include "tests/bench/must.h"
#include "tests/bench/rows.h"
#include "tests/support/server_process.h"

namespace baseband::bench {
namespace {

// The first line of what `command` prints; empty if it fails.
std::string FirstLine(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
      popen((command + " 2>/dev/null").c_str(), "r"), pclose);
  char line[512] = "";
  if (pipe == nullptr || std::fgets(line, sizeof(line), pipe.get()) == nullptr) return "";
  return std::string(absl::StripAsciiWhitespace(line));
}

}  // namespace

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

std::string WhyNoGpu() {
  if (access("/dev/nvidiactl", F_OK) != 0 && access("/dev/dxg", F_OK) != 0) {
    return "there is neither /dev/nvidiactl nor /dev/dxg";
  }
  const bool is_built = access(testing::ProgramPath("limits_gpu_bench").c_str(), X_OK) == 0;
  return is_built ? "" : "this build is without CUDA";
}

Head HeadOf(const std::string& commit, bool quick) {
  Head head;
  head.begin = absl::FormatTime(absl::RFC3339_sec, absl::Now(), absl::UTCTimeZone());
  head.commit = commit;
  if (head.commit.empty()) {
    const std::string folder =
        std::filesystem::path(testing::ProgramPath("limits_bench")).parent_path();
    head.commit = FirstLine(absl::StrCat("git -C '", folder, "' describe --always --dirty"));
  }
  if (head.commit.empty()) head.commit = "unknown";
  head.mode = quick ? "quick" : "full";
  head.cpu = "unknown";
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const absl::string_view value =
        absl::StripAsciiWhitespace(absl::string_view(line).substr(line.find(':') + 1));
    if (absl::StartsWith(line, "model name")) head.cpu = std::string(value);
    if (!absl::StartsWith(line, "flags") && !absl::StartsWith(line, "Features")) continue;
    const std::vector<std::string> sets = absl::StrSplit(value, ' ');
    for (const char* set : {"avx2", "avx512bw", "avx512_vbmi2", "asimd", "sve2"}) {
      if (absl::c_linear_search(sets, set)) absl::StrAppend(&head.cpu, " ", set);
    }
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

Measurement::Measurement(const Head& head, std::vector<Step> steps, std::string path,
                         std::string log)
    : path_(std::move(path)), log_(std::move(log)), steps_(std::move(steps)) {
  MustWrite(path_, HeadLine(head) + "\n", std::ios::trunc);
  MustWrite(log_, "", std::ios::trunc);
  setenv(kRowsVariable, std::filesystem::absolute(path_).c_str(), 1);
}

void Measurement::Turn(const std::set<std::string>& programs) {
  if (++turn_ > 1) MustWrite(path_, TurnLine(turn_) + "\n", std::ios::app);
  for (const Step& step : steps_) {
    if (programs.empty() || programs.count(step.program) > 0) RunStep(step);
  }
}

void Measurement::End() { MustWrite(path_, EndLine() + "\n", std::ios::app); }

void Measurement::RunStep(const Step& step) {
  const std::string command = absl::StrCat(step.program, " ", absl::StrJoin(step.arguments, " "));
  const absl::Time begin = SteadyNow();
  testing::ChildProcess program(testing::ProgramPath(step.program), step.arguments);
  const absl::optional<int> code = program.Wait(absl::Minutes(20));
  MustWrite(log_, absl::StrCat("$ ", command, "\n", program.Output(), "\n"), std::ios::app);
  std::printf("%-40s %6.1f s\n", command.c_str(), absl::ToDoubleSeconds(SteadyNow() - begin));
  std::fflush(stdout);
  if (code == 0) return;
  const std::string how = code.has_value() ? absl::StrCat("ended with exit code ", *code)
                                           : "did not end within 20 minutes";
  MustWrite(path_, FailedLine(absl::StrCat(command, " ", how, "; see log.txt")) + "\n",
            std::ios::app);
}

}  // namespace baseband::bench
