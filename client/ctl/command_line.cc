#include "client/ctl/command_line.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/ctl/common/connection_flags.h"
#include "client/ctl/common/flag_names.h"
#include "client/ctl/common/help_formatter.h"
#include "client/ctl/common/positionals.h"
#include "client/ctl/operate/health_flags.h"
#include "common/manual/manual.h"
#include "kernels/base/nearest.h"

namespace baseband::ctl {
namespace {

constexpr char kExamples[] =
    "\n"
    "Examples:\n"
    "  basebandctl info\n"
    "  basebandctl demo photo.jpg --out=recovered.jpg\n"
    "  basebandctl recover symbols.cf32 --constellation=\"16APSK 3/4\"\n"
    "  basebandctl downconvert air.cs16 --rate 64M --channel 9.1M:8 -o out\n"
    "  basebandctl minimize \"(x-1)^2 + sin(9*x)\" --axis x=-5:0.001:5\n"
    "  basebandctl load decode --rate=2k --deadline=5ms --html=report.html\n"
    "  basebandctl --target=unix:/run/basebandd.sock health\n"
    "  basebandctl help COMMAND";

constexpr char kHelpFooter[] =
    "Examples:\n"
    "  basebandctl help\n"
    "  basebandctl help downconvert";

// Whether `word` may be meant to be `name`: its beginning, or a letter or two from it.
bool IsNear(absl::string_view word, absl::string_view name) {
  if (word.size() >= 2 && absl::StartsWith(name, word)) return true;
  return EditDistance(word, name) <= (name.size() > 4 ? 2U : 1U);
}

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// What is said of a word where a command of `app` should be.
std::string UnknownCommand(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  std::vector<std::string> near;
  if (word == "status") near = {"health", "info", "top"};
  for (const CLI::App* const command : CommandsOf(app)) {
    names.push_back(command->get_name());
    if (IsNear(word, command->get_name())) near.push_back(command->get_name());
  }
  return absl::StrCat("'", word, "' is no command; ",
                      near.empty() ? "the commands are " + absl::StrJoin(names, ", ")
                                   : absl::StrCat("did you mean ", absl::StrJoin(near, ", "), "?"));
}

// What CLI11 says of a flag without its value, or with several, in words of ours.
std::string OfItsValue(absl::string_view what) {
  constexpr absl::string_view kMissing = ": 1 required ";
  constexpr absl::string_view kSeveral = ": At Most 1 required but received ";
  if (const size_t at = what.find(kSeveral); at != what.npos) {
    return absl::StrCat(what.substr(0, at), " takes one value, and has ",
                        what.substr(at + kSeveral.size()));
  }
  const size_t at = what.find(kMissing);
  if (at == what.npos || !absl::ConsumeSuffix(&what, " missing")) return std::string(what);
  return absl::StrCat(what.substr(0, at), " needs a value, ", what.substr(at + kMissing.size()));
}

void PointToHelp(const std::string& message) {
  std::cerr << "basebandctl: " << message
            << "\nbasebandctl help and basebandctl help COMMAND tell more.\n";
}

}  // namespace

CommandLine::CommandLine(const std::string& version)
    : app_("basebandctl talks to a Baseband Offload server, basebandd.", "basebandctl") {
  app_.formatter(std::make_shared<HelpFormatter>());
  app_.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app_.get_formatter()->label("Subcommands", "Commands");
  app_.set_version_flag("--version", "basebandctl " + version);
  AddManualFlag(&app_, /*section=*/1, version);
  app_.footer(absl::StrCat(kExitCodes, kExamples));
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
  help_ = app_.add_subcommand("help", "Tells of a command, as its --help does.");
  help_->add_option("command", help_about_, "the command; none: all of them")->type_name("COMMAND");
  help_->footer(kHelpFooter);
  help_->group("Commands");
  TakeMarksOff(&app_);
}

std::string CommandLine::WordWithoutCommand() const {
  if (!app_.get_subcommands().empty()) return "";
  for (const std::string& argument : app_.remaining()) {
    if (!absl::StartsWith(argument, "-")) return argument;
  }
  return "";
}

std::string CommandLine::WhatIsWrong(const CLI::ParseError& error) const {
  const bool has_command = !app_.get_subcommands().empty();
  std::vector<std::string> unknown = app_.remaining(/*recurse=*/true);
  for (std::string& argument : unknown) argument = WithoutMark(argument);
  // Its flags are unknown, too, and say nothing about it.
  if (!has_command && !unknown.empty() && !absl::StartsWith(unknown[0], "-")) {
    return UnknownCommand(app_, unknown[0]);
  }
  if (std::string flag = UnknownFlag(app_); !flag.empty()) return flag;
  if (!has_command) {
    if (error.get_name() == "RequiredError") return "a command is needed";
  }
  if (has_command && !unknown.empty()) return absl::StrCat("unexpected argument ", unknown[0]);
  return OfItsValue(error.what());
}

int CommandLine::Help() const {
  const CLI::App* app = &app_;
  std::string name = app_.get_name();
  if (!help_about_.empty()) {
    const std::vector<const CLI::App*> commands = CommandsOf(app_);
    const auto found = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* command) {
      return command->get_name() == help_about_;
    });
    if (found == commands.end()) {
      PointToHelp(UnknownCommand(app_, help_about_));
      return kBadArguments;
    }
    app = *found;
    absl::StrAppend(&name, " ", app->get_name());
  }
  std::cout << app->get_formatter()->make_help(app, name, CLI::AppFormatMode::Normal);
  return 0;
}

int CommandLine::Run(int argc, const char* const* argv) {
  try {
    std::vector<std::string> arguments = ToArguments(argc, argv);
    MarkPositionals(app_, &arguments);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
    app_.parse(std::move(arguments));
  } catch (const ManualWanted& manual) {
    std::cout << manual.what();
    return 0;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      if (help_->parsed() && !help_about_.empty()) return Help();
      if (const std::string word = WordWithoutCommand(); !word.empty()) {
        PointToHelp(UnknownCommand(app_, word));
        return kBadArguments;
      }
      return app_.exit(error, std::cout, std::cerr);
    }
    PointToHelp(WhatIsWrong(error));
    return kBadArguments;
  }
  if (help_->parsed()) return Help();
  for (size_t i = 0; i < commands_.size(); ++i) {
    if (apps_[i]->parsed()) {
      NoteCommand(apps_[i]);
      return commands_[i]->Run(flags_);
    }
  }
  return kBadArguments;
}

}  // namespace baseband::ctl
