#include "client/ctl/command_line.h"

#include <iostream>
#include <utility>

#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/ctl/common/connection_flags.h"
#include "client/ctl/common/flag_names.h"
#include "client/ctl/common/help_formatter.h"
#include "client/ctl/operate/health_flags.h"
#include "kernels/base/nearest.h"

namespace baseband::ctl {
namespace {

constexpr char kFooter[] =
    "Exit codes: 0 done; 1 bad arguments or files; 2 cannot connect; 3 the server\n"
    "refused it for now, or failed; 4 done, and the result is negative (not serving, blocks\n"
    "that did not decode, frames without lock, a file that differs, a case that\n"
    "failed, a load over its limits); 130 interrupted by ^C.\n"
    "\n"
    "Examples:\n"
    "  basebandctl info\n"
    "  basebandctl demo photo.jpg --out=recovered.jpg\n"
    "  basebandctl recover symbols.cf32 --constellation=\"16APSK 3/4\"\n"
    "  basebandctl downconvert air.cs16 --rate 64M --channel 9.1M:8 -o out\n"
    "  basebandctl minimize \"(x-1)^2 + sin(9*x)\" --axis x=-5:0.001:5\n"
    "  basebandctl load decode --rate=2k --deadline=5ms --html=report.html\n"
    "  basebandctl --target=unix:/run/basebandd.sock health\n"
    "  basebandctl COMMAND --help";

// Whether `word` may be meant to be `name`: its beginning, or a letter or two from it.
bool IsNear(absl::string_view word, absl::string_view name) {
  if (word.size() >= 2 && absl::StartsWith(name, word)) return true;
  return EditDistance(word, name) <= (name.size() > 4 ? 2U : 1U);
}

}  // namespace

CommandLine::CommandLine(const std::string& version)
    : app_("basebandctl talks to a Baseband Offload server, basebandd.", "basebandctl") {
  app_.formatter(std::make_shared<HelpFormatter>());
  app_.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app_.get_formatter()->label("Subcommands", "Commands");
  app_.set_version_flag("--version", "basebandctl " + version);
  app_.footer(kFooter);
  app_.require_subcommand(1);
  app_.fallthrough();
  AddConnectionFlags(&app_, &flags_);
  app_.add_flag("--json", flags_.json, "print one JSON object, for machines");
  for (const auto make : {&MakeInfoCommand, &MakeHealthCommand, &MakeTopCommand, &MakeAdminCommand,
                          &MakeEncodeCommand, &MakeDecodeCommand, &MakeDemoCommand,
                          &MakeVerifyCommand, &MakeBerCommand, &MakeBlerCommand, &MakeTbsCommand,
                          &MakeRecoverCommand, &MakeCarrierSignalCommand, &MakeCarrierBenchCommand,
                          &MakeDownconvertCommand, &MakeWidebandSignalCommand, &MakeMinimizeCommand,
                          &MakeMinimizeBenchCommand, &MakeLoadCommand}) {
    commands_.push_back(make());
    apps_.push_back(commands_.back()->AddTo(&app_));
    apps_.back()->fallthrough();
    apps_.back()->group("Commands");
  }
}

std::string CommandLine::UnknownCommand(const std::string& word) const {
  if (absl::StartsWith(word, "-")) {
    return "'" + word + "' is not known here";
  }
  std::vector<std::string> names;
  std::vector<std::string> near;
  for (const CLI::App* const app : apps_) {
    names.push_back(app->get_name());
    if (IsNear(word, app->get_name())) near.push_back(app->get_name());
  }
  return absl::StrCat("'", word, "' is no command; ",
                      near.empty()
                          ? "the commands are " + absl::StrJoin(names, ", ")
                          : absl::StrCat("did you mean ", absl::StrJoin(near, " or "), "?"));
}

int CommandLine::Run(int argc, const char* const* argv) {
  try {
    app_.parse(ToArguments(argc, argv));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app_.exit(error, std::cout, std::cerr);  // --help, --version
    }
    // CLI11 misses the command before it minds an unknown one.
    const std::vector<std::string> unknown = app_.remaining();
    const bool no_command = app_.get_subcommands().empty();
    std::cerr << "basebandctl: "
              << (no_command && !unknown.empty()                      ? UnknownCommand(unknown[0])
                  : no_command && error.get_name() == "RequiredError" ? "a command is needed"
                                                                      : error.what())
              << "\nbasebandctl --help and basebandctl COMMAND --help tell more.\n";
    return kBadArguments;
  }
  for (size_t i = 0; i < commands_.size(); ++i) {
    if (apps_[i]->parsed()) {
      NoteCommand(apps_[i]);
      return commands_[i]->Run(flags_);
    }
  }
  return kBadArguments;
}

}  // namespace baseband::ctl
