// `carrier-signal`: frames to try `recover` with.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "client/ctl/carrier/carrier_flags.h"
#include "client/ctl/carrier/carrier_signal.h"
#include "client/ctl/carrier/constellations.h"
#include "client/ctl/carrier/known_symbols.h"
#include "client/ctl/carrier/pulse_signal.h"
#include "client/ctl/carrier/symbol_files.h"
#include "client/ctl/common/angles.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/outputs.h"
#include "client/ctl/common/symbols.h"
#include "client/ctl/common/taps_file.h"
#include "client/ctl/common/terminal.h"
#include "kernels/timing/pulse.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

class CarrierSignalCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* command = app->add_subcommand(
        "carrier-signal",
        "Writes test frames for recover: random symbols, a carrier, noise.\n"
        "The server only tells the constellation's points; the rest is made here, with a fixed"
        " seed. All frames have the same frequency and phase, and as samples the same timing.");
    command->add_option("--constellation", constellation_, "by name (QPSK)")->type_name("NAME");
    command
        ->add_option("--out,-o", out_,
                     "file to write: .cf32, .cf16, .ci16; .sigmf-meta makes a SigMF recording")
        ->required()
        ->type_name("FILE");
    command
        ->add_option("--format", format_,
                     "cf32, cf16 or ci16 (by the name; to standard output cf32)")
        ->type_name("NAME");
    AddNumber(command, "--frame-symbols", "N", &frame_symbols_, Between(16, 1 << 20),
              "symbols of a frame (those of 64800 bits)");
    AddNumber(command, "--frames", "N", &frames_, Between(1, 1 << 20), "how many (1)");
    AddNumber(command, "--snr", "DB", &snr_db_, Between(-100, 200),
              "Es/N0 (2 dB more than the constellation is used at)");
    AddNumber(command, "--frequency", "F", &frequency_, Between(-0.5, 0.5),
              "cycles per symbol (half of what blind recovery reaches)");
    AddNumber(command, "--phase", "DEGREES", &phase_degrees_, Between(-360, 360),
              "of the first symbol (20)");
    AddNumber(command, "--symbol-rate", "HZ", &symbol_rate_hz_, Above(0),
              "noted in a SigMF recording");
    AddPulseFlags(command);
    command
        ->add_option("--pilots", pilots_,
                     "dvbs2: a header and pilots in between; the frame grows by them")
        ->type_name("LAYOUT");
    command->add_option("--known-out", known_out_, "write the known symbols, for recover --known")
        ->type_name("FILE");
    AddNumber(command, "--seed", "N", &seed_, kSeeds, "of symbols and noise (1)");
    command->footer(
        "Examples:\n"
        "  basebandctl carrier-signal --constellation=\"16APSK 3/4\" -o test.cf32\n"
        "  basebandctl recover test.cf32 --constellation=\"16APSK 3/4\" --plot=test.svg\n"
        "\n"
        "  basebandctl carrier-signal --constellation=\"64APSK 132/180\" --pilots=dvbs2 \\\n"
        "    --known-out=pilots.cf32 --frequency=0.07 --frames=20 -o test.cf32\n"
        "\n"
        "  basebandctl carrier-signal --samples-per-symbol=5/2 --roll-off=0.2 \\\n"
        "    --timing-offset=0.3 --clock-error=20e-6 -o test.cf32");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    SymbolFile file;
    if (absl::Status status = Prepare(&file); !status.ok()) {
      return FailArguments(status);
    }
    out_samples_ = OpenSamples("--out", out_, &outputs_);
    known_samples_ = OpenSamples("--known-out", known_out_, &outputs_);
    if (outputs_.status().ok()) {
      if (absl::Status status = SetFormats(&file); !status.ok()) {
        return FailArguments(status);
      }
    }
    const Session session(flags, outputs_);
    if (session.exit_code() != kOk) {
      return session.exit_code();
    }
    const auto constellations = FetchPoints(session.client(), flags, {constellation_});
    if (!constellations.ok()) {
      return absl::IsNotFound(constellations.status()) ? FailArguments(constellations.status())
                                                       : FailRpc(constellations.status());
    }
    const NamedPoints& constellation = constellations->front();

    SignalSpec spec;
    spec.points = constellation.points;
    spec.snr_db = std::isnan(snr_db_) ? constellation.operating_snr_db + 2 : snr_db_;
    spec.frequency = std::isnan(frequency_) ? 0.25 / constellation.power : frequency_;
    spec.phase = phase_degrees_ / kDegreesPerRadian;
    spec.num_symbols = NumSymbols(constellation);
    const std::vector<uint32_t> positions =
        pilots_.empty() ? std::vector<uint32_t>() : DvbS2Positions(spec.num_symbols);
    Write(spec, positions, &file);
    if (absl::Status status = outputs_.Commit(); !status.ok()) {
      return FailArguments(status);
    }
    Report(flags, constellation, spec, positions.size());
    return kOk;
  }

 private:
  void AddPulseFlags(CLI::App* command) {
    const char* pulses = "Samples of pulses, for recover --samples-per-symbol";
    CLI::Option* const samples =
        command
            ->add_option("--samples-per-symbol", samples_per_symbol_,
                         "so many, 2 to 16, perhaps a fraction: 4, 5/2 (symbols, one sample each)")
            ->type_name("P/Q")
            ->group(pulses);
    CLI::Option* const roll_off =
        AddNumber(command, "--roll-off", "A", &pulses_.roll_off, Between(0.05, 1),
                  "of the root-raised-cosine pulse (0.2)")
            ->group(pulses)
            ->needs(samples);
    AddTapsFlags(command, pulses, samples, &taps_file_, &pulses_.taps_per_symbol)
        ->excludes(roll_off);
    AddNumber(command, "--timing-offset", "SYMBOLS", &pulses_.offset, Between(0, 1),
              "from the first sample to the centre of the first symbol (0.3)")
        ->group(pulses)
        ->needs(samples);
    AddNumber(command, "--clock-error", "E", &pulses_.clock_error, Between(-1e-3, 1e-3),
              "by which symbols are longer, of their length (0)")
        ->group(pulses)
        ->needs(samples);
  }

  absl::Status Prepare(SymbolFile* file) {
    file->sample_rate_hz = symbol_rate_hz_;
    if (!samples_per_symbol_.empty()) {
      absl::StatusOr<SamplesPerSymbol> parsed = ParseSamplesPerSymbol(samples_per_symbol_);
      if (!parsed.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("--samples-per-symbol ", parsed.status().message()));
      }
      pulses_.samples_per_symbol = *parsed;
      file->sample_rate_hz *= parsed->value();
      if (absl::Status status = ReadPulse(); !status.ok()) {
        return status;
      }
    }
    if (!pilots_.empty() && pilots_ != "dvbs2") {
      return absl::InvalidArgumentError(
          absl::StrCat("--pilots '", pilots_, "' is not one of dvbs2"));
    }
    if (pilots_.empty() != known_out_.empty()) {
      return absl::InvalidArgumentError(pilots_.empty() ? "--known-out needs --pilots=dvbs2"
                                                        : "--pilots needs --known-out=FILE");
    }
    return absl::OkStatus();
  }

  absl::Status ReadPulse() {
    if (taps_file_.empty()) {
      return absl::OkStatus();
    }
    absl::StatusOr<std::vector<float>> taps = ReadTaps(taps_file_);
    if (!taps.ok()) {
      return taps.status();
    }
    const auto count = static_cast<int64_t>(taps->size());
    const int64_t most = int64_t{2} * timing::kMaxTapsReach * pulses_.taps_per_symbol + 1;
    if (count % 2 == 0 || count < 3 || count > most) {
      return absl::InvalidArgumentError(absl::StrCat("--taps ", taps_file_, " has ",
                                                     Plural(count, "number"),
                                                     ", not an odd number in [3, ", most, "]"));
    }
    const auto is_zero = [](float tap) { return tap == 0; };
    if (std::all_of(taps->begin(), taps->end(), is_zero) ||
        !std::all_of(taps->begin(), taps->end(), [](float tap) { return std::isfinite(tap); })) {
      return absl::InvalidArgumentError(
          absl::StrCat("--taps ", taps_file_, " are all 0, or one is not finite"));
    }
    pulses_.taps = *std::move(taps);
    return absl::OkStatus();
  }

  // Once the files are known to be writable at all.
  absl::Status SetFormats(SymbolFile* file) {
    const auto format = SymbolFormatToWrite("--out", out_, format_, v1::SAMPLE_FORMAT_FLOAT32);
    const auto known =
        SymbolFormatToWrite("--known-out", known_out_, "", v1::SAMPLE_FORMAT_FLOAT32);
    if (!format.ok() || !known.ok()) {
      return format.ok() ? known.status() : format.status();
    }
    file->format = *format;
    known_format_ = *known;
    return absl::OkStatus();
  }

  // With pilots, that of the data and as many pilot blocks as fit in between.
  int NumSymbols(const NamedPoints& constellation) const {
    if (frame_symbols_ != 0) {
      return frame_symbols_;
    }
    const int data = constellation.SymbolsOf64800Bits();
    return pilots_.empty() ? data : 90 + data + (data - 1) / 1440 * 36;
  }

  void Write(const SignalSpec& spec, const std::vector<uint32_t>& positions,
             SymbolFile* file) const {
    Random random(seed_);
    const std::vector<Complex> known =
        RandomPilots(static_cast<int64_t>(positions.size()), &random);
    std::vector<Complex> received;
    const bool is_sampled = !samples_per_symbol_.empty();
    absl::optional<PulseTable> pulse;
    if (is_sampled) {
      pulse.emplace(pulses_);
    }
    for (int i = 0; i < frames_; ++i) {
      if (!is_sampled) {
        AppendFrame(spec, positions, known, &random, nullptr, &received);
      } else {
        AppendSamples(spec, pulses_, *pulse, positions, known, &random, nullptr, &received);
      }
    }
    file->bytes = FromComplex(received, file->format, Scale(file->format));
    WriteSymbols(out_samples_, *file,
                 absl::StrFormat("%s, Es/N0 %g dB, frequency %g cycles/symbol, by basebandctl",
                                 constellation_, spec.snr_db, spec.frequency));
    if (known_samples_.data != nullptr) {
      SymbolFile pilots;
      pilots.format = known_format_;
      pilots.bytes = FromComplex(known, pilots.format, DefaultScale(pilots.format));
      WriteSymbols(known_samples_, pilots, "known symbols, by basebandctl");
    }
  }

  int64_t FrameSamples(const SignalSpec& spec) const {
    return SamplesFor(pulses_.samples_per_symbol, kDefaultMaxClockError, spec.num_symbols);
  }

  // int16: a third of full scale is the rms, so that next to nothing is cut off.
  static float Scale(v1::SampleFormat format) {
    return format == v1::SAMPLE_FORMAT_INT16 ? 3 * DefaultScale(format) : 1;
  }

  void Report(const GlobalFlags& flags, const NamedPoints& constellation, const SignalSpec& spec,
              size_t known) const {
    std::FILE* const stream = outputs_.report();
    if (flags.json) {
      nlohmann::ordered_json json;
      json["constellation"] = constellation.name;
      json["frames"] = frames_;
      json["frame_symbols"] = spec.num_symbols;
      json["known_symbols"] = known;
      json["snr_db"] = spec.snr_db;
      json["frequency"] = spec.frequency;
      json["phase"] = spec.phase;
      if (!samples_per_symbol_.empty()) {
        json["frame_samples"] = FrameSamples(spec);
        json["samples_per_symbol"] = ToText(pulses_.samples_per_symbol);
        if (pulses_.taps.empty()) {
          json["roll_off"] = pulses_.roll_off;
        } else {
          json["taps"] = pulses_.taps.size();
        }
        json["timing_offset"] = pulses_.offset;
        json["clock_error"] = pulses_.clock_error;
      }
      absl::FPrintF(stream, "%s\n", json.dump());
      return;
    }
    absl::FPrintF(stream,
                  "%s: %s of %d symbols of %s%s,\nEs/N0 %g dB, frequency %+.9g"
                  " cycles/symbol, phase %g degrees\n",
                  out_, Plural(frames_, "frame"), spec.num_symbols, constellation.name,
                  known == 0 ? "" : absl::StrCat(" (", known, " of them known)"), spec.snr_db,
                  spec.frequency, phase_degrees_);
    if (!samples_per_symbol_.empty()) {
      absl::FPrintF(stream,
                    "%d samples a frame, %s a symbol, %s, timing offset %g symbols, clock error"
                    " %g\n",
                    FrameSamples(spec), ToText(pulses_.samples_per_symbol),
                    pulses_.taps.empty() ? absl::StrFormat("roll-off %g", pulses_.roll_off)
                                         : Plural(static_cast<int64_t>(pulses_.taps.size()), "tap"),
                    pulses_.offset, pulses_.clock_error);
    }
  }

  std::string constellation_ = "QPSK";
  std::string out_;
  std::string format_;
  v1::SampleFormat known_format_ = v1::SAMPLE_FORMAT_FLOAT32;
  int frame_symbols_ = 0;
  int frames_ = 1;
  double snr_db_ = NAN;
  double frequency_ = NAN;
  double phase_degrees_ = 20;
  double symbol_rate_hz_ = 0;
  std::string samples_per_symbol_;
  PulseSpec pulses_ = {SamplesPerSymbol(), /*roll_off=*/0.2, /*offset=*/0.3, /*clock_error=*/0};
  std::string taps_file_;
  std::string pilots_;
  std::string known_out_;
  uint64_t seed_ = 1;
  Outputs outputs_;
  SampleOutput out_samples_;
  SampleOutput known_samples_;
};

}  // namespace

std::unique_ptr<Command> MakeCarrierSignalCommand() {
  return std::make_unique<CarrierSignalCommand>();
}

}  // namespace baseband::ctl
