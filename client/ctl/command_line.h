// The command line of basebandctl: all its commands, and the flags that they share.
#ifndef BASEBAND_CLIENT_CTL_COMMAND_LINE_H_
#define BASEBAND_CLIENT_CTL_COMMAND_LINE_H_

#include <memory>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Error.hpp"
#include "client/ctl/common/command.h"
#include "client/ctl/common/session.h"

namespace baseband::ctl {

class CommandLine {
 public:
  explicit CommandLine(const std::string& version);

  // Parses, and runs the command that is named. The exit code.
  int Run(int argc, const char* const* argv);

  // With a subcommand for each command.
  const CLI::App& app() const { return app_; }
  CLI::App& app() { return app_; }

 private:
  // The argument that stands where a command should, if none was named; empty: there is none.
  std::string WordWithoutCommand() const;
  // What was wrong with the arguments that `error` is about.
  std::string WhatIsWrong(const CLI::ParseError& error) const;
  // basebandctl help [COMMAND]. The exit code.
  int Help() const;

  CLI::App app_;
  GlobalFlags flags_;
  CLI::App* help_ = nullptr;  // the command `help`, and what is behind it
  std::string help_about_;
  std::vector<std::unique_ptr<Command>> commands_;
  std::vector<CLI::App*> apps_;  // of the commands
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMAND_LINE_H_
