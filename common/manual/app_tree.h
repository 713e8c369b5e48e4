// What manuals and completions ask of a tree of CLI11. Internal to common/manual.
#ifndef BASEBAND_COMMON_MANUAL_APP_TREE_H_
#define BASEBAND_COMMON_MANUAL_APP_TREE_H_

#include <string>
#include <vector>

#include "CLI/App.hpp"

namespace baseband::manual {

// Commands below `app`, and its options, positional ones among them; no hidden ones.
std::vector<const CLI::App*> CommandsOf(const CLI::App& app);
std::vector<const CLI::Option*> OptionsOf(const CLI::App& app);

bool TakesValue(const CLI::Option& option);
// "FILE"; empty for a flag without a value.
std::string TypeOf(const CLI::App& app, const CLI::Option& option);
// As --help has it, its line breaks included.
std::string DescriptionOf(const CLI::App& app, const CLI::Option& option);
// "config", "drain": the words that are all there are; empty: it takes others, too.
std::vector<std::string> ChoicesOf(const CLI::Option& option);
// A positional that is to be a command of the program: that of `help`.
bool IsCommandName(const CLI::Option& option);
// "-o", "--out".
std::vector<std::string> NamesOf(const CLI::Option& option);
// `app` and all below it, parents first.
std::vector<const CLI::App*> AllOf(const CLI::App& app);
// " admin drain": the commands that lead to `app`; empty for the root.
std::string PathOf(const CLI::App& app);

}  // namespace baseband::manual

#endif  // BASEBAND_COMMON_MANUAL_APP_TREE_H_
