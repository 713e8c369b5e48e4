#include "client/ctl/common/help_formatter.h"

#include <sstream>
#include <utility>

#include "CLI/App.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/ctl/common/terminal.h"

namespace baseband::ctl {

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  // CLI11 leaves two empty lines between groups.
  return absl::StrReplaceAll(CLI::Formatter::make_help(app, std::move(name), mode),
                             {{"\n\n\n", "\n\n"}});
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::ostringstream out;
  CLI::detail::format_help(out, make_option_name(option, is_positional) + make_option_opts(option),
                           Wrap(make_option_desc(option), kWidth - kLeft, 0),
                           static_cast<size_t>(kLeft));
  return out.str();
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) {
    return "";
  }
  // Built-in type names, possibly with the text of a range check behind a colon.
  std::string type = option->get_type_name();
  type = type.substr(0, type.find(':'));
  return option->get_positional() || type.empty() ? "" : absl::StrCat(" ", type);
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  std::ostringstream out;
  const std::string description = command->get_description();
  CLI::detail::format_help(out, command->get_name(),
                           Wrap(description.substr(0, description.find('\n')), kWidth - 12, 0), 12);
  return out.str();
}

std::string HelpFormatter::make_description(const CLI::App* app) const {
  return Wrap(app->get_description(), kWidth, 0) + "\n\n";
}

}  // namespace baseband::ctl
