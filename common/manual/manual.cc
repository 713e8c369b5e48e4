#include "common/manual/manual.h"

#include "CLI/Validators.hpp"

namespace baseband {

void AddManualFlag(CLI::App* root, int section, const std::string& version) {
  root->add_option_function<std::string>(
          "--manual",
          [root, section, version](const std::string& format) {
            throw ManualWanted(format == "man"    ? ManPage(*root, section, version)
                               : format == "bash" ? BashCompletion(*root)
                                                  : ZshCompletion(*root));
          },
          "Print the page for man, or the completion for a shell, and exit")
      ->type_name("man|bash|zsh")
      ->check(CLI::IsMember({"man", "bash", "zsh"}).description(""))
      ->trigger_on_parse();
}

}  // namespace baseband
