// `wideband-signal`: something to try `downconvert` with.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/frequency.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/outputs.h"
#include "client/ctl/common/sample_names.h"
#include "client/ctl/common/sigmf.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/common/text_table.h"
#include "client/ctl/common/wideband_format.h"
#include "client/ctl/downconvert/wideband_signal.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

constexpr int64_t kBlock = 1 << 16;

class WidebandSignalCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* command = app->add_subcommand(
        "wideband-signal",
        "Writes a test recording for downconvert: tones, FM stations, noise.\n"
        "Needs no server. The same flags give the same samples. Without --tone and --fm there are"
        " a tone, a stronger neighbour, an FM station and a weak tone. Numbers take k, M and G;"
        " levels are in dB of full scale.");
    command
        ->add_option("--out,-o", out_, "file to write, - for standard output; .sigmf-meta: SigMF")
        ->required()
        ->type_name("FILE");
    AddNumber(command, "--rate", "HZ", &spec_.sample_rate_hz, Above(0), "sample rate (64M)");
    command
        ->add_option("--format", format_,
                     "ci8, ci16, cf32, cu8, i8, i16, f32 or u8 (by the name, else ci16)")
        ->type_name("NAME");
    AddNumber(command, "--samples", "N", &samples_, Between(1, 1e12), "how many (4Mi)");
    command
        ->add_option("--tone", tones_, "FREQ[:DB]: a tone, of -12 dB if DB is left out. Repeatable")
        ->allow_extra_args(false)
        ->type_name("FREQ");
    command
        ->add_option(
            "--fm", fm_,
            "FREQ[:DB[:DEVIATION[:AUDIO]]]: an FM station, of 75k and an audio tone of 1k if"
            " left out. Repeatable")
        ->allow_extra_args(false)
        ->type_name("FREQ");
    AddNumber(command, "--noise", "DB", &spec_.noise_db, Between(-300, 100),
              "power in the whole band (-50)");
    AddNumber(command, "--seed", "N", &spec_.seed, kSeeds, "of the noise (1)");
    command->footer(
        "Examples:\n"
        "  basebandctl wideband-signal -o test.sigmf-meta\n"
        "  basebandctl downconvert test.sigmf-meta --channel 9.1M:8 --channel -20M:64 \\\n"
        "    -o out --plot out.svg\n"
        "\n"
        "  basebandctl wideband-signal --rate 2.4M --format cu8 --fm 300k:-10 -o test.cu8");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    const absl::Status status = Prepare();
    if (!status.ok()) {
      return FailArguments(status);
    }
    if (absl::Status written = Write(); !written.ok()) {
      return FailArguments(written);
    }
    WarnOfClipping();
    Report(flags);
    return kOk;
  }

 private:
  absl::Status Prepare() {
    for (const auto& [texts, parse] :
         {std::make_pair(&tones_, &ParseTone), std::make_pair(&fm_, &ParseFmStation)}) {
      for (const std::string& text : *texts) {
        const absl::StatusOr<Station> station = parse(text);
        if (!station.ok()) {
          return station.status();
        }
        spec_.stations.push_back(*station);
      }
    }
    for (const Station& station : spec_.stations) {
      const double reach = std::abs(station.frequency_hz) + std::abs(station.deviation_hz);
      if (reach > spec_.sample_rate_hz / 2) {
        return absl::InvalidArgumentError(absl::StrCat(
            station.audio_hz > 0 ? "--fm " : "--tone ", Hertz(station.frequency_hz),
            station.audio_hz > 0 ? absl::StrCat(" +-", Hertz(station.deviation_hz)) : "",
            " is beyond the band, which ends at ", Hertz(spec_.sample_rate_hz / 2),
            ", half the sample rate, either side: it would come out elsewhere"));
      }
    }
    if (spec_.stations.empty()) {
      spec_.stations = ExampleStations(spec_.sample_rate_hz);
    }
    return SetFormat();
  }

  void WarnOfClipping() const {
    double peak = 0;
    for (const Station& station : spec_.stations) {
      peak += std::pow(10, station.level_db / 20);
    }
    if (sample_format_->full_scale > 1 && peak > 1) {
      absl::FPrintF(stderr,
                    "basebandctl: warning: the stations together reach %.1f dB above full scale of"
                    " %s: what is beyond is cut off; lower their levels, or use cf32\n",
                    20 * std::log10(peak), sample_format_->name);
    }
  }

  absl::Status SetFormat() {
    SampleNameToWrite name = {"--out", out_, "", "ci16", {}};
    for (const WidebandFormat& format : WidebandFormats()) {
      name.writable.emplace_back(format.name);
    }
    if (!format_.empty()) {
      const auto asked = FindWidebandFormat(format_);
      if (!asked.ok()) {
        return asked.status();
      }
      name.asked = (*asked)->name;
    }
    const absl::StatusOr<std::string> format = FormatToWrite(name);
    if (!format.ok()) {
      return format.status();
    }
    sample_format_ = *FindWidebandFormat(*format);
    return absl::OkStatus();
  }

  absl::Status Write() {
    const SampleOutput out = OpenSamples("--out", out_, &outputs_);
    WidebandSignal signal(spec_);
    ProgressBar bar;
    for (int64_t done = 0; done < samples_ && outputs_.status().ok(); done += kBlock) {
      out.data->Write(
          WidebandFromComplex(signal.Next(std::min(kBlock, samples_ - done)), *sample_format_));
      bar.Show(static_cast<double>(done) / static_cast<double>(samples_), "writing");
    }
    if (out.meta != nullptr) {
      SigmfMeta meta;
      meta.datatype = sample_format_->sigmf;
      meta.sample_rate_hz = spec_.sample_rate_hz;
      meta.captures.emplace_back();
      meta.description = "test signal, by basebandctl wideband-signal";
      out.meta->Write(ToSigmfText(meta));
    }
    return outputs_.Commit();
  }

  void Report(const GlobalFlags& flags) const {
    std::FILE* const stream = outputs_.report();
    if (flags.json) {
      nlohmann::ordered_json json = {{"file", out_},
                                     {"format", sample_format_->name},
                                     {"sample_rate_hz", spec_.sample_rate_hz},
                                     {"samples", samples_},
                                     {"noise_db", spec_.noise_db}};
      for (const Station& station : spec_.stations) {
        json["stations"].push_back({{"frequency_hz", station.frequency_hz},
                                    {"level_db", station.level_db},
                                    {"deviation_hz", station.deviation_hz},
                                    {"audio_hz", station.audio_hz}});
      }
      absl::FPrintF(stream, "%s\n", json.dump(2));
      return;
    }
    absl::FPrintF(
        stream, "%s: %d samples (%s), %s at %s, noise of %g dB, and\n", out_, samples_,
        sample_format_->name,
        HumanDuration(absl::Seconds(static_cast<double>(samples_) / spec_.sample_rate_hz)),
        Hertz(spec_.sample_rate_hz), spec_.noise_db);
    TextTable table({{"frequency"}, {"level"}, {"", false}});
    for (const Station& station : spec_.stations) {
      table.Add({Hertz(station.frequency_hz), absl::StrFormat("%g dB", station.level_db),
                 station.audio_hz > 0 ? absl::StrCat("FM, +-", Hertz(station.deviation_hz),
                                                     ", a tone of ", Hertz(station.audio_hz))
                                      : "tone"});
    }
    absl::FPrintF(stream, "%s", table.ToText());
  }

  std::string out_;
  std::string format_;
  const WidebandFormat* sample_format_ = nullptr;
  int64_t samples_ = 1 << 22;
  std::vector<std::string> tones_;
  std::vector<std::string> fm_;
  WidebandSpec spec_;
  Outputs outputs_;
};

}  // namespace

std::unique_ptr<Command> MakeWidebandSignalCommand() {
  return std::make_unique<WidebandSignalCommand>();
}

}  // namespace baseband::ctl
