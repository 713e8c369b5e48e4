#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/manual/app_tree.h"
#include "common/manual/manual.h"

namespace baseband {
namespace {

const CLI::App& RootOf(const CLI::App& app) {
  return app.get_parent() == nullptr ? app : RootOf(*app.get_parent());
}

// What may stand behind `app` as a word that is no flag, by name.
std::vector<const CLI::App*> CommandsBehind(const CLI::App& app) {
  for (const CLI::Option* const option : manual::OptionsOf(app)) {
    if (manual::IsCommandName(*option)) return manual::CommandsOf(RootOf(app));
  }
  return manual::CommandsOf(app);
}

// Options of `app` with those of all above it, which it takes as well.
struct FlagOf {
  const CLI::App* app;
  const CLI::Option* option;
};
std::vector<FlagOf> FlagsOf(const CLI::App& app) {
  std::vector<FlagOf> flags;
  std::vector<std::string> known;  // --help is everybody's
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* const option : manual::OptionsOf(*level)) {
      if (option->get_positional()) continue;
      const std::string name = manual::NamesOf(*option).back();
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      known.push_back(name);
      flags.push_back({level, option});
    }
  }
  return flags;
}

// Words that may stand behind `app`: commands, or what its first positional takes.
std::vector<std::string> WordsBehind(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::App* const command : CommandsBehind(app)) words.push_back(command->get_name());
  for (const CLI::Option* const option : manual::OptionsOf(app)) {
    if (words.empty() && option->get_positional()) return manual::ChoicesOf(*option);
  }
  return words;
}

// In single quotes.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

std::string OneLine(absl::string_view text) {
  std::vector<absl::string_view> words =
      absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return absl::StrJoin(words, " ");
}

// ------------------------------------------------------------------------------------------ zsh

// "true|false": one of words that are all there are.
bool IsChoice(absl::string_view type) {
  return absl::StrContains(type, '|') && std::all_of(type.begin(), type.end(), [](char c) {
           return absl::ascii_islower(static_cast<unsigned char>(c)) || c == '|' || c == '-';
         });
}

// ":FILE:_files", as _arguments has what follows an option.
std::string ZshValue(const std::string& type) {
  const std::string message = absl::StrReplaceAll(type, {{"\\", "\\\\"}, {":", "\\:"}});
  if (IsChoice(type)) {
    return absl::StrCat(":", message, ":(", absl::StrReplaceAll(type, {{"|", " "}}), ")");
  }
  const bool is_file = absl::StrContains(type, "FILE") || absl::StrContains(type, "PATH") ||
                       absl::StrContains(type, "FOLDER");
  return absl::StrCat(":", message, ":", is_file ? "_files" : "");
}

std::string ZshOptions(const CLI::App& app) {
  std::string out;
  for (const FlagOf& flag : FlagsOf(app)) {
    const std::string about =
        absl::StrReplaceAll(OneLine(manual::DescriptionOf(*flag.app, *flag.option)),
                            {{"\\", "\\\\"}, {"[", "\\["}, {"]", "\\]"}});
    for (const std::string& name : manual::NamesOf(*flag.option)) {
      const bool takes = manual::TakesValue(*flag.option);
      const char* const join = !takes ? "" : absl::StartsWith(name, "--") ? "=" : "+";
      const std::string value = takes ? ZshValue(manual::TypeOf(*flag.app, *flag.option)) : "";
      absl::StrAppend(&out, " \\\n    ",
                      Quoted(absl::StrCat("*", name, join, "[", about, "]", value)));
    }
  }
  return out;
}

std::string FunctionName(const CLI::App& root, const CLI::App& app) {
  return absl::StrCat("_", root.get_name(),
                      absl::StrReplaceAll(manual::PathOf(app), {{" ", "_"}, {"-", "_"}}));
}

