// Help texts that fit 80 columns.
#ifndef BASEBAND_CLIENT_CTL_COMMON_HELP_FORMATTER_H_
#define BASEBAND_CLIENT_CTL_COMMON_HELP_FORMATTER_H_

#include <string>

#include "CLI/Formatter.hpp"

namespace baseband::ctl {

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kLeft); }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_description(const CLI::App* app) const override;

 private:
  static constexpr int kWidth = 79;
  static constexpr int kLeft = 24;
};

}  // namespace baseband::ctl

#endif  // BASEBAND_CLIENT_CTL_COMMON_HELP_FORMATTER_H_
