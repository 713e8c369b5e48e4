#include "client/ctl/common/positionals.h"

#include <algorithm>

#include "CLI/App.hpp"

namespace baseband::ctl {
namespace {

// A control character: no flag, command or file begins with it.
constexpr char kMark = '\x1f';

using Iterator = std::vector<std::string>::iterator;

// Whether the option that was named last, of those in [begin, end), goes on to take values.
bool TakesMore(const CLI::App& command, Iterator begin, Iterator end) {
  while (end != begin) {
    const std::string& argument = *--end;
    if (argument.empty() || argument[0] != '-') continue;
    const std::string name = argument.substr(0, argument.find('='));
    for (const CLI::App* app : {&command, command.get_parent()}) {
      const CLI::Option* const option = app == nullptr ? nullptr : app->get_option_no_throw(name);
      if (option != nullptr) return option->get_allow_extra_args();
    }
  }
  return false;
}

}  // namespace

void MarkPositionals(const CLI::App& root, std::vector<std::string>* arguments) {
  const auto dashes = std::find(arguments->begin(), arguments->end(), "--");
  const std::vector<const CLI::App*> commands =
      root.get_subcommands([](const CLI::App*) { return true; });
  const CLI::App* command = nullptr;
  // Commands' names behind the first are values.
  for (auto argument = arguments->begin(); argument != dashes && command == nullptr; ++argument) {
    const auto named = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* one) {
      return one->get_name() == *argument;
    });
    if (named != commands.end()) command = *named;
  }
  if (dashes == arguments->end() || command == nullptr) return;
  for (auto behind = dashes + 1; behind != arguments->end(); ++behind) behind->insert(0, 1, kMark);
  if (!TakesMore(*command, arguments->begin(), dashes)) arguments->erase(dashes);
}

void TakeMarksOff(CLI::App* root) {
  for (CLI::Option* const option : root->get_options()) {
    if (option->get_positional()) option->transform(&WithoutMark);
  }
  for (CLI::App* const command : root->get_subcommands([](CLI::App*) { return true; })) {
    TakeMarksOff(command);
  }
}

std::string WithoutMark(const std::string& argument) {
  return !argument.empty() && argument[0] == kMark ? argument.substr(1) : argument;
}

bool HasPositional(const CLI::App& app) {
  const std::vector<const CLI::Option*> options = app.get_options();
  return std::any_of(options.begin(), options.end(),
                     [](const CLI::Option* option) { return option->get_positional(); });
}

}  // namespace baseband::ctl
