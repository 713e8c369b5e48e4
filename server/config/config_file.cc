#include "server/config/config_file.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/files/files.h"
#include "kernels/base/nearest.h"
#include "kernels/base/status_macros.h"
#include "server/config/settings.h"

namespace baseband::server {
namespace {

constexpr int64_t kMaxFileBytes = 1 << 20;

bool IsSetting(const std::string& name) {
  const std::vector<std::string> names = SettingNames();
  return std::find(names.begin(), names.end(), name) != names.end();
}

absl::Status UnknownKey(const std::string& key, const std::string& path) {
  // A line without `=` is a key as a whole to CLI11.
  const size_t end = key.find_first_of(": \t");
  if (end != std::string::npos && IsSetting(key.substr(0, end))) {
    return absl::InvalidArgumentError(
        absl::StrCat("line '", key, "' in ", path, " has no =: a setting is written NAME = VALUE"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown key ", key, " in ", path, WhereToLook(NearName(key, SettingNames()))));
}

// CLI11 takes what follows a # for a comment, also within quotes, and would cut a value short.
bool HasHashWithinQuotes(absl::string_view line) {
  char quote = '\0';  // that is open
  char before = '=';
  for (const char c : line) {
    if (c == '#') return quote != '\0';
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'') && absl::StrContains("=[, \t", before)) {
      quote = c;
    }
    before = c;
  }
  return false;
}

absl::Status CheckComments(const std::string& name, absl::string_view text) {
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (HasHashWithinQuotes(line)) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, ": line ", number, ", ", line, ", has a # within quotes, which no value may have"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Given> ReadConfigText(const std::string& path, const std::string& text) {
  const std::string name = absl::StrCat("config ", path);
  BASEBAND_RETURN_IF_ERROR(CheckComments(name, text));
  std::istringstream lines(text);
  std::vector<CLI::ConfigItem> items;
  try {
    items = CLI::ConfigBase().from_config(lines);
  } catch (const CLI::Error& error) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", error.what()));
  }
  Given given;
  for (const CLI::ConfigItem& item : items) {
    const std::string key = item.fullname();
    if (!item.parents.empty()) {  // also what only opens or closes one
      return absl::InvalidArgumentError(
          absl::StrCat("section [", absl::StrJoin(item.parents, "."), "] in ", path,
                       ": sections are not known here; every key stands by itself, key = value"));
    }
    if (!IsSetting(key)) return UnknownKey(key, path);
    std::vector<std::string>& values = given[key];
    values.insert(values.end(), item.inputs.begin(), item.inputs.end());
  }
  return given;
}

absl::StatusOr<Given> ReadConfigFile(const std::string& path) {
  if (path.empty()) return Given();
  const std::string name = absl::StrCat("config ", path);
  BASEBAND_ASSIGN_OR_RETURN(std::string contents, ReadFileWithin(path, name, kMaxFileBytes));
  BASEBAND_ASSIGN_OR_RETURN(const std::string text, TextOf(name, std::move(contents)));
  return ReadConfigText(path, text);
}

}  // namespace baseband::server
