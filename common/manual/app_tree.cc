#include "common/manual/app_tree.h"

#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace baseband::manual {
namespace {

// Programs tell by it how an option and its value are written.
const CLI::Formatter& FormatterOf(const CLI::App& app) {
  return dynamic_cast<const CLI::Formatter&>(*app.get_formatter());
}

}  // namespace

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<const CLI::Option*> OptionsOf(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
}

bool TakesValue(const CLI::Option& option) { return option.get_expected_max() != 0; }

std::string TypeOf(const CLI::App& app, const CLI::Option& option) {
  if (!TakesValue(option)) return "";
  std::string type = FormatterOf(app).make_option_opts(&option);
  while (!type.empty() && (type[0] == ' ' || type[0] == '=')) type.erase(0, 1);
  return type;
}

std::string DescriptionOf(const CLI::App& app, const CLI::Option& option) {
  return FormatterOf(app).make_option_desc(&option);
}

std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  // CLI11 tells them by the type: "TEXT:{config,drain}".
  const std::string type = option.get_type_name();
  const size_t begin = type.find(":{");
  if (begin == std::string::npos || type.back() != '}') return {};
  return absl::StrSplit(type.substr(begin + 2, type.size() - begin - 3), ',');
}

bool IsCommandName(const CLI::Option& option) {
  return option.get_positional() && option.get_type_name() == "COMMAND";
}

std::vector<std::string> NamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<const CLI::App*> AllOf(const CLI::App& app) {
  std::vector<const CLI::App*> all = {&app};
  for (const CLI::App* const command : CommandsOf(app)) {
    const std::vector<const CLI::App*> below = AllOf(*command);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

std::string PathOf(const CLI::App& app) {
  const CLI::App* const above = app.get_parent();
  return above == nullptr ? "" : absl::StrCat(PathOf(*above), " ", app.get_name());
}

}  // namespace baseband::manual
