// A program's page for man and the completion of its command line, out of what its --help is made
// of: a tree of CLI11.
#ifndef BASEBAND_COMMON_MANUAL_MANUAL_H_
#define BASEBAND_COMMON_MANUAL_MANUAL_H_

#include <string>
#include <utility>

#include "CLI/App.hpp"
#include "CLI/Error.hpp"

namespace baseband {

// The flag --manual=man|bash|zsh of `root`: parsing it throws ManualWanted. `section` is that of
// the page: 1 for users' programs, 8 for servers.
void AddManualFlag(CLI::App* root, int section, const std::string& version);

// A success in CLI11's sense, as CLI::CallForHelp; what() is what was asked for.
class ManualWanted : public CLI::Success {
 public:
  explicit ManualWanted(std::string text)
      : CLI::Success("ManualWanted", std::move(text), CLI::ExitCodes::Success) {}
};

// In man's own language. All options and commands, of all levels, but hidden ones, whose group is
// "".
std::string ManPage(const CLI::App& root, int section, const std::string& version);
// To be sourced. Completes commands, flags, and files where a flag or a command takes one.
std::string BashCompletion(const CLI::App& root);
// For a folder of zsh's $fpath, as _NAME.
std::string ZshCompletion(const CLI::App& root);

}  // namespace baseband

#endif  // BASEBAND_COMMON_MANUAL_MANUAL_H_
