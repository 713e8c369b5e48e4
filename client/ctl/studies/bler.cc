// `bler`: block error rates and throughput of 5G NR with HARQ, through the server.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/notes.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/outputs.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/plot/plot.h"
#include "client/ctl/studies/ber_curve.h"
#include "client/ctl/studies/bler_report.h"
#include "common/numbers/numbers.h"
#include "kernels/base/steady_time.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

constexpr int kDefaultPrbs = 24;
// Where curves are looked for without --snr: around the threshold of each MCS, further below it
// where transmissions add up.
constexpr double kBelowOneDb = 2;
constexpr double kBelowSeveralDb = 7;
constexpr double kAboveDb = 2;
constexpr double kStepDb = 0.5;

class BlerCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* const command = command_ = app->add_subcommand(
        "bler",
        "Measures block error rates and throughput of 5G NR over Es/N0, through the server.\n"
        "Random transport blocks go through EncodeSharedChannel, white Gaussian noise on their"
        " symbols (made here), and DecodeSharedChannel. A block whose CRC fails is sent again, with"
        " redundancy versions 0, 2, 3, 1, and combined. Error rates after each number of"
        " transmissions come with their 95 % confidence limits.");
    command
        ->add_option("--snr", snr_,
                     "points in dB: 10,10.5 or BEGIN:STEP:END (around the threshold of each MCS)")
        ->type_name("LIST");
    command->add_option("--mcs", mcs_, "curves: 4,10,16 or BEGIN:STEP:END of --mcs-table (16)")
        ->type_name("LIST");
    AddNumber(command, "--transmissions", "N", &transmissions_, Between(1, kMaxTransmissions),
              "most of a block (4)");
    const Range blocks = Between(1, int64_t{1} << 40);
    AddNumber(command, "--blocks", "N", &blocks_, blocks,
              "exactly so many transport blocks a point, however many errors");
    AddNumber(command, "--min-block-errors", "N", &spec_.min_block_errors, blocks,
              "a point ends with this many blocks wrong after the last transmission or --max-blocks"
              " (50)");
    AddNumber(command, "--max-blocks", "N", &spec_.max_blocks, blocks,
              "most blocks of a point (1000)");
    AddNumber(
        command, "--floor", "BLER", &floor_, Between(0, 1),
        "a curve ends after a point whose error rate after one transmission is not above this,"
        " and says which are left out (0)");
    AddNumber(command, "--blocks-per-request", "N", &blocks_per_request_, Between(1, 65536),
              "how many travel together at most (16)");
    AddNumber(command, "--seed", "N", &spec_.seed, kSeeds, "of information and noise (1)");
    command->add_option("--csv", csv_, "write a table")->type_name("FILE");
    command->add_option("--plot", plot_, "draw the curves as SVG")->type_name("FILE");
    AddFormatFlags(command, &format_, kDefaultPrbs);
    AddReceiverFlags(command);
    command->footer(
        "Examples:\n"
        "  basebandctl bler --mcs=16 --snr=8:0.5:16 --plot=harq.svg\n"
        "  basebandctl bler --mcs=0:1:27 --transmissions=1 --floor=0.001 --csv=mcs.csv");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    std::vector<BlerCurves> all;
    if (absl::Status status = Prepare(&all); !status.ok()) {
      return FailArguments(status);
    }
    OutputFile* const csv = outputs_.Open("--csv", csv_);
    OutputFile* const plot = outputs_.Open("--plot", plot_);
    const Session session(flags, outputs_);
    if (session.exit_code() != kOk) {
      return session.exit_code();
    }
    for (BlerCurves& curves : all) {
      if (absl::Status status = Measure(session, &curves); !status.ok()) {
        return FailRpc(status);
      }
    }
    if (csv != nullptr) {
      csv->Write(ToTable(all).ToCsv());
    }
    if (plot != nullptr) {
      plot->Write(RenderSvg(ToPlot(all, Subtitle())));
    }
    if (absl::Status status = outputs_.Commit(); !status.ok()) {
      return FailArguments(status);
    }
    if (flags.json) {
      nlohmann::ordered_json json;
      json["input"] = input_;
      json["curves"] = nlohmann::ordered_json::array();
      for (const BlerCurves& curves : all) {
        json["curves"].push_back(ToJson(curves));
      }
      absl::FPrintF(outputs_.report(), "%s\n", json.dump(2));
    }
    return kOk;
  }

 private:
  void AddReceiverFlags(CLI::App* command) {
    const char* group = "Receiver";
    AddInputFlag(command, &input_)->group(group);
    AddNumber(command, "--iterations", "N", &decode_.iterations, Between(1, 100),
              "most iterations of a code block (10)")
        ->group(group);
    AddNumber(command, "--scale-factor", "FACTOR", &decode_.scale_factor, UpTo(1),
              "of normalised min-sum (the server's choice)")
        ->group(group);
    AddNumber(command, "--llr-scale", "SCALE", &decode_.llr_scale, Between(0.001, 1024),
              "LLR units per natural LLR that symbols are demapped to (the server's choice)")
        ->group(group);
    command
        ->add_flag("--log-sum", decode_.log_sum, "demap by sums, not by the largest term of each")
        ->group(group);
    AddEarlyStopFlag(command, &decode_.early_stop)->group(group);
  }

  absl::Status Prepare(std::vector<BlerCurves>* all) {
    for (const char* flag : {"--min-block-errors", "--max-blocks"}) {
      if (command_->count(flag) > 0 && blocks_ > 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(flag, " does not go with --blocks, which says it all"));
      }
    }
    if (blocks_ > 0) {
      spec_.max_blocks = blocks_;
      spec_.min_block_errors = INT64_MAX;
    }
    if (absl::Status status = CheckDemapping(ParseReceivedType(input_), decode_); !status.ok()) {
      return status;
    }
    absl::StatusOr<std::vector<absl::optional<int>>> indices = ParseIndices();
    if (!indices.ok()) {
      return indices.status();
    }
    std::vector<std::string> notes;
    if (!snr_.empty()) {
      absl::StatusOr<std::vector<double>> points = ParseDecibels("--snr", snr_, &notes);
      if (!points.ok()) {
        return points.status();
      }
      snr_db_ = *std::move(points);
      PrintNotes(notes);
    }
    for (const absl::optional<int>& index : *indices) {
      absl::StatusOr<TransportFormat> format = ToTransportFormat(format_, index);
      if (!format.ok()) {
        return format.status();
      }
      all->push_back({*std::move(format), transmissions_, {}});
    }
    return absl::OkStatus();
  }

  // What --mcs says; one that is not set without it.
  absl::StatusOr<std::vector<absl::optional<int>>> ParseIndices() const {
    if (mcs_.empty()) {
      return std::vector<absl::optional<int>>(1);
    }
    std::vector<absl::optional<int>> indices;
    for (const absl::string_view item : absl::StrSplit(mcs_, ',')) {
      std::vector<int> range;
      for (const absl::string_view part : absl::StrSplit(item, ':')) {
        if (!ParseWholeIn(part, 0, 28, &range.emplace_back())) {
          return absl::InvalidArgumentError(
              absl::StrCat("--mcs: '", part, "' is not a whole number in [0, 28]"));
        }
      }
      if (range.size() == 1) {
        range = {range[0], 1, range[0]};
      }
      if (range.size() != 3 || range[1] < 1 || range[2] < range[0]) {
        return absl::InvalidArgumentError(
            absl::StrCat("--mcs: '", item, "' is not BEGIN:STEP:END with a step above zero"));
      }
      for (int index = range[0]; index <= range[2]; index += range[1]) {
        indices.emplace_back(index);
      }
    }
    return indices;
  }

  std::vector<double> PointsOf(const TransportFormat& format) const {
    if (!snr_db_.empty()) {
      return snr_db_;
    }
    const double threshold = std::round(ThresholdSnrDb(format.mcs) / kStepDb) * kStepDb;
    std::vector<double> points;
    for (double offset = transmissions_ > 1 ? -kBelowSeveralDb : -kBelowOneDb; offset <= kAboveDb;
         offset += kStepDb) {
      points.push_back(threshold + offset);
    }
    return points;
  }

  absl::Status Measure(const Session& session, BlerCurves* curves) const {
    const GlobalFlags& flags = session.flags();
    const TransportFormat& format = curves->format;
    const ReceivedType type = ParseReceivedType(input_);
    const std::vector<double> points = PointsOf(format);
    const double share = 1.0 / static_cast<double>(points.size());
    BlerSpec spec = spec_;
    {
      // The largest request is that of the last transmission.
      const HarqLink link(format, decode_, type, 0, transmissions_, spec.seed);
      spec.blocks_per_request =
          std::min({blocks_per_request_, MostBlocks(session.limits(), link.EncodeSizes()),
                    MostBlocks(session.limits(), link.DecodeSizes(0)),
                    MostBlocks(session.limits(), link.DecodeSizes(transmissions_ - 1))});
    }
    if (!flags.json) {
      absl::FPrintF(outputs_.report(), "%s%s: %s; %d bits in %s\n%s", is_first_ ? "" : "\n",
                    format.Name(), format.Describe(), format.plan.tb_bits,
                    Plural(format.plan.num_blocks, "code block"), BlerHeader(transmissions_));
      is_first_ = false;
    }
    ProgressBar bar(!flags.json);
    for (size_t i = 0; i < points.size(); ++i) {
      const HarqLink link(format, decode_, type, points[i], transmissions_, spec.seed);
      const absl::Time begin = SteadyNow();
      const absl::StatusOr<BlerCounts> counts =
          MeasureBler(session.client(), flags, link, spec, [&](const BlerCounts& so_far) {
            ShowProgress(spec, points[i], so_far, static_cast<double>(i) * share, share, &bar);
          });
      bar.Clear();
      if (!counts.ok()) {
        return counts.status();
      }
      curves->points.push_back({points[i], absl::ToDoubleSeconds(SteadyNow() - begin), *counts});
      if (!flags.json) {
        absl::FPrintF(outputs_.report(), "%s", BlerLine(*curves, curves->points.back()));
        std::fflush(outputs_.report());
      }
      if (counts->bler(0) <= floor_) {
        curves->left_out = Behind(i, points);
        break;
      }
    }
    if (!flags.json) Print(curves->left_out, floor_, outputs_.report());
    return absl::OkStatus();
  }

  void ShowProgress(const BlerSpec& spec, double snr_db, const BlerCounts& so_far, double base,
                    double share, ProgressBar* bar) const {
    const int64_t failed = so_far.failed(transmissions_ - 1);
    const double done =
        std::max(static_cast<double>(so_far.blocks()) / static_cast<double>(spec.max_blocks),
                 static_cast<double>(failed) / static_cast<double>(spec.min_block_errors));
    bar->Show(base + share * std::min(done, 1.0),
              absl::StrFormat("%.2f dB: %d blocks, %d wrong", snr_db, so_far.blocks(), failed));
  }

  std::string Subtitle() const {
    return absl::StrFormat(
        "AWGN, input %s, at most %d iterations; HARQ with rv 0, 2, 3, 1; bars: 95 %% "
        "confidence",
        input_, decode_.iterations);
  }

  CLI::App* command_ = nullptr;
  std::string snr_;
  std::string mcs_;
  std::vector<double> snr_db_;
  int transmissions_ = kMaxTransmissions;
  int64_t blocks_ = 0;
  double floor_ = 0;
  int64_t blocks_per_request_ = 16;
  BlerSpec spec_;
  std::string csv_;
  std::string plot_;
  std::string input_ = "int16";
  FormatFlags format_;
  SharedDecodeFlags decode_;
  mutable bool is_first_ = true;
  Outputs outputs_;
};

}  // namespace

std::unique_ptr<Command> MakeBlerCommand() { return std::make_unique<BlerCommand>(); }

}  // namespace baseband::ctl
