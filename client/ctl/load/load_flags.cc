#include "client/ctl/load/load_flags.h"

#include "absl/strings/str_cat.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/options.h"
#include "client/ctl/load/load_keys.h"
#include "client/ctl/shared_channel/early_stop.h"
#include "client/ctl/shared_channel/symbol_channel.h"

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
  AddNumber(app, "--rate", "R", &flags->pace.rate, UpTo(1e7),
            "calls a second, whatever the server does")
      ->group(group);
  AddOptional(app, "--arrivals", &flags->pace.arrivals,
              "of --rate: poisson (independent instants) or constant (poisson)")
      ->type_name("NAME")
      ->group(group);
  AddNumber(app, "--cells", "N", &flags->pace.cells, Between(1, 4096),
            "a call of each of N cells in every slot")
      ->group(group);
  AddTime(app, "--slot", &flags->pace.slot, {absl::Microseconds(10), absl::Seconds(10)},
          "of --cells (500us)")
      ->group(group);
  AddTime(app, "--jitter", &flags->pace.jitter, {absl::ZeroDuration(), absl::Seconds(10)},
          "how late in its slot a cell's call is at most (a tenth of the slot)")
      ->group(group);
  AddTime(app, "--duration", &flags->pace.duration, {absl::Milliseconds(10), absl::Hours(24)},
          "of the measurement, with --find-cells of each try at most (10s, with it 60s)")
      ->group(group);
  AddTime(app, "--warmup", &flags->pace.warm_up, {absl::ZeroDuration(), absl::Hours(1)},
          "before it, not counted (1s)")
      ->group(group);
  AddNumber(app, "--max-in-flight", "N", &flags->max_in_flight, Between(1, 1 << 20),
            "of --rate and --cells: most calls in flight; more wait (4096)")
      ->group(group);
  AddNumber(app, "--threads", "N", &flags->threads, Between(1, 64),
            "that send; as many receive (half the cores, to 4)")
      ->group(group);
  app->add_flag("--stream", flags->stream,
                "through one Submit stream a connection, in place of unary calls")
      ->group(group);
  app->add_flag("--in-place", flags->in_place,
                "with --shared-memory or --ring: payloads lie in that memory before the load"
                " begins, as those of a demapper that writes its LLRs there, and no copy counts")
      ->group(group);
  app->add_option("--transports", flags->transports,
                  "the same load by each of tcp, uds, submit, shm, ring, and what they cost, a line"
                  " each; NAME=TARGET: at another address")
      ->type_name("NAME,..")
      ->group(group);
  AddNumber(
      app, "--attempts", "N", &flags->attempts, Between(1, 5),
      "how often a call is tried, as by programs with the client library (1): UNAVAILABLE, and"
      " RESOURCE_EXHAUSTED when the server says when")
      ->group(group);
  app->add_flag("--no-throttle", flags->no_throttle,
                "send every call: by default, as by programs with the client library, calls that a"
                " server under load would refuse are refused unsent")
      ->group(group);
  AddNumber(app, "--seed", "N", &flags->seed, kSeeds, "of instants and data (1)")->group(group);
}

void AddTrafficFlags(CLI::App* app, TrafficSpec* traffic) {
  const char* group = "Calls";
  AddTime(app, "--deadline", &traffic->deadline,
          {absl::ZeroDuration(), absl::InfiniteDuration(), /*open=*/true},
          "a later answer is a miss (none)")
      ->group(group);
  AddNumber(app, "--blocks", "N", &traffic->blocks, Between(1, 65536),
            "code blocks, transport blocks or frames in a call (8)")
      ->group(group);
  AddNumber(app, "--variants", "N", &traffic->variants, Between(1, 64),
            "different requests, in turn (4)")
      ->group(group);
  AddNumber(app, "--ebn0", "DB", &traffic->ebn0_db, Between(-100, 200),
            "Eb/N0 (where all blocks decode)")
      ->group(group);
  AddNumber(app, "--llr-count", "N", &traffic->decode.llr_count, Between(1, 1 << 20),
            "LLRs in a block (all)")
      ->group(group);
  AddNumber(app, "--harq", "SHARE", &traffic->harq, Between(0, 1),
            "share of calls that are second transmissions, with redundancy version 2 combined (0)")
      ->group(group);
  AddNumber(app, "--snr", "DB", &traffic->snr_db, Between(-50, 80),
            "Es/N0 (where all blocks decode)")
      ->group(group);
  AddInputFlag(app, &traffic->input)->group(group);
  AddEarlyStopFlag(app, &traffic->early_stop)->group(group);
  AddNumber(app, "--mcs", "N", &traffic->mcs, Between(0, 28), "modulation and coding scheme (16)")
      ->group(group);
  app->add_option("--constellation", traffic->constellation, "of the frames (QPSK)")
      ->type_name("NAME")
      ->group(group);
  AddNumber(app, "--frame-symbols", "N", &traffic->frame_symbols, Between(16, 1 << 20),
            "in a frame (of 64800 bits)")
      ->group(group);
  app->add_option(
         "--samples-per-symbol", traffic->samples_per_symbol,
         "frames come as samples, so many to a symbol: 2 to 16, perhaps a fraction (symbols)")
      ->type_name("P/Q")
      ->group(group);
  AddNumber(app, "--roll-off", "A", &traffic->roll_off, Between(0.05, 1),
            "of their root-raised-cosine pulses (0.2)")
      ->group(group);
  AddNumber(app, "--samples", "N", &traffic->samples, Between(128, 1 << 24), "in a call (64Ki)")
      ->group(group);
  AddNumber(app, "--channels", "N", &traffic->channels, Between(1, 1024), "of 64 taps (4)")
      ->group(group);
  AddNumber(app, "--points", "N", &traffic->points, Between(1, 1e9), "of the grid (1M)")
      ->group(group);
}

