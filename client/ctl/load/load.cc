// `load`: how much the server bears, and how it answers meanwhile.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cpp/shared_arena.h"
#include "client/cpp/target.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/interrupt.h"
#include "client/ctl/common/outputs.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/load/load_flags.h"
#include "client/ctl/load/load_html.h"
#include "client/ctl/load/load_report.h"
#include "client/ctl/load/load_scenario.h"
#include "client/ctl/load/load_transports.h"
#include "client/load/confirm.h"
#include "client/load/knee.h"
#include "client/load/run.h"
#include "kernels/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

constexpr double kKneePrecision = 0.05;
constexpr double kKneeFirstRate = 100;
constexpr char kMostMissed[] = "missed=0.1%";
constexpr int kKindsOfServers = 4;
constexpr size_t kMostNotHeld = 5;  // measurements at rates that probes have borne

// Progress on standard error: a line that is overwritten on a terminal, else a JSON object a line.
class Progress {
 public:
  load::OnLoadProgress OnProgress() {
    return [this](const load::LoadProgress& progress) {
      if (terminal_) {
        bar_.Show(-1, prefix_ + ToText(progress));
      } else if (progress.covered > absl::ZeroDuration()) {
        absl::FPrintF(stderr, "%s\n", ToJsonLine(progress));
      }
      return !guard_.interrupted();
    };
  }
  void set_prefix(const std::string& prefix) { prefix_ = prefix; }
  bool interrupted() const { return guard_.interrupted(); }

 private:
  const InterruptGuard guard_;
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  ProgressBar bar_;
  std::string prefix_;
};

std::string Describe(const v1::GetCapabilitiesResponse& capabilities) {
  std::vector<std::string> devices;
  for (const v1::DeviceCapabilities& device : capabilities.devices()) {
    devices.push_back(device.name());
  }
  return absl::StrCat("basebandd ", capabilities.version(), " on ", absl::StrJoin(devices, ", "));
}

// How many answers to a request may be right: devices of other kinds round differently, and so may
// several servers, of which but one has told of its devices.
int KindsOfDevices(const v1::GetCapabilitiesResponse& capabilities, const std::string& target) {
  std::set<std::string> names;
  for (const v1::DeviceCapabilities& device : capabilities.devices()) {
    names.insert(absl::StrCat(device.kind(), " ", device.name()));
  }
  const auto several = client::ParseTarget(target);
  return std::max<int>(static_cast<int>(names.size()),
                       several.ok() && several->balanced ? kKindsOfServers : 1);
}

class LoadCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    app_ = app->add_subcommand(
        "load",
        "Measures what the server bears.\n"
        "Sends one kind of call, or a mix from a scenario file, as fast as the server answers"
        " (closed loop) or at a rate of its own (open loop). In an open loop latency counts from"
        " the intended time of sending: a server that stalls is not spared the calls that would"
        " have come. Every answer is compared with what it must be, those of the warm-up and"
        " those before it, too; what is right is known without the server. Exit code 4 when a"
        " limit of --fail-above is exceeded, no call is answered in time, an answer is wrong, or"
        " --find-knee finds no rate that is borne.\n"
        "While it runs, standard error has a line that is overwritten, or, where that is no"
        " terminal, one JSON object a second, less often in long measurements: elapsed_s and"
        " covered_s (since its begin, and what the object covers, seconds), due, good, late, "
        "expired, refused, wrong,"
        " skipped (calls), blocks (count, failed, bler; null where none is decoded), p50_s, p99_s"
        " (seconds, or null).");
    AddLoadFlags(app_, &load_);
    app_->footer(
        "Examples:\n"
        "  basebandctl load decode --in-flight=32\n"
        "  basebandctl load decode --rate=2k --deadline=5ms --fail-above=p99=2ms\n"
        "  basebandctl load decode --cells=8 --slot=500us --jitter=20us --harq=0.1\n"
        "  basebandctl load encode --find-knee --knee-bound=p99=2ms --html=report.html\n"
        "  basebandctl load --scenario=slots.json --metrics=http://127.0.0.1:9151/metrics");
    return app_;
  }

  int Run(const GlobalFlags& flags) override {
    LoadReport report;
    load::LoadSpec spec;
    const absl::StatusOr<Scenario> scenario = Prepare(flags, &spec, &report);
    if (!scenario.ok()) {
      return FailArguments(scenario.status());
    }
    OutputFile* const csv = outputs_.Open("--csv", load_.csv);
    OutputFile* const html = outputs_.Open("--html", load_.html);
    if (!outputs_.status().ok()) {
      return FailArguments(outputs_.status());
    }
    Progress progress;
    std::vector<load::Workload> workloads;
    v1::SharedMemoryCapabilities shared;
    {
      GlobalFlags few = flags;
      few.connections = 1;
      const auto client = Connect(few);
      if (!client.ok()) {
        return FailConnect(client.status());
      }
      const auto capabilities = (*client)->GetCapabilities(flags.call());
      if (!capabilities.ok()) {
        return FailRpc(capabilities.status());
      }
      report.server = Describe(*capabilities);
      shared = capabilities->shared_memory();
      if (flags.shared_memory) {
        auto arena = client::SharedArena::Connect(capabilities->shared_memory(), 1);
        if (!arena.ok()) {
          return FailConnect(arena.status());
        }
        spec.arena = *std::move(arena);
      }
      if (flags.ring) spec.rings = shared;
      auto traffic = MakeTraffic(client->get(), flags, scenario->mix,
                                 KindsOfDevices(*capabilities, flags.target), load_.seed);
      if (!traffic.ok()) {
        return FailPreparation(traffic.status());
      }
      workloads = std::move(traffic->workloads);
      if (spec.arena != nullptr || flags.ring || !transports_.empty()) {
        load::SplitPayloads(&workloads);
      }
      report.wrong_before = traffic->wrong;
    }
    const absl::StatusOr<load::WrongAnswers> wrong =
        load::Confirm(spec.client, workloads, flags.call().timeout,
                      [&progress] { return !progress.interrupted(); });
    if (!wrong.ok()) {
      return progress.interrupted() ? kInterrupted : FailPreparation(wrong.status());
    }
    report.wrong_before.Add(wrong->count, wrong->example);
    if (!transports_.empty()) return Compare(flags, shared, spec, workloads, &progress, report);
    const absl::Status status = load_.find_knee ? Search(spec, workloads, &progress, &report)
                                                : Measure(spec, workloads, &progress, &report);
    if (!status.ok() && progress.interrupted()) {
      return kInterrupted;
    }
    if (absl::IsInvalidArgument(status)) {
      return FailArguments(status);
    }
    if (!status.ok()) {
      return FailConnect(status);
    }
    if (csv != nullptr) {
      csv->Write(ToCsv(report));
    }
    if (html != nullptr) {
      html->Write(ToHtml(report));
    }
    return Finish(flags, report, progress.interrupted());
  }

 private:
  absl::StatusOr<Scenario> Prepare(const GlobalFlags& flags, load::LoadSpec* spec,
                                   LoadReport* report) {
    absl::optional<int> in_flight;
    if (app_->get_parent()->get_option("--in-flight")->count() > 0) {
      in_flight = flags.in_flight;
    }
    if (flags.ring && (load_.stream || flags.shared_memory)) {
      return absl::InvalidArgumentError(
          absl::StrCat(load_.stream ? "--stream" : "--shared-memory",
                       " does not go with --ring, whose requests and payloads are in its memory"));
    }
    if (app_->count("--attempts") > 0 && (flags.ring || load_.stream)) {
      return absl::InvalidArgumentError("--attempts goes with neither --stream nor --ring");
    }
    absl::StatusOr<Scenario> scenario = ToScenario(load_, *app_, in_flight);
    if (!scenario.ok()) {
      return scenario;
    }
    for (TrafficSpec& part : scenario->mix) {
      if (part.priority.empty()) part.priority = flags.priority;
    }
    if (!load_.transports.empty()) {
      if (load_.find_knee || load_.stream || flags.shared_memory || flags.ring ||
          !load_.csv.empty() || !load_.html.empty() || !load_.fail_above.empty()) {
        return absl::InvalidArgumentError(
            "--transports does not go with --find-knee, --stream, --shared-memory, --ring, --csv,"
            " --html or --fail-above");
      }
      BASEBAND_ASSIGN_OR_RETURN(transports_, ParseTransports(load_.transports, flags.target));
    }
    if (load_.find_knee && !scenario->pace.rate.has_value()) {
      if (scenario->pace.cells.has_value()) {
        return absl::InvalidArgumentError(
            "--find-knee looks for a rate, and does not go with cells");
      }
      scenario->pace.rate = kKneeFirstRate;
    }
    const absl::StatusOr<load::Pace> pace = ToPace(scenario->pace);
    if (!pace.ok()) {
      return pace.status();
    }
    if (const double least = LeastProbedRate(load_.knee_probe);
        load_.find_knee && pace->rate < least) {
      return absl::InvalidArgumentError(
          absl::StrFormat("--find-knee looks at rates from %.3g calls/s on, and not from %.3g: at"
                          " fewer a probe would last for minutes, or tell nothing",
                          least, pace->rate));
    }
    for (const std::string& text : load_.fail_above) {
      const absl::StatusOr<load::Threshold> limit = load::ParseThreshold(text);
      if (!limit.ok()) {
        return absl::InvalidArgumentError(absl::StrCat("--fail-above ", limit.status().message()));
      }
      report->limits.push_back(*limit);
    }
    const absl::StatusOr<load::Threshold> bound = load::ParseThreshold(load_.knee_bound);
    if (!bound.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--knee-bound ", bound.status().message()));
    }
    report->bounds = {*bound, *load::ParseThreshold(kMostMissed)};
    absl::StatusOr<client::ClientOptions> options = ToClientOptions(flags);
    if (!options.ok()) {
      return options.status();
    }
    spec->client = *std::move(options);
    spec->attempts = load_.attempts;
    spec->workers = load_.threads;
    spec->pace = *pace;
    spec->warm_up = scenario->pace.warm_up.value_or(spec->warm_up);
    spec->duration = scenario->pace.duration.value_or(spec->duration);
    spec->timeout = flags.timeout;
    spec->wait_for_server = flags.wait;
    spec->max_in_flight = load_.max_in_flight;
    spec->seed = load_.seed;
    spec->stream = load_.stream;
    spec->metrics_url = load_.metrics_url;
    return scenario;
  }

  // An answer that is wrong beyond doubt is what a load is to find, before it begins, too.
  static int FailPreparation(const absl::Status& status) {
    if (absl::IsDataLoss(status)) {
      return Fail(absl::DataLossError(absl::StrCat("wrong answers: ", status.message())),
                  kNegativeResult);
    }
    // FailedPrecondition is the server's: a kind in quarantine, which it takes again later.
    return absl::IsInvalidArgument(status) ? FailArguments(status) : FailRpc(status);
  }

  static absl::Status Measure(const load::LoadSpec& spec,
                              const std::vector<load::Workload>& workloads, Progress* progress,
                              LoadReport* report) {
    absl::StatusOr<load::LoadResult> result =
        load::RunLoad(spec, workloads, progress->OnProgress());
    if (result.ok()) {
      report->result = *std::move(result);
    }
    return result.status();
  }

  // The highest rate within the bounds, by probes; then by whole measurements.
  absl::Status Search(load::LoadSpec spec, const std::vector<load::Workload>& workloads,
                      Progress* progress, LoadReport* report) const {
    const absl::Duration duration = spec.duration;
    spec.least_answered = kAnsweredShare;
    const auto bears = [&](double rate) -> absl::StatusOr<bool> {
      spec.pace.rate = rate;
      spec.duration = ProbeDuration(load_.knee_probe, rate);
      ++spec.seed;  // other instants each time, where a rate is tried again
      progress->set_prefix(absl::StrFormat("%.0f calls/s: ", rate));
      absl::StatusOr<load::LoadResult> result =
          load::RunLoad(spec, workloads, progress->OnProgress());
      if (!result.ok()) {
        return result.status();
      }
      if (progress->interrupted()) {
        return absl::CancelledError("interrupted");
      }
      report->probes.push_back(ToProbe(*std::move(result), report->bounds));
      return report->probes.back().borne();
    };
    const absl::StatusOr<load::Knee> knee =
        load::FindKnee(spec.pace.rate, kKneePrecision, bears, LeastProbedRate(load_.knee_probe));
    if (!knee.ok()) {
      return knee.status();
    }
    report->knee = *knee;
    if (report->NothingIsBorne()) {
      report->result = report->probes.back().result;
      return absl::OkStatus();
    }
    spec.duration = std::max(duration, ProbeDuration(load_.knee_probe, knee->low));
    spec.least_answered = 0;
    return MeasureKnee(spec, workloads, progress, report);
  }

  // At the highest rate that the probes bore: it counts only if a whole measurement is within the
  // bounds as well. Else lower ones are measured, a few times.
  static absl::Status MeasureKnee(load::LoadSpec spec, const std::vector<load::Workload>& workloads,
                                  Progress* progress, LoadReport* report) {
    for (spec.pace.rate = report->knee.low;; spec.pace.rate = RateBelow(report->result)) {
      ++spec.seed;
      progress->set_prefix(absl::StrFormat("%.0f calls/s, the highest borne: ", spec.pace.rate));
      absl::Status status = Measure(spec, workloads, progress, report);
      if (!status.ok() || progress->interrupted()) {
        return status;
      }
      KneeProbe measured = ToProbe(report->result, report->bounds);
      const bool borne = measured.borne();
      report->knee.low = borne ? spec.pace.rate : 0;
      if (borne) {
        return absl::OkStatus();
      }
      report->knee.high = spec.pace.rate;
      report->not_held.push_back(std::move(measured));
      if (report->not_held.size() == kMostNotHeld) {
        return absl::OkStatus();
      }
    }
  }

  // By one transport after the other.
  int Compare(const GlobalFlags& flags, const v1::SharedMemoryCapabilities& shared,
              const load::LoadSpec& spec, const std::vector<load::Workload>& workloads,
              Progress* progress, LoadReport report) {
    TransportResults results;
    bool is_negative = false;
    for (const Transport& transport : transports_) {
      load::LoadSpec chosen = spec;
      if (const absl::Status status = Choose(transport, shared, &chosen); !status.ok()) {
        return FailConnect(status);
      }
      progress->set_prefix(absl::StrCat(transport.name, ": "));
      const absl::Status status = Measure(chosen, workloads, progress, &report);
      if (progress->interrupted()) return kInterrupted;
      if (absl::IsInvalidArgument(status)) return FailArguments(status);
      if (!status.ok()) return FailConnect(status);
      is_negative |= report.IsNegative();
      results.emplace_back(transport, report.result);
    }
    absl::FPrintF(outputs_.report(), "%s",
                  flags.json ? ToJson(results).dump(2) + "\n" : ToText(results));
    return is_negative ? kNegativeResult : kOk;
  }

  int Finish(const GlobalFlags& flags, const LoadReport& report, bool interrupted) {
    const absl::Status status = outputs_.Commit();
    absl::FPrintF(outputs_.report(), "%s",
                  flags.json ? ToJson(report).dump(2) + "\n" : ToText(report));
    if (!status.ok()) {
      return FailArguments(status);
    }
    if (interrupted) {
      return kInterrupted;
    }
    return report.IsNegative() ? kNegativeResult : kOk;
  }

  CLI::App* app_ = nullptr;
  LoadFlags load_;
  std::vector<Transport> transports_;  // empty: as flags say
  Outputs outputs_;
};

}  // namespace

std::unique_ptr<Command> MakeLoadCommand() { return std::make_unique<LoadCommand>(); }

}  // namespace baseband::ctl
