// `demo`: a file through the server, with a noisy channel in between, and back.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/files.h"
#include "client/ctl/common/options.h"
#include "client/ctl/common/outputs.h"
#include "client/ctl/common/random.h"
#include "client/ctl/demo/demo_ldpc.h"
#include "client/ctl/demo/demo_nr.h"
#include "client/ctl/ldpc/code_flags.h"

namespace baseband::ctl {
namespace {

constexpr int kDefaultPrbs = 273;
// Where some of the default's blocks are wrong at first.
constexpr double kAboveThresholdDb = 0.25;

class DemoCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* const command = command_ = app->add_subcommand(
        "demo",
        "Sends a file through Encode, a noisy channel and Decode, and compares.\n"
        "The file is cut into code blocks, encoded by the server, sent as BPSK over white Gaussian"
        " noise (here, with a fixed seed), turned into 8-bit LLRs, decoded by the server, and put"
        " together again. Exit code 0 if the result equals the file, else 4. Without code flags:"
        " 5G NR BG1, Zc=384, rate 1/2.\n"
        "With --nr it travels as transport blocks of 5G NR: CRC, code blocks, rate matching,"
        " scrambling and modulation on the way in, symbols with noise on the way back; blocks whose"
        " CRC fails are sent again, with redundancy versions 0, 2, 3, 1, and combined (HARQ).");
    command->add_option("FILE", file_, "any file (1 MiB of random data)");
    command->add_option("--out,-o", out_, "write the recovered file here")->type_name("FILE");
    AddNumber(command, "--seed", "N", &seed_, kSeeds, "of the noise and of the random data (1)");
    Note(&of_ldpc_, [&] {
      AddNumber(command, "--ebn0", "DB", &ebn0_db_, Between(-100, 200),
                "Eb/N0 of the channel (one where all decodes: more, until it does)");
      AddCodeFlags(command, &code_);
      command->remove_option(command->get_option("--filler"));
    });
    AddDecodeFlags(command, &decode_);
    for (const char* flag : {"--algorithm", "--schedule", "--fixed"}) {
      of_ldpc_.push_back(flag);
    }
    command->add_flag("--nr", nr_, "transport blocks, symbols and HARQ");
    Note(&of_nr_, [&] {
      const char* group = "With --nr";
      AddNumber(
          command, "--snr", "DB", &snr_db_, Between(-50, 80),
          "Es/N0 of the channel (where some blocks need a second transmission, large ones often)")
          ->group(group);
      AddInputFlag(command, &input_)->group(group);
      AddNumber(command, "--transmissions", "N", &transmissions_, Between(1, kMaxTransmissions),
                "most of a block (4)")
          ->group(group);
      command->add_flag("--log-sum", log_sum_, "demap by sums, not by the largest term of each")
          ->group(group);
      AddEarlyStopFlag(command, &early_stop_)->group(group);
      AddNumber(command, "--mcs", "N", &mcs_, Between(0, 28), "modulation and coding scheme (16)")
          ->group(group);
      AddFormatFlags(command, &format_, kDefaultPrbs);
    });
    command->footer(
        "Examples:\n"
        "  basebandctl demo\n"
        "  basebandctl demo photo.jpg --ebn0=1.2 --out=recovered.jpg\n"
        "  basebandctl demo --wifi=5/6 --n=1944 --algorithm=sum-product\n"
        "  basebandctl demo photo.jpg --nr --mcs=20 --layers=2 --snr=19");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    DemoInput input;
    input.name = file_.empty() ? "(random data)" : file_;
    input.seed = seed_;
    absl::StatusOr<std::string> data =
        file_.empty() ? absl::StatusOr<std::string>(Random(seed_).Bytes(1 << 20)) : ReadData(file_);
    if (data.ok() && data->empty()) {
      data = absl::InvalidArgumentError(absl::StrCat(file_, " is empty"));
    }
    if (!data.ok()) {
      return FailArguments(data.status());
    }
    input.data = *std::move(data);
    return nr_ ? RunNr(flags, input) : RunLdpc(flags, input);
  }

