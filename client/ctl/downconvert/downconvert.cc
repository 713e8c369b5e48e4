// `downconvert`: channels out of a wideband recording.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/front_end_flags.h"
#include "client/ctl/common/notes.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/wideband_file.h"
#include "client/ctl/downconvert/downconvert_flags.h"
#include "client/ctl/downconvert/downconvert_report.h"
#include "client/ctl/downconvert/downconvert_run.h"
#include "kernels/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

constexpr int kMaxRows = 32;

class DownconvertCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* command = app->add_subcommand(
        "downconvert",
        "Takes channels out of a wideband recording: mixed down, filtered, decimated.\n"
        "The file holds samples, little endian, complex ones as I before Q; or it is a SigMF"
        " recording (name either of its files), or a WAV file. Each channel becomes a file of "
        "complex samples."
        " Numbers take k, M and G.");
    command->add_option(
        "FILE", run_.input,
        "recording, - for standard input; .sigmf-meta for SigMF, .wav for WAV, RF64, BW64");
    command
        ->add_option("--format", run_.format,
                     "ci8, ci16, cf32, cu8 complex; i8, i16, f32, u8 real (by the name: .ci16,"
                     " .cs16, .sc16, .cf32, .cfile, ..; SigMF, WAV: its own)")
        ->type_name("NAME");
    AddNumber(command, "--cu8-centre", "BYTE", &cu8_centre_, Between(96, 160),
              "what stands for zero in cu8 and u8 (127.5; of WAV 128)");
    AddDownconvertFlags(command, &downconvert_);
    AddFrontEndFlags(command, &run_.wanted);
    AddOutputFlags(command);
    command->footer(
        "Examples:\n"
        "  basebandctl wideband-signal -o test.sigmf-meta\n"
        "  basebandctl downconvert test.sigmf-meta --channel 9.1M:8 --channel -20M:64 \\\n"
        "    -o out --plot out.svg\n"
        "\n"
        "  basebandctl downconvert air.cs16 --rate 64M --channel 9.1M:8 --describe\n"
        "  basebandctl downconvert air.cs16 --rate 64M --channels plan.json \\\n"
        "    -o out --sigmf\n"
        "  rtl_sdr -f 100M -s 2.4M - | basebandctl downconvert - --format cu8 \\\n"
        "    --rate 2.4M --centre 100M --channel @100.3M:10 -o - | my-demodulator\n"
        "  basebandctl downconvert hdsdr.wav --channel @7.1M:8 --remove-dc --correct-iq -o out");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    // Without anything to be written it is not worth the whole file.
    const bool describe_only = describe_ && prefix_.empty() && plot_.empty();
    if (run_.input.empty() && !describe_only) {
      return FailArguments(
          absl::InvalidArgumentError("no FILE is given; --describe alone needs none"));
    }
    if (!run_.input.empty()) {
      if (absl::Status status = Open(); !status.ok()) {
        return FailArguments(status);
      }
    }
    auto plan = ToDownconvertPlan(downconvert_, run_.file == nullptr ? Band() : BandOfFile());
    if (!plan.ok()) {
      return FailArguments(plan.status());
    }
    run_.plan = *std::move(plan);
    PrintNotes(run_.plan.notes);
    if (run_.file != nullptr) {
      run_.plan.setup.set_format(run_.file->wire_format().wire);
      if (const auto end = run_.file->end(); end.has_value()) {
        const absl::Status reached = CheckReached(run_.plan.retunes, *end);
        if (!reached.ok()) {
          return FailArguments(reached);
        }
      }
    }
    if (!describe_only) {
      auto files = ChannelFiles::Create(prefix_, sigmf_, run_.plan.setup, &run_.outputs);
      run_.plot = run_.outputs.Open("--plot", plot_);
      if (!files.ok()) {
        return FailArguments(files.status());
      }
      run_.files = *std::move(files);
    }
    const Session session(flags, run_.outputs);
    if (session.exit_code() != kOk) {
      return session.exit_code();
    }
    return describe_only ? Describe(session) : Convert(session);
  }

 private:
  // The file; what its front end did is measured only if that is to be undone, since it takes
  // reading ahead.
  absl::Status Open() {
    BASEBAND_ASSIGN_OR_RETURN(WidebandFile file,
                              WidebandFile::Open(run_.input, run_.format, cu8_centre_));
    if (cu8_centre_.has_value() && file.samples().encoding != Encoding::kUnsigned8) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--cu8-centre is of unsigned bytes: ", run_.input, " has ", file.samples().name()));
    }
    if (run_.wanted.dc || run_.wanted.iq) {
      BASEBAND_ASSIGN_OR_RETURN(run_.front_end, file.Measure());
      BASEBAND_ASSIGN_OR_RETURN(const IqCorrection correction,
                                ToCorrection(*run_.front_end, run_.wanted));
      file.Correct(correction);
    }
    run_.file = std::make_unique<WidebandFile>(std::move(file));
    return absl::OkStatus();
  }

  Band BandOfFile() const {
    return {run_.file->sample_rate_hz(), run_.file->centre_hz(), run_.file->has_several_centres(),
            run_.file->head_path()};
  }

  void AddOutputFlags(CLI::App* command) {
    const char* output = "Output";
    command
        ->add_option("-o", prefix_,
                     "write PREFIX.0.cf32, PREFIX.1.cf32, ..; - for standard output (one channel)")
        ->type_name("PREFIX")
        ->group(output);
    command
        ->add_flag("--sigmf", sigmf_,
                   "write SigMF: PREFIX.0.sigmf-data and -meta, with rate and frequency")
        ->group(output);
    command
        ->add_option("--plot", plot_,
                     "draw the spectrum with the channels in it, and those of the first six, as"
                     " SVG")
        ->type_name("FILE")
        ->group(output);
    command
        ->add_flag("--describe", describe_,
                   "print each channel's exact frequency, rate, filter, delay, ripple and"
                   " attenuation; alone it converts nothing")
        ->group(output);
    command->add_flag("--all", all_, "list every channel, not only the first 32")->group(output);

    const char* transport = "Transport (the samples are the same whatever is chosen)";
    AddNumber(command, "--chunk", "SAMPLES", &run_.chunk, Between(1, int64_t{1} << 40),
              "in a message (about 1 MiB of them)")
        ->group(transport);
    command
        ->add_flag("--unary", run_.unary,
                   "requests that stand alone, as for several servers, instead of one stream")
        ->group(transport);
  }

  // One sample tells as much as the file would.
  int Describe(const Session& session) {
    v1::DownconvertRequest request;
    *request.mutable_setup() = run_.plan.setup;
    for (const v1::Retune& retune : run_.plan.retunes) {
      *request.add_retunes() = retune;
    }
    request.mutable_setup()->set_format(v1::WIDEBAND_FORMAT_COMPLEX_FLOAT32);
    request.set_describe(true);
    request.set_payload(std::string(8, '\0'));
    const auto response = session.client()->Downconvert(std::move(request), session.flags().call());
    if (!response.ok()) {
      return FailRpc(response.status());
    }
    DownconvertReport report;
    report.input = run_.input;
    report.plan = run_.plan;
    report.totals.descriptions.assign(response->descriptions().begin(),
                                      response->descriptions().end());
    const std::string text = session.flags().json
                                 ? ToJson(report)["channels"].dump(2) + "\n"
                                 : DescribeChannels(run_.plan, report.totals.descriptions);
    absl::FPrintF(stdout, "%s", text);
    return kOk;
  }

  int Convert(const Session& session) {
    const DownconvertOutcome outcome = RunDownconvert(session, &run_);
    if (!outcome.status.ok()) {
      return outcome.is_local ? FailArguments(outcome.status) : FailRpc(outcome.status);
    }
    std::FILE* const stream = run_.outputs.report();
    const DownconvertReport& report = outcome.report;
    if (session.flags().json) {
      absl::FPrintF(stream, "%s\n", ToJson(report).dump(2));
      return outcome.interrupted ? kInterrupted : kOk;
    }
    if (describe_) {
      absl::FPrintF(stream, "%s\n", DescribeChannels(run_.plan, report.totals.descriptions));
    }
    absl::FPrintF(stream, "%s", ToText(report, all_ ? std::numeric_limits<int>::max() : kMaxRows));
    if (prefix_.empty()) {
      absl::FPrintF(stream, "No channel was written: -o PREFIX does that.\n");
    }
    if (outcome.interrupted) {
      absl::FPrintF(stderr, "basebandctl: interrupted: the recording was not read to its end\n");
      return kInterrupted;
    }
    return kOk;
  }

  DownconvertFlags downconvert_;
  DownconvertRun run_;
  absl::optional<double> cu8_centre_;
  std::string prefix_;  // of the channels' files; empty: none
  bool sigmf_ = false;
  std::string plot_;
  bool describe_ = false;
  bool all_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeDownconvertCommand() { return std::make_unique<DownconvertCommand>(); }

}  // namespace baseband::ctl
