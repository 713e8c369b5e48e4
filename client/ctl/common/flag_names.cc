#include "client/ctl/common/flag_names.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "CLI/App.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/ctl/common/positionals.h"
#include "kernels/base/nearest.h"

namespace baseband::ctl {
namespace {

const CLI::App* noted_command = nullptr;

// Whose flag is not their own name with other dashes.
constexpr std::pair<const char*, const char*> kOthers[] = {{"attenuation_db", "--attenuation"},
                                                           {"base_graph", "--nr-bg"},
                                                           {"expected_snr_db", "--expected-snr"},
                                                           {"fingerprint", "--lift"},
                                                           {"fixed_iterations", "--fixed"},
                                                           {"max_iterations", "--iterations"},
                                                           {"n_filler", "--filler"},
                                                           {"nco_segment", "--segment"},
                                                           {"parity_rows", "--rows"},
                                                           {"pass_edge_hz", "--pass"},
                                                           {"ripple_db", "--ripple"},
                                                           {"sample_rate_hz", "--rate"},
                                                           {"stop_edge_hz", "--stop"},
                                                           {"symbol_rate_hz", "--symbol-rate"},
                                                           {"axes", "--axis"}};

std::string FlagOf(absl::string_view field) {
  if (field == "channel") return "";  // "channel 0" is which, not what --channel was given
  std::string flag = absl::StrCat("--", absl::StrReplaceAll(field, {{"_", "-"}}));
  for (const auto& [name, other] : kOthers) {
    if (field == name) {
      flag = other;
    }
  }
  return noted_command != nullptr && noted_command->get_option_no_throw(flag) != nullptr ? flag
                                                                                         : "";
}

bool IsOfField(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '[' || c == ']';
}

// The flag of "channels[0].filter.mask.pass_edge_hz", of which the last part counts that has one.
// A word of the language is a field only where its value follows.
std::string FlagOfPath(absl::string_view path, bool has_value) {
  if (absl::StartsWith(path, "retunes[")) {
    return FlagOf("retune");
  }
  const std::vector<absl::string_view> parts =
      absl::StrSplit(path, absl::ByAnyChar(".[]"), absl::SkipEmpty());
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (has_value || absl::StrContains(*part, '_')) {
      if (std::string flag = FlagOf(*part); !flag.empty()) {
        return flag;
      }
    }
  }
  return "";
}

}  // namespace

void NoteCommand(const CLI::App* command) { noted_command = command; }

std::string ProgramName() {
  const CLI::App* app = noted_command;
  while (app != nullptr && app->get_parent() != nullptr) {
    app = app->get_parent();
  }
  return app != nullptr ? app->get_name() : "basebandctl";
}

std::string WithFlagName(absl::string_view message) {
  for (size_t at = 0; at < message.size();) {
    size_t end = at;
    while (end < message.size() && IsOfField(message[end])) {
      ++end;
    }
    // What stands behind a dash, a slash or a quotation mark is a flag, a file or a value.
    if (end > at && absl::ascii_islower(message[at]) &&
        (at == 0 || message[at - 1] == ' ' || message[at - 1] == '(')) {
      // "column 5" may be what a text is about: a field by itself begins the message.
      const bool is_path = message.substr(at, end - at).find_first_of(".[") != message.npos;
      const bool has_value = (is_path || at == 0) && end + 1 < message.size() &&
                             message[end] == ' ' &&
                             (absl::ascii_isdigit(message[end + 1]) || message[end + 1] == '-' ||
                              message[end + 1] == '\'');
      const std::string flag = FlagOfPath(message.substr(at, end - at), has_value);
      if (!flag.empty()) {
        return absl::StrContains(message, flag)
                   ? std::string(message)
                   : absl::StrCat(message.substr(0, end), " (", flag, ")", message.substr(end));
      }
    }
    at = end + 1;
  }
  return std::string(message);
}

std::string UnknownFlag(const CLI::App& root) {
  const std::vector<std::string> unknown = root.remaining(/*recurse=*/true);
  const auto argument = std::find_if(unknown.begin(), unknown.end(), [](const std::string& one) {
    return one.size() > 1 && one[0] == '-' && one != "--";
  });
  if (argument == unknown.end()) return "";
  std::vector<std::string> known;
  bool takes_others = false;
  for (const CLI::App* app = &root; app != nullptr;
       app = app->get_subcommands().empty() ? nullptr : app->get_subcommands()[0]) {
    takes_others |= HasPositional(*app);
    for (const CLI::Option* const option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  }
  const absl::string_view flag = absl::string_view(*argument).substr(0, argument->find('='));
  // Every letter is near every other.
  const std::string near = flag.size() > 2 ? NearName(flag, known) : "";
  if (near.empty() && takes_others) {
    return absl::StrCat("unknown flag ", *argument,
                        "; what begins with - and is no flag goes to the end, behind --");
  }
  return absl::StrCat("unknown flag ", flag, DidYouMean(near));
}

}  // namespace baseband::ctl
