#include "client/ctl/load/load_flags.h"

#include "absl/strings/str_cat.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/si_option.h"
#include "client/ctl/common/time_option.h"

namespace baseband::ctl {
namespace {

template <typename T>
CLI::Option* AddOptional(CLI::App* app, const std::string& name, absl::optional<T>* field,
                         const std::string& help) {
  return app->add_option_function<T>(
      name, [field](const T& value) { *field = value; }, help);
}

void AddPaceFlags(CLI::App* app, LoadFlags* flags) {
  const char* group = "Pace (a closed loop of --in-flight calls without --rate and --cells)";
  AddOptional(app, "--rate", &flags->pace.rate, "calls a second, whatever the server does")
      ->transform(SiNumber())
      ->type_name("R")
      ->group(group);
  AddOptional(app, "--arrivals", &flags->pace.arrivals,
              "of --rate: poisson (independent instants) or constant (poisson)")
      ->type_name("NAME")
      ->group(group);
  AddOptional(app, "--cells", &flags->pace.cells, "a call of each of N cells in every slot")
      ->type_name("N")
      ->group(group);
  AddTime(app, "--slot", &flags->pace.slot, "of --cells (500us)")->group(group);
  AddTime(app, "--jitter", &flags->pace.jitter,
          "how late in its slot a cell's call is at most (a tenth of the slot)")
      ->group(group);
  AddTime(app, "--duration", &flags->pace.duration, "of the measurement (10s)")->group(group);
  AddTime(app, "--warmup", &flags->pace.warm_up, "before it, not counted (1s)")->group(group);
  app->add_option("--max-in-flight", flags->max_in_flight,
                  "of --rate and --cells: most calls in flight; more wait (4096)")
      ->type_name("N")
      ->group(group);
  app->add_option("--threads", flags->threads, "that send; as many receive (half the cores, to 4)")
      ->type_name("N")
      ->group(group);
  app->add_flag("--stream", flags->stream,
                "through one Submit stream a connection, in place of unary calls")
      ->group(group);
  app->add_option("--attempts", flags->attempts,
                  "how often a call that got UNAVAILABLE is tried, 1 to 5 (1)")
      ->check(CLI::Range(1, 5))
      ->type_name("N")
      ->group(group);
  app->add_option("--seed", flags->seed, "of instants and data (1)")->type_name("N")->group(group);
}

void AddTrafficFlags(CLI::App* app, TrafficSpec* traffic) {
  const char* group = "Calls";
  AddTime(app, "--deadline", &traffic->deadline, "a later answer is a miss (none)")->group(group);
  app->add_option("--priority", traffic->priority, "high, normal or low (not sent)")
      ->type_name("NAME")
      ->group(group);
  app->add_option("--blocks", traffic->blocks, "code blocks, or frames, in a call (8)")
      ->group(group);
  app->add_option("--variants", traffic->variants, "different requests, in turn (4)")->group(group);
  AddOptional(app, "--ebn0", &traffic->ebn0_db, "decode: in dB (where all blocks decode)")
      ->type_name("DB")
      ->group(group);
  app->add_option("--llr-count", traffic->decode.llr_count, "decode: LLRs in a block (all)")
      ->group(group);
  app->add_option("--harq", traffic->harq,
                  "decode: share of calls that are second transmissions, with redundancy version 2"
                  " combined (0)")
      ->type_name("SHARE")
      ->group(group);
  app->add_option("--constellation", traffic->constellation, "recover (QPSK)")
      ->type_name("NAME")
      ->group(group);
  app->add_option("--frame-symbols", traffic->frame_symbols, "recover (of 64800 bits)")
      ->type_name("N")
      ->group(group);
  app->add_option("--samples", traffic->samples, "downconvert: in a call (65536)")->group(group);
  app->add_option("--channels", traffic->channels, "downconvert (4)")->group(group);
  app->add_option("--points", traffic->points, "minimize: of the grid (1M)")
      ->transform(SiNumber())
      ->group(group);
}

void AddReportFlags(CLI::App* app, LoadFlags* flags) {
  const char* group = "Report";
  app->add_option("--metrics", flags->metrics_url,
                  "the server's metrics page, http://HOST:9151/metrics: looked at before and after")
      ->type_name("URL")
      ->group(group);
  app->add_flag("--find-knee", flags->find_knee,
                "look for the highest rate within --knee-bound, from --rate (100) on")
      ->group(group);
  app->add_option(
         "--knee-bound", flags->knee_bound,
         "as --fail-above (p99=5ms); besides, at most 0.1 % may come to nothing and 95 % of"
         " the rate must be answered")
      ->type_name("LIMIT")
      ->group(group);
  AddTime(app, "--knee-probe", &flags->knee_probe, "how long each rate is tried (3s)")
      ->group(group);
  app->add_option("--fail-above", flags->fail_above,
                  "exit code 4 above a limit: p99=2ms, p99.9, mean, max, lag; missed=1%, late,"
                  " expired, refused, wrong, skipped; repeatable")
      ->type_name("LIMIT")
      ->expected(1)
      ->take_all()
      ->group(group);
  app->add_option("--csv", flags->csv, "write a table")->type_name("FILE")->group(group);
  app->add_option("--html", flags->html, "write a report with plots, in one file")
      ->type_name("FILE")
      ->group(group);
}

}  // namespace

void AddLoadFlags(CLI::App* app, LoadFlags* flags) {
  app->add_option("OPERATION", flags->operation,
                  "encode, decode, recover, downconvert or minimize");
  app->add_option("--scenario", flags->scenario_file,
                  "a JSON file with a mix of calls, in place of OPERATION; what it does not say,"
                  " flags say")
      ->type_name("FILE");
  AddPaceFlags(app, flags);
  AddTrafficFlags(app, &flags->traffic);
  AddReportFlags(app, flags);
  AddCodeFlags(app, &flags->traffic.code);
  AddDecodeFlags(app, &flags->traffic.decode);
}

absl::StatusOr<Scenario> ToScenario(const LoadFlags& flags, absl::optional<int> in_flight) {
  Scenario scenario;
  if (flags.operation.empty() == flags.scenario_file.empty()) {
    return absl::InvalidArgumentError("load needs an OPERATION or a --scenario, and not both");
  }
  if (!flags.scenario_file.empty()) {
    const absl::StatusOr<std::string> text = ReadFile(flags.scenario_file);
    if (!text.ok()) {
      return text.status();
    }
    absl::StatusOr<Scenario> parsed = ParseScenario(*text, flags.traffic);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(flags.scenario_file, ": ", parsed.status().message()));
    }
    scenario = *std::move(parsed);
  } else {
    const absl::StatusOr<Operation> operation = ParseOperation(flags.operation);
    if (!operation.ok()) {
      return operation.status();
    }
    scenario.mix = {flags.traffic};
    scenario.mix[0].operation = *operation;
    if (absl::Status status = Check(scenario.mix[0]); !status.ok()) {
      return status;
    }
  }
  PaceSettings said = flags.pace;
  said.in_flight = in_flight;
  scenario.pace = Merge(said, scenario.pace);
  return scenario;
}

}  // namespace baseband::ctl
