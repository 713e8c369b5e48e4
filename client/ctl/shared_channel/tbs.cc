// `tbs`: what a modulation and coding scheme on so many PRBs amounts to. Needs no server.
#include <string>

#include "absl/strings/str_format.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/options.h"
#include "client/ctl/shared_channel/format_figures.h"
#include "nlohmann/json.hpp"

namespace baseband::ctl {
namespace {

constexpr int kDefaultPrbs = 273;  // of 100 MHz at 30 kHz
constexpr int kMostMcs = 28;

class TbsCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* const command = app->add_subcommand(
        "tbs",
        "Tells what MCS, PRBs and layers amount to: the transport block size of a slot, its code"
        " blocks, the bytes that requests have of it, and those that the server holds for HARQ.\n"
        "Sizes are those of 38.214, clause 5.1.3.2; code blocks, circular buffer and rate matching"
        " those of 38.212. No server is asked.");
    AddNumber(command, "--mcs", "N", &mcs_, Between(0, kMostMcs),
              "modulation and coding scheme (16)");
    AddFormatFlags(command, &format_, kDefaultPrbs);
    command->footer(
        "Examples:\n"
        "  basebandctl tbs --mcs=16 --prbs=273 --layers=4\n"
        "  basebandctl tbs --mcs=27 --layers=4 --tbs-lbrm=1277992 --json");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    const absl::StatusOr<TransportFormat> format = ToTransportFormat(format_, mcs_);
    if (!format.ok()) {
      return FailArguments(format.status());
    }
    absl::PrintF("%s", flags.json ? FiguresJson(*format).dump(2) + "\n" : FiguresText(*format));
    return kOk;
  }

 private:
  absl::optional<int> mcs_;
  FormatFlags format_;
};

}  // namespace

std::unique_ptr<Command> MakeTbsCommand() { return std::make_unique<TbsCommand>(); }

}  // namespace baseband::ctl