std::string ZshFunction(const CLI::App& root, const CLI::App& app) {
  const std::vector<const CLI::App*> commands = CommandsBehind(app);
  std::string out = absl::StrCat(FunctionName(root, app), "() {\n");
  if (commands.empty()) {
    const std::vector<std::string> words = WordsBehind(app);
    const std::string first =
        words.empty() ? "" : absl::StrCat(" '1: :(", absl::StrJoin(words, " "), ")'");
    return absl::StrCat(out, "  _arguments", ZshOptions(app), " \\\n   ", first,
                        " '*: :_files'\n}\n\n");
  }
  absl::StrAppend(&out, "  local curcontext=$curcontext state line\n  _arguments -C",
                  ZshOptions(app), " \\\n    '1: :->command' '*:: :->rest'\n  case $state in\n",
                  "    command) local -a commands=(");
  for (const CLI::App* const command : commands) {
    const std::string about = command->get_description();
    absl::StrAppend(
        &out, "\n      ",
        Quoted(absl::StrCat(command->get_name(), ":", OneLine(about.substr(0, about.find('\n'))))));
  }
  absl::StrAppend(
      &out, ")\n      _describe -t commands command commands ;;\n    rest) case $words[1] in\n");
  for (const CLI::App* const command : manual::CommandsOf(app)) {
    absl::StrAppend(&out, "      ", command->get_name(), ") ", FunctionName(root, *command),
                    " ;;\n");
  }
  return absl::StrCat(out, "    esac ;;\n  esac\n}\n\n");
}

}  // namespace

std::string BashCompletion(const CLI::App& root) {
  const std::string& program = root.get_name();
  std::vector<std::string> paths;
  std::string cases;
  for (const CLI::App* const app : manual::AllOf(root)) {
    const std::string path = manual::PathOf(*app);
    if (!path.empty()) paths.push_back(absl::StrCat("\"", path, "\""));
    std::vector<std::string> flags;
    for (const FlagOf& flag : FlagsOf(*app)) {
      for (const std::string& name : manual::NamesOf(*flag.option)) {
        const bool joins = manual::TakesValue(*flag.option) && absl::StartsWith(name, "--");
        flags.push_back(absl::StrCat(name, joins ? "=" : ""));
      }
    }
    absl::StrAppend(&cases, "    \"", path, "\")\n      commands=\"",
                    absl::StrJoin(WordsBehind(*app), " "), "\"\n      flags=\"",
                    absl::StrJoin(flags, " "), "\" ;;\n");
  }
  std::string walk;
  if (!paths.empty()) {
    walk = absl::StrCat(
        "  for ((i = 1; i < COMP_CWORD; ++i)); do\n    case \"$path ${COMP_WORDS[i]}\" in\n      ",
        absl::StrJoin(paths, "|"), ") path+=\" ${COMP_WORDS[i]}\" ;;\n    esac\n  done\n");
  }
  return absl::StrCat("# Made by `", program, " --manual=bash`.\n_", program, "() {\n",
                      "  local word=${COMP_WORDS[COMP_CWORD]} path= commands= flags= i\n", walk,
                      "  case $path in\n", cases, "  esac\n",
                      "  [[ $word == -* ]] || flags=\n"
                      "  COMPREPLY=($(compgen -W \"$commands $flags\" -- \"$word\"))\n"
                      "  [[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace 2>/dev/null\n}\n"
                      // Where nothing is known that fits: files.
                      "complete -o default -F _",
                      program, " ", program, "\n");
}

std::string ZshCompletion(const CLI::App& root) {
  std::string out = absl::StrCat("#compdef ", root.get_name(), "\n# Made by `", root.get_name(),
                                 " --manual=zsh`.\n\n");
  const std::vector<const CLI::App*> all = manual::AllOf(root);
  for (const CLI::App* const app : all) out += ZshFunction(root, *app);
  return absl::StrCat(out, "_", root.get_name(), " \"$@\"\n");
}

}  // namespace baseband
