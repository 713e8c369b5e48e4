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
#include "client/ctl/load/load_cells.h"
#include "client/ctl/load/load_flags.h"
#include "client/ctl/load/load_html.h"
#include "client/ctl/load/load_plan.h"
#include "client/ctl/load/load_report.h"
#include "client/ctl/load/load_transports.h"
#include "client/load/confirm.h"
#include "client/load/knee.h"
#include "client/load/run.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

constexpr double kKneePrecision = 0.05;
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
  // How the search for cells goes on; the line on a terminal has the number that is tried.
  void TellTry(const std::string& what, bool carried) const {
    if (terminal_) return;
    const nlohmann::json line = {{"tried", what}, {"carried", carried}};
    absl::FPrintF(stderr, "%s\n", line.dump());
  }
  void set_prefix(const std::string& prefix) { prefix_ = prefix; }
  bool interrupted() const { return guard_.interrupted(); }

 private:
  const InterruptGuard guard_;
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  ProgressBar bar_;
  std::string prefix_;
};

std::string DescribeServer(const v1::GetCapabilitiesResponse& capabilities) {
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
        " (closed loop) or at a rate of its own (open loop). In an open loop latency counts"
        " from the intended time of sending: a server that stalls is not spared the calls"
        " that would have come. Every answer is compared with what it must be, those of the"
        " warm-up and those before it, too; what is right is known without the server. Exit"
        " code 4 when a limit of --fail-above is exceeded, no call is answered in time, most"
        " are not answered at all (refused, say), an answer is wrong, or --find-knee finds no"
        " rate that is borne, or --find-cells no cell that is carried.\n"
        "While it runs, standard error has a line that is overwritten, or, where that is no"
        " terminal, one JSON object a second, less often in long measurements: elapsed_s and"
        " covered_s (since its begin, and what the object covers, seconds), due (calls,"
        " whether or not they have ended), good, late, expired, refused, wrong, skipped"
        " (calls that have ended, due in this time or before), in_flight (calls that have"
        " not), blocks (count, failed, bler; null where none is decoded), p50_s, p99_s"
        " (seconds, or null). With --find-cells there is one with tried and carried after"
        " each number of cells.");
    AddLoadFlags(app_, &load_);
    app_->footer(
        "Examples:\n"
        "  basebandctl load decode --in-flight=32\n"
        "  basebandctl load decode --rate=2k --deadline=5ms --fail-above=p99=2ms\n"
        "  basebandctl load decode --cells=8 --slot=500us --jitter=20us --harq=0.1\n"
        "  basebandctl load encode --find-knee --knee-bound=p99=2ms --html=report.html\n"
        "  basebandctl load decode --nr-bg=1 --zc=384 --rows=4 --blocks=150 --find-cells\n"
        "  basebandctl load --scenario=slots.json --metrics=http://127.0.0.1:9151/metrics");
    return app_;
  }

  int Run(const GlobalFlags& flags) override {
    absl::StatusOr<LoadPlan> plan = ToPlan(load_, flags, *app_);
    if (!plan.ok()) {
      return FailArguments(plan.status());
    }
    LoadReport report;
    report.limits = plan->limits;
    report.bounds = plan->bounds;
    load::LoadSpec& spec = plan->spec;
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
      report.server = DescribeServer(*capabilities);
      shared = capabilities->shared_memory();
      if (flags.shared_memory) {
        auto arena = client::SharedArena::Connect(capabilities->shared_memory(), 1);
        if (!arena.ok()) {
          return FailConnect(arena.status());
        }
        spec.arena = *std::move(arena);
      }
      if (flags.ring) spec.rings = shared;
      auto traffic = MakeTraffic(client->get(), flags, plan->mix,
                                 KindsOfDevices(*capabilities, flags.target), load_.seed);
      if (!traffic.ok()) {
        return FailPreparation(traffic.status());
      }
      workloads = std::move(traffic->workloads);
      if (spec.arena != nullptr || flags.ring || !plan->transports.empty()) {
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
    if (plan->cells.has_value()) return FindCells(flags, *plan, &workloads, &progress, report);
    if (!plan->transports.empty())
      return Compare(flags, shared, *plan, workloads, &progress, report);
    const absl::Status status = load_.find_knee ? Search(spec, workloads, &progress, &report)
                                                : Measure(spec, workloads, &progress, &report);
    if (!status.ok()) return FailLoad(status, progress);
    if (csv != nullptr) {
      csv->Write(ToCsv(report));
    }
    if (html != nullptr) {
      html->Write(ToHtml(report));
    }
    return Finish(flags, report, progress.interrupted());
  }

 private:
  // An answer that is wrong beyond doubt is what a load is to find, before it begins, too.
  static int FailPreparation(const absl::Status& status) {
    if (absl::IsDataLoss(status)) {
      return Fail(absl::DataLossError(absl::StrCat("wrong answers: ", status.message())),
                  kNegativeResult);
    }
    // FailedPrecondition is the server's: a kind in quarantine, which it takes again later.
    // What the server does not know was asked for here.
    const bool bad_arguments = absl::IsInvalidArgument(status) || absl::IsNotFound(status);
    return bad_arguments ? FailArguments(status) : FailRpc(status);
  }

  static int FailLoad(const absl::Status& status, const Progress& progress) {
    if (progress.interrupted()) return kInterrupted;
    return absl::IsInvalidArgument(status) ? FailArguments(status) : FailConnect(status);
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
              const LoadPlan& plan, const std::vector<load::Workload>& workloads,
              Progress* progress, LoadReport report) {
    TransportResults results;
    bool is_negative = false;
    for (const Transport& transport : plan.transports) {
      load::LoadSpec chosen = plan.spec;
      if (const absl::Status status = Choose(transport, shared, &chosen); !status.ok()) {
        return FailConnect(status);
      }
      progress->set_prefix(absl::StrCat(transport.name, ": "));
      const absl::Status status = Measure(chosen, workloads, progress, &report);
      if (!status.ok() || progress->interrupted()) return FailLoad(status, *progress);
      is_negative |= report.IsNegative();
      results.emplace_back(transport, report.result);
    }
    absl::FPrintF(outputs_.report(), "%s",
                  flags.json ? ToJson(results).dump(2) + "\n" : ToText(results));
    return is_negative ? kNegativeResult : kOk;
  }

  // The most cells that are carried, for each deadline.
  int FindCells(const GlobalFlags& flags, const LoadPlan& plan,
                std::vector<load::Workload>* workloads, Progress* progress,
                const LoadReport& known) {
    CellsReport report;
    report.server = known.server;
    report.wrong_before = known.wrong_before;
    report.criterion = *plan.cells;
    const auto run = [&](const load::LoadSpec& spec, const std::string& what,
                         const load::OnLoadProgress& go_on) -> absl::StatusOr<load::LoadResult> {
      progress->set_prefix(what + ": ");
      const load::OnLoadProgress show = progress->OnProgress();
      absl::StatusOr<load::LoadResult> result = load::RunLoad(
          spec, *workloads, [&](const auto& seen) { return show(seen) && go_on(seen); });
      if (progress->interrupted()) return absl::CancelledError("interrupted");
      if (result.ok()) {
        progress->TellTry(what, report.criterion.IsMet(result->totals.All().outcomes));
      }
      return result;
    };
    const absl::Status status = SearchCells(plan.spec, workloads, run, &report);
    if (!status.ok()) return FailLoad(status, *progress);
    absl::FPrintF(outputs_.report(), "%s",
                  flags.json ? ToJson(report).dump(2) + "\n" : ToText(report));
    return report.IsNegative() ? kNegativeResult : kOk;
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
  Outputs outputs_;
};

}  // namespace

std::unique_ptr<Command> MakeLoadCommand() { return std::make_unique<LoadCommand>(); }

}  // namespace baseband::ctl
