// `ber`: error-rate curves through the server.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/cpp/code_shape.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/notes.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/outputs.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/ldpc/code_flags.h"
#include "client/ctl/plot/plot.h"
#include "client/ctl/studies/ber_curve.h"
#include "client/ctl/studies/ber_report.h"
#include "common/numbers/numbers.h"
#include "kernels/base/steady_time.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

class BerCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* const command = command_ = app->add_subcommand(
        "ber",
        "Measures error rates over Eb/N0, through the server.\n"
        "Random information goes through Encode, BPSK over white Gaussian noise (made here), 8-bit"
        " LLRs, and Decode. Bit and frame error rates come with their 95 % confidence limits."
        " Without code flags: 802.16e (2304,1152).");
    command->add_option("--ebn0", ebn0_, "points in dB: 1,1.5,2 or BEGIN:STEP:END (0:0.5:3)")
        ->type_name("LIST");
    command
        ->add_option("--curve", curves_,
                     "SCHEDULE:ALGORITHM[:ITERATIONS], once for each curve (one curve of"
                     " --schedule, --algorithm)")
        ->type_name("SPEC")
        ->expected(1)
        ->take_all();
    const Range frames = Between(1, int64_t{1} << 40);
    AddNumber(command, "--frames", "N", &frames_, frames,
              "exactly so many frames a point, however many errors");
    AddNumber(command, "--min-frame-errors", "N", &min_frame_errors_, frames,
              "a point ends with this many frame errors or --max-frames (100)");
    AddNumber(command, "--max-frames", "N", &max_frames_, frames, "most frames of a point (20000)");
    AddNumber(command, "--floor", "FER", &floor_, Between(0, 1),
              "a curve ends after a point whose frame error rate is not above this, and says which"
              " are left out (0)");
    AddNumber(command, "--frames-per-request", "N", &frames_per_request_, Between(1, 65536),
              "how many travel together (128)");
    AddNumber(command, "--seed", "N", &seed_, kSeeds, "of information and noise (1)");
    command->add_option("--csv", csv_, "write a table")->type_name("FILE");
    command->add_option("--plot", plot_, "draw the curves as SVG")->type_name("FILE");
    AddCodeFlags(command, &code_);
    AddNumber(command, "--llr-count", "N", &decode_.llr_count, Between(1, 1 << 20),
              "send only the first bits of a code word (all)")
        ->group("Decoder");
    AddDecodeFlags(command, &decode_);
    command->footer(
        "Example, layered against flooding schedule with three algorithms:\n"
        "  basebandctl ber --wimax=1/2 --n=2304 --ebn0=0:0.25:7 --iterations=10 \\\n"
        "    --curve=layered:sum-product --curve=flooding:sum-product \\\n"
        "    --curve=layered:min-sum --curve=flooding:min-sum \\\n"
        "    --curve=flooding:bit-flipping --csv=ber.csv --plot=ber.svg");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    std::vector<Curve> curves;
    std::vector<double> ebn0_db;
    if (absl::Status status = Prepare(&curves, &ebn0_db); !status.ok()) {
      return FailArguments(status);
    }
    OutputFile* const csv = outputs_.Open("--csv", csv_);
    OutputFile* const plot = outputs_.Open("--plot", plot_);
    const Session session(flags, outputs_);
    if (session.exit_code() != kOk) {
      return session.exit_code();
    }
    if (!flags.json) {
      absl::FPrintF(outputs_.report(), "%s; BPSK over AWGN, %.3f information bits a symbol\n",
                    Describe(curves[0].decode.code()), Rate(curves[0]));
    }
    for (Curve& curve : curves) {
      if (absl::Status status = Measure(session, ebn0_db, &curve); !status.ok()) {
        return FailRpc(status);
      }
    }
    if (csv != nullptr) {
      csv->Write(ToCsv(curves));
    }
    if (plot != nullptr) {
      plot->Write(RenderSvg(ToPlot(curves)));
    }
    if (absl::Status status = outputs_.Commit(); !status.ok()) {
      return FailArguments(status);
    }
    if (flags.json) {
      nlohmann::ordered_json json;
      json["code"] = Describe(curves[0].decode.code());
      json["rate"] = Rate(curves[0]);
      json["curves"] = nlohmann::ordered_json::array();
      for (const Curve& curve : curves) {
        json["curves"].push_back(ToJson(curve));
      }
      absl::FPrintF(outputs_.report(), "%s\n", json.dump(2));
    }
    return kOk;
  }

 private:
  static double Rate(const Curve& curve) {
    return CodeRate(curve.decode, *client::ShapeOf(curve.decode.code()));
  }

  absl::Status Prepare(std::vector<Curve>* curves, std::vector<double>* ebn0_db) {
    if (absl::Status status = CheckTogether(); !status.ok()) {
      return status;
    }
    if (!code_.any()) {
      code_.wimax_rate = "1/2";
    }
    std::vector<std::string> notes;
    const absl::StatusOr<v1::LdpcCode> code = ToLdpcCode(code_);
    absl::StatusOr<std::vector<double>> list = ParseDecibels("--ebn0", ebn0_, &notes);
    if (!code.ok() || !list.ok()) {
      return code.ok() ? list.status() : code.status();
    }
    PrintNotes(notes);
    *ebn0_db = *std::move(list);
    const int sent = client::ShapeOf(*code)->sent();
    if (decode_.llr_count > sent || (decode_.llr_count > 0 && decode_.llr_count <= code_.filler)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--llr-count ", decode_.llr_count, " is not in [", code_.filler + 1, ", ", sent, "]"));
    }
    if (curves_.empty()) {
      curves_.push_back(absl::StrCat(decode_.schedule, ":", decode_.algorithm));
    }
    for (const std::string& spec : curves_) {
      absl::StatusOr<Curve> curve = ParseCurve(spec);
      if (!curve.ok()) {
        return curve.status();
      }
      *curve->decode.mutable_code() = *code;
      curve->decode.set_n_filler(code_.filler);
      curves->push_back(*std::move(curve));
    }
    return absl::OkStatus();
  }

  // What another flag would leave without effect.
  absl::Status CheckTogether() const {
    constexpr std::pair<const char*, const char*> kApart[] = {{"--algorithm", "--curve"},
                                                              {"--schedule", "--curve"},
                                                              {"--min-frame-errors", "--frames"},
                                                              {"--max-frames", "--frames"}};
    for (const auto& [flag, other] : kApart) {
      if (command_->count(flag) > 0 && command_->count(other) > 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(flag, " does not go with ", other, ", which says it all"));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Curve> ParseCurve(const std::string& spec) const {
    const std::vector<std::string> parts = absl::StrSplit(spec, ':');
    Curve curve;
    curve.flags = decode_;
    if (parts.size() < 2 || parts.size() > 3 ||
        (parts.size() == 3 && !ParseWholeIn(parts[2], 1, 100, &curve.flags.iterations))) {
      return absl::InvalidArgumentError(
          absl::StrCat("--curve '", spec,
                       "' is not SCHEDULE:ALGORITHM[:ITERATIONS] with ITERATIONS in [1, 100]"));
    }
    curve.flags.schedule = parts[0];
    curve.flags.algorithm = parts[1];
    if (curves_.size() > 1 && parts[1] != "min-sum" && parts[1] != "nms") {
      curve.flags.scale_factor = 0;  // it is of the others
    }
    absl::StatusOr<v1::DecodeGroup> decode = ToDecodeGroup(curve.flags);
    if (!decode.ok()) {
      return decode.status();
    }
    curve.decode = *std::move(decode);
    curve.label = absl::StrCat(parts[0], " ", parts[1]);
    if (parts.size() == 3) {
      absl::StrAppend(&curve.label, ", ", parts[2], " it.");
    }
    return curve;
  }

  absl::Status Measure(const Session& session, const std::vector<double>& ebn0_db,
                       Curve* curve) const {
    const GlobalFlags& flags = session.flags();
    const RequestLimits limits = session.limits();
    PointSpec spec;
    spec.decode = curve->decode;
    spec.seed = seed_;
    spec.max_frames = frames_ > 0 ? frames_ : max_frames_;
    spec.min_frame_errors = frames_ > 0 ? INT64_MAX : min_frame_errors_;
    const int block_bytes = client::ShapeOf(spec.decode.code())->sent();
    spec.frames_per_request = std::min<int64_t>(
        {frames_per_request_, limits.blocks, std::max<int64_t>(1, limits.bytes / block_bytes)});
    if (!flags.json) {
      absl::FPrintF(outputs_.report(), "\n%s, %d iterations\n", curve->label,
                    curve->flags.iterations);
      absl::FPrintF(outputs_.report(),
                    "  Eb/N0    frames  wrong        FER  (95 %% limits)           BER"
                    "  iterations\n");
    }
    ProgressBar bar(!flags.json);
    for (size_t i = 0; i < ebn0_db.size(); ++i) {
      spec.ebn0_db = ebn0_db[i];
      const absl::Time begin = SteadyNow();
      const absl::StatusOr<ErrorRate> rate =
          MeasurePoint(session.client(), flags, spec, [&](const ErrorRate& so_far) {
            ShowProgress(spec, so_far, static_cast<double>(i) / static_cast<double>(ebn0_db.size()),
                         1.0 / static_cast<double>(ebn0_db.size()), &bar);
          });
      bar.Clear();
      if (!rate.ok()) {
        return rate.status();
      }
      CurvePoint point{ebn0_db[i], absl::ToDoubleSeconds(SteadyNow() - begin), *rate};
      curve->points.push_back(point);
      if (!flags.json) {
        PrintPoint(point);
      }
      if (rate->fer() <= floor_) {
        curve->left_out = Behind(i, ebn0_db);
        break;
      }
    }
    if (!flags.json) Print(curve->left_out, floor_, outputs_.report());
    return absl::OkStatus();
  }

  static void ShowProgress(const PointSpec& spec, const ErrorRate& so_far, double base,
                           double share, ProgressBar* bar) {
    const double done = std::max(
        static_cast<double>(so_far.frames()) / static_cast<double>(spec.max_frames),
        static_cast<double>(so_far.frame_errors()) / static_cast<double>(spec.min_frame_errors));
    bar->Show(base + share * std::min(done, 1.0),
              absl::StrFormat("%.2f dB: %d frames, %d wrong", spec.ebn0_db, so_far.frames(),
                              so_far.frame_errors()));
  }

  void PrintPoint(const CurvePoint& point) const {
    const Interval fer = point.rate.FerInterval();
    absl::FPrintF(outputs_.report(), "  %5.2f  %8d  %5d  %9.2e  (%.1e .. %.1e)  %9.2e  %10.2f\n",
                  point.ebn0_db, point.rate.frames(), point.rate.frame_errors(), point.rate.fer(),
                  fer.low, fer.high, point.rate.ber(), point.rate.mean_iterations());
    std::fflush(outputs_.report());
  }

  CLI::App* command_ = nullptr;
  std::string ebn0_ = "0:0.5:3";
  std::vector<std::string> curves_;
  int64_t frames_ = 0;
  int64_t min_frame_errors_ = 100;
  int64_t max_frames_ = 20000;
  double floor_ = 0;
  int64_t frames_per_request_ = 128;
  uint64_t seed_ = 1;
  std::string csv_;
  std::string plot_;
  CodeFlags code_;
  DecodeFlags decode_;
  Outputs outputs_;
};

}  // namespace

std::unique_ptr<Command> MakeBerCommand() { return std::make_unique<BerCommand>(); }

}  // namespace baseband::ctl
