#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/manual/app_tree.h"
#include "common/manual/manual.h"

namespace baseband {
namespace {

// `text` as it is, wherever it stands in a line.
std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\\", "\\e"}, {"-", "\\-"}, {"^", "\\(ha"}, {"~", "\\(ti"}});
}
std::string Bold(absl::string_view text) { return absl::StrCat("\\fB", Escaped(text), "\\fR"); }
std::string Italic(absl::string_view text) { return absl::StrCat("\\fI", Escaped(text), "\\fR"); }

// Lines of text, to be filled; one that begins as a request would is none. Empty lines part
// paragraphs, by `gap`.
std::string Text(absl::string_view text, absl::string_view gap) {
  std::string out;
  for (absl::string_view line : absl::StrSplit(absl::StripAsciiWhitespace(text), '\n')) {
    line = absl::StripTrailingAsciiWhitespace(line);
    absl::StrAppend(&out, line.empty() ? gap : absl::StrCat("\\&", Escaped(line)), "\n");
  }
  return out;
}

// Lines that stay as they are.
std::string Verbatim(absl::string_view text) {
  if (text.empty()) return "";
  std::string out = ".PP\n.nf\n";
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    absl::StrAppend(&out, "\\&", Escaped(line), "\n");
  }
  return out + ".fi\n";
}

std::string OptionText(const CLI::App& app, const CLI::Option& option) {
  std::string title;
  if (option.get_positional()) {
    title = Italic(option.get_name());
  } else {
    std::vector<std::string> names = manual::NamesOf(option);
    std::transform(names.begin(), names.end(), names.begin(), Bold);
    title = absl::StrJoin(names, ", ");
    if (const std::string type = manual::TypeOf(app, option); !type.empty()) {
      absl::StrAppend(&title, "=", Italic(type));
    }
  }
  return absl::StrCat(".TP\n", title, "\n", Text(manual::DescriptionOf(app, option), ".IP"));
}

// Positional ones first, then by group, in the order of --help.
std::string Options(const CLI::App& app) {
  std::vector<std::pair<std::string, std::string>> groups = {{"", ""}};
  for (const CLI::Option* const option : manual::OptionsOf(app)) {
    if (option == app.get_help_ptr() && app.get_parent() != nullptr) continue;  // said once
    const std::string name = option->get_positional() ? "" : option->get_group();
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const auto& known) { return known.first == name; });
    if (group == groups.end()) group = groups.insert(group, {name, ""});
    group->second += OptionText(app, *option);
  }
  std::string out;
  for (const auto& [name, text] : groups) {
    if (!name.empty() && name != "Options") {
      absl::StrAppend(&out, ".PP\n", Bold(name), "\n");
    }
    out += text;
  }
  return out;
}

std::string Synopsis(const CLI::App& app, const std::string& program) {
  std::string line = Bold(absl::StrCat(program, manual::PathOf(app)));
  absl::StrAppend(&line, " [", Italic("OPTIONS"), "]");
  for (const CLI::Option* const option : manual::OptionsOf(app)) {
    if (!option->get_positional()) continue;
    const std::string name = Italic(option->get_name());
    absl::StrAppend(&line, " ", option->get_required() ? name : absl::StrCat("[", name, "]"),
                    option->get_expected_max() > 1 ? " .\\|.\\|." : "");
  }
  if (!manual::CommandsOf(app).empty()) absl::StrAppend(&line, " ", Italic("COMMAND"));
  return line + "\n";
}

}  // namespace

std::string ManPage(const CLI::App& root, int section, const std::string& version) {
  const std::string& program = root.get_name();
  std::string about = root.get_description();
  for (const char* const link : {": ", " "}) {  // "basebandd: a server"
    if (absl::StartsWith(about, program + link)) {
      about = about.substr(program.size() + std::string(link).size());
      break;
    }
  }
  about = std::string(absl::StripAsciiWhitespace(about));
  std::string first = absl::StrReplaceAll(about, {{"\n", " "}});
  if (absl::EndsWith(first, ".")) first.pop_back();

  // Neither hyphens nor wide blanks: flags are read letter by letter.
  std::string page = absl::StrCat(".\\\" Made by `", program, " --manual=man`.\n.TH ",
                                  absl::AsciiStrToUpper(program), " ", section, " \"\" \"", program,
                                  " ", version, "\" \"Baseband Offload\"\n.nh\n.ad l\n");
  absl::StrAppend(&page, ".SH NAME\n", Escaped(program), " \\- ", Escaped(first), "\n");
  absl::StrAppend(&page, ".SH SYNOPSIS\n", Synopsis(root, program));
  absl::StrAppend(&page, ".SH OPTIONS\n", Options(root));
  if (!manual::CommandsOf(root).empty()) page += ".SH COMMANDS\n";
  for (const CLI::App* const app : manual::AllOf(root)) {
    if (app == &root) continue;
    absl::StrAppend(&page, ".SS ", Escaped(absl::StripAsciiWhitespace(manual::PathOf(*app))), "\n",
                    Synopsis(*app, program), ".PP\n", Text(app->get_description(), ".PP"),
                    Options(*app), Verbatim(app->get_footer()));
  }
  absl::StrAppend(&page, ".SH NOTES\n", Verbatim(root.get_footer()));
  return page;
}

}  // namespace baseband
