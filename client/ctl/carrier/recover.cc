// `recover`: frequency, phase and corrected symbols of the frames of a file.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/carrier/carrier_flags.h"
#include "client/ctl/carrier/carrier_plot.h"
#include "client/ctl/carrier/carrier_report.h"
#include "client/ctl/carrier/constellations.h"
#include "client/ctl/carrier/known_symbols.h"
#include "client/ctl/carrier/pulse_signal.h"
#include "client/ctl/carrier/symbol_files.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/front_end_flags.h"
#include "client/ctl/common/notes.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/outputs.h"
#include "client/ctl/common/symbols.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/ldpc/transfer.h"
#include "client/ctl/plot/plot.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

constexpr int64_t kMaxRows = 32;
// Of CarrierGroup.frame_symbols, and what these are at 2 samples a symbol and no clock error, and
// at 16 and the largest one.
constexpr int64_t kMinFrameSymbols = 16;
constexpr int64_t kMaxFrameSymbols = 1 << 20;
constexpr int64_t kMinFrameSamples = 33;
constexpr int64_t kMaxFrameSamples = 16794010;

class RecoverCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* command = app->add_subcommand(
        "recover",
        "Finds frequency and phase of received symbols, and corrects them.\n"
        "The file holds complex samples, I before Q, little endian: one a symbol, after the matched"
        " filter and the timing recovery, or with --samples-per-symbol two and more, before them;"
        " or it is a SigMF recording (name either of its files), or a WAV file of two channels."
        " Exit code 4 when a frame is not locked; everything is written all the same.");
    command
        ->add_option("INPUT", input_,
                     "file of symbols, - for standard input; .sigmf-meta for SigMF, .wav for WAV")
        ->required();
    AddConstellationFlags(command, &carrier_);
    command
        ->add_option(
            "--format", format_,
            "cf32, cf16 or ci16 (by the name: .cf32, .cf16, .ci16, .cs16, ..; of standard input"
            " cf32)")
        ->type_name("NAME");
    AddNumber(command, "--frame-symbols", "N", &frame_symbols_,
              Between(kMinFrameSymbols, kMaxFrameSymbols),
              "cut the file into frames of so many (the whole file is one)");
    AddNumber(command, "--frame-samples", "N", &frame_samples_,
              Between(kMinFrameSamples, kMaxFrameSamples),
              "the same, with --samples-per-symbol: those of 16 to 1Mi symbols");
    command->add_flag("--drop", drop_, "leave out what is over at the end of the file");
    command
        ->add_option(
            "--known", known_,
            "known symbols as they were sent, the constellation's mean energy being 1: samples,"
            " of the frame's beginning; or as .csv or .txt \"POSITION I Q\" a line")
        ->type_name("FILE");
    command
        ->add_option("--pilots", pilots_,
                     "dvbs2: the samples of --known are header and pilots of a DVB-S2 frame"
                     " (they are the first of the frame)")
        ->type_name("LAYOUT");
    AddTimingFlags(command, &carrier_);
    AddCarrierFlags(command, &carrier_);
    AddFrontEndFlags(command, &wanted_);
    const char* output = "Output";
    command
        ->add_option("--out,-o", out_,
                     "write the corrected symbols, in the format that the name tells (.cf32, .cf16,"
                     " .ci16; - for standard output, in the input's)")
        ->type_name("FILE")
        ->group(output);
    command->add_option("--plot", plot_, "draw a frame before and after, and the curve, as SVG")
        ->type_name("FILE")
        ->group(output);
    AddNumber(command, "--plot-frame", "N", &plot_frame_, Between(0, int64_t{1} << 32),
              "which one (0)")
        ->group(output);
    command->add_option("--csv", csv_, "write all numbers of all frames")
        ->type_name("FILE")
        ->group(output);
    command->add_flag("--all", all_, "list every frame, not only the first 32")->group(output);
    command->footer(
        "Examples:\n"
        "  basebandctl carrier-signal --constellation=\"16APSK 3/4\" -o test.cf32\n"
        "  basebandctl recover test.cf32 --constellation=\"16APSK 3/4\" --plot=test.svg\n"
        "  basebandctl recover capture.sigmf-meta --constellation=QPSK \\\n"
        "    --frame-symbols=32400 --csv=frames.csv -o corrected.sigmf-meta\n"
        "  basebandctl recover frames.cs16 --constellation=\"64APSK 132/180\" \\\n"
        "    --frame-symbols=11142 --pilots=dvbs2 --known=pilots.cf32\n"
        "  basebandctl recover channel.sigmf-meta --constellation=QPSK --samples-per-symbol=5/2 "
        "\\\n"
        "    --roll-off=0.2 -o symbols.cf32");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    v1::CarrierGroup group;
    SymbolFile symbols;
    if (absl::Status status = Prepare(&group, &symbols); !status.ok()) {
      return FailArguments(status);
    }
    const SampleOutput out = OpenSamples("--out", out_, &outputs_);
    OutputFile* const plot = outputs_.Open("--plot", plot_);
    OutputFile* const csv = outputs_.Open("--csv", csv_);
    const auto out_format = SymbolFormatToWrite("--out", out_, "", input_format_);
    if (outputs_.status().ok() && !out_format.ok()) {
      return FailArguments(out_format.status());
    }
    const Session session(flags, outputs_);
    if (session.exit_code() != kOk) {
      return session.exit_code();
    }
    if (!group.constellation().name().empty()) {
      if (absl::Status status =
              CheckConstellation(session.capabilities(), group.constellation().name());
          !status.ok()) {
        return FailArguments(status);
      }
    }
    ProgressBar bar(!flags.json);
    const auto recovered = RecoverFrames(session, group, symbols.bytes, [&](int64_t done) {
      bar.Show(static_cast<double>(done) / group.count(), "recovering");
    });
    bar.Clear();
    if (!recovered.ok()) {
      return FailRpc(recovered.status());
    }
    if (plot != nullptr) {
      const auto drawn = DrawFrame(session, group, symbols);
      if (!drawn.ok()) {
        return FailRpc(drawn.status());
      }
      plot->Write(RenderSvg(*drawn));
    }
    const CarrierReport report = {input_, group, &*recovered};
    if (out.data != nullptr) {
      const SymbolFile corrected = {
          *out_format, SymbolsToWrite(recovered->corrected, symbols.format, *out_format),
          group.symbol_rate_hz()};
      WriteSymbols(out, corrected, absl::StrCat("carrier recovered by basebandctl from ", input_));
    }
    if (csv != nullptr) {
      csv->Write(ToCsv(report));
    }
    if (absl::Status status = outputs_.Commit(); !status.ok()) {
      return FailArguments(status);
    }
    if (flags.json) {
      nlohmann::ordered_json json = ToJson(report);
      json["front_end"] = ToJson(front_end_, wanted_);
      absl::FPrintF(outputs_.report(), "%s\n", json.dump(2));
    } else {
      PrintReport(report, all_ ? INT64_MAX : kMaxRows, outputs_.report());
      if (const std::string told = ToText(front_end_, wanted_); !told.empty()) {
        absl::FPrintF(outputs_.report(), "front end: %s\n", told);
      }
    }
    return report.locked() == static_cast<int64_t>(recovered->frames.size()) ? kOk
                                                                             : kNegativeResult;
  }

 private:
  absl::Status Prepare(v1::CarrierGroup* group, SymbolFile* symbols) {
    absl::StatusOr<v1::CarrierGroup> parsed = ToCarrierGroup(carrier_);
    if (!parsed.ok()) {
      return parsed.status();
    }
    *group = *std::move(parsed);
    absl::StatusOr<SymbolFile> file = ReadSymbols(input_, format_);
    if (!file.ok()) {
      return file.status();
    }
    *symbols = *std::move(file);
    input_format_ = symbols->format;
    absl::StatusOr<FrontEnd> front_end = CorrectFrontEnd(wanted_, symbols);
    if (!front_end.ok()) {
      return front_end.status();
    }
    front_end_ = *std::move(front_end);
    if (group->symbol_rate_hz() == 0) {
      group->set_symbol_rate_hz(symbols->sample_rate_hz / SamplesPerSymbolOf(*group));
    } else if (const double said = symbols->sample_rate_hz / SamplesPerSymbolOf(*group);
               said != 0 && std::abs(group->symbol_rate_hz() - said) > 1e-9 * said) {
      PrintNotes({Contradiction("--symbol-rate", group->symbol_rate_hz(), input_, said)});
    }
    group->set_format(symbols->format);
    group->set_corrected(!out_.empty());
    absl::Status status = Cut(group, symbols);
    if (status.ok() && !(known_.empty() && pilots_.empty())) {
      const auto known = ReadKnownSymbols(known_, pilots_, FrameSymbols(*group));
      status = known.status();
      *group->mutable_known() = known.value_or(v1::KnownSymbols());
    }
    return status;
  }

  static double SamplesPerSymbolOf(const v1::CarrierGroup& group) {
    return group.has_timing() ? RateOf(group).value() : 1;
  }
  static SamplesPerSymbol RateOf(const v1::CarrierGroup& group) {
    return {group.timing().samples_per_symbol_numerator(),
            group.timing().samples_per_symbol_denominator()};
  }
  static int64_t FrameSymbols(const v1::CarrierGroup& group) {
    const v1::SymbolTiming& timing = group.timing();
    return group.has_timing() ? SymbolsOf(RateOf(group),
                                          timing.has_max_clock_error() ? timing.max_clock_error()
                                                                       : kDefaultMaxClockError,
                                          group.frame_samples())
                              : int64_t{group.frame_symbols()};
  }

  // The frames of the file: their size, and that they are whole.
  absl::Status Cut(v1::CarrierGroup* group, SymbolFile* symbols) const {
    const bool timing = group->has_timing();
    if (timing ? frame_symbols_ != 0 : frame_samples_ != 0) {
      return absl::InvalidArgumentError(
          timing ? "--frame-symbols is of symbols: of samples it is --frame-samples"
                 : "--frame-samples needs --samples-per-symbol");
    }
    const std::string noun = timing ? "samples" : "symbols";
    const int64_t most = timing ? kMaxFrameSamples : kMaxFrameSymbols;
    const int64_t asked = timing ? frame_samples_ : frame_symbols_;
    const int64_t size = BytesPerSample(symbols->format);
    const int64_t count = static_cast<int64_t>(symbols->bytes.size()) / size;
    const int64_t frame = asked == 0 ? count : asked;
    if (frame > most) {
      return absl::InvalidArgumentError(
          absl::StrCat(InputName(input_), " has ", count, " ", noun, ", more than the ", most,
                       " of one frame: cut it into frames by --frame-", noun, "=N"));
    }
    if (timing) {
      group->set_frame_samples(static_cast<uint32_t>(frame));
    } else {
      group->set_frame_symbols(static_cast<uint32_t>(frame));
    }
    const int64_t rest = count % frame;
    if (count < frame || (rest != 0 && !drop_)) {
      return absl::InvalidArgumentError(absl::StrCat(
          InputName(input_), " has ", count, " ", noun, ", ",
          count < frame ? "fewer than the " : "not a multiple of the ", frame, " of a frame",
          count < frame ? "" : absl::StrCat("; --drop leaves the last ", rest, " out")));
    }
    symbols->bytes.resize((count - rest) * size);
    const int64_t frames = count / frame;
    group->set_count(static_cast<uint32_t>(frames));
    return plot_.empty() || plot_frame_ < frames
               ? absl::OkStatus()
               : absl::InvalidArgumentError(absl::StrCat("--plot-frame ", plot_frame_,
                                                         " is not in [0, ", frames - 1, "]"));
  }

  // One frame once more, now with all that a picture needs.
  absl::StatusOr<Plot> DrawFrame(const Session& session, v1::CarrierGroup group,
                                 const SymbolFile& symbols) const {
    std::vector<Complex> points;
    for (int i = 0; i + 1 < group.constellation().points_size(); i += 2) {
      points.emplace_back(group.constellation().points(i), group.constellation().points(i + 1));
    }
    if (points.empty()) {
      const auto fetched =
          FetchPoints(session.client(), session.flags(), {group.constellation().name()});
      if (!fetched.ok()) {
        return fetched.status();
      }
      points = fetched->front().points;
    }
    group.set_corrected(true);
    group.set_curve(group.coarse() != v1::COARSE_METHOD_NONE ||
                    group.fine() == v1::FINE_METHOD_SWEEP);  // else there is none
    const int64_t bytes = FrameBytes(group);
    const auto frame = absl::string_view(symbols.bytes).substr(plot_frame_ * bytes, bytes);
    const absl::StatusOr<Recovered> recovered = RecoverFrames(session, group, frame);
    if (!recovered.ok()) {
      return recovered.status();
    }
    return PlotFrame(group.count() == 1 ? input_ : absl::StrCat(input_, ", frame ", plot_frame_),
                     group, ToComplex(frame, group.format(), DefaultScale(group.format())),
                     NormalisedPoints(std::move(points)), *recovered);
  }

  static std::vector<Complex> NormalisedPoints(std::vector<Complex> points) {
    double energy = 0;
    for (const Complex& point : points) {
      energy += std::norm(point);
    }
    const float scale = static_cast<float>(std::sqrt(static_cast<double>(points.size()) / energy));
    for (Complex& point : points) {
      point *= scale;
    }
    return points;
  }

  std::string input_;
  std::string format_;
  int64_t frame_symbols_ = 0;
  int64_t frame_samples_ = 0;
  bool drop_ = false;
  std::string known_;
  std::string pilots_;
  CarrierFlags carrier_;
  WantedCorrection wanted_;
  v1::SampleFormat input_format_ = v1::SAMPLE_FORMAT_UNSPECIFIED;
  FrontEnd front_end_;
  std::string out_;
  std::string plot_;
  int64_t plot_frame_ = 0;
  std::string csv_;
  bool all_ = false;
  Outputs outputs_;
};

}  // namespace

std::unique_ptr<Command> MakeRecoverCommand() { return std::make_unique<RecoverCommand>(); }

}  // namespace baseband::ctl