 private:
  // Lists in `names` the options that `add` adds.
  template <typename Add>
  void Note(std::vector<std::string>* names, const Add& add) {
    const size_t before = command_->get_options().size();
    add();
    const std::vector<const CLI::Option*> all =
        static_cast<const CLI::App*>(command_)->get_options();
    for (size_t i = before; i < all.size(); ++i) {
      names->push_back(all[i]->get_name());
    }
  }

  absl::Status Refuse(const std::vector<std::string>& names, const char* why) const {
    for (const std::string& name : names) {
      if (command_->count(name) > 0) {
        return absl::InvalidArgumentError(absl::StrCat(name, " ", why));
      }
    }
    return absl::OkStatus();
  }

  int RunLdpc(const GlobalFlags& flags, const DemoInput& input) {
    if (!code_.any()) {
      code_.nr_bg = 1;
      code_.rows = code_.rows == 0 ? 24 : code_.rows;
    }
    const absl::StatusOr<v1::LdpcCode> code = ToLdpcCode(code_);
    absl::StatusOr<v1::DecodeGroup> group = ToDecodeGroup(decode_);
    for (const absl::Status& status :
         {Refuse(of_nr_, "goes with --nr only"), code.status(), group.status()}) {
      if (!status.ok()) {
        return FailArguments(status);
      }
    }
    *group->mutable_code() = *code;
    return Finish(flags, [&](const Session& session) {
      return RunLdpcDemo(session, input, *group, ebn0_db_);
    });
  }

  int RunNr(const GlobalFlags& flags, const DemoInput& input) {
    absl::Status status = Refuse(of_ldpc_, "does not go with --nr");
    const absl::StatusOr<TransportFormat> format = ToTransportFormat(format_, mcs_);
    status.Update(format.status());
    if (!status.ok()) {
      return FailArguments(status);
    }
    SharedDecodeFlags decode;
    decode.iterations = decode_.iterations;
    decode.scale_factor = decode_.scale_factor;
    decode.llr_scale = command_->count("--llr-scale") > 0 ? decode_.llr_scale : 0;
    decode.log_sum = log_sum_;
    decode.early_stop = early_stop_;
    status.Update(CheckDemapping(ParseReceivedType(input_), decode));
    if (!status.ok()) {
      return FailArguments(status);
    }
    const HarqLink link(*format, decode, ParseReceivedType(input_),
                        snr_db_.value_or(ThresholdSnrDb(format->mcs) + kAboveThresholdDb),
                        transmissions_, seed_);
    return Finish(flags, [&](const Session& session) { return RunNrDemo(session, input, link); });
  }

  template <typename Demo>
  int Finish(const GlobalFlags& flags, const Demo& run) {
    OutputFile* const out = outputs_.Open("--out", out_);
    const Session session(flags, outputs_);
    if (session.exit_code() != kOk) {
      return session.exit_code();
    }
    const absl::StatusOr<DemoOutcome> outcome = run(session);
    if (!outcome.ok()) {
      return FailRpc(outcome.status());
    }
    if (out != nullptr) {
      out->Write(outcome->recovered);
    }
    if (absl::Status status = outputs_.Commit(); !status.ok()) {
      return FailArguments(status);
    }
    absl::FPrintF(outputs_.report(), "%s",
                  flags.json ? outcome->json.dump(2) + "\n" : outcome->text);
    return outcome->equal ? kOk : kNegativeResult;
  }

  CLI::App* command_ = nullptr;
  std::string file_;
  std::string out_;
  uint64_t seed_ = 1;
  absl::optional<double> ebn0_db_;
  CodeFlags code_;
  DecodeFlags decode_;
  bool nr_ = false;
  absl::optional<double> snr_db_;
  std::string input_ = "int16";
  int transmissions_ = kMaxTransmissions;
  bool log_sum_ = false;
  std::string early_stop_ = kParityStop;
  absl::optional<int> mcs_;
  FormatFlags format_;
  std::vector<std::string> of_ldpc_;  // options that go without --nr only
  std::vector<std::string> of_nr_;    // and with it only
  Outputs outputs_;
};

}  // namespace

std::unique_ptr<Command> MakeDemoCommand() { return std::make_unique<DemoCommand>(); }

}  // namespace baseband::ctl
