// `wideband-signal`: something to try `downconvert` with.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/si_number.h"
#include "client/ctl/common/si_option.h"
#include "client/ctl/common/sigmf.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/common/text_table.h"
#include "client/ctl/downconvert/wideband_format.h"
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
    command->add_option("--rate", spec_.sample_rate_hz, "sample rate (64M)")
        ->transform(SiNumber())
        ->type_name("HZ");
    command
        ->add_option("--format", format_,
                     "ci8, ci16, cf32, cu8, i8, i16, f32 or u8 (by the name, else ci16)")
        ->type_name("NAME");
    command->add_option("--samples", samples_, "how many (4194304)")
        ->transform(SiNumber())
        ->type_name("N");
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
    command->add_option("--noise", spec_.noise_db, "power in the whole band (-50)")
        ->type_name("DB");
    command->add_option("--seed", spec_.seed, "of the noise (1)")->type_name("N");
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
    Report(flags);
    return kOk;
  }

 private:
  absl::Status Prepare() {
    if (!(spec_.sample_rate_hz > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--rate ", spec_.sample_rate_hz, " is not > 0"));
    }
    if (!(samples_ >= 1 && samples_ <= 1e12)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--samples ", samples_, " is not in [1, 1e12]"));
    }
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
    if (spec_.stations.empty()) {
      spec_.stations = ExampleStations(spec_.sample_rate_hz);
    }
    sample_format_ = FormatOfFileName(out_);
    if (sample_format_ == nullptr || !format_.empty()) {
      const auto named = FindWidebandFormat(format_.empty() ? "ci16" : format_);
      if (!named.ok()) {
        return named.status();
      }
      sample_format_ = *named;
    }
    return absl::OkStatus();
  }

  absl::Status Write() {
    std::string base;
    const bool sigmf = SplitSigmfPath(out_, &base);
    const std::string path = sigmf ? base + kSigmfData : out_;
    std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
    const auto error = [&](const char* what) {
      return absl::NotFoundError(
          absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(errno)));
    };
    if (file == nullptr) {
      return error("create");
    }
    WidebandSignal signal(spec_);
    ProgressBar bar;
    bool ok = true;
    const auto all = static_cast<int64_t>(samples_);
    for (int64_t done = 0; done < all && ok; done += kBlock) {
      const std::string bytes =
          WidebandFromComplex(signal.Next(std::min(kBlock, all - done)), *sample_format_);
      ok = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
      bar.Show(static_cast<double>(done) / samples_, "writing");
    }
    ok = (file == stdout ? std::fflush(file) : std::fclose(file)) == 0 && ok;
    if (!ok) {
      return error("write");
    }
    if (!sigmf) {
      return absl::OkStatus();
    }
    SigmfMeta meta;
    meta.datatype = sample_format_->sigmf;
    meta.sample_rate_hz = spec_.sample_rate_hz;
    meta.captures.emplace_back();
    meta.description = "test signal, by basebandctl wideband-signal";
    return WriteFile(base + kSigmfMeta, ToSigmfText(meta));
  }

  void Report(const GlobalFlags& flags) const {
    std::FILE* stream = out_ == "-" ? stderr : stdout;
    if (flags.json) {
      nlohmann::ordered_json json = {{"file", out_},
                                     {"format", sample_format_->name},
                                     {"sample_rate_hz", spec_.sample_rate_hz},
                                     {"samples", static_cast<int64_t>(samples_)},
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
    absl::FPrintF(stream, "%s: %d samples (%s), %s at %s, noise of %g dB, and\n", out_,
                  static_cast<int64_t>(samples_), sample_format_->name,
                  HumanDuration(absl::Seconds(samples_ / spec_.sample_rate_hz)),
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
  double samples_ = 1 << 22;
  std::vector<std::string> tones_;
  std::vector<std::string> fm_;
  WidebandSpec spec_;
};

}  // namespace

std::unique_ptr<Command> MakeWidebandSignalCommand() {
  return std::make_unique<WidebandSignalCommand>();
}

}  // namespace baseband::ctl