void AddReportFlags(CLI::App* app, LoadFlags* flags) {
  const char* group = "Report";
  app->add_option("--metrics", flags->metrics_url,
                  "the server's metrics page, http://HOST:9151/metrics: looked at before and after")
      ->type_name("URL")
      ->group(group);
  CLI::Option* const knee = app->add_flag(
      "--find-knee", flags->find_knee,
      "look for the highest rate within --knee-bound, from --rate (100) on: 20 to 40 loads as a"
      " rule, 80 at most, where they disagree, each of --knee-probe after --warmup; then for"
      " --duration, and where that breaks the bound, lower, up to 5 times");
  knee->group(group);
  app->add_option(
         "--knee-bound", flags->knee_bound,
         "as --fail-above (p99=5ms); besides, at most 0.1 % may come to nothing and 95 % of"
         " the rate must be answered")
      ->type_name("LIMIT")
      ->needs(knee)
      ->group(group);
  AddTime(app, "--knee-probe", &flags->knee_probe, {absl::Milliseconds(10), absl::Hours(24)},
          "how long each rate is tried, at least; until 20 calls are due. Let it be many times the"
          " time of the bound: what piles up takes as long to show (3s)")
      ->needs(knee)
      ->group(group);
  CLI::Option* const cells = app->add_flag(
      "--find-cells", flags->find_cells,
      "look for how many cells are carried, from --cells (1) on: as many as --in-time of the slots"
      " of all of them are answered by the deadline, for each of --cell-deadlines. Each number is"
      " tried until that share can be told, at least for 3s, at most for --duration");
  cells->group(group);
  AddNumber(app, "--cell-deadlines", "SLOTS", &flags->cell_deadlines, Between(1, 1000),
            "deadlines to look for cells with (1 3 10)")
      ->needs(cells)
      ->group(group);
  AddNumber(app, "--in-time", "PERCENT", &flags->in_time_percent, Between(50, 99.9999),
            "of the slots of cells that are carried (99.999)")
      ->needs(cells)
      ->group(group);
  app->add_option("--fail-above", flags->fail_above,
                  "exit code 4 above a limit: p99=2ms, p99.9, mean, max, lag; missed=1%, late,"
                  " expired, refused, wrong, skipped; bler=1%; a share has its %; repeatable")
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
                  "encode, decode, encode-shared-channel, decode-shared-channel, recover,"
                  " downconvert or minimize");
  app->add_option("--scenario", flags->scenario_file,
                  "a JSON file with a mix of calls, in place of OPERATION; what it does not say,"
                  " flags say")
      ->type_name("FILE");
  AddPaceFlags(app, flags);
  AddTrafficFlags(app, &flags->traffic);
  AddReportFlags(app, flags);
  AddFormatFlags(app, &flags->traffic.format, flags->traffic.format.prbs);
  AddCodeFlags(app, &flags->traffic.code);
  AddDecodeFlags(app, &flags->traffic.decode);
  TellOperations(app);
}

absl::StatusOr<Scenario> ToScenario(const LoadFlags& flags, const CLI::App& app,
                                    absl::optional<int> in_flight) {
  Scenario scenario;
  if (flags.operation.empty() == flags.scenario_file.empty()) {
    return absl::InvalidArgumentError("load needs an OPERATION or a --scenario, and not both");
  }
  if (!flags.scenario_file.empty()) {
    const absl::StatusOr<std::string> text = ReadText(flags.scenario_file);
    if (!text.ok()) {
      return text.status();
    }
    absl::StatusOr<Scenario> parsed = ParseScenario(*text, flags.traffic);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(flags.scenario_file, ": ", parsed.status().message()));
    }
    scenario = *std::move(parsed);
    std::vector<Operation> operations;
    for (const TrafficSpec& spec : scenario.mix) operations.push_back(spec.operation);
    if (absl::Status status = CheckFlags(app, operations); !status.ok()) {
      return status;
    }
  } else {
    const absl::StatusOr<Operation> operation = ParseOperation(flags.operation);
    if (!operation.ok()) {
      return operation.status();
    }
    scenario.mix = {flags.traffic};
    scenario.mix[0].operation = *operation;
    absl::Status status = CheckFlags(app, {*operation});
    status.Update(Check(scenario.mix[0]));
    if (!status.ok()) {
      return status;
    }
  }
  PaceSettings said = flags.pace;
  said.in_flight = in_flight;
  scenario.pace = Merge(said, scenario.pace);
  const bool is_open = scenario.pace.rate.has_value() || scenario.pace.cells.has_value() ||
                       flags.find_knee || flags.find_cells;
  if (app.count("--max-in-flight") > 0 && !is_open) {
    return absl::InvalidArgumentError(
        "--max-in-flight goes with --rate and --cells: a closed loop has --in-flight");
  }
  return scenario;
}

}  // namespace baseband::ctl
