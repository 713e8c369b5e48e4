// One command of basebandctl: its flags and what it does.
#ifndef BASEBAND_CLIENT_CTL_COMMON_COMMAND_H_
#define BASEBAND_CLIENT_CTL_COMMON_COMMAND_H_

#include <memory>

#include "CLI/App.hpp"
#include "client/ctl/common/session.h"

namespace baseband::ctl {

class Command {
 public:
  virtual ~Command() = default;
  // Adds the command to `app`, once; its flags are then parsed into this object.
  virtual CLI::App* AddTo(CLI::App* app) = 0;
  // After parsing. Returns the exit code.
  virtual int Run(const GlobalFlags& flags) = 0;
};

std::unique_ptr<Command> MakeInfoCommand();
std::unique_ptr<Command> MakeHealthCommand();
std::unique_ptr<Command> MakeTopCommand();
std::unique_ptr<Command> MakeAdminCommand();
std::unique_ptr<Command> MakeEncodeCommand();
std::unique_ptr<Command> MakeDecodeCommand();
std::unique_ptr<Command> MakeDemoCommand();
std::unique_ptr<Command> MakeVerifyCommand();
std::unique_ptr<Command> MakeBerCommand();
std::unique_ptr<Command> MakeBlerCommand();
std::unique_ptr<Command> MakeTbsCommand();
std::unique_ptr<Command> MakeRecoverCommand();
std::unique_ptr<Command> MakeCarrierSignalCommand();
std::unique_ptr<Command> MakeCarrierBenchCommand();
std::unique_ptr<Command> MakeDownconvertCommand();
std::unique_ptr<Command> MakeWidebandSignalCommand();
std::unique_ptr<Command> MakeMinimizeCommand();
std::unique_ptr<Command> MakeMinimizeBenchCommand();
std::unique_ptr<Command> MakeLoadCommand();

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_COMMAND_H_
