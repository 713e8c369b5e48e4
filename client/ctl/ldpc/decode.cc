// `decode`: LLRs of a file in, information bits out.
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cpp/code_shape.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/notes.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/outputs.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/ldpc/code_flags.h"
#include "client/ctl/ldpc/llr_check.h"
#include "client/ctl/ldpc/transfer.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

class DecodeCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* command = app->add_subcommand(
        "decode",
        "Decodes the LLRs of a file.\n"
        "The file holds whole blocks of signed bytes: positive means 0, zero means unknown. The"
        " output is the information bits, each block filled up to whole bytes with zeros. Exit"
        " code 4 when the parity checks of a block do not hold; its bits are written all the"
        " same. Where none does, standard error says what the LLRs themselves tell of that, if"
        " they do.");
    command->add_option("INPUT", input_, "file of LLRs, - for standard input")->required();
    command
        ->add_option("--out,-o", out_,
                     "file to write, raw bytes (-: standard output, also without -o)")
        ->type_name("FILE");
    command->add_option("--soft", soft_, "also write the a-posteriori LLRs of all code bits here")
        ->type_name("FILE");
    command->add_flag("--blocks", list_blocks_, "list every block with its iterations and status");
    AddCodeFlags(command, &code_);
    AddNumber(command, "--llr-count", "N", &decode_.llr_count, Between(1, 1 << 20),
              "LLRs per block, of the first bits that are sent (all)")
        ->group("Decoder");
    AddDecodeFlags(command, &decode_);
    command->footer(
        "Examples:\n"
        "  basebandctl decode llr.bin --wimax=1/2 --n=2304 -o bits.bin\n"
        "  basebandctl decode llr.bin --nr-bg=2 --zc=52 --llr-count=1560 --filler=60 \\\n"
        "    --algorithm=sum-product --iterations=20 -o bits.bin --soft=app.bin");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    v1::DecodeGroup group;
    std::string llr;
    if (absl::Status status = Prepare(&group, &llr); !status.ok()) {
      return FailArguments(status);
    }
    OutputFile* const out = outputs_.Open("--out", out_);
    OutputFile* const soft = outputs_.Open("--soft", soft_);
    const Session session(flags, outputs_);
    if (session.exit_code() != kOk) {
      return session.exit_code();
    }
    ProgressBar bar(!flags.json);
    const auto blocks = static_cast<double>(llr.size() / LlrCount(group));
    const auto decoded = DecodeBlocks(session, group, llr, [&](int64_t done) {
      bar.Show(static_cast<double>(done) / blocks, "decoding");
    });
    bar.Clear();
    if (!decoded.ok()) {
      return FailRpc(decoded.status());
    }
    out->Write(decoded->payload);
    if (soft != nullptr) {
      soft->Write(decoded->soft);
    }
    if (absl::Status status = outputs_.Commit(); !status.ok()) {
      return FailArguments(status);
    }
    const int exit_code = Report(flags, group, *decoded);
    if (std::count(decoded->parity_ok.begin(), decoded->parity_ok.end(), 0) ==
        static_cast<int64_t>(decoded->parity_ok.size())) {
      TellWhy(group, llr);
    }
    return exit_code;
  }

 private:
  absl::Status Prepare(v1::DecodeGroup* group, std::string* llr) {
    absl::StatusOr<v1::LdpcCode> code = ToLdpcCode(code_);
    absl::StatusOr<v1::DecodeGroup> parsed = ToDecodeGroup(decode_);
    if (!code.ok() || !parsed.ok()) {
      return code.ok() ? parsed.status() : code.status();
    }
    *group = *std::move(parsed);
    *group->mutable_code() = *std::move(code);
    group->set_n_filler(code_.filler);
    group->set_soft_output(!soft_.empty());
    absl::StatusOr<std::string> contents = ReadData(input_);
    if (!contents.ok()) {
      return contents.status();
    }
    *llr = *std::move(contents);
    if (llr->empty())
      return absl::InvalidArgumentError(absl::StrCat(InputName(input_), " is empty"));
    if (llr->size() % LlrCount(*group) != 0) {
      return absl::InvalidArgumentError(absl::StrCat(InputName(input_), " has ", llr->size(),
                                                     " bytes, not a multiple of the ",
                                                     LlrCount(*group), " LLRs of a block"));
    }
    return absl::OkStatus();
  }

  // No block decoded: what the LLRs say of that, on standard error.
  void TellWhy(const v1::DecodeGroup& group, const std::string& llr) const {
    LlrBlocks blocks;
    blocks.llrs_per_block = static_cast<int64_t>(LlrCount(group));
    blocks.information_bits = client::ShapeOf(group.code())->k() - int64_t{group.n_filler()};
    blocks.fillers = group.n_filler();
    if (group.llr_scale() != 0) blocks.llr_scale = group.llr_scale();
    if (const std::string why = WhyNoneDecoded(llr, blocks); !why.empty()) {
      PrintNotes({absl::StrCat("no block of ", InputName(input_), " decoded: ", why)});
    }
  }

  static size_t LlrCount(const v1::DecodeGroup& group) {
    return group.llr_count() != 0 ? group.llr_count() : client::ShapeOf(group.code())->sent();
  }

  // On standard error when the data goes to standard output.
  int Report(const GlobalFlags& flags, const v1::DecodeGroup& group, const Decoded& decoded) const {
    std::FILE* const stream = outputs_.report();
    const int64_t blocks = static_cast<int64_t>(decoded.parity_ok.size());
    const int64_t failed = std::count(decoded.parity_ok.begin(), decoded.parity_ok.end(), 0);
    const double iterations =
        std::accumulate(decoded.iterations.begin(), decoded.iterations.end(), 0.0) /
        static_cast<double>(blocks);
    const double rate = static_cast<double>(blocks) *
                        (client::ShapeOf(group.code())->k() - group.n_filler()) /
                        absl::ToDoubleSeconds(decoded.times.wall);
    if (flags.json) {
      nlohmann::ordered_json json;
      json["code"] = Describe(group.code());
      json["blocks"] = blocks;
      json["failed_blocks"] = failed;
      json["mean_iterations"] = iterations;
      json["requests"] = decoded.times.requests;
      json["seconds"] = absl::ToDoubleSeconds(decoded.times.wall);
      json["info_bits_per_second"] = rate;
      if (list_blocks_) {
        json["iterations"] = decoded.iterations;
        json["parity_ok"] = std::vector<bool>(decoded.parity_ok.begin(), decoded.parity_ok.end());
      }
      absl::FPrintF(stream, "%s\n", json.dump());
    } else {
      for (int64_t i = 0; list_blocks_ && i < blocks; ++i) {
        absl::FPrintF(stream, "block %d: %s, %s\n", i, Plural(decoded.iterations[i], "iteration"),
                      decoded.parity_ok[i] ? "ok" : "PARITY FAILED");
      }
      absl::FPrintF(
          stream, "%s of %s in %s: %d failed, %.2f iterations on average, %s, %s of information\n",
          Plural(blocks, "block"), Describe(group.code()),
          Plural(decoded.times.requests, "request"), failed, iterations,
          HumanDuration(decoded.times.wall), HumanRate(rate));
    }
    return failed == 0 ? kOk : kNegativeResult;
  }

  std::string input_;
  std::string out_ = "-";
  std::string soft_;
  bool list_blocks_ = false;
  CodeFlags code_;
  DecodeFlags decode_;
  Outputs outputs_;
};

}  // namespace

std::unique_ptr<Command> MakeDecodeCommand() { return std::make_unique<DecodeCommand>(); }

}  // namespace baseband::ctl
